"""Exports of a workspace, run by a worker or by a command."""

import contextlib
import hashlib
import logging
import os
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import BinaryIO

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.services import jobs
from jenny.agent import clock
from jenny.chat import backup
from jenny.chat.services import conversation_backup
from jenny.workspace import retention
from jenny.workspace.backup import validation, writer
from jenny.workspace.backup.encryption import Encryptor, FileKey
from jenny.workspace.backup.format import Manifest
from jenny.workspace.backup.writer import Sink
from jenny.workspace.errors import (
    BackupRefused,
    VersionsOff,
    WorkspaceError,
    WriteFailed,
    reason_of,
)
from jenny.workspace.snapshots.objects import folder_size
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import counted, sized
from jenny.workspace.versions.commits import commit_pending, store_folder
from jenny.workspace.versions.write_log import GIT_DIR
from memory.services import backup_tables, snapshots
from settings_ui.services.backups import storage
from settings_ui.services.backups.storage import lock_key_derivation

log = logging.getLogger(__name__)

KIND = "export"
SUFFIX = ".zip.age"
LEAST_PASSPHRASE = 12
MOST_PASSPHRASE = 1_000
# "aaaaaaaaaaaa" is long enough and still weak.
LEAST_DIFFERENT = 5
_PIN = "export"
_ROWS = 100

type Progress = Callable[[int, int, str], None]


def check_passphrase(passphrase: str) -> None:
    """Refuse a weak passphrase.

    Raises:
        BackupRefused: it is too short, has too few different letters, or is implausibly long.
    """
    is_long = LEAST_PASSPHRASE <= len(passphrase) <= MOST_PASSPHRASE
    if not is_long or len(set(passphrase)) < LEAST_DIFFERENT:
        raise BackupRefused(
            f"A passphrase has at least {LEAST_PASSPHRASE} characters; four or more words that "
            "belong to no sentence are best. No backup was made."
        )


def new_file_key(passphrase: str) -> FileKey:
    """Make the key of a new file from a passphrase.

    Raises:
        BackupRefused: as ``check_passphrase``.
    """
    check_passphrase(passphrase)
    with lock_key_derivation():
        return FileKey.new(passphrase)


def begin_export(
    workspace: Workspace, account: Account, *, passphrase: str | None, with_history: bool
) -> Job:
    """Enqueue an export, or return the one under way. Without a passphrase it is not encrypted.

    Raises:
        BackupRefused, WriteFailed: none was enqueued.
    """
    open_job = Job.objects.filter(workspace=workspace, kind=KIND, state__in=Job.OPEN).first()
    if open_job is not None:
        return open_job
    plain = passphrase is None
    if passphrase is not None:
        check_passphrase(passphrase)
    place = storage.new(account, plain=plain, name=file_name(workspace, plain=plain))
    if passphrase is not None:
        place.leave_passphrase(passphrase)
    arguments = {"folder": place.name, "history": with_history}
    job = jobs.begin_job(workspace, account, KIND, arguments)
    if not job.is_new:
        place.drop()
    return job


def work(job: Job) -> jobs.JobEnd:
    place = storage.by_name(str(job.arguments["folder"]))
    try:
        file_key = _file_key_for(place)
        manifest = export(
            job.workspace,
            place.file,
            file_key=file_key,
            with_history=bool(job.arguments.get("history", True)),
            progress=storage.job_progress(job),
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
    message = (
        f"{export_result(manifest)} It can be downloaded for "
        f"{retention.in_words(retention.BACKUP)}, by you alone."
    )
    return jobs.JobEnd(message, {"links": links, "lists": lists, "folder": place.name})


def _file_key_for(place: storage.Place) -> FileKey | None:
    """Return a key made of the stored passphrase; ``None`` for a plain zip."""
    passphrase = place.secret(take=True)
    if isinstance(passphrase, bytes):
        raise BackupRefused("This export was begun by an older version of Jenny. Begin it again.")
    return new_file_key(passphrase) if passphrase is not None else None


def after_death(job: Job) -> str:
    with contextlib.suppress(WorkspaceError):
        storage.by_name(str(job.arguments.get("folder", ""))).drop()
    return "No backup was made, and nothing of it was kept. Ask for it again."


def export_result(manifest: Manifest) -> str:
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
    zone = clock.zone_of(workspace.owner.time_zone)
    day = timezone.now().astimezone(zone).strftime("%Y-%m-%d-%H%M%S")
    return f"{workspace.slug}-{day}{'.zip' if plain else SUFFIX}"


def export(
    workspace: Workspace,
    path: Path,
    *,
    file_key: FileKey | None,
    with_history: bool,
    progress: Progress,
) -> Manifest:
    progress(0, 1, "A snapshot is taken.")
    workspace.make_folder()
    shot = snapshots.take_snapshot(workspace, "export").snapshot
    with contextlib.suppress(WorkspaceError):
        commit_pending(workspace.root)
    store = snapshots.store_of(workspace)
    # A fixed name, so that the next export replaces the pin that a killed process left.
    store.pin(shot.id, _PIN)
    digest = hashlib.sha256(os.fsencode(path.name)).hexdigest()
    temp = path.with_name(f".jenny-{digest[:16]}.part")
    try:
        needed = shot.size + (_size_of(store, workspace) if with_history else 0)
        validation.check_space(validation.free_bytes(path.parent), needed)
        with store.open() as repo, _opened(temp) as file:
            left_out: list[str] = []
            git_dir = None
            try:
                git_dir = store_folder(workspace.root)
            except VersionsOff as error:
                left_out.append(f"No versions of the memory files are in it: {error.message}")
            contents = writer.Contents(
                repo,
                shot,
                git_dir if git_dir is not None and git_dir.is_dir() else None,
                {
                    backup.NAME: conversation_backup.export_rows(workspace, left_out),
                    **backup_tables.tables(workspace, left_out),
                },
                with_history=with_history,
                left_out=left_out,
            )
            made = Manifest(
                source=str(workspace.pk),
                name=workspace.name,
                made=shot_time(),
                version=settings.JENNY_VERSION,
            )
            manifest = _write(file, contents, made, file_key, progress)
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
    log.info(
        "backup.made", extra={"workspace": str(workspace.pk), "encrypted": file_key is not None}
    )
    return manifest


def shot_time() -> str:
    return timezone.now().astimezone(UTC).isoformat(timespec="seconds")


def _write(
    file: BinaryIO,
    contents: writer.Contents,
    manifest: Manifest,
    file_key: FileKey | None,
    progress: Progress,
) -> Manifest:
    if file_key is None:
        # Buffered, since a zip is written in small parts.
        return writer.write_backup(_Plain(file), contents, manifest, progress)
    encryptor = Encryptor(file, file_key)
    done = writer.write_backup(encryptor, contents, manifest, progress)
    encryptor.close()
    return done


class _Plain(Sink):
    """A file without seeking, so that ``zipfile`` never rewrites written parts."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes, /) -> int:
        return self._file.write(data)

    def flush(self) -> None:
        """The owner of the file flushes it."""


def _opened(path: Path) -> BinaryIO:
    path.unlink(missing_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return os.fdopen(fd, "wb")


def _size_of(store: Store, workspace: Workspace) -> int:
    total = 0
    for git_dir in (store.path, workspace.root / GIT_DIR):
        with contextlib.suppress(OSError):
            total += folder_size(git_dir / "objects" / "pack")
    return total


def to_file(
    workspace: Workspace, target: Path, *, file_key: FileKey | None, with_history: bool
) -> Manifest:
    """Write a backup to a new file for a command.

    Raises:
        WorkspaceError: none was made.
    """
    if os.path.lexists(target):
        message = f"{target} is there already. Nothing was written. Choose another name."
        raise BackupRefused(message)
    if not target.parent.is_dir():
        message = f"There is no folder {target.parent}. Nothing was written."
        raise BackupRefused(message)
    return export(
        workspace, target, file_key=file_key, with_history=with_history, progress=lambda *_: None
    )


ABOUT = jobs.JobKind("backup.export", "Export", ("/settings/backup/", "Backup"), after_death)
