"""``import``: a backup taken in."""
# ruff: noqa: N999 - the command is called so

import contextlib
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.management.answering import AnsweringCommand, workspace_called
from jenny.accounts.models import Workspace
from jenny.workspace.backup.opening import is_sealed
from jenny.workspace.errors import BackupRefused, WorkspaceError, reason_of
from settings_ui.errors import WorkspaceRefused
from settings_ui.management import workspaces
from settings_ui.management.backups import asking, looking, shelf, taking_in
from settings_ui.management.backups.looking import Preview


class Command(AnsweringCommand):
    """Take a backup in."""

    help = (
        "Take a backup into a workspace, or with --new into a new one. Everything in it is looked "
        "at before anything is changed; a snapshot is taken before; what was said, keys and "
        "passwords stay. " + asking.ABOUT
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """What, where to, and whether really."""
        super().add_arguments(parser)
        parser.add_argument("file", help="the backup, encrypted or a plain zip")
        parser.add_argument("--workspace", default="", metavar="SLUG", help="which workspace")
        parser.add_argument("--new", default="", metavar="NAME", help="into a new workspace of the "
                            "same owner")  # fmt: skip
        parser.add_argument("--preview", action="store_true", help="only say what would change")

    def answer(self, **options: Any) -> dict[str, Any]:
        """Take it in, or say what that would change."""
        workspace, new = workspace_called(options["workspace"]), options["new"]
        path = Path(options["file"]).absolute()
        try:
            if new:
                new = workspaces.checked_name(workspace.owner, new)
            typed = asking.passphrase(twice=False) if _is_sealed(path) else ""
            key = looking.key_for(path, typed)
            if options["preview"]:
                return _previewed(None if new else workspace, path, key)
            job, done = taking_in.by_command(workspace, path, key, new=new)
        except (WorkspaceError, WorkspaceRefused) as error:
            raise CommandError(error.sentence) from error
        plan = done.restored.prepared.plan
        return {
            "sentence": job.sentence,
            "workspace": Workspace.objects.get(pk=job.arguments["workspace"]).slug,
            "changed": [row.path for row in plan.changed],
            "added": [row.path for row in plan.added],
            "removed": [row.path for row in plan.removed],
            "conversations": len(done.merged.new) + len(done.merged.longer),
            "messages": done.merged.messages,
            "snapshots": done.snapshots,
            "before": done.before,
            "notes": list(done.restored.notes),
        }


def _is_sealed(path: Path) -> bool:
    try:
        return is_sealed(path)
    except OSError as error:
        message = f"{path} cannot be read: {reason_of(error)}. Nothing was changed."
        raise BackupRefused(message) from error


def _previewed(workspace: Workspace | None, path: Path, key: bytes | None) -> dict[str, Any]:
    """What it would change."""
    place = shelf.new(None, command=True)
    with contextlib.closing(_Dropping(place)):
        found: Preview = taking_in.look(workspace, path, key, place.path, progress=lambda *_: None)
    lines = [found.files, found.conversations, found.history, *found.sentences]
    for title, rows in found.lists:
        lines += [f"{title}:", *(f"  {row}" for row in rows)]
    lines.append("Nothing was changed. Do it without --preview.")
    return {"sentence": "\n".join(lines), "preview": True, **found.facts}


class _Dropping:
    """A folder that goes when the block ends."""

    def __init__(self, place: shelf.Place) -> None:
        self._place = place

    def close(self) -> None:
        """Remove it."""
        self._place.drop()
