"""``recall``: finds what was said or written before, and brings archived facts back."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.services.json_command import JSONCommand, workspace_called
from jenny.chat.services.search import search_all
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.write_rules import Actor
from memory import archive, recall, suppression
from memory.archive import Archived, Standing
from memory.history import reader
from memory.recall import FoundPassage, describe_place, format_plain

SHOWN = 300


class Command(JSONCommand):
    help = "Look up what was said or written, by words, by a question or by an archived fact's id."

    def add_arguments(self, parser: CommandParser) -> None:
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
        workspace = workspace_called(options["workspace"])
        query = " ".join(options["query"])
        result: dict[str, Any] = {"workspace": workspace.slug}
        try:
            if options["bring_back"]:
                actor = Actor("command", account=workspace.owner_id)
                done = archive.bring_back(workspace.root, query, actor)
                place = {"path": done.path, "line": done.line, "landed": done.landed}
                return result | {"message": done.message, "fact": _fact(done.item)} | place
            most = max(options["limit"], 1)
            found = recall.recall(workspace.root, query, search_all(workspace), most=most)
            entries = _entries(workspace.root, [row.anchor for row in found.entries])
        except WorkspaceError as error:
            raise CommandError(error.message) from error
        if not found.found:
            raise CommandError(format_plain(found))
        return result | {
            "message": "\n".join(_line(row, found.standing) for row in found.found),
            "facts": [_fact(row) for row in found.facts],
            "entries": entries,
            "passages": [
                {"kind": row.kind, "place": row.place, "line": row.anchor, "text": row.text}
                for row in found.found
                if row.fact is None and row not in found.entries
            ],
        }


def _line(found: FoundPassage, standing: Mapping[str, Standing]) -> str:
    row = found.fact
    if row is None:
        return f"{describe_place(found)}: {_short(found.text)}"
    where = f"{row.source}, {row.heading}" if row.heading else row.source
    there = standing.get(row.id)
    again = f" (stands in {there.path} again, line {there.line})" if there else ""
    return f"{row.id}  {row.date}  {where}: {_short(row.text)}{again}"


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


def _entries(root: Path, cursors: Sequence[int]) -> list[dict[str, Any]]:
    """Return entries of the history whole, but for what is forgotten."""
    found = reader.find_by_cursor(root, cursors)
    shown = suppression.without_forgotten(root, [found[one] for one in cursors if one in found])
    return [
        {
            "cursor": row.cursor,
            "timestamp": row.timestamp,
            "kind": row.kind,
            "content": row.content,
        }
        for row in shown
    ]
