"""What acts on whole files and folders share: where they are, and putting their files to the rules.

A name that is a link stands for the link itself here, never for what it leads to.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from jenny.workspace import acts, content, journal, names, paths, rules
from jenny.workspace.errors import FileMissing, FileTooLarge, PathRefused
from jenny.workspace.files import Workspace
from jenny.workspace.paths import Place
from jenny.workspace.rules import Change
from jenny.workspace.versions import tracked

# So many files are moved, copied or thrown away at once; more is rather a mistake.
MOST_FILES = 200_000


def itself(root: Path, path: str) -> Place:
    """The place of *path*, whose last part is not followed where it is a link.

    Raises:
        PathRefused: it leads out, is the workspace's folder, or belongs to Jenny or to git.
        FileMissing: nothing is there.
    """
    plain = path.rstrip("/")
    head, _, name = plain.rpartition("/")
    if name in ("", ".", ".."):
        raise PathRefused(f"{names.shown(path)} names no file or folder. Nothing was changed.")
    if why := names.unusable(plain):
        raise PathRefused(f"{names.shown(path)} {why}. Nothing was changed.")
    folder = paths.locate(root, head)
    place = Place(root, (*folder.parts, name), status_of(folder.path / name))
    _refuse_own(place)
    if place.status is None:
        raise FileMissing(content.missing(place))
    return place


def free_place(root: Path, path: str, moving: Place | None) -> Place:
    """Where something new may come to be; *moving*: what is to move there.

    Raises:
        PathRefused: something is there, or nothing may be called so.
    """
    place = paths.locate(root, path.rstrip("/"))
    _refuse_own(place)
    renames_itself = (
        moving is not None
        and place.parts[:-1] == moving.parts[:-1]
        and names.folded(place.parts[-1]) == names.folded(moving.parts[-1])
    )
    if place.status is not None:
        message = f"{names.shown(place.relative)} exists already. Nothing was changed."
        raise PathRefused(message)
    if not renames_itself:
        paths.check_writable(place)
    if moving is not None and place.parts[: len(moving.parts)] == moving.parts:
        message = f"{names.shown(moving.relative)} cannot go into itself. Nothing was changed."
        raise PathRefused(message)
    return place


def put_to_rules(
    workspace: Workspace, old: Place, new: Place | None, *, is_new: bool = False
) -> None:
    """Put every file below *old* to the write rules: it leaves (unless *is_new*), and comes to be
    below *new* (``None``: nowhere). The workspace lock is held.

    Raises:
        WriteRefused: a rule said no to one of them.
        FileTooLarge: a file that rules watch is too large for them.
    """
    for act in (rules.ask, _act):
        for file, path in _files(old):
            was = [] if is_new else ["/".join((*old.parts, *path))]
            becomes = [] if new is None else ["/".join((*new.parts, *path))]
            data = _for_rules(file, was + becomes)
            who = workspace.actor, workspace.root
            act(
                [Change(name, data, None, *who) for name in was]
                + [Change(name, None, data, *who) for name in becomes]
            )


def _act(changes: Sequence[Change]) -> None:
    """Let the rules act; what must be kept before a file leaves is on disk then."""
    extra = rules.companions(changes)
    rules.act(changes)
    if extra:
        acts.carry_out(extra[0].workspace, list(map(journal.step, extra)))


def _files(place: Place) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The plain files at or below *place*, with their parts from there."""
    if place.status is not None and stat.S_ISREG(place.status.st_mode):
        yield place.path, ()
    if not place.is_folder:
        return
    seen = 0
    for folder, folders, files in os.walk(place.path):
        folders[:] = sorted(name for name in folders if not names.is_git(name))
        for name in sorted(files):
            seen += 1
            if seen > MOST_FILES:
                message = (
                    f"{names.shown(place.relative)} holds more than {MOST_FILES:,} files. "
                    "Nothing was changed. Take it in parts."
                )
                raise PathRefused(message)
            path = Path(folder, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path, path.relative_to(place.path).parts


def _for_rules(file: Path, ways: Sequence[str]) -> bytes:
    """The content that the rules see. A file larger than any that is written in one piece is not
    read, and may neither become one of the memory's nor stop being one."""
    if file.lstat().st_size <= content.WRITE_BYTES:
        return file.read_bytes()
    for path in ways:
        if tracked.is_tracked(path):
            message = f"{names.shown(path)} is too large for a file of the memory. Nothing changed."
            raise FileTooLarge(message)
    return b""


def _refuse_own(place: Place) -> None:
    """Refuse what is not the person's to move: the workspace itself, git's, Jenny's, settings."""
    if not place.parts:
        raise PathRefused("This is the workspace's folder itself. Nothing was changed.")
    shown = names.shown(place.relative)
    if any(names.is_git(part) for part in place.parts):
        raise PathRefused(f"{shown} lies in a git folder, which only git writes.")
    if any(names.is_own(part) for part in place.parts):
        raise PathRefused(f"{shown} belongs to Jenny's own bookkeeping. Nothing was changed.")
    if names.is_settings(place.relative):
        raise PathRefused(f"{shown} is changed in Settings. Nothing was changed here.")


def kind_of(place: Place) -> Literal["file", "folder", "link"]:
    """What is there. :raises PathRefused: a device, socket or pipe."""
    mode = place.status.st_mode if place.status else 0
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file"
    raise PathRefused(f"{names.shown(place.relative)} is no file. Nothing was changed.")


def status_of(path: Path) -> os.stat_result | None:
    """What is at *path* itself; ``None`` when nothing is."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PathRefused(
            f"{names.shown(path.name)} cannot be looked at: no permission."
        ) from error
