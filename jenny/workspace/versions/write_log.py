"""Log who wrote which tracked file since the newest version, and attribute the changes to actors.

A write rule (``commits.log_write``) adds a line under the workspace's lock, right before a write.
From these lines, the newest version, and the files on disk, the changes of each actor are told
apart; a content on disk that no line explains was written outside. So no commit is needed in the
middle of somebody's work, and still none mixes actors.

The log is beside the workspace's locks and its journal, and is written under the same lock as the
files it is about; ``docs/decisions/versions.md`` explains why it is not in the database.
"""

import base64
import binascii
import contextlib
import json
import os
import secrets
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jenny.workspace import atomic, paths
from jenny.workspace.git import refs
from jenny.workspace.git.objects import id_of, is_id
from jenny.workspace.git.store import MAIN
from jenny.workspace.locks import OWN_FOLDER
from jenny.workspace.versions import tracked_files
from jenny.workspace.versions.tracked_files import CURSOR
from jenny.workspace.write_rules import Actor, Change

NAME = "writes.jsonl"
GIT_DIR = "memory/.git"
# Contents up to this size are kept in the log; for larger files only the content on disk at the
# next version and the previous one can be told apart.
KEPT_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class RunNote:
    """The description of a run in its versions.

    ``run`` as in ``Actor.run``; ``subject`` the first line, such as ``dream: scheduled run``;
    ``cursor``: Dream's cursor at the beginning of the run, and its new value (``None``: not yet, or
    not moved).
    """

    run: str
    subject: str
    cursor: tuple[int, int | None] | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """Content ids before and after a write (``None``: no file), and the contents in the log."""

    path: str
    actor: Actor
    old: str | None
    new: str | None
    old_data: bytes | None
    new_data: bytes | None


@dataclass(frozen=True, slots=True)
class Log:
    """The writes since the version ``base``, oldest first, and notes of unfinished runs."""

    base: str | None = None
    writes: tuple[Write, ...] = ()
    notes: tuple[RunNote, ...] = ()
    size: int = 0


def note(change: Change) -> None:
    """Add a line for a write that is about to happen; the workspace's lock is held."""
    _append(change.workspace, _line(change))


def begin_run(root: Path, note: RunNote) -> None:
    """Record what a run is, for whoever commits its writes; the workspace's lock is held.

    A second note of the same run replaces the first. There is no sync: the run's first write brings
    one, and without a write the note is not needed.
    """
    _append(root, {"note": _note_out(note)}, is_durable=False)


def load(root: Path, tip: str | None) -> Log:
    """Load the log, if it was begun at the version *tip*; damaged lines are skipped.

    A log begun at another version is already in versions: its process was killed before it emptied
    the log. Notes stay.
    """
    raw = _read(root)
    base: str | None = None
    writes: list[Write] = []
    notes: dict[str, RunNote] = {}
    for text in raw.split(b"\n"):
        try:
            row = json.loads(text) if text else {}
            if "base" in row:
                base = row["base"]
            elif "note" in row:
                note = _note_in(row["note"])
                notes[note.run] = note
            elif row:
                writes.append(_write_in(row))
        except (ValueError, KeyError, TypeError, binascii.Error, zlib.error):
            continue
    if base != tip:
        writes = []
    return Log(base, tuple(writes), tuple(notes.values()), len(raw))


def restart(root: Path, tip: str | None, notes: tuple[RunNote, ...] = ()) -> None:
    """Empty the log: everything up to the version *tip* is in versions. Notes of runs stay.

    Without a sync: if a power cut brings the old log back, its base shows that it is out of date.
    """
    rows = [{"base": tip}, *({"note": _note_out(note)} for note in notes)]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    temp = f"{OWN_FOLDER}-{secrets.token_hex(8)}{atomic.TEMP_SUFFIX}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with paths.open_folder(root, (OWN_FOLDER,), make=True) as folder:
        try:
            with os.fdopen(os.open(temp, flags, 0o600, dir_fd=folder), "wb") as file:
                file.write(data)
            os.rename(temp, NAME, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            atomic.discard(folder, temp)
            raise


def forget(root: Path) -> None:
    """Delete the log and lose its attributions."""
    with contextlib.suppress(FileNotFoundError), paths.open_folder(root, (OWN_FOLDER,)) as folder:
        atomic.remove(folder, NAME)


def size(root: Path) -> int:
    """Return the size of the log in bytes."""
    try:
        return root.joinpath(OWN_FOLDER, NAME).lstat().st_size
    except OSError:
        return 0


def _append(root: Path, row: dict[str, Any], *, is_durable: bool = True) -> None:
    """Append a line; a line that a crash cut short before it is ended first."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    with paths.open_folder(root, (OWN_FOLDER,), make=True) as folder:
        fd = os.open(NAME, flags, 0o600, dir_fd=folder)
        try:
            end = os.fstat(fd).st_size
            lines = [json.dumps(row).encode()]
            if not end:
                base = refs.read_ref(root / GIT_DIR, MAIN)
                lines.insert(0, json.dumps({"base": base}).encode())
            elif os.pread(fd, 1, end - 1) != b"\n":
                lines.insert(0, b"")
            _write_all(fd, b"\n".join(lines) + b"\n")
            if is_durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        if is_durable and not end:
            os.fsync(folder)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _read(root: Path) -> bytes:
    """Read the log; empty when there is no readable log."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with paths.open_folder(root, (OWN_FOLDER,)) as folder:
            fd = os.open(NAME, flags, dir_fd=folder)
        with os.fdopen(fd, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _line(change: Change) -> dict[str, Any]:
    return {
        "at": int(time.time()),
        "kind": change.actor.kind,
        "account": change.actor.account,
        "run": change.actor.run,
        "path": change.path,
        "old": _id(change.old),
        "new": _id(change.new),
        "was": _packed(change.old),
        "is": _packed(change.new),
    }


def _write_in(row: dict[str, Any]) -> Write:
    kind, account, run, path = row["kind"], row["account"], row["run"], row["path"]
    if not (isinstance(kind, str) and isinstance(run, str) and isinstance(path, str)):
        raise TypeError
    if not tracked_files.is_tracked(path) or any(
        sha and not is_id(sha) for sha in (row["old"], row["new"])
    ):
        raise ValueError(path)
    found = Write(
        path,
        Actor(kind, account if isinstance(account, int) else None, run),
        row["old"],
        row["new"],
        _unpacked(row["was"]),
        _unpacked(row["is"]),
    )
    # A content that does not match its id is dropped.
    if found.old_data is not None and id_of("blob", found.old_data) != found.old:
        found = replace(found, old_data=None)
    if found.new_data is not None and id_of("blob", found.new_data) != found.new:
        found = replace(found, new_data=None)
    return found


def _id(data: bytes | None) -> str | None:
    return None if data is None else id_of("blob", data)


def _packed(data: bytes | None) -> str | None:
    if data is None or len(data) > KEPT_BYTES:
        return None
    return base64.b64encode(zlib.compress(data, 1)).decode("ascii")


def _unpacked(text: str | None) -> bytes | None:
    if text is None:
        return None
    return zlib.decompress(base64.b64decode(text, validate=True))


def _note_out(note: RunNote) -> dict[str, Any]:
    return {"run": note.run, "subject": note.subject, "cursor": note.cursor}


def _note_in(row: dict[str, Any]) -> RunNote:
    cursor = row["cursor"]
    return RunNote(row["run"], row["subject"], tuple(cursor) if cursor else None)


OUTSIDE = Actor("outside")
# Kinds of actors with one version for each run; the changes of other kinds are merged by kind.
OF_A_RUN = frozenset({"dream", "restore"})
# A review is a part of its run of Dream.
_SAME = {"review": "dream"}


@dataclass(slots=True)
class Share:
    """One actor's changes in one stretch: the files' new contents (``None``: no file)."""

    actor: Actor
    files: dict[str, bytes | None] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)


def attribute_changes(
    before: Mapping[str, str],
    writes: Sequence[Write],
    after: Mapping[str, str],
    content: Callable[[str], bytes | None],
) -> list[Share]:
    """Return the changes between the newest version and now, by actor, in order.

    *before* and *after*: content ids by path, of the newest version and on disk (a path that cannot
    be read on disk has its id from before). *content* returns a content on disk.
    """
    now = dict(before)
    shares: list[Share] = []
    cursor = _Cursor()
    for write, seen in zip(writes, _next_seen(writes, after), strict=True):
        # A crash or a full disk may have prevented a logged write: then the next content seen is
        # the old one.
        has_landed = seen == write.new or seen != write.old
        if write.path == CURSOR:
            if has_landed and _is_known(write.new, write.new_data):
                cursor.moved(shares, write)
            continue
        if now.get(write.path) != write.old and _is_known(write.old, write.old_data):
            _step(shares, OUTSIDE, write.path, write.old_data)
            _set(now, write.path, write.old)
        if has_landed and _is_known(write.new, write.new_data):
            _step(shares, write.actor, write.path, write.new_data)
            _set(now, write.path, write.new)
            cursor.rides(shares[-1])
    last = {write.path: write for write in writes}
    for path in sorted(before.keys() | after.keys() | now.keys()):
        if path == CURSOR or now.get(path) == after.get(path):
            continue
        found = last.get(path)
        is_its = found is not None and found.new == after.get(path)
        actor = found.actor if found is not None and is_its else OUTSIDE
        _step(shares, actor, path, content(path) if path in after else None)
    if before.get(CURSOR) != after.get(CURSOR):
        _last_ride(shares, content(CURSOR) if CURSOR in after else None)
    return shares


class _Cursor:
    """Dream's cursor, which is never a change of its own: it belongs to its run's changes."""

    def __init__(self) -> None:
        self._waits: list[bytes | None] = []

    def moved(self, shares: Sequence[Share], write: Write) -> None:
        """Add the cursor to its run's newest share, or keep it for the next one."""
        if shares and shares[-1].actor.kind in OF_A_RUN and shares[-1].actor.run == write.actor.run:
            shares[-1].files[CURSOR] = write.new_data
        else:
            self._waits = [write.new_data]

    def rides(self, share: Share) -> None:
        if self._waits and share.actor.kind in OF_A_RUN:
            share.files[CURSOR] = self._waits.pop()


def _last_ride(shares: Sequence[Share], data: bytes | None) -> None:
    """Add the cursor on disk to the newest share of a run."""
    for share in reversed(shares):
        if share.actor.kind in OF_A_RUN:
            share.files.setdefault(CURSOR, data)
            return


def _next_seen(writes: Sequence[Write], after: Mapping[str, str]) -> list[str | None]:
    """Return, for each write, the content that was found in its file next."""
    seen: dict[str, str | None] = {}
    result: list[str | None] = []
    for write in reversed(writes):
        result.append(seen.get(write.path, after.get(write.path)))
        seen[write.path] = write.old
    return result[::-1]


def _is_known(sha: str | None, data: bytes | None) -> bool:
    return sha is None or data is not None


def _set(now: dict[str, str], path: str, sha: str | None) -> None:
    if sha is None:
        now.pop(path, None)
    else:
        now[path] = sha


def _step(shares: list[Share], actor: Actor, path: str, data: bytes | None) -> None:
    """Add one change to its actor's newest share, or to a new one."""
    actor = replace(actor, kind=_SAME.get(actor.kind, actor.kind))
    if not shares or not _is_one(shares[-1].actor, actor):
        shares.append(Share(actor))
    share = shares[-1]
    share.files[path] = data
    if actor.run and actor.run not in share.runs:
        share.runs.append(actor.run)


def _is_one(first: Actor, second: Actor) -> bool:
    if first.kind != second.kind:
        return False
    return first.kind not in OF_A_RUN or first.run == second.run
