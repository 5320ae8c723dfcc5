"""``why``: explains where a line of a memory file comes from."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.services.json_command import JSONCommand, workspace_called
from jenny.workspace.errors import WorkspaceError
from memory.message_sources import SourceConversation
from memory.provenance import Why
from memory.services.why import why


class Command(JSONCommand):
    """Explain where a line comes from."""

    help = (
        "Say where a line of a memory file comes from: the writes it goes back to, the entries of "
        "the history they rest on, and what was said there. Times are UTC."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("place", metavar="FILE:LINE", help="such as USER.md:12")
        parser.add_argument("--workspace", default="", metavar="SLUG", help="which workspace")

    def answer(self, **options: Any) -> dict[str, Any]:
        workspace = workspace_called(options["workspace"])
        path, colon, line = options["place"].rpartition(":")
        if not colon or not path or not line.isascii() or not line.isdecimal():
            message = f"{options['place']!r} names no line. Say FILE:LINE, such as USER.md:12."
            raise CommandError(message)
        try:
            found = why(workspace, path, int(line[:9]))
        except WorkspaceError as error:
            raise CommandError(error.message) from error
        return {"workspace": workspace.slug, **_facts(found)}


def _facts(found: Why) -> dict[str, Any]:
    version = found.version
    return {
        "message": found.message,
        "path": found.path,
        "line": found.line,
        "text": found.text,
        "writes": [asdict(row) | {"at": row.at.isoformat()} for row in found.writes],
        "entries": [
            {
                "cursor": row.cursor,
                "content": row.entry.content if row.entry else None,
                "timestamp": row.entry.timestamp if row.entry else None,
                "messages": _speech(row.speech) if row.speech else None,
            }
            for row in found.entries
        ],
        "messages": [_speech(row) for row in found.speech],
        "version": version and {"sha": version.sha, "subject": version.subject},
    }


def _speech(found: SourceConversation) -> dict[str, Any]:
    said = [asdict(row) | {"at": row.at.isoformat()} for row in found.said]
    return {"conversation": found.conversation, "title": found.title, "said": said}
