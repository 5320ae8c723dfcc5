"""Keep deleted files outside the workspace until they are old enough.

An item is a folder ``<id>/`` of the store with ``about.json`` and ``content`` (the file, folder or
link as it was). The note is written first, so that a crash may leave a note without content, which
is ignored, but never content without its original path.
"""

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from jenny.workspace import atomic, names, paths, retention, transactions
from jenny.workspace.errors import FileMissing, PathRefused, WriteFailed, reason_of
from jenny.workspace.files import Workspace
from jenny.workspace.move_copy import free_place, kind_of, locate_itself, put_to_rules, rename
from jenny.workspace.paths import Place

_NOTE = "about.json"
_CONTENT = "content"
_ID = re.compile(r"[0-9a-f]{16}")
_GOING = ".going-"


@dataclass(frozen=True, slots=True)
class Item:
    """An item in the trash.

    ``deleted_at`` in seconds since 1970; ``account``: the person who deleted it.
    """

    id: str
    path: str
    kind: Literal["file", "folder", "link"]
    size: int
    deleted_at: int
    account: int | None

    @property
    def purge_at(self) -> int:
        """The time from which it may be deleted for good, in seconds since 1970."""
        return self.deleted_at + int(retention.TRASH.total_seconds())


def move_to_trash(workspace: Workspace, store: Path, path: str, *, now: int) -> Item:
    """Move a file, folder or link from the workspace to the trash; the rules check every file.

    Raises:
        WriteRefused: a rule refused one of them. Nothing was changed, as in every case below.
        PathRefused, FileMissing, FileTooLarge, LockTimeout, WriteFailed: as for any write.
    """
    root = workspace.root
    with transactions.lock_workspace(root):
        place = locate_itself(root, path)
        kind = kind_of(place)
        status = place.path.lstat()
        size = status.st_size if kind == "file" else 0
        item = Item(secrets.token_hex(8), place.relative, kind, size, now, workspace.actor.account)
        folder = store / item.id
        try:
            _make_store(folder)
            with paths.open_folder(folder, ()) as note:
                atomic.replace(note, _NOTE, json.dumps(asdict(item)).encode(), mode=0o600)
            put_to_rules(workspace, place, None)
            _take(place, folder)
        except OSError as error:
            message = (
                f"{names.shown(place.relative)} could not be moved to the trash: "
                f"{reason_of(error)}. It is where it was."
            )
            raise WriteFailed(message) from error
        finally:
            if not _exists(folder / _CONTENT):
                shutil.rmtree(folder, ignore_errors=True)
    return item


def put_back(workspace: Workspace, store: Path, item_id: str, target: str = "") -> str:
    """Restore an item to its original path, or to *target*; return its path.

    Raises:
        FileMissing: there is no such item any more.
        PathRefused: something is at that path. Other errors as ``move_to_trash``.
    """
    root = workspace.root
    with transactions.lock_workspace(root):
        item = get(store, item_id)
        place = free_place(root, target or item.path, None)
        kept = Place(store / item.id, (_CONTENT,), (store / item.id / _CONTENT).lstat())
        put_to_rules(workspace, kept, place, is_new=True)
        try:
            try:
                rename(kept, root, place.parts)
            except OSError as error:
                if not _is_elsewhere(error):
                    raise
                _copy_over(kept.path, place.path)
        except OSError as error:
            message = (
                f"{names.shown(place.relative)} could not be brought back: {reason_of(error)}. "
                "It is still in the trash."
            )
            raise WriteFailed(message) from error
    delete(store, item.id)
    return place.relative


def get(store: Path, item_id: str) -> Item:
    """Return one item.

    Raises:
        FileMissing: there is none of that id.
    """
    item = _read(store / item_id) if _ID.fullmatch(item_id) else None
    if item is None:
        raise FileMissing("This is not in the trash any more. Nothing was changed.")
    return item


def listing(store: Path) -> tuple[Item, ...]:
    """List the trash, the last deleted first."""
    try:
        folders = [folder for folder in store.iterdir() if _ID.fullmatch(folder.name)]
    except OSError:
        return ()
    items = [item for folder in folders if (item := _read(folder)) is not None]
    return tuple(sorted(items, key=lambda item: (-item.deleted_at, item.path)))


def delete(store: Path, item_id: str) -> None:
    """Delete an item for good. It is not listed any more from the beginning of the deletion."""
    if not _ID.fullmatch(item_id):
        return
    going = store / f"{_GOING}{item_id}-{secrets.token_hex(4)}"
    with contextlib.suppress(FileNotFoundError):
        (store / item_id).rename(going)
    shutil.rmtree(going, ignore_errors=True)


def purge(store: Path, *, before: int) -> int:
    """Delete items older than *before* (seconds since 1970); return how many.

    Leftovers of interrupted deletions are deleted too.
    """
    gone = 0
    for item in listing(store):
        if item.deleted_at < before:
            delete(store, item.id)
            gone += 1
    with contextlib.suppress(OSError):
        for folder in list(store.iterdir()):
            is_empty = _ID.fullmatch(folder.name) and not _exists(folder / _CONTENT)
            if folder.name.startswith(_GOING) or (is_empty and folder.stat().st_mtime < before):
                shutil.rmtree(folder, ignore_errors=True)
    return gone


def _make_store(folder: Path) -> None:
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700)


def _take(place: Place, folder: Path) -> None:
    """Move the file at *place* into the item's folder, also from another disk."""
    try:
        rename(place, folder, (_CONTENT,))
    except OSError as error:
        if not _is_elsewhere(error):
            raise
        _copy_over(place.path, folder / _CONTENT)
        _remove(place.path)


def _copy_over(source: Path, target: Path) -> None:
    """Copy a file to another disk, atomically by a temporary name."""
    temp = target.parent / atomic.temp_name()
    try:
        if source.is_dir() and not source.is_symlink():
            shutil.copytree(source, temp, symlinks=True)
        else:
            shutil.copy2(source, temp, follow_symlinks=False)
        temp.rename(target)
    except BaseException:
        _remove(temp)
        raise


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _read(folder: Path) -> Item | None:
    """Read the item in that folder; ``None``: there is none, or its note is invalid."""
    try:
        row: dict[str, Any] = json.loads((folder / _NOTE).read_bytes())
        if "thrown_at" in row:  # its name in notes of earlier versions
            row["deleted_at"] = row.pop("thrown_at")
        item = Item(**row)
        paths.checked_parts(item.path.split("/"))
    except (OSError, ValueError, TypeError, AttributeError, PathRefused):
        return None
    is_whole = item.id == folder.name and isinstance(item.deleted_at, int)
    return item if is_whole and _exists(folder / _CONTENT) else None


def _exists(path: Path) -> bool:
    return os.path.lexists(path)


def _is_elsewhere(error: OSError) -> bool:
    """True when a rename failed because the two paths are on different disks."""
    return error.errno == errno.EXDEV
