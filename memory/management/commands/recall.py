"""``recall``: look up what left the memory files, and bring it back."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.management.answering import AnsweringCommand, workspace_called
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.rules import Actor
from memory import archive, recall
from memory.archive import Archived, Standing
from memory.history.entries import Entry

SHOWN = 300


class Command(AnsweringCommand):
    """Archived facts."""

    help = "Look up archived facts, and entries of the history, by id or by words."

    def add_arguments(self, parser: CommandParser) -> None:
        """What to look for."""
        super().add_arguments(parser)
        parser.add_argument("query", nargs="+", metavar="ID|WORDS", help="an id, or words")
        parser.add_argument(
            "--bring-back",
            action="store_true",
            help="write the archived fact of that id to its file again",
        )
        parser.add_argument("--limit", type=int, default=20, metavar="N", help="so many (20)")
        parser.add_argument("--workspace", default="", metavar="SLUG", help="which workspace")

    def answer(self, **options: Any) -> dict[str, Any]:
        """Look up, or bring back."""
        workspace = workspace_called(options["workspace"])
        query = " ".join(options["query"])
        told: dict[str, Any] = {"workspace": workspace.slug}
        try:
            if options["bring_back"]:
                actor = Actor("command", account=workspace.owner_id)
                done = archive.bring_back(workspace.root, query, actor)
                place = {"path": done.path, "line": done.line, "landed": done.landed}
                return told | {"sentence": done.sentence, "fact": _fact(done.item)} | place
            found = recall.recall(workspace.root, query, most=max(options["limit"], 1))
        except WorkspaceError as error:
            raise CommandError(error.sentence) from error
        if not found.facts and not found.entries:
            end = " What was forgotten is not shown." if found.hidden else ""
            message = f"Nothing in the archive or the history has this.{end}"
            raise CommandError(message)
        lines = [_line(row, found.standing.get(row.id)) for row in found.facts]
        lines += map(_said, found.entries)
        return told | {
            "sentence": "\n".join(lines),
            "facts": [_fact(row) for row in found.facts],
            "entries": [_entry(row) for row in found.entries],
        }


def _line(row: Archived, there: Standing | None) -> str:
    where = f"{row.source}, {row.heading}" if row.heading else row.source
    again = f" (stands in {there.path} again, line {there.line})" if there else ""
    return f"{row.id}  {row.date}  {where}: {_short(row.text)}{again}"


def _said(row: Entry) -> str:
    return f"history {row.cursor}  {row.timestamp}: {_short(row.content)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"


def _fact(row: Archived) -> dict[str, Any]:
    return {
        "id": row.id,
        "text": row.text,
        "source": row.source,
        "heading": row.heading,
        "path": row.path,
        "events": [
            {"date": one.date, "actor": one.actor, "run": one.run, "reason": one.reason}
            for one in row.events
        ],
    }


def _entry(row: Entry) -> dict[str, Any]:
    return {
        "cursor": row.cursor,
        "timestamp": row.timestamp,
        "kind": row.kind,
        "content": row.content,
    }
