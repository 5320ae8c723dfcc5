"""``forget``: take a fact out of the memory and keep it out, or let one be known again."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.management.answering import AnsweringCommand, workspace_called
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.rules import Actor
from memory import forgotten
from memory.forgotten import Tombstone


class Command(AnsweringCommand):
    """What is forgotten."""

    help = (
        "Forget a fact: its lines leave the memory files and skills, and Jenny does not learn it "
        "again by herself. A copy stays in the archive."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The text, or what to do instead."""
        super().add_arguments(parser)
        parser.add_argument(
            "text", nargs="*", metavar="TEXT", help="the fact, or words of its line"
        )
        parser.add_argument("--list", action="store_true", help="list what is forgotten")
        parser.add_argument("--lift", metavar="ID", default="", help="let one be known again")
        parser.add_argument("--workspace", default="", metavar="SLUG", help="which workspace")

    def answer(self, **options: Any) -> dict[str, Any]:
        """Forget, list or lift."""
        workspace = workspace_called(options["workspace"])
        actor = Actor("command", account=workspace.owner_id)
        text = " ".join(options["text"])
        if bool(text.strip()) + bool(options["list"]) + bool(options["lift"]) != 1:
            message = "Say what is to be forgotten, or use --list or --lift ID."
            raise CommandError(message)
        told: dict[str, Any] = {"workspace": workspace.slug}
        try:
            if options["list"]:
                rows = forgotten.tombstones(workspace.root)
                lines = "\n".join(f"{row.id}  {row.day}  {_short(row)}" for row in rows)
                told |= {"sentence": lines or "Nothing is forgotten."}
                return told | {"forgotten": [_facts(row) for row in rows]}
            if options["lift"]:
                row = forgotten.lift(workspace.root, options["lift"], actor)
                sentence = f"Not forgotten any more: {_short(row)}"
                return told | {"sentence": sentence, "lifted": _facts(row)}
            done = forgotten.forget(workspace.root, text, actor)
        except WorkspaceError as error:
            raise CommandError(error.sentence) from error
        removed = {path: list(lines) for path, lines in done.removed.items()}
        return told | {"sentence": done.sentence, "ids": list(done.ids), "removed": removed}


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
