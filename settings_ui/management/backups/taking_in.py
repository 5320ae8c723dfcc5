"""Imports as jobs: a file is looked at first, then, when a person agreed, taken in."""

import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone

from jenny.accounts.management import working
from jenny.accounts.models import Account, Job, Workspace
from jenny.workspace.errors import BackupRefused, WorkspaceError, WriteFailed, reason_of
from jenny.workspace.snapshots.values import counted
from settings_ui.errors import WorkspaceRefused
from settings_ui.management import workspaces
from settings_ui.management.backups import entering, looking, pace, settling, shelf
from settings_ui.management.backups.entering import Entered
from settings_ui.management.backups.looking import Preview
from settings_ui.management.backups.shelf import Place

KIND = "import"
CHECK, ENTER = "check", "enter"
log = logging.getLogger(__name__)

_NOTHING = "Nothing was changed by it."

type Progress = Callable[[int, int, str], None]


def begin_check(workspace: Workspace, account: Account, place: Place, new: str) -> Job:
    """Ask for a look at the backup in *place*, whose key was left there. *new*: the name of the
    workspace that is to be made of it; empty: it goes into *workspace*."""
    arguments = {"folder": place.name, "stage": CHECK, "new": new}
    return working.begin(workspace, account, KIND, arguments)


def begin_entering(workspace: Workspace, account: Account, place: Place) -> Job:
    """Ask for what was shown to be done.

    Raises:
        BackupRefused: the backup was not looked at, or that is too long ago.
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
    return working.begin(workspace, account, KIND, arguments)


def work(job: Job) -> working.Ended:
    """Do what a job asks for."""
    place = shelf.by_name(str(job.arguments["folder"]))
    stage = job.arguments["stage"]
    if stage == CHECK:
        return _checked(job, place)
    place.hold()
    try:
        key = place.key(take=True)
        done = run(job, place.file, key, place.path, progress=pace.telling(job))
    except BaseException:
        if "undoing" not in job.arguments:
            place.drop()
        raise
    if "undoing" not in job.arguments:
        place.drop()
    return working.Ended(told(done, job), _result(done))


def _checked(job: Job, place: Place) -> working.Ended:
    """Look at it, and keep what it would change for the page."""
    try:
        key = place.key(take=False)
        found = look(_target(job), place.file, key, place.path, progress=pace.telling(job))
    except BaseException:
        place.drop()
        raise
    place.note(preview=found.facts, workspace=str(job.workspace_id), new=str(job.arguments["new"]))
    href = reverse("backup_preview", args=[place.name])
    links = [{"href": href, "label": "See what it would change"}]
    sentence = "The backup is whole, and nothing in it is out of place. Nothing was changed yet."
    return working.Ended(sentence, {"links": links})


def look(
    workspace: Workspace | None, path: Path, key: bytes | None, folder: Path, *, progress: Progress
) -> Preview:
    """Look at a backup as a whole, and at what it would change; *folder* is worked in.

    Raises:
        WorkspaceError: it cannot be used, and why.
    """
    history = folder / "history"
    try:
        history.mkdir()
        with entering.opened(path, key) as backup:
            return looking.preview(workspace, looking.check(backup, history, progress))
    except OSError as error:
        message = f"The backup could not be unpacked: {reason_of(error)}. Nothing was changed."
        raise WriteFailed(message) from error
    finally:
        shelf.clear(history)


def run(job: Job, path: Path, key: bytes | None, folder: Path, *, progress: Progress) -> Entered:
    """Take in the backup at *path* as the claimed *job* says.

    Raises:
        WorkspaceError: nothing was changed, and why.
    """
    history = folder / "history"
    try:
        history.mkdir()
        with entering.opened(path, key) as backup:
            found = looking.check(backup, history, pace.part(progress, 0, 300))
            workspace = _target(job) or _made(job)
            try:
                expect = str(job.arguments.get("token", ""))
                done = entering.enter(
                    job,
                    workspace,
                    found,
                    history,
                    expect=expect,
                    progress=pace.part(progress, 300, 1_000),
                )
            except BaseException:
                if "undoing" not in job.arguments:
                    _unmade(job)
                raise
    except OSError as error:
        message = f"The backup could not be taken in: {reason_of(error)}. Nothing was changed."
        raise WriteFailed(message) from error
    if "undoing" not in job.arguments:
        shelf.clear(history)
    return done


def by_command(
    workspace: Workspace, path: Path, key: bytes | None, *, new: str
) -> tuple[Job, Entered]:
    """Take a backup in, in this process.

    Raises:
        WorkspaceError: nothing was changed, and why.
    """
    _bury(workspace)
    place = shelf.new(None, command=True)
    arguments = {"folder": place.name, "stage": ENTER, "new": new}
    job = Job.ask(workspace, None, KIND, arguments)
    if not job.is_new:
        place.drop()
        raise BackupRefused(
            "An import into this workspace is under way already. Nothing was changed. Wait until "
            "it has ended."
        )
    # So that no worker takes it for one that was never sent.
    Job.objects.filter(pk=job.pk).update(sent_at=Now())
    found: list[Entered] = []

    def in_place(claimed: Job) -> working.Ended:
        place.hold()
        found.append(run(claimed, path, key, place.path, progress=pace.telling(claimed)))
        return working.Ended(told(found[0], claimed), _result(found[0]))

    ended = working.carry_out(job.pk, in_place)
    if ended is None or "undoing" not in ended.arguments:
        place.drop()
    if ended is None or not found:
        raise BackupRefused(ended.sentence if ended else "The import was taken for dead.")
    return ended, found[0]


def settle_left() -> None:
    """Settle imports that ended badly at a moment when that could not be done."""
    rows = Job.objects.filter(kind=KIND, arguments__has_key="undoing")
    for job in rows.exclude(state__in=Job.OPEN).select_related("workspace__owner")[:20]:
        try:
            after_death(job)
        except WorkspaceError as error:
            log.warning("backup.not_settled", extra={"job": job.pk, "why": error.sentence})
    # One that was killed when all was done still has its folder.
    over = Job.objects.filter(kind=KIND, arguments__stage=ENTER).exclude(state__in=Job.OPEN)
    for job in over.exclude(arguments__has_key="undoing").order_by("-pk")[:20]:
        with contextlib.suppress(WorkspaceError):
            shelf.by_name(str(job.arguments.get("folder", ""))).drop()


def _bury(workspace: Workspace) -> None:
    """Settle an import whose process was killed on this machine, without waiting until its
    heartbeat is old: a command may be all that runs."""
    settle_left()
    rows = Job.objects.filter(workspace=workspace, kind=KIND, state=Job.State.RUNNING)
    for job in rows.select_related("workspace__owner"):
        if pace.is_gone(job):
            sentence = after_death(job)
            Job.objects.filter(pk=job.pk, state=Job.State.RUNNING, holder=job.holder).update(
                state=Job.State.INTERRUPTED, sentence=sentence, doing="", ended_at=Now()
            )


def told(done: Entered, job: Job) -> str:
    """What came of it, for a person."""
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
    parts.append(looking.files_sentence(done.restored.prepared))
    if came:
        parts.append(f"{', '.join(came)} came along.")
    return " ".join([*parts, *done.restored.notes])


def after_death(job: Job) -> str:
    """What is so when the process of an import has died: it is finished, or taken back."""
    folder = str(job.arguments.get("folder", ""))
    if job.arguments.get("stage") == CHECK:
        return f"{_NOTHING} Choose the file again."
    place = shelf.by_name(folder)
    place.drop_key()
    workspace = _target(job)
    is_done = False
    if workspace is not None:
        is_done = settling.settle(job, workspace, place.path / "history")
        if not is_done:
            _unmade(job)
    place.drop()
    if is_done:
        return "The import itself is finished: everything in the backup is there."
    return f"{_NOTHING} Ask for it again."


def _target(job: Job) -> Workspace | None:
    """Where it goes; ``None``: into one that is not made yet."""
    made = job.arguments.get("workspace")
    if made:
        return Workspace.objects.filter(pk=made).first()
    return None if job.arguments.get("new") else job.workspace


def _made(job: Job) -> Workspace:
    """Make the new workspace, and note it."""
    try:
        made = workspaces.create(job.workspace.owner, str(job.arguments["new"]))
    except WorkspaceRefused as error:
        raise BackupRefused(error.sentence) from error
    job.arguments |= {"workspace": str(made.pk)}
    Job.objects.filter(pk=job.pk).update(arguments=job.arguments)
    return made


def _unmade(job: Job) -> None:
    """Take back a workspace that was made for a backup which then did not come."""
    made = job.arguments.get("workspace")
    if job.arguments.get("new") and made:
        long_ago = timezone.now() - 2 * workspaces.KEPT_FOR
        Workspace.all_objects.filter(pk=made).update(deleted_at=long_ago)
        with contextlib.suppress(WorkspaceError, OSError):
            workspaces.purge(timezone.now())


def _result(done: Entered) -> dict[str, Any]:
    """What a job's page shows and links to."""
    before = done.before
    links = [
        {"href": reverse("snapshot_restore", args=[before]), "label": "Undo this import…"},
        {"href": reverse("snapshot_diff", args=[before]), "label": "What changed"},
    ]
    return {"links": links, "before": before}


ABOUT = working.Kind("backup.import", "Import", ("/settings/backup/", "Backup"), after_death)
