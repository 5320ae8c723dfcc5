"""The trash: what a person deleted, kept outside the workspace until it is old enough.

An item is a folder ``<id>/`` of the store with ``about.json`` and ``content`` (the file, folder or
link as it was). The note is written first, so that a crash leaves a note without content, which
means nothing, and never content that nobody knows the place of.
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

from jenny.workspace import acts, atomic, names, paths
from jenny.workspace.errors import FileMissing, PathRefused, WriteFailed, reason_of
from jenny.workspace.files import Workspace
from jenny.workspace.moving import rename
from jenny.workspace.paths import Place
from jenny.workspace.subtree import free_place, itself, kind_of, put_to_rules

KEPT_DAYS = 30
_NOTE = "about.json"
_CONTENT = "content"
_ID = re.compile(r"[0-9a-f]{16}")
_GOING = ".going-"


@dataclass(frozen=True, slots=True)
class Item:
    """Something in the trash. ``thrown_at`` in seconds since 1970; ``account``: who threw it."""

    id: str
    path: str
    kind: Literal["file", "folder", "link"]
    size: int
    thrown_at: int
    account: int | None

    @property
    def goes_at(self) -> int:
        """When it may be deleted for good, in seconds since 1970."""
        return self.thrown_at + KEPT_DAYS * 86_400


def throw(workspace: Workspace, store: Path, path: str, *, now: int) -> Item:
    """Take a file, folder or link out of the workspace into the trash; the rules see every file.

    Raises:
        WriteRefused: a rule said no to one of them. Nothing was changed, as in every case below.
        PathRefused, FileMissing, FileTooLarge, LockTimeout, WriteFailed: as for any write.
    """
    root = workspace.root
    with acts.locked(root):
        place = itself(root, path)
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
    """Bring an item back to where it was, or to *target*; where it is now.

    Raises:
        FileMissing: there is no such item any more.
        PathRefused: something is at that place by now. Other errors as ``throw``.
    """
    root = workspace.root
    with acts.locked(root):
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
    """One item.

    Raises:
        FileMissing: there is none of that id.
    """
    item = _read(store / item_id) if _ID.fullmatch(item_id) else None
    if item is None:
        raise FileMissing("This is not in the trash any more. Nothing was changed.")
    return item


def listing(store: Path) -> tuple[Item, ...]:
    """Everything in the trash, what was thrown last first."""
    try:
        folders = [folder for folder in store.iterdir() if _ID.fullmatch(folder.name)]
    except OSError:
        return ()
    items = [item for folder in folders if (item := _read(folder)) is not None]
    return tuple(sorted(items, key=lambda item: (-item.thrown_at, item.path)))


def delete(store: Path, item_id: str) -> None:
    """Delete an item for good. From the first moment on it is not listed any more."""
    if not _ID.fullmatch(item_id):
        return
    going = store / f"{_GOING}{item_id}-{secrets.token_hex(4)}"
    with contextlib.suppress(FileNotFoundError):
        (store / item_id).rename(going)
    shutil.rmtree(going, ignore_errors=True)


def purge(store: Path, *, before: int) -> int:
    """Delete what was thrown before that moment (seconds since 1970), and what an earlier
    deletion that was cut short left; how many items went."""
    gone = 0
    for item in listing(store):
        if item.thrown_at < before:
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
    """Move what is at *place* into the item's folder, also from another disk."""
    try:
        rename(place, folder, (_CONTENT,))
    except OSError as error:
        if not _is_elsewhere(error):
            raise
        _copy_over(place.path, folder / _CONTENT)
        _remove(place.path)


def _copy_over(source: Path, target: Path) -> None:
    """Copy to another disk: all of it is there under its name, or nothing is."""
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
    """The item in that folder; ``None``: there is none, or its note cannot be believed."""
    try:
        row: dict[str, Any] = json.loads((folder / _NOTE).read_bytes())
        item = Item(**row)
        paths.checked_parts(item.path.split("/"))
    except (OSError, ValueError, TypeError, AttributeError, PathRefused):
        return None
    is_whole = item.id == folder.name and isinstance(item.thrown_at, int)
    return item if is_whole and _exists(folder / _CONTENT) else None


def _exists(path: Path) -> bool:
    return os.path.lexists(path)


def _is_elsewhere(error: OSError) -> bool:
    """Whether a rename failed since the two places are on different disks."""
    return error.errno == errno.EXDEV
