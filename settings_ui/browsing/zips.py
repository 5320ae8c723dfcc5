"""Zip files that are streamed: they are kept neither in memory nor on disk."""

import stat
import zipfile
from collections.abc import Iterable, Iterator

from jenny.workspace import file_times, paths
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Entry, Workspace

CHUNK_BYTES = 256 * 1024


class _Outlet:
    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        self.size += len(data)
        return len(data)

    def flush(self) -> None: ...

    def fetch(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        self.size = 0
        return data


def stream(workspace: Workspace, folder: str, listed: Iterable[Entry]) -> Iterator[bytes]:
    """Yield a zip of these files and folders below *folder*.

    Files that vanish or cannot be read are left out and named in a file at the zip's end. Links
    are left out.
    """
    outlet = _Outlet()
    top = folder.rsplit("/", 1)[-1] or "workspace"
    troubles: list[str] = []
    # The first bytes are sent at once; after that small files are sent together.
    is_begun = False
    with zipfile.ZipFile(
        outlet, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=1
    ) as archive:  # type: ignore[call-overload] # what it asks of a file is write and flush
        for entry in listed:
            below = entry.path[len(folder) :].lstrip("/") if folder else entry.path
            name = f"{top}/{below}"
            if entry.kind == "folder":
                archive.writestr(_info(name + "/", entry), b"")
            elif entry.kind == "file":
                yield from _file(workspace, archive, outlet, (entry, name), troubles)
            elif entry.kind == "link":
                troubles.append(f"{entry.path}: a link")
            if outlet.size >= CHUNK_BYTES or not is_begun:
                is_begun = True
                yield outlet.fetch()
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
            if outlet.size >= CHUNK_BYTES:
                yield outlet.fetch()


def _info(name: str, entry: Entry) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    file_times.set_zip_time(info, int(entry.modified * file_times.NANOSECONDS))
    info.compress_type = zipfile.ZIP_DEFLATED
    kind = stat.S_IFDIR | 0o755 if entry.kind == "folder" else stat.S_IFREG | 0o644
    info.external_attr = kind << 16
    return info
