"""Nothing outside ``jenny.workspace`` writes files: whoever wants to, asks a Workspace."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[2]
FLOORS = ("jenny", "memory", "wikis", "settings_ui")

# Files that are no workspace's, and why they are written past the layer.
ELSEWHERE = {
    "jenny/chat/management/commands/eval_memory.py": "a data folder of its own, removed after it",
    "jenny/chat/services/attachments.py": "files that wait to be sent, in the data folder",
    "jenny/documents/reader.py": "a copy for the process that reads it, in the system's folder",
    "jenny/env.py": "the data folder, its secrets, and modes of its files",
    "jenny/accounts/services/json_command.py": "nothing: the output goes to the null device",
    "jenny/accounts/models/workspace.py": "makes the empty folder of a new workspace",
    "jenny/accounts/services/first_run.py": "the setup token in the data folder",
    "jenny/runtime/upgrade.py": "the backup before migrating; the running instance's lock",
    "settings_ui/file_browser.py": "a download, which is a stream and no file",
    "settings_ui/services/backups/importer.py": "the plan of an import, in the data folder",
    "settings_ui/services/backups/exporter.py": "backups, in the data folder or as a command says",
    "settings_ui/services/backups/storage.py": "backups to be fetched, in the data folder",
    "settings_ui/services/backups/import_job.py": "histories on their way in, in the data folder",
    "settings_ui/services/workspaces.py": "folders of deleted workspaces, in the data folder",
    "settings_ui/views/backup.py": "an upload on its way to be a backup, in the data folder",
    "settings_ui/services/accounts.py": "deleted accounts, trash, uploads, in the data folder",
    "settings_ui/views/file_changes.py": "parts of uploads, in the data folder",
    "memory/dream/dry_run.py": "the copy in which Dream is tried, in the data folder",
    "memory/management/commands/snapshot.py": "writes the file that its --output names",
    "jenny/runtime/supervisor.py": "the lock and the logs of a running instance",
    "jenny/runtime/valkey.py": "the embedded server's folder and configuration",
}

_METHODS = {
    "write_text",
    "write_bytes",
    "touch",
    "mkdir",
    "unlink",
    "rmdir",
    "rename",
    "symlink_to",
    "hardlink_to",
    "chmod",
}
_WRITING_MODE = re.compile("(?=.*[wax+])[rwaxbt+]{1,3}")
_FUNCTIONS = {
    "os": {
        "remove",
        "unlink",
        "rename",
        "renames",
        "replace",
        "mkdir",
        "makedirs",
        "rmdir",
        "removedirs",
        "link",
        "symlink",
        "truncate",
        "ftruncate",
        "write",
        "pwrite",
        "mkfifo",
        "mknod",
        "chmod",
        "fchmod",
        "chown",
        "utime",
    },
    "shutil": {"copy", "copy2", "copyfile", "copyfileobj", "copytree", "move", "rmtree"},
    "tempfile": {"NamedTemporaryFile", "TemporaryFile", "mkstemp", "mkdtemp", "TemporaryDirectory"},
}


def writes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The calls in a module that may write a file or folder."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in _FUNCTIONS.get(
                module, ()
            ):
                yield node.lineno, f"{module}.{name}"
            case ast.Attribute(value=ast.Name(id="os"), attr="open") if "O_WR" in ast.dump(node):
                yield node.lineno, "os.open"
            case ast.Attribute(attr=name) if name in _METHODS:
                yield node.lineno, name
            case ast.Attribute(attr="replace") if len(node.args) == 1 and not node.keywords:
                yield node.lineno, "replace"
            case ast.Name(id="open") | ast.Attribute(attr="open" | "fdopen") if _mode(node):
                yield node.lineno, "open"


def _mode(call: ast.Call) -> bool:
    """Whether a call of ``open`` names a mode that writes."""
    given = [*call.args[:2], *(word.value for word in call.keywords if word.arg == "mode")]
    modes = [arg.value for arg in given if isinstance(arg, ast.Constant)]
    return any(isinstance(mode, str) and _WRITING_MODE.fullmatch(mode) for mode in modes)


def modules() -> list[Path]:
    """Every module of the product but the workspace layer's."""
    every = [path for floor in FLOORS for path in (PROJECT / floor).rglob("*.py")]
    own = PROJECT / "jenny" / "workspace"
    return sorted(path for path in every if own not in path.parents)


def test_nothing_writes_past_the_layer() -> None:
    """Locks, rules and atomic writes hold only if every write goes through them."""
    found = {
        str(path.relative_to(PROJECT)): rows
        for path in modules()
        if (rows := list(writes(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert {path: rows for path, rows in found.items() if path not in ELSEWHERE} == {}
    assert set(ELSEWHERE) <= set(found), "one writes nothing any more: take it off the list"


def test_the_search_finds_every_kind_of_write() -> None:
    """The test above would see a write if there were one."""
    source = """
Path(x).write_text("")
file.unlink()
os.replace(a, b)
Path(a).replace(b)
open(x, "w")
Path(x).open("ab")
os.open(x, os.O_WRONLY | os.O_CREAT)
shutil.copy(a, b)
tempfile.mkstemp()
os.fdopen(fd, "wb")
open(x, mode="r+")
text.replace("a", "b")
open(x)
open(x, "rb")
replace(value, name=1)
"""
    lines = {line for line, _ in writes(ast.parse(source))}
    assert lines == set(range(2, 13))
