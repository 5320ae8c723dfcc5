"""Folders as zip files that are streamed."""

import stat
import zipfile
from collections.abc import Iterable, Iterator

from jenny.workspace import file_times, paths
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Entry, Workspace
from jenny.workspace.zip_stream import CHUNK_BYTES, ZipBuffer, open_zip


def stream(workspace: Workspace, folder: str, listed: Iterable[Entry]) -> Iterator[bytes]:
    """Yield a zip of these files and folders below *folder*.

    Files that vanish or cannot be read are left out and named in a file at the zip's end. Links
    are left out.
    """
    buffer = ZipBuffer()
    top = folder.rsplit("/", 1)[-1] or "workspace"
    troubles: list[str] = []
    with open_zip(buffer) as archive:
        for entry in listed:
            below = entry.path[len(folder) :].lstrip("/") if folder else entry.path
            name = f"{top}/{below}"
            if entry.kind == "folder":
                archive.writestr(_info(name + "/", entry), b"")
            elif entry.kind == "file":
                yield from _file(workspace, archive, buffer, (entry, name), troubles)
            elif entry.kind == "link":
                troubles.append(f"{entry.path}: a link")
            if buffer.is_due:
                yield buffer.fetch()
        if troubles:
            archive.writestr(f"{top}/LEFT OUT.txt", "\n".join(troubles) + "\n")
    yield buffer.fetch()


def _file(
    workspace: Workspace,
    archive: zipfile.ZipFile,
    buffer: ZipBuffer,
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
            if buffer.is_due:
                yield buffer.fetch()


def _info(name: str, entry: Entry) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    file_times.set_zip_time(info, int(entry.modified * file_times.NANOSECONDS))
    info.compress_type = zipfile.ZIP_DEFLATED
    kind = stat.S_IFDIR | 0o755 if entry.kind == "folder" else stat.S_IFREG | 0o644
    info.external_attr = kind << 16
    return info
