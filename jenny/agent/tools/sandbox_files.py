"""What sandboxed code can see of the workspace: its files, to read, through the one gate.

The sandbox has no file system; ``open``, ``pathlib`` and ``os`` in it become questions to
``SandboxFiles.answer``. Its root ``/`` is the workspace's folder.
"""

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from jenny.agent.tools.box import ToolContext
from jenny.agent.tools.file_access import READ_BYTES
from jenny.workspace.errors import FileMissing, PathRefused, WorkspaceError
from jenny.workspace.listing import Entry

_SCAN_ENTRIES = 20_000
_READ_ONLY = "files can only be read here; write them with another tool"


class SandboxFiles:
    """Answers one run's questions about files. Its errors are Python's own, for the code to see."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._answers: dict[str, Callable[..., Any]] = {
            "open": self._open,
            "Path.read_text": self._read_text,
            "Path.read_bytes": self._read_bytes,
            "Path.exists": lambda path: self._kind(path) is not None,
            "Path.is_file": lambda path: self._kind(path) == "file",
            "Path.is_dir": lambda path: self._kind(path) == "folder",
            "Path.is_symlink": lambda _path: False,
            "Path.iterdir": self._iterdir,
            "Path.scan": self._scan,
            "Path.stat": self._stat,
            "Path.resolve": lambda path: _inside(path, "/"),
            "Path.absolute": lambda path: _inside(path, "/"),
        }

    def read_file(self, path: str) -> str:
        """The text of a file."""
        return self._read(str(path)).decode()

    def list_dir(self, path: str = "") -> list[str]:
        """The names in a folder; those of folders end in ``/``."""
        return [
            f"{entry.name}/" if entry.kind == "folder" else entry.name
            for entry in self._listed(str(path))
        ]

    def answer(self, *, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], **_: Any) -> Any:
        """What ``open``, ``pathlib`` and ``os`` in the sandbox get."""
        answer = self._answers.get(name)
        if answer is not None:
            return answer(*args, **kwargs)
        if name in {"os.getenv", "os.environ"}:
            return None if name == "os.getenv" else {}
        raise PermissionError(_READ_ONLY)

    def _read(self, path: str) -> bytes:
        path = _inside(path)
        self._context.check()
        try:
            return self._context.workspace.read(path, limit=READ_BYTES).data
        except FileMissing as error:
            shipped = self._context.shipped.get(path)
            if shipped is not None:
                return shipped.encode()
            raise FileNotFoundError(error.sentence) from error
        except WorkspaceError as error:
            raise PermissionError(error.sentence) from error

    def _listed(self, path: str) -> tuple[Entry, ...]:
        try:
            return self._context.workspace.list(_inside(path))
        except FileMissing as error:
            raise FileNotFoundError(error.sentence) from error
        except WorkspaceError as error:
            raise PermissionError(error.sentence) from error

    def _kind(self, path: Any) -> str | None:
        try:
            place = self._context.workspace.resolve(_inside(path))
        except PathRefused:
            return None
        if place.is_dir():
            return "folder"
        if place.is_file() or _inside(path) in self._context.shipped:
            return "file"
        return None

    def _open(self, path: Any, mode: str = "r", *_: Any) -> Any:
        # Loaded by now: only a running sandbox asks.
        from pydantic_monty import MontyFileHandle  # noqa: PLC0415 - loaded by now, as above

        if set(mode) - set("rbt"):
            raise PermissionError(_READ_ONLY)
        self._read(str(path))
        return MontyFileHandle(str(path), mode)

    def _read_text(self, path: Any) -> str:
        return self._read(_path_of(path)).decode().removeprefix("\ufeff").replace("\r\n", "\n")

    def _read_bytes(self, path: Any) -> bytes:
        return self._read(_path_of(path))

    def _iterdir(self, path: Any) -> list[PurePosixPath]:
        return [PurePosixPath("/", entry.path) for entry in self._listed(str(path))]

    def _scan(self, path: Any, *, max_depth: int | None = None, **_: Any) -> list[Any]:
        from pydantic_monty import ScanEntry  # noqa: PLC0415 - as in ``_open``

        kind = self._kind(path)
        if kind is None:
            raise FileNotFoundError(str(path))
        found = [ScanEntry("", kind == "folder", kind == "file", is_symlink=False)]
        if kind == "file":
            return found
        start = len(_inside(path)) + 1 if _inside(path) else 0
        for entry in self._context.workspace.walk(_inside(path)):
            relative = entry.path[start:]
            if max_depth is not None and relative.count("/") >= max_depth:
                continue
            if len(found) >= _SCAN_ENTRIES:
                raise PermissionError(f"the folder has more than {_SCAN_ENTRIES:,} entries")
            found.append(
                ScanEntry(relative, entry.kind == "folder", entry.kind == "file", is_symlink=False)
            )
        return found

    def _stat(self, path: Any) -> Any:
        from pydantic_monty import StatResult  # noqa: PLC0415 - as in ``_open``

        kind = self._kind(path)
        if kind is None:
            raise FileNotFoundError(str(path))
        place = self._context.workspace.resolve(_inside(path))
        if not place.exists():
            return StatResult.file_stat(len(self._read(str(path))))
        status = place.stat()
        if kind == "folder":
            return StatResult.dir_stat(mtime=status.st_mtime)
        return StatResult.file_stat(status.st_size, mtime=status.st_mtime)


def _path_of(path: Any) -> str:
    """The path of a ``Path`` or of an open file."""
    return str(getattr(path, "path", path))


def _inside(path: Any, start: str = "") -> str:
    """A path of the sandbox as one of the workspace: its root is the workspace's folder."""
    parts = [part for part in str(path).split("/") if part not in {"", "."}]
    return start + "/".join(parts)
