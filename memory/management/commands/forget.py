"""``forget``: removes a fact from the memory and keeps it out, or lifts that."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.services.json_command import JSONCommand, workspace_called
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.write_rules import Actor
from memory import suppression
from memory.errors import NotForgotten
from memory.services import forgotten_facts
from memory.suppression import Tombstone


class Command(JSONCommand):
    help = (
        "Forget a fact: its lines leave the memory files and skills, and Jenny does not learn it "
        "again by herself. A copy stays in the archive."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "text", nargs="*", metavar="TEXT", help="the fact, or words of its line"
        )
        parser.add_argument(
            "--line",
            action="append",
            default=[],
            metavar="ID",
            help="forget this line of those that were named; may be repeated",
        )
        parser.add_argument("--list", action="store_true", help="list what is forgotten")
        parser.add_argument("--lift", metavar="ID", default="", help="let one be known again")
        parser.add_argument("--workspace", default="", metavar="SLUG", help="which workspace")

    def answer(self, **options: Any) -> dict[str, Any]:
        workspace = workspace_called(options["workspace"])
        actor = Actor("command", account=workspace.owner_id)
        text = " ".join(options["text"])
        if bool(text.strip()) + bool(options["list"]) + bool(options["lift"]) != 1:
            message = "Say what is to be forgotten, or use --list or --lift ID."
            raise CommandError(message)
        result: dict[str, Any] = {"workspace": workspace.slug}
        try:
            if options["list"]:
                rows = suppression.list_tombstones(workspace.root)
                lines = "\n".join(f"{row.id}  {row.day}  {_short(row)}" for row in rows)
                result |= {"message": lines or "Nothing is forgotten."}
                return result | {"forgotten": [_facts(row) for row in rows]}
            if options["lift"]:
                lifted = forgotten_facts.lift(workspace, options["lift"], actor)
                row = lifted.tombstone
                sentence = f"Not forgotten any more: {_short(row)}{lifted.more}"
                shown_again = {"entries": list(lifted.entries)}
                return result | {"message": sentence, "lifted": _facts(row)} | shown_again
            if options["line"]:
                done = suppression.forget_lines(workspace.root, text, options["line"], actor)
            else:
                done = suppression.forget(workspace.root, text, actor)
        except NotForgotten as error:
            shown = [f"{row.id}  {row.path}: {suppression.describe(row)}" for row in error.lines]
            choose = ["To forget some of them, add --line ID for each."] if shown else []
            raise CommandError("\n".join([error.message, *shown, *choose])) from error
        except WorkspaceError as error:
            raise CommandError(error.message) from error
        removed = {path: list(lines) for path, lines in done.removed.items()}
        changed = [{"path": row.path, "old": row.old, "new": row.new} for row in done.lines]
        shown = [f"{row.path}: {suppression.describe(row)}" for row in done.lines]
        sentence = "\n".join([done.message, *shown])
        return result | {
            "message": sentence,
            "ids": list(done.ids),
            "removed": removed,
            "lines": changed,
        }


def _short(row: Tombstone) -> str:
    text = " ".join(row.text.split())
    return text if len(text) <= 200 else f"{text[:200]}…"  # noqa: PLR2004  (a line's length)


def _facts(row: Tombstone) -> dict[str, Any]:
    return {
        "id": row.id,
        "text": row.text,
        "at": row.at,
        "actor": row.actor,
        "path": row.path,
        "heading": row.heading,
    }
