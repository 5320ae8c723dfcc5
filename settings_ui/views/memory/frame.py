"""What every Memory page begins with: whose memory, what is said when it fails, and where one can
go from here."""

from typing import Any
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse

from jenny.accounts.management.desks import Desk, Told, desk
from memory import archive
from memory import files as memory_files
from memory.forgotten import tombstones
from memory.management import approving

__all__ = [
    "Desk",
    "address",
    "answered_anew",
    "desk",
    "frame",
    "is_fragment",
    "number_in",
    "told",
]

told = Told("memory/problem.html")
# Longer numbers name nothing.
_DIGITS = 18


def frame(desk: Desk, section: str = "") -> dict[str, Any]:
    """What every page shows around it. *section*: which entry of the side column it is."""
    root = desk.files.root
    return {
        "section": section,
        "memory_files": [
            {"file": file, "href": address(file.path)} for file in memory_files.MEMORY_FILES
        ],
        "waiting_count": approving.count(desk.row),
        "archive_count": archive.count(root),
        "forgotten_count": len(tombstones(root)),
    }


def address(path: str, line: int | None = None) -> str:
    """The page of a memory file, line by line."""
    return f"/memory/files/{quote(path)}{f'#line-{line}' if line else ''}"


def is_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks, for a part of the page."""
    return request.headers.get("HX-Request") == "true"


def answered_anew(request: HttpRequest, desk: Desk) -> HttpResponse | None:
    """The answer to a page that asks for a part of itself and is of another workspace than the one
    that is worked in by now: it loads anew. Nothing for any other."""
    named = request.headers.get("X-Workspace", "")
    if is_fragment(request) and named and named != str(desk.row.pk):
        return HttpResponse(headers={"HX-Refresh": "true"})
    return None


def number_in(text: str, *, default: int = 0) -> int:
    """The number that a form or an address sent; *default* for what is none."""
    plain = text.strip()
    is_number = plain.isascii() and plain.isdecimal() and len(plain) <= _DIGITS
    return int(plain) if is_number else default
