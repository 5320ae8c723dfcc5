"""``pin``: pins lines, which Dream then leaves as they are."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.services.json_command import JSONCommand, workspace_called
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.write_rules import Actor
from memory import pins
from memory.pins import Pin


class Command(JSONCommand):
    help = "Pin a line of a memory file or skill, so that Dream and its reviews leave it as it is."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "place",
            nargs="?",
            default="",
            metavar="FILE:LINE",
            help="such as USER.md:12; line 0 is the whole file",
        )
        parser.add_argument("--remove", action="store_true", help="take the pin off")
        parser.add_argument("--list", action="store_true", help="list the pins (of FILE, if given)")
        parser.add_argument("--workspace", default="", metavar="SLUG", help="which workspace")

    def answer(self, **options: Any) -> dict[str, Any]:
        workspace = workspace_called(options["workspace"])
        actor = Actor("command", account=workspace.owner_id)
        result: dict[str, Any] = {"workspace": workspace.slug}
        place = options["place"]
        if not place and not options["list"]:
            message = "Say which line: FILE:LINE, such as USER.md:12. Or use --list."
            raise CommandError(message)
        try:
            if options["list"]:
                rows = pins.pins(workspace.root, place.rpartition(":")[0] or place)
                lines = "\n".join(map(_line, rows)) or "Nothing is pinned."
                return result | {"message": lines, "pins": [_facts(row) for row in rows]}
            path, line = _parse_place(place)
            if options["remove"]:
                row = pins.unpin(workspace.root, path, line, actor)
                return result | {
                    "message": f"Not pinned any more: {_line(row)}",
                    "pin": _facts(row),
                }
            row = pins.pin(workspace.root, path, line, actor)
        except WorkspaceError as error:
            raise CommandError(error.message) from error
        return result | {"message": f"Pinned: {_line(row)}", "pin": _facts(row)}


def _parse_place(text: str) -> tuple[str, int]:
    path, colon, line = text.rpartition(":")
    if not colon or not path or not line.isascii() or not line.isdecimal():
        message = f"{text!r} names no line. Say FILE:LINE, such as USER.md:12."
        raise CommandError(message)
    return path, int(line[:9])


def _line(row: Pin) -> str:
    if row.is_whole:
        return f"{row.path} (the whole file)"
    where = f"{row.path}:{row.line}" if row.line else f"{row.path} (not there now)"
    text = " ".join(row.text.split())
    return f"{where}  {text if len(text) <= 200 else f'{text[:200]}…'}"  # noqa: PLR2004  (a line)


def _facts(row: Pin) -> dict[str, Any]:
    return {
        "path": row.path,
        "line": row.line,
        "text": row.text,
        "heading": row.heading,
        "at": row.at,
        "whole_file": row.is_whole,
    }
