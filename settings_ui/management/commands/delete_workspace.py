from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from jenny.accounts.models import Workspace
from jenny.accounts.services.json_command import JSONCommand, workspace_called
from jenny.runtime import valkey
from jenny.workspace import retention
from settings_ui.errors import WorkspaceRefused
from settings_ui.services import workspaces

_KEPT_FOR = retention.in_words(retention.DELETED_WORKSPACE)


class Command(JSONCommand):
    help = (
        "Delete a workspace: a snapshot is taken, what runs in it is stopped, and it leaves every "
        f"list. For {_KEPT_FOR} it can be brought back with --bring-back. The only workspace of an "
        "account stays."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", metavar="SLUG", help="the name of its folder")
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--dry-run", action="store_true", help="only say what is inside")
        how.add_argument("--bring-back", action="store_true", help="undo its deletion")

    def answer(self, **options: Any) -> dict[str, Any]:
        """Delete the workspace, or restore it.

        Raises:
        CommandError: nothing was changed."""
        if options["bring_back"]:
            return _brought_back(options["slug"])
        row = workspace_called(options["slug"])
        inside = workspaces.inside(row)
        facts = {"workspace": row.slug, "name": row.name, "inside": inside.as_json()}
        if options["dry_run"]:
            said = f"“{row.name}” holds {inside.message}. Nothing was deleted."
            return {**facts, "deleted": False, "message": said}
        try:
            with valkey.for_command(settings.JENNY_DATA):
                done = workspaces.delete(row)
        except (WorkspaceRefused, valkey.ValkeyProblem) as error:
            raise CommandError(error.message) from error
        said = (
            f"“{row.name}” is deleted, with {inside.message}. For {_KEPT_FOR} it can be brought "
            f"back: python manage.py delete_workspace {row.slug} --bring-back. {done}"
        )
        return {**facts, "deleted": True, "message": said.strip()}


def _brought_back(slug: str) -> dict[str, Any]:
    row = Workspace.all_objects.filter(slug=slug, deleted_at__isnull=False).first()
    if row is None or not workspaces.bring_back(row):
        message = f"No deleted workspace called {slug!r} can be brought back."
        raise CommandError(message)
    sentence = f"“{row.name}” is back, as it was."
    return {"message": sentence, "workspace": row.slug, "name": row.name, "deleted": False}
