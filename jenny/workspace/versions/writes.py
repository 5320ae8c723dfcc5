"""Who wrote which tracked file since the newest version: a log that outlives restarts.

A write rule (``observer``) adds a line under the workspace's lock, right before a write lands. From
these lines, what the newest version holds, and what is on disk, ``replay`` tells apart what each
actor did; a content on disk that no line explains was written outside. A commit is therefore
never needed in the middle of somebody's work, and still none mixes actors.

The log lies beside the workspace's locks and its journal, and is written under the same lock as
the files it is about; why not in the database stands in ``docs/decisions/versions.md``.
"""

import base64
import binascii
import contextlib
import json
import os
import secrets
import time
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jenny.workspace import atomic, paths
from jenny.workspace.git import refs
from jenny.workspace.git.objects import id_of, is_id
from jenny.workspace.git.store import MAIN
from jenny.workspace.locks import OWN_FOLDER
from jenny.workspace.rules import Actor, Change
from jenny.workspace.versions import tracked

NAME = "writes.jsonl"
GIT_DIR = "memory/.git"
# Contents up to this size are kept in the log; of larger files only what is on disk at the next
# version, and what was before, can be told apart.
KEPT_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class RunNote:
    """What is said of a run in the versions it makes.

    ``run`` as in ``Actor.run``; ``subject`` the first line, such as ``dream: scheduled run``;
    ``cursor``: where Dream's cursor stood when the run began, and where it put it (``None``: not
    yet, or not moved).
    """

    run: str
    subject: str
    cursor: tuple[int, int | None] | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """One write: ids of the contents before and after (``None``: no file), and the contents where
    the log has them."""

    path: str
    actor: Actor
    old: str | None
    new: str | None
    old_data: bytes | None
    new_data: bytes | None


@dataclass(frozen=True, slots=True)
class Log:
    """The writes since the version ``base``, oldest first, and notes of runs not yet over."""

    base: str | None = None
    writes: tuple[Write, ...] = ()
    notes: tuple[RunNote, ...] = ()
    size: int = 0


def note(change: Change) -> None:
    """Add a line for a write that is about to land; the workspace's lock is held."""
    _append(change.workspace, _line(change))


def begin_run(root: Path, note: RunNote) -> None:
    """Note what a run is, so that whoever commits its writes can say so; its lock is held.

    Noting the same run again replaces what was said. It waits for no sync: the run's first write
    brings one, and without a write there is nothing to say.
    """
    _append(root, {"note": _note_out(note)}, is_durable=False)


def load(root: Path, tip: str | None) -> Log:
    """The log, if it was begun at the version *tip*; lines that are damaged are passed over.

    What was logged before another version has been made into versions already: who was killed
    between making them and emptying the log left it. Notes stay.
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

    Without a sync: should a power cut bring the old log back, its base tells that it is spent.
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
    """Throw the log away, with what it tells."""
    with contextlib.suppress(FileNotFoundError), paths.open_folder(root, (OWN_FOLDER,)) as folder:
        atomic.remove(folder, NAME)


def size(root: Path) -> int:
    """How large the log is, in bytes."""
    try:
        return root.joinpath(OWN_FOLDER, NAME).lstat().st_size
    except OSError:
        return 0


def _append(root: Path, row: dict[str, Any], *, is_durable: bool = True) -> None:
    """Add a line; a line that a crash cut short before it is ended first."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    with paths.open_folder(root, (OWN_FOLDER,), make=True) as folder:
        fd = os.open(NAME, flags, 0o600, dir_fd=folder)
        try:
            end = os.fstat(fd).st_size
            lines = [json.dumps(row).encode()]
            if not end:
                base = refs.read(root / GIT_DIR, MAIN)
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
    """Write every byte."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _read(root: Path) -> bytes:
    """The log's bytes; none when there is no log that may be read."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with paths.open_folder(root, (OWN_FOLDER,)) as folder:
            fd = os.open(NAME, flags, dir_fd=folder)
        with os.fdopen(fd, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _line(change: Change) -> dict[str, Any]:
    """A write as a line of the log."""
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
    """A line of the log as a value."""
    kind, account, run, path = row["kind"], row["account"], row["run"], row["path"]
    if not (isinstance(kind, str) and isinstance(run, str) and isinstance(path, str)):
        raise TypeError
    if not tracked.is_tracked(path) or any(
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
    # What does not bear out its id is not believed.
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
