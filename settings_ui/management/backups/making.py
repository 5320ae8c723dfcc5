"""Exporting a workspace: by a worker for the page, or by a command."""

import contextlib
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import BinaryIO

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from jenny.accounts.management import working
from jenny.accounts.models import Account, Job, Workspace
from jenny.chat.backup import fields
from jenny.chat.models import exporting as chats
from jenny.workspace.backup import checking, exporting
from jenny.workspace.backup.archive import Sink
from jenny.workspace.backup.sealing import Header, Sealer
from jenny.workspace.backup.values import Manifest
from jenny.workspace.errors import BackupRefused, WorkspaceError, WriteFailed, reason_of
from jenny.workspace.snapshots.objects import folder_size
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import counted, sized
from jenny.workspace.versions.record import commit_pending
from jenny.workspace.versions.writes import GIT_DIR
from memory.management import carrying, snapshots
from settings_ui.management.backups import pace, shelf

log = logging.getLogger(__name__)

KIND = "export"
SUFFIX = ".jenny-backup"
LEAST_PASSPHRASE = 12
MOST_PASSPHRASE = 1_000
# "aaaaaaaaaaaa" is long, and nothing else.
LEAST_DIFFERENT = 5
_PIN = "export"
_ROWS = 100

type Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Lock:
    """How a backup is encrypted."""

    header: Header
    key: bytes


def locked_with(passphrase: str) -> Lock:
    """A new key from a passphrase; it takes a fifth of a second.

    Raises:
        BackupRefused: the passphrase is too short, the same letter over and over, or longer than
            anybody types.
    """
    is_long = LEAST_PASSPHRASE <= len(passphrase) <= MOST_PASSPHRASE
    if not is_long or len(set(passphrase)) < LEAST_DIFFERENT:
        raise BackupRefused(
            f"A passphrase has at least {LEAST_PASSPHRASE} characters; four or more words that "
            "belong to no sentence are best. No backup was made."
        )
    header = Header.new()
    return Lock(header, header.derive(passphrase))


def begin(
    workspace: Workspace, account: Account, *, passphrase: str | None, with_history: bool
) -> Job:
    """Ask for an export, or find the one that is under way. ``None``: not encrypted.

    Raises:
        BackupRefused, WriteFailed: none was asked for, and why.
    """
    open_job = Job.objects.filter(workspace=workspace, kind=KIND, state__in=Job.OPEN).first()
    if open_job is not None:
        return open_job
    lock = locked_with(passphrase) if passphrase is not None else None
    place = shelf.new(account, plain=lock is None, name=file_name(workspace, plain=lock is None))
    if lock is not None:
        place.note(header=lock.header.data.hex())
        place.leave_key(lock.key)
    arguments = {"folder": place.name, "history": with_history}
    job = working.begin(workspace, account, KIND, arguments)
    if not job.is_new:
        place.drop()
    return job


def work(job: Job) -> working.Ended:
    """Do what a job asks for."""
    place = shelf.by_name(str(job.arguments["folder"]))
    try:
        key = place.key(take=True)
        header = Header.read(bytes.fromhex(place.about.get("header", ""))) if key else None
        lock = Lock(header, key) if header is not None and key is not None else None
        manifest = export(
            job.workspace,
            place.file,
            lock=lock,
            with_history=bool(job.arguments.get("history", True)),
            progress=pace.telling(job),
        )
        place.note(made=manifest.made)
    except BaseException:
        place.drop()
        raise
    href = reverse("backup_download", args=[place.name])
    links = [{"href": href, "label": f"Download ({sized(place.file.stat().st_size)})",
              "download": True}]  # fmt: skip
    lists = []
    if manifest.left_out:
        rows = list(manifest.left_out[:_ROWS])
        lists.append({"title": "Worth a note", "rows": rows})
    sentence = f"{told(manifest)} It can be downloaded for a day, by you alone."
    return working.Ended(sentence, {"links": links, "lists": lists, "folder": place.name})


def after_death(job: Job) -> str:
    """What is so when the process of an export has died."""
    with contextlib.suppress(WorkspaceError):
        shelf.by_name(str(job.arguments.get("folder", ""))).drop()
    return "No backup was made, and nothing of it was kept. Ask for it again."


def told(manifest: Manifest) -> str:
    """What a backup holds, in a sentence."""
    counts = (
        (manifest.conversations, "conversation"),
        (manifest.messages, "message"),
        (manifest.snapshots, "snapshot"),
        (manifest.versions, "version"),
    )
    parts = [f"{counted(manifest.files, 'file')} ({sized(manifest.size)})"]
    parts += [counted(number, noun) for number, noun in counts if number]
    said = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    return f"The backup is ready: {said}."


def file_name(workspace: Workspace, *, plain: bool) -> str:
    """What the file is called."""
    day = timezone.now().astimezone(UTC).strftime("%Y-%m-%d-%H%M%S")
    return f"{workspace.slug}-{day}{'.zip' if plain else SUFFIX}"


def export(
    workspace: Workspace,
    path: Path,
    *,
    lock: Lock | None,
    with_history: bool,
    progress: Progress,
) -> Manifest:
    """Write a backup of *workspace* to *path*, whole or not at all.

    Raises:
        WorkspaceError: none was made, and why.
    """
    progress(0, 1, "A snapshot is taken.")
    workspace.make_folder()
    shot = snapshots.take(workspace, "export").snapshot
    with contextlib.suppress(WorkspaceError):
        commit_pending(workspace.root)
    store = snapshots.store_of(workspace)
    # The same each time, so that one which a killed process left is replaced by the next.
    store.pin(shot.id, _PIN)
    temp = path.with_name(f".{path.name}.part")
    try:
        needed = shot.size + (_size_of(store, workspace) if with_history else 0)
        checking.check_space(checking.free_bytes(path.parent), needed)
        with store.open() as repo, _opened(temp) as file:
            git_dir = workspace.root / GIT_DIR
            contents = exporting.Contents(
                repo,
                shot,
                git_dir if git_dir.is_dir() else None,
                {fields.NAME: chats.rows(workspace), **carrying.tables(workspace)},
                with_history=with_history,
            )
            made = Manifest(
                source=str(workspace.pk),
                name=workspace.name,
                made=shot_time(),
                version=settings.JENNY_VERSION,
            )
            manifest = _write(file, contents, made, lock, progress)
            file.flush()
            os.fsync(file.fileno())
        temp.rename(path)
    except OSError as error:
        message = f"The backup could not be written: {reason_of(error)}. None was made."
        raise WriteFailed(message) from error
    finally:
        temp.unlink(missing_ok=True)
        with contextlib.suppress(WorkspaceError):
            store.unpin(_PIN)
    log.info("backup.made", extra={"workspace": str(workspace.pk), "encrypted": lock is not None})
    return manifest


def shot_time() -> str:
    """Now, as it stands in a manifest."""
    return timezone.now().astimezone(UTC).isoformat(timespec="seconds")


def _write(
    file: BinaryIO,
    contents: exporting.Contents,
    manifest: Manifest,
    lock: Lock | None,
    progress: Progress,
) -> Manifest:
    if lock is None:
        # A buffer, since a zip is written in small pieces.
        return exporting.write(_Plain(file), contents, manifest, progress)
    sealer = Sealer(file, lock.header, lock.key)
    done = exporting.write(sealer, contents, manifest, progress)
    sealer.close()
    return done


class _Plain(Sink):
    """A file that ``zipfile`` does not wind back: what was written stays."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes, /) -> int:
        """Write."""
        return self._file.write(data)

    def flush(self) -> None:
        """Whoever opened the file does that."""


def _opened(path: Path) -> BinaryIO:
    path.unlink(missing_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return os.fdopen(fd, "wb")


def _size_of(store: Store, workspace: Workspace) -> int:
    """Bytes of the histories, about."""
    total = 0
    for git_dir in (store.path, workspace.root / GIT_DIR):
        with contextlib.suppress(OSError):
            total += folder_size(git_dir / "objects" / "pack")
    return total


def to_file(
    workspace: Workspace, target: Path, *, lock: Lock | None, with_history: bool
) -> Manifest:
    """Write a backup beside nothing else: for a command, to a file that is not there yet.

    Raises:
        WorkspaceError: none was made, and why.
    """
    if os.path.lexists(target):
        message = f"{target} is there already. Nothing was written. Choose another name."
        raise BackupRefused(message)
    if not target.parent.is_dir():
        message = f"There is no folder {target.parent}. Nothing was written."
        raise BackupRefused(message)
    return export(workspace, target, lock=lock, with_history=with_history, progress=lambda *_: None)


ABOUT = working.Kind("backup.export", "Export", ("/settings/backup/", "Backup"), after_death)
