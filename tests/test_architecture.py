"""The three rules of docs/architecture.md, checked over the source."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("jenny", "memory", "wikis", "settings_ui")
SHELLS = frozenset(
    [
        "apps",
        "models",
        "admin",
        "forms",
        "views",
        "urls",
        "tasks",
        "middleware",
        "access",
        "settings",
        "celery",
        "asgi",
        "wsgi",
        "migrations",
        "templatetags",
        "management",
    ]
)
FORBIDDEN_NAMES = frozenset(["utils", "helpers", "common", "misc", "manager", "services"])
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60
MAX_POSITIONAL = 5
# Tables of data, which may be longer, with what they are a table of.
TABLES: dict[str, str] = {}

# Imports each module in a process of its own, in which Django and Celery cannot be imported.
IMPORT_EACH = """
import importlib, json, os, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in {"django", "celery", "kombu", "axes"} or top.startswith("django_"):
            raise ImportError(f"imports {name}")
sys.meta_path.insert(0, Blocked())
failed = {}
for name in sys.argv[1:]:
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            importlib.import_module(name)
        except BaseException as error:
            os.write(writer, repr(error).encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        problem = answer.read().decode("utf-8", "replace")
    os.wait()
    if problem:
        failed[name] = problem
print(json.dumps(failed))
"""


def sources() -> Iterator[Path]:
    """Every module of the product, migrations aside, relative to the project."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            relative = path.relative_to(ROOT)
            if "migrations" not in relative.parts:
                yield relative


def names_of(path: Path) -> list[str]:
    """The parts of a module's dotted name."""
    parts = list(path.with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a module."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_plain_modules_need_neither_django_nor_celery():
    """A module whose name the frameworks do not know runs without them, with all it imports."""
    plain = [".".join(names_of(path)) for path in sources() if not SHELLS & set(names_of(path))]
    assert len(plain) > 20
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_EACH, *plain],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {}


def test_arrows_point_down():
    """Imports go from the roof to the ground, and siblings do not know each other."""
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_rooms_are_small():
    """No file is longer than one reads in a sitting, no function than one sees at once."""
    long_files = {
        str(path): lines
        for path in sources()
        if (lines := len((ROOT / path).read_text().splitlines())) > MAX_FILE_LINES
        and str(path) not in TABLES
    }
    assert long_files == {}
    long_functions = {
        f"{path}:{node.lineno} {node.name}": lines
        for path in sources()
        for node in functions(path)
        if (lines := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION_LINES
    }
    assert long_functions == {}


def test_calls_say_what_they_pass():
    """At most five parameters may be given by position."""
    many = {}
    for path in sources():
        for node in functions(path):
            given = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
            count = len([name for name in given if name not in {"self", "cls"}])
            if count > MAX_POSITIONAL:
                many[f"{path}:{node.lineno} {node.name}"] = count
    assert many == {}


def test_no_module_is_a_drawer():
    """Modules are named for what they hold; drawers for anything are not."""
    drawers = [str(path) for path in sources() if FORBIDDEN_NAMES & set(names_of(path))]
    assert drawers == []


def test_imports_stand_at_the_top():
    """An import inside a function gives its reason on the spot; none dodges a circle."""
    hidden = []
    for path in sources():
        lines = (ROOT / path).read_text().splitlines()
        for function in functions(path):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    around = lines[node.lineno - 2 : node.end_lineno]
                    has_reason = any("#" in line for line in around)
                    if not has_reason or "circ" in " ".join(around):
                        hidden.append(f"{path}:{node.lineno}")
    assert hidden == []


def test_the_root_package_is_empty():
    """``import jenny.workspace`` must not load anything of the product by the way."""
    assert (ROOT / "jenny" / "__init__.py").read_text() == ""


# --- One writer ------------------------------------------------------------------------------

# Calls that change files. str.replace shares a name with Path.replace, which is why it is not here.
WRITING_CALLS = frozenset(
    [
        "write_text",
        "write_bytes",
        "unlink",
        "rmdir",
        "rename",
        "mkdir",
        "touch",
        "symlink_to",
        "hardlink_to",
        "rmtree",
        "copyfile",
        "copy2",
        "copytree",
        "makedirs",
        "renames",
        "truncate",
    ]
)
# Where files other than a workspace's are written, and which.
WRITES_ELSEWHERE = {
    "jenny/env.py": "the data folder and its secrets",
    "jenny/valkey.py": "the embedded server's folder",
    "jenny/supervise.py": "the lock and the readiness mark",
    "jenny/management/database.py": "backups of the database",
    "jenny/accounts/setup_token.py": "the setup token",
    "jenny/accounts/models/workspace.py": "the empty folder of a new workspace",
    "settings_ui/browsing/zips.py": "a download, which is a stream and no file",
    "settings_ui/browsing/pieces.py": "files that arrive in pieces, in the data folder",
    "settings_ui/management/backups/shelf.py": "folders of backups, in the data folder",
    "settings_ui/management/backups/making.py": "a backup that is being made",
    "settings_ui/management/backups/entering.py": "what it takes to finish an import",
    "settings_ui/management/backups/taking_in.py": "what is unpacked of a backup",
    "settings_ui/views/backup.py": "a backup that came with a form, in the data folder",
    "settings_ui/tasks.py": "the trash and parts of uploads, in the data folder",
    "settings_ui/management/workspaces.py": "folders of workspaces deleted long ago",
    "settings_ui/management/closing.py": "folders of deleted accounts, in the data folder",
    "settings_ui/views/files/upload.py": "parts of uploads, in the data folder",
    "wikis/index/store.py": "the search index in the data folder's cache",
    "memory/management/commands/snapshot.py": "the file that --output names",
}


def writes(path: Path) -> Iterator[str]:
    """Places in a module that change files."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        modes = [
            argument.value
            for argument in (*node.args, *(word.value for word in node.keywords))
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        ]
        opens = name in {"open", "fdopen"} and any(set("wax+") & set(mode) for mode in modes)
        if name in WRITING_CALLS or opens:
            yield f"{path}:{node.lineno} {name}"


def test_nothing_writes_past_the_workspace():
    """Files of a workspace change through ``jenny.workspace`` alone, where the rules apply."""
    past = [
        place
        for path in sources()
        if not str(path).startswith("jenny/workspace/") and str(path) not in WRITES_ELSEWHERE
        for place in writes(path)
    ]
    assert past == []
