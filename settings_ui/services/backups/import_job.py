"""Import jobs: a file is checked first and imported after a person's confirmation."""

import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone

from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.services import jobs
from jenny.workspace import retention
from jenny.workspace.errors import (
    BackupRefused,
    BackupUnreadable,
    WorkspaceError,
    WriteFailed,
    reason_of,
)
from jenny.workspace.snapshots.values import counted
from settings_ui.errors import WorkspaceRefused
from settings_ui.services import workspaces
from settings_ui.services.backups import importer, previews, storage
from settings_ui.services.backups.importer import Entered
from settings_ui.services.backups.previews import Preview
from settings_ui.services.backups.storage import Place

KIND = "import"
CHECK, ENTER = "check", "enter"
log = logging.getLogger(__name__)

_NOTHING = "Nothing was changed by it."

type Progress = Callable[[int, int, str], None]


def begin_check(workspace: Workspace, account: Account, place: Place, new: str) -> Job:
    arguments = {"folder": place.name, "stage": CHECK, "new": new}
    return jobs.begin_job(workspace, account, KIND, arguments)


def begin_entering(workspace: Workspace, account: Account, place: Place) -> Job:
    """Enqueue the import that was previewed.

    Raises:
        BackupRefused: the backup was not checked, or too long ago.
    """
    about = place.about
    preview = about.get("preview")
    if not isinstance(preview, dict) or about.get("workspace") != str(workspace.pk):
        raise BackupRefused("This backup was not looked at yet. Nothing was changed.")
    arguments = {
        "folder": place.name,
        "stage": ENTER,
        "new": about.get("new", ""),
        "token": preview.get("token", ""),
    }
    return jobs.begin_job(workspace, account, KIND, arguments)


def work(job: Job) -> jobs.JobEnd:
    place = storage.by_name(str(job.arguments["folder"]))
    stage = job.arguments["stage"]
    if stage == CHECK:
        return _checked(job, place)
    place.hold()
    try:
        key = key_of(place, take=True)
        done = run(job, place.file, key, place.path, progress=storage.job_progress(job))
    except BaseException:
        if "undoing" not in job.arguments:
            place.drop()
        raise
    if "undoing" not in job.arguments:
        place.drop()
    return jobs.JobEnd(import_result(done, job), _result(done))


def key_of(place: Place, *, take: bool) -> bytes | None:
    """Return the key of the file in *place*, or ``None`` when it is not encrypted.

    The key is stored there, or derived from the stored passphrase. *take* removes either.

    Raises:
        BackupUnreadable: the passphrase is wrong, or the file is no backup.
        BackupRefused: nothing is stored.
    """
    found = place.secret(take=take)
    if not isinstance(found, str):
        return found
    place.drop_key()
    key = previews.key_for(place.file, found)
    if key is not None and not take:
        place.leave_key(key)
    return key


def _checked(job: Job, place: Place) -> jobs.JobEnd:
    """Check the backup and store its preview for the page."""
    try:
        key = key_of(place, take=False)
    except BackupUnreadable:
        # The file stays, so that the person can try another passphrase.
        place.drop_key()
        place.note(arriving=False, refused=True)
        raise
    except BaseException:
        place.drop()
        raise
    try:
        found = run_check(
            _target(job), place.file, key, place.path, progress=storage.job_progress(job)
        )
    except BaseException:
        place.drop()
        raise
    place.note(preview=found.facts, workspace=str(job.workspace_id), new=str(job.arguments["new"]))
    href = reverse("backup_preview", args=[place.name])
    links = [{"href": href, "label": "See what it would change"}]
    message = "The backup is whole, and nothing in it is out of place. Nothing was changed yet."
    # A check that is "Done" would be taken for the import.
    return jobs.JobEnd(message, {"links": links, "heading": "Checked, not brought back yet"})


def run_check(
    workspace: Workspace | None, path: Path, key: bytes | None, folder: Path, *, progress: Progress
) -> Preview:
    """Check a whole backup and preview the import; *folder* holds temporary files.

    Raises:
        WorkspaceError: it cannot be used.
    """
    history = folder / "history"
    try:
        history.mkdir()
        with importer.opened(path, key) as backup:
            return previews.preview(workspace, previews.check_backup(backup, history, progress))
    except OSError as error:
        message = f"The backup could not be unpacked: {reason_of(error)}. Nothing was changed."
        raise WriteFailed(message) from error
    finally:
        storage.clear(history)


def run(job: Job, path: Path, key: bytes | None, folder: Path, *, progress: Progress) -> Entered:
    """Take in the backup at *path* as the claimed *job* says.

    Raises:
        WorkspaceError: nothing was changed, and why.
    """
    history = folder / "history"
    try:
        history.mkdir()
        with importer.opened(path, key) as backup:
            found = previews.check_backup(backup, history, storage.part(progress, 0, 300))
            workspace = _target(job) or _made(job)
            try:
                expect = str(job.arguments.get("token", ""))
                done = importer.enter(
                    job,
                    workspace,
                    found,
                    history,
                    expect=expect,
                    progress=storage.part(progress, 300, 1_000),
                )
            except BaseException:
                if "undoing" not in job.arguments:
                    _unmade(job)
                raise
    except OSError as error:
        message = f"The backup could not be taken in: {reason_of(error)}. Nothing was changed."
        raise WriteFailed(message) from error
    if "undoing" not in job.arguments:
        storage.clear(history)
    return done


def by_command(
    workspace: Workspace, path: Path, key: bytes | None, *, new: str
) -> tuple[Job, Entered]:
    """Import a backup in this process.

    Raises:
        WorkspaceError: nothing was changed.
    """
    _bury(workspace)
    place = storage.new(None, command=True)
    arguments = {"folder": place.name, "stage": ENTER, "new": new}
    job = Job.ask(workspace, None, KIND, arguments)
    if not job.is_new:
        place.drop()
        raise BackupRefused(
            "An import into this workspace is under way already. Nothing was changed. Wait until "
            "it has ended."
        )
    # A job that counts as sent is not sent to a worker again.
    Job.objects.filter(pk=job.pk).update(sent_at=Now())
    found: list[Entered] = []

    def in_place(claimed: Job) -> jobs.JobEnd:
        place.hold()
        found.append(run(claimed, path, key, place.path, progress=storage.job_progress(claimed)))
        return jobs.JobEnd(import_result(found[0], claimed), _result(found[0]))

    ended = jobs.run_job(job.pk, in_place)
    if ended is None or "undoing" not in ended.arguments:
        place.drop()
    if ended is None or not found:
        raise BackupRefused(ended.message if ended else "The import was taken for dead.")
    return ended, found[0]


def settle_left() -> None:
    """Recover imports that failed when they could not be recovered at once."""
    rows = Job.objects.filter(kind=KIND, arguments__has_key="undoing")
    for job in rows.exclude(state__in=Job.OPEN).select_related("workspace__owner")[:20]:
        try:
            after_death(job)
        except WorkspaceError as error:
            log.warning("backup.not_settled", extra={"job": job.pk, "why": error.message})
    # A process that was killed after the last step leaves its folder.
    over = Job.objects.filter(kind=KIND, arguments__stage=ENTER).exclude(state__in=Job.OPEN)
    for job in over.exclude(arguments__has_key="undoing").order_by("-pk")[:20]:
        with contextlib.suppress(WorkspaceError):
            storage.by_name(str(job.arguments.get("folder", ""))).drop()


def _bury(workspace: Workspace) -> None:
    """Recover an import whose process was killed on this machine without waiting for its
    heartbeat to expire: the command may be the only process."""
    settle_left()
    rows = Job.objects.filter(workspace=workspace, kind=KIND, state=Job.State.RUNNING)
    for job in rows.select_related("workspace__owner"):
        if storage.is_gone(job):
            message = after_death(job)
            Job.objects.filter(pk=job.pk, state=Job.State.RUNNING, holder=job.holder).update(
                state=Job.State.INTERRUPTED, message=message, doing="", ended_at=Now()
            )


def import_result(done: Entered, job: Job) -> str:
    merged = done.merged
    counts = (
        (len(merged.new) + len(merged.longer), "conversation"),
        (merged.messages, "message"),
        (done.snapshots, "snapshot"),
    )
    came = [counted(number, noun) for number, noun in counts if number]
    parts = ["The backup was taken in."]
    if job.arguments.get("new"):
        parts.append(f"It is the workspace “{job.arguments['new']}”.")
    parts.append(previews.files_sentence(done.restored.prepared))
    if came:
        parts.append(f"{', '.join(came)} came along.")
    return " ".join([*parts, *done.restored.notes])


def after_death(job: Job) -> str:
    """Finish or take back the import of a dead process and return a sentence about it."""
    folder = str(job.arguments.get("folder", ""))
    if job.arguments.get("stage") == CHECK:
        return f"{_NOTHING} Choose the file again."
    place = storage.by_name(folder)
    place.drop_key()
    workspace = _target(job)
    is_done = False
    if workspace is not None:
        is_done = importer.recover_import(job, workspace, place.path / "history")
        if not is_done:
            _unmade(job)
    place.drop()
    if is_done:
        return "The import itself is finished: everything in the backup is there."
    return f"{_NOTHING} Ask for it again."


def _target(job: Job) -> Workspace | None:
    """Return the target workspace; ``None`` when it is not created yet."""
    made = job.arguments.get("workspace")
    if made:
        return Workspace.objects.filter(pk=made).first()
    return None if job.arguments.get("new") else job.workspace


def _made(job: Job) -> Workspace:
    try:
        made = workspaces.create(job.workspace.owner, str(job.arguments["new"]))
    except WorkspaceRefused as error:
        raise BackupRefused(error.message) from error
    job.arguments |= {"workspace": str(made.pk)}
    Job.objects.filter(pk=job.pk).update(arguments=job.arguments)
    return made


def _unmade(job: Job) -> None:
    """Remove a workspace that was created for a backup that could not be imported."""
    made = job.arguments.get("workspace")
    if job.arguments.get("new") and made:
        long_ago = timezone.now() - 2 * retention.DELETED_WORKSPACE
        Workspace.all_objects.filter(pk=made).update(deleted_at=long_ago)
        with contextlib.suppress(WorkspaceError, OSError):
            workspaces.purge(timezone.now())


def _result(done: Entered) -> dict[str, Any]:
    before = done.before
    links = [
        {"href": reverse("snapshot_restore", args=[before]), "label": "Undo this import…"},
        {"href": reverse("snapshot_diff", args=[before]), "label": "What changed"},
    ]
    return {"links": links, "before": before}


ABOUT = jobs.JobKind("backup.import", "Import", ("/settings/backup/", "Backup"), after_death)
