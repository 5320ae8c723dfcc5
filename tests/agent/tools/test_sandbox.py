"""python_exec: what a model wrote runs, and can do no harm."""

import os
import subprocess
import sys
import threading
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import psutil
import pytest

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import Cancelled
from jenny.agent.tools import Toolbox, ToolContext, sandbox
from tests.agent.conftest import Call


@pytest.fixture
def run(call: Call):
    """Run code, give back the outcome."""
    return lambda code: call("python_exec", code=code)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("1 + 1", "2"),
        ("x = 3\nprint(x)\nx * 2", "3\n6"),
        ("'a'; 'b'", "'b'"),
        ("print('a')", "a"),
        ("[1,\n 2]  # done", "[1, 2]"),
        ("'é' * 2; 'ü€'", "'ü€'"),
        ("async def f():\n    return 3\nawait f()", "3"),
        ("x = 1", "The code ran and printed nothing."),
        ("", "The code ran and printed nothing."),
        ("None", "The code ran and printed nothing."),
        ("import math\nmath.gcd(12, 18)", "6"),
        ("print('a\ud800b')", "a\ufffdb"),
    ],
)
def test_code_gives_what_it_prints_and_its_last_value(run, code: str, said: str) -> None:
    """As in a notebook."""
    outcome = run(code)
    assert (outcome.ok, outcome.content) == (True, said)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("x = 1\n\nx.nope", "line 3"),
        ("def f(:", "SyntaxError"),
        ("def f():\n    yield 1", "yield"),
        ("print('before')\nraise ValueError('no')", "before\nTraceback"),
        ("raise SystemExit", "Exit"),
        ("exit()", "NameError"),
        ("(" * 10_000, "SyntaxError"),
        ("1" + "+1" * 40_000, "nested"),
        ("x" * 100_001, "longer than 100,000 characters"),
    ],
)
def test_code_that_fails_says_where_and_why(run, code: str, said: str) -> None:
    """The model gets a traceback of its own code and of nothing else."""
    outcome = run(code)
    assert not outcome.ok
    assert said in outcome.content
    assert "__value__" not in outcome.content
    assert len(outcome.content) < 6_000


def test_an_endless_loop_is_ended(context: ToolContext, run) -> None:
    """Also one that catches everything; what was printed before is kept."""
    context.seconds = 0.5
    outcome = run(
        "print('begun')\nwhile True:\n    try:\n        while True: pass\n"
        "    except BaseException: pass"
    )
    assert not outcome.ok
    assert outcome.content == "begun\nEnded: it ran for longer than 0.5 seconds."
    assert run("1").content == "1"


@pytest.mark.parametrize(
    "code",
    [
        "x = []\nwhile True: x.append('a' * 100_000)",
        "x = 'a'\nwhile True: x = x + x",
        "[0] * 10 ** 10",
        "2 ** 10 ** 9",
        "'%1000000000d' % 1",
        "f'{1:>1000000000}'",
        "[i for i in range(10 ** 9)]",
        "x = {}\nfor i in range(10 ** 9): x[i] = str(i)",
    ],
)
def test_a_memory_bomb_is_ended(run, code: str) -> None:
    """It ends in a sentence, and this process hardly grows."""
    before = psutil.Process().memory_info().rss
    outcome = run(code)
    assert not outcome.ok
    assert "more than 64 MB of memory" in outcome.content
    assert psutil.Process().memory_info().rss - before < 64 * 1024**2


def test_a_huge_last_value_meets_the_sandboxs_limits(run) -> None:
    """It is not handed over to this process."""
    before = psutil.Process().memory_info().rss
    outcome = run("[[0] * 1000 for _ in range(3000)]")
    assert not outcome.ok
    assert psutil.Process().memory_info().rss - before < 64 * 1024**2


def test_deep_recursion_is_ended(run) -> None:
    """Also of values that hold themselves."""
    assert "RecursionError" in run("def f(n): return f(n + 1)\nf(0)").content
    assert run("x = []\nx.append(x)\nx").content == "[[...]]"
    assert run("x = []\nfor _ in range(100_000): x = [x]\nprint(len(x))").content == "1"


def test_endless_output_is_cut_and_its_beginning_kept(context: ToolContext, run) -> None:
    """The model sees the beginning, and where the rest of what is kept lies."""
    context.seconds = 1.0
    outcome = run("while True: print('x' * 99)")
    assert not outcome.ok
    assert "it printed more than 200,000 characters" in outcome.content
    assert len(outcome.content) <= 16_000
    assert outcome.data["whole"] in outcome.content


def test_a_long_result_lies_in_a_file(context: ToolContext, run) -> None:
    """Results over the limit are cut with the name of the file that holds the whole."""
    outcome = run("for i in range(5000): print(i)")
    assert outcome.ok
    whole = context.workspace.read(outcome.data["whole"]).text
    assert whole == "\n".join(map(str, range(5000)))


@pytest.mark.parametrize(
    "module",
    ["socket", "subprocess", "ctypes", "urllib.request", "http.client", "importlib", "jenny"],
)
def test_there_is_no_way_out_by_import(run, module: str) -> None:
    """No network, no processes, nothing of ours."""
    outcome = run(f"import {module}")
    assert not outcome.ok
    assert "ModuleNotFoundError" in outcome.content


@pytest.mark.parametrize(
    "code",
    [
        "__import__('os').system('id')",
        "import os\nos.system('id')",
        "import os\nos.popen('id').read()",
        "().__class__.__bases__[0].__subclasses__()",
        "print.__self__",
        "open.__globals__",
        "read_file.__globals__",
        "import sys\nsys.modules['os']",
    ],
)
def test_there_is_no_way_out_by_what_is_there(run, code: str) -> None:
    """The interpreter is not this one, and has none of its insides."""
    assert not run(code).ok


def test_the_environment_is_not_seen(monkeypatch: pytest.MonkeyPatch, run) -> None:
    """Keys of the host stay out of reach, of the code and of its process."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    assert (
        run("import os\nprint(os.getenv('ANTHROPIC_API_KEY'), dict(os.environ))").content
        == "None {}"
    )
    children = [child for child in psutil.Process().children() if "monty" in child.name()]
    assert children
    assert all("ANTHROPIC_API_KEY" not in child.environ() for child in children)


def test_files_of_the_workspace_can_be_read(root: Path, run) -> None:
    """By the functions handed in, and by Python's own ways."""
    (root / "wikis/bees").mkdir(parents=True)
    (root / "wikis/bees/a.csv").write_text("hive,honey\r\n1,20\r\n2,22\r\n")
    assert run("len(read_file('memory/MEMORY.md'))").content == "37"
    assert run("list_dir('memory')").content == "['MEMORY.md']"
    assert run("list_dir()").content == "['memory/', 'wikis/', 'USER.md']"
    code = (
        "import csv\nwith open('wikis/bees/a.csv') as f: print(list(csv.DictReader(f))[1]['honey'])"
    )
    assert run(code).content == "22"
    code = "from pathlib import Path\n[str(p) for p in sorted(Path('.').glob('**/*.csv'))]"
    assert run(code).content == "['wikis/bees/a.csv']"
    code = "import os\nsorted(os.listdir('wikis')), os.path.exists('x'), os.path.isdir('wikis')"
    assert run(code).content == "(['bees'], False, True)"
    code = "from pathlib import Path\nPath('USER.md').stat().st_size"
    assert run(code).content == "35"
    assert run("import os\nfor p, d, f in os.walk('wikis'): print(f)").content == "[]\n['a.csv']"


def test_shipped_files_can_be_read(context: ToolContext, run) -> None:
    """A bundled skill is there for code, too."""
    context.shipped = {"skills/x/SKILL.md": "shipped"}
    assert run("read_file('skills/x/SKILL.md')").content == "'shipped'"
    assert run("import os\nos.path.isfile('skills/x/SKILL.md')").content == "True"


@pytest.mark.parametrize(
    "code",
    [
        "open('x.md', 'w').write('x')",
        "open('USER.md', 'a').write('x')",
        "open('USER.md', 'r+').write('x')",
        "from pathlib import Path\nPath('USER.md').write_text('x')",
        "from pathlib import Path\nPath('USER.md').unlink()",
        "from pathlib import Path\nPath('new').mkdir()",
        "import os\nos.rename('USER.md', 'x.md')",
        "import os\nos.remove('USER.md')",
    ],
)
def test_nothing_can_be_written(root: Path, run, code: str) -> None:
    """Writes go through the tools that have rules."""
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert not run(code).ok
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../workspace_evil/secret.md",
        "out/secret.md",
        "file-out",
        "a\\0b",
        "%2e%2e/x",
    ],
)
def test_nothing_outside_the_workspace_can_be_read(root: Path, run, path: str) -> None:
    """The root of the sandbox is the workspace, and links out are refused."""
    (root / "out").symlink_to(root.parent / "workspace_evil")
    (root / "file-out").symlink_to(root.parent / "workspace_evil" / "secret.md")
    for code in (
        f"read_file('{path}')",
        f"open('{path}').read()",
        f"from pathlib import Path\nPath('{path}').read_text()",
        f"list_dir('{path}')",
    ):
        outcome = run(code)
        assert not outcome.ok, code
        assert "secret\n" not in outcome.content


def test_a_missing_file_is_an_error_that_code_can_catch(run) -> None:
    """As in Python."""
    code = "try:\n    read_file('no.md')\nexcept FileNotFoundError as e:\n    print('none:', e)"
    assert run(code).content.startswith("none: There is no file")


def test_asking_for_files_without_end_is_ended(run) -> None:
    """The host answers a bounded number of questions."""
    assert "more than 2,000 times" in run("while True: list_dir('')").content


def test_the_clock_is_the_persons(context: ToolContext, run) -> None:
    """The day is that of where the person is."""
    context.zone = "Pacific/Kiritimati"
    before = datetime.now(ZoneInfo(context.zone)).date()
    said = run("import datetime\nprint(datetime.date.today())").content
    after = datetime.now(ZoneInfo(context.zone)).date()
    assert said in {before.isoformat(), after.isoformat()}


def test_calls_share_nothing(run) -> None:
    """One turn's values are not in another's."""
    run("secret = 42")
    assert "NameError" in run("secret").content


def test_stop_does_not_wait_for_the_code(context: ToolContext, run) -> None:
    """A stopped turn leaves an endless loop to its own limits."""
    watch = CancellationToken()
    context.watch = watch
    context.seconds = 2.0
    watch.limit(0.2)
    with pytest.raises(Cancelled):
        run("while True: pass")


def test_many_turns_at_once_are_all_served(box: Toolbox, context: ToolContext) -> None:
    """More runs than sandboxes wait for each other; a bad one does no harm to the others."""
    context.seconds = 0.5
    codes = ["2 ** 10", "while True: pass", "x = 'a' * 10 ** 9", "raise ValueError"] * 3
    said: dict[int, str] = {}

    def work(number: int, code: str) -> None:
        said[number] = box.call("python_exec", {"code": code}).content

    threads = [threading.Thread(target=work, args=each) for each in enumerate(codes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [said[number] for number in range(0, 12, 4)] == ["1024"] * 3
    assert all("longer than 0.5 seconds" in said[number] for number in range(1, 12, 4))
    assert all("64 MB" in said[number] for number in range(2, 12, 4))
    assert all("ValueError" in said[number] for number in range(3, 12, 4))


CHECK = """
import sys
{before}
from jenny.agent.tools import sandbox
from jenny.agent.tools import ToolContext, Toolbox
from jenny.workspace.files import Actor, open_workspace
from pathlib import Path
box = Toolbox([sandbox.PYTHON_EXEC], ToolContext(open_workspace(Path(sys.argv[1]), Actor("chat"))))
print(sandbox.unavailable())
print(box.call("python_exec", {{"code": "1"}}).content)
"""


@pytest.mark.parametrize(
    ("before", "binary", "reason"),
    [
        ("sys.modules['pydantic_monty'] = None", "", "is not installed"),
        ("", "/nonexistent", "cannot be started"),
        ("", "/bin/true", "cannot be started"),
    ],
)
def test_without_a_sandbox_the_tool_is_off_and_says_why(
    root: Path, before: str, binary: str, reason: str
) -> None:
    """Code is never run in this interpreter instead."""
    done = subprocess.run(
        [sys.executable, "-c", CHECK.format(before=before), str(root)],
        env={**os.environ, "MONTY_BIN": binary} if binary else dict(os.environ),
        cwd=Path(sandbox.__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    why, said = done.stdout.strip().split("\n")
    assert reason in why
    assert said == f"python_exec is off: {why}"


FORK = """
import os, sys
import pydantic_monty
from pathlib import Path
from jenny.agent.tools import sandbox
from jenny.agent.tools import ToolContext, Toolbox
from jenny.workspace.files import Actor, open_workspace
box = Toolbox([sandbox.PYTHON_EXEC], ToolContext(open_workspace(Path(sys.argv[1]), Actor("chat"))))

def run(code):
    print(box.call("python_exec", {"code": code}).content, flush=True)

for code in ("1", "2"):
    if os.fork() == 0:
        run(code)
        os._exit(0)
    os.wait()
run("3")
if os.fork() == 0:
    run("4")
    os._exit(0)
os.wait()
"""


def test_forked_processes_have_sandboxes_of_their_own(root: Path) -> None:
    """The parts of the product are forked from one process that has imported it all; one that is
    forked after the first use says that it has none, and does not hang."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(root)],
        cwd=Path(sandbox.__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    *said, last = done.stdout.strip().split("\n")
    assert said == ["1", "2", "3"]
    assert "forked" in last
