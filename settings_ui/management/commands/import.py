# ruff: noqa: N999 - the command has this name

import contextlib
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.models import Workspace
from jenny.accounts.services.json_command import (
    JSONCommand,
    add_folder_arguments,
    wants_attached,
    workspace_called,
)
from jenny.workspace.backup.encryption import is_encrypted
from jenny.workspace.errors import BackupRefused, WorkspaceError, reason_of
from settings_ui.errors import WorkspaceRefused
from settings_ui.services import workspaces
from settings_ui.services.backups import import_job, previews, storage
from settings_ui.services.backups.previews import Preview

_ATTACH_FIRST = (
    "A preview attaches no folder. Nothing was changed. To see what the backup would change in its "
    "files, run: python manage.py create_workspace {name!r} --attach, and the preview with "
    "--workspace."
)


class Command(JSONCommand):
    help = (
        "Take a backup into a workspace, or with --new into a new one. Everything in it is looked "
        "at before anything is changed; a snapshot is taken before; what was said, keys and "
        "passwords stay. " + storage.PASSPHRASE_ABOUT
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", help="the backup, encrypted or a plain zip")
        parser.add_argument("--workspace", default="", metavar="SLUG", help="which workspace")
        parser.add_argument("--new", default="", metavar="NAME", help="into a new workspace of the "
                            "same owner")  # fmt: skip
        parser.add_argument("--preview", action="store_true", help="only say what would change")
        add_folder_arguments(parser)

    def answer(self, **options: Any) -> dict[str, Any]:
        """Import the backup, or say what that would change."""
        workspace, new = workspace_called(options["workspace"]), options["new"]
        path = Path(options["file"]).absolute()
        attach, new_folder, attached = options["attach"], options["new_folder"], ""
        if (attach or new_folder) and not new:
            message = "--attach and --new-folder go with --new NAME. Nothing was changed."
            raise CommandError(message)
        try:
            if new:
                new = workspaces.checked_name(workspace.owner, new)
                attach = wants_attached(new, attach=attach, new_folder=new_folder)
            if attach and options["preview"]:
                raise CommandError(_ATTACH_FIRST.format(name=new))
            typed = storage.ask_passphrase(twice=False) if _is_encrypted(path) else ""
            key = previews.key_for(path, typed)
            if options["preview"]:
                return _previewed(None if new else workspace, path, key)
            if attach:
                # From here on its files are a workspace's, with a snapshot before they change.
                workspace, new = workspaces.create(workspace.owner, new, attach=True), ""
                attached = f" The folder is a workspace now: --workspace {workspace.slug}."
            job, done = import_job.by_command(workspace, path, key, new=new)
        except (WorkspaceError, WorkspaceRefused) as error:
            raise CommandError(f"{error.message}{attached}") from error
        plan = done.restored.prepared.plan
        return {
            "message": job.message,
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


def _is_encrypted(path: Path) -> bool:
    try:
        return is_encrypted(path)
    except OSError as error:
        message = f"{path} cannot be read: {reason_of(error)}. Nothing was changed."
        raise BackupRefused(message) from error


def _previewed(workspace: Workspace | None, path: Path, key: bytes | None) -> dict[str, Any]:
    place = storage.new(None, command=True)
    with contextlib.closing(_Dropping(place)):
        found: Preview = import_job.run_check(
            workspace, path, key, place.path, progress=lambda *_: None
        )
    lines = [found.files, found.conversations, found.history, *found.sentences]
    for title, rows in found.lists:
        lines += [f"{title}:", *(f"  {row}" for row in rows)]
    lines.append("Nothing was changed. Do it without --preview.")
    return {"message": "\n".join(lines), "preview": True, **found.facts}


class _Dropping:
    def __init__(self, place: storage.Place) -> None:
        self._stored = place

    def close(self) -> None:
        self._stored.drop()
