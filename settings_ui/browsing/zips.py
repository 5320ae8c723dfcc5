"""A folder as a zip, made while it is sent: nothing is kept in memory or on disk."""

import stat
import time
import zipfile
from collections.abc import Iterator

from jenny.workspace import paths
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Workspace
from jenny.workspace.listing import Entry

CHUNK_BYTES = 256 * 1024
_EARLIEST = (1980, 1, 1, 0, 0, 0)


class _Outlet:
    """Takes what ``zipfile`` writes until somebody fetches it."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        """Take a piece."""
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def fetch(self) -> bytes:
        """What came since the last time."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


def stream(workspace: Workspace, folder: str, listed: list[Entry]) -> Iterator[bytes]:
    """The bytes of a zip of these entries (files and folders) below *folder*.

    A file that vanishes or may not be read is left out and named in a file of its own at the end;
    links are left out.
    """
    outlet = _Outlet()
    top = folder.rsplit("/", 1)[-1] or "workspace"
    troubles: list[str] = []
    with zipfile.ZipFile(outlet, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:  # type: ignore[call-overload] # what it asks of a file is write and flush
        for entry in listed:
            below = entry.path[len(folder) :].lstrip("/") if folder else entry.path
            name = f"{top}/{below}"
            if entry.kind == "folder":
                archive.writestr(_info(name + "/", entry), b"")
            elif entry.kind == "file":
                yield from _file(workspace, archive, outlet, (entry, name), troubles)
            elif entry.kind == "link":
                troubles.append(f"{entry.path}: a link")
            if data := outlet.fetch():
                yield data
        if troubles:
            archive.writestr(f"{top}/LEFT OUT.txt", "\n".join(troubles) + "\n")
    yield outlet.fetch()


def _file(
    workspace: Workspace,
    archive: zipfile.ZipFile,
    outlet: _Outlet,
    what: tuple[Entry, str],
    troubles: list[str],
) -> Iterator[bytes]:
    """One file's part of the stream."""
    entry, name = what
    try:
        place = paths.locate(workspace.root, entry.path)
        descriptor = paths.open_file(place)
    except WorkspaceError:
        troubles.append(f"{entry.path}: not readable")
        return
    with (
        open(descriptor, "rb") as source,  # noqa: PTH123  (a descriptor, no path)
        archive.open(_info(name, entry), "w", force_zip64=entry.size > 2**31) as target,
    ):
        while chunk := source.read(CHUNK_BYTES):
            target.write(chunk)
            if data := outlet.fetch():
                yield data


def _info(name: str, entry: Entry) -> zipfile.ZipInfo:
    """The entry's line in the zip; a time before 1980 cannot be told there."""
    when = max(_EARLIEST, time.gmtime(max(0, entry.modified))[:6])
    info = zipfile.ZipInfo(name, when)
    info.compress_type = zipfile.ZIP_DEFLATED
    kind = stat.S_IFDIR | 0o755 if entry.kind == "folder" else stat.S_IFREG | 0o644
    info.external_attr = kind << 16
    return info
