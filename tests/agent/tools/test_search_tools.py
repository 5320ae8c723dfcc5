"""Finding files and lines, whatever the pattern and the folder hold."""

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import Cancelled, ToolProblem
from jenny.agent.tools import ToolContext, search_tools
from jenny.agent.tools.search_tools import Glob, LineSearch, TimeUp
from tests.agent.conftest import Call

# Python's matcher needs 2 ** 40 steps for this.
ENDLESS = r"(a|aa)+$"
VICTIM = "a" * 60 + "b\n"


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.md", "a.md", True),
        ("*.md", "x/y/a.md", True),
        ("*.md", "a.txt", False),
        ("*.MD", "a.md", False),
        ("wikis/*/AGENTS.md", "wikis/bees/AGENTS.md", True),
        ("wikis/*/AGENTS.md", "wikis/bees/wiki/AGENTS.md", False),
        ("wikis/**/index.md", "wikis/bees/wiki/index.md", True),
        ("wikis/**/index.md", "wikis/index.md", True),
        ("wikis/**", "wikis/a/b.md", True),
        ("**/b.md", "b.md", True),
        ("**/**/b.md", "x/b.md", True),
        ("./a.md", "a.md", True),
        ("a?c[0-9].md", "abc1.md", True),
        ("[", "[", True),
    ],
)
def test_globs(pattern: str, path: str, fits: bool) -> None:
    """A pattern means what it means in a shell, and ``**`` any number of folders."""
    assert Glob(pattern).matches(path) is fits


@pytest.mark.parametrize(("there", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_the_coding_of_characters_is_no_difference(
    root: Path, call: Call, there: str, asked: str
) -> None:
    """A name and a line are found in NFC as in NFD, by every tool that reads."""
    file = root / unicodedata.normalize(there, "Übung/Königin.md")
    file.parent.mkdir()
    file.write_text(unicodedata.normalize(there, "Die Königin lebt.\n"), encoding="utf-8")

    def coded(text: str) -> str:
        return unicodedata.normalize(asked, text)

    assert call("find_files", pattern=coded("Königin*")).data == {"count": 1}
    assert call("find_files", pattern="*.md", path=coded("Übung")).data == {"count": 1}
    for path in ("", coded("Übung"), coded("Übung/Königin.md")):
        found = call("grep", pattern=coded("Königin lebt"), path=path)
        assert found.data == {"matches": 1, "files": 1}
    assert call("grep", pattern="lebt", glob=coded("Köni*")).data == {"matches": 1, "files": 1}
    assert "lebt" in call("read_file", path=coded("Übung/Königin.md")).content


def test_a_glob_of_many_stars_ends() -> None:
    """A pattern cannot keep a worker busy."""
    assert not Glob("*a" * 100 + "b").matches("a" * 250)
    assert not Glob("**/" * 60 + "x").matches("/".join("a" * 200))


def test_files_are_found_by_name(root: Path, call: Call) -> None:
    """Paths come from the workspace's folder, wherever the search began."""
    (root / "wikis/bees/wiki").mkdir(parents=True)
    (root / "wikis/bees/wiki/index.md").touch()
    assert call("find_files", pattern="index.md").content == "wikis/bees/wiki/index.md"
    found = call("find_files", pattern="wiki/*.md", path="wikis/bees")
    assert found.content == "wikis/bees/wiki/index.md"
    assert not call("find_files", pattern=" ").ok
    assert call("find_files", pattern="*.nothing").content == "No file matches '*.nothing'."


def test_a_long_list_of_files_is_cut_and_counted(root: Path, call: Call) -> None:
    """The model learns how many there are."""
    for number in range(30):
        (root / f"{number}.txt").touch()
    outcome = call("find_files", pattern="*.txt", limit=10)
    assert outcome.content.endswith("[10 of 30 are listed.]")


def test_lines_are_found_with_path_and_number(root: Path, call: Call) -> None:
    """Matches come in a stable order."""
    (root / "b.md").write_bytes(b"no\r\nHive one\r\n")
    outcome = call("grep", pattern=r"\bHive\b")
    assert outcome.content.split("\n") == [
        "memory/MEMORY.md:2: - Hive two is weak",
        "b.md:2: Hive one",
    ]


def test_case_literal_text_globs_and_single_files(root: Path, call: Call) -> None:
    """The options do what they say."""
    (root / "a.txt").write_text("hive (two)\n")
    assert call("grep", pattern="hive", path="a.txt").data["matches"] == 1
    assert call("grep", pattern="HIVE", ignore_case=True).data["matches"] == 2
    assert call("grep", pattern="(two)", literal=True).content == "a.txt:1: hive (two)"
    assert call("grep", pattern="hive", glob="*.md", ignore_case=True).data["files"] == 1
    assert call("grep", pattern="hive", path="memory").content == "No line matches 'hive'."


def test_lines_around_a_match_are_shown_once(root: Path, call: Call) -> None:
    """Matches next to each other share their surroundings."""
    (root / "a.txt").write_text("1\nx2\n3\nx4\n5\n6\n7\nx8\n9\n")
    outcome = call("grep", pattern="x", path="a.txt", lines_around=1)
    assert outcome.content.split("\n") == [
        "a.txt-1- 1",
        "a.txt:2: x2",
        "a.txt-3- 3",
        "a.txt:4: x4",
        "a.txt-5- 5",
        "--",
        "a.txt-7- 7",
        "a.txt:8: x8",
        "a.txt-9- 9",
    ]


def test_many_matches_are_cut_and_counted(root: Path, call: Call) -> None:
    """The model learns that there is more."""
    (root / "a.txt").write_text("x\n" * 300)
    outcome = call("grep", pattern="x", path="a.txt", limit=5)
    assert outcome.content.count("a.txt:") == 5
    assert "5 of 300 matches in 1 files are shown." in outcome.content


def test_a_long_line_is_shown_around_its_match(root: Path, call: Call) -> None:
    """One line of a megabyte does not flood the conversation."""
    (root / "a.txt").write_text("y" * 500_000 + "needle" + "y" * 500_000)
    content = call("grep", pattern="needle", path="a.txt").content
    assert "needle" in content
    assert len(content) < 400


def test_binary_and_oversize_files_are_skipped_and_counted(root: Path, call: Call) -> None:
    """What was not searched is said."""
    (root / "binary").write_bytes(b"Hive\x00")
    with (root / "huge").open("wb") as file:
        file.truncate(21_000_000)
    outcome = call("grep", pattern="Hive")
    assert outcome.data["matches"] == 1
    assert "2 files were skipped: they are no text, too large, or hard links." in outcome.content


def test_a_pattern_that_is_none_says_so(call: Call) -> None:
    """The model is told what is wrong and how to look for plain text."""
    outcome = call("grep", pattern="(a")
    assert not outcome.ok
    assert "is no regular expression" in outcome.content
    assert "literal=true" in outcome.content
    assert not call("grep", pattern="").ok
    assert "longer than 1,000" in call("grep", pattern="a" * 1001).content


def test_a_pattern_that_never_ends_is_ended(root: Path, context: ToolContext, call: Call) -> None:
    """What was found before is kept, and the next search works."""
    (root / "0.txt").write_text("aaa\n")
    (root / "1.txt").write_text(VICTIM)
    context.seconds = 3.0
    outcome = call("grep", pattern=ENDLESS, glob="*.txt")
    assert "0.txt:1: aaa" in outcome.content
    assert "Stopped after 3 seconds" in outcome.content
    assert call("grep", pattern="Hive").data["matches"] == 1


def test_a_folder_too_large_for_the_time_is_searched_in_part(
    root: Path, context: ToolContext, call: Call
) -> None:
    """What was found so far is given, and that it is not all."""
    for number in range(500):
        (root / f"{number:03}.txt").touch()
    context.seconds = 0.0
    assert "Stopped after 0 seconds" in call("find_files", pattern="*.txt").content
    assert "Stopped after 0 seconds" in call("grep", pattern="x").content


def test_stop_ends_a_search_at_once(root: Path, context: ToolContext, call: Call) -> None:
    """A turn that is stopped does not wait for a pattern."""
    (root / "1.txt").write_text(VICTIM)
    watch = CancellationToken()
    context.watch = watch
    watch.limit(0.3)
    with pytest.raises(Cancelled):
        call("grep", pattern=ENDLESS, glob="*.txt")


def test_the_searching_process_is_gone_after_every_end() -> None:
    """No search leaves a process behind that eats a core."""
    search = LineSearch(ENDLESS, seconds=0.5)
    # The time may be up before it has begun.
    with pytest.raises(TimeUp), search:
        search.find(VICTIM.encode())
    assert search._process.poll() is not None
    with pytest.raises(ToolProblem), LineSearch("("):
        pass


def test_a_search_whose_parent_is_killed_ends_by_itself() -> None:
    """A killed worker leaves nothing behind that runs for ever."""
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", str(search_tools._CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={},
    )
    assert child.stdin is not None
    assert child.stdout is not None
    order = b'{"pattern": "(a|aa)+$", "ignore_case": false, "seconds": 1, "hits": 5}\n'
    child.stdin.write(order + len(VICTIM).to_bytes(8, "big") + VICTIM.encode())
    child.stdin.flush()
    assert child.stdout.readline() == b"{}\n"
    # Its own limit of processor time ends it, though nobody asks.
    assert child.wait(timeout=120) != 0
    child.stdin.close()
    child.stdout.close()


def test_the_searching_process_knows_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern from a stranger runs without our environment."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    with LineSearch("x") as search:
        environ = Path(f"/proc/{search._process.pid}/environ")
        if environ.exists():
            assert b"sk-secret" not in environ.read_bytes()
        assert search.find(b"x\ny\nax") == [(1, 0), (3, 1)]
