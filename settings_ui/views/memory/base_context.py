from typing import Any
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse

from jenny.accounts.services.workspace_context import (
    WorkspaceContext,
    WorkspaceErrorPage,
    get_workspace_context,
)
from memory import files as memory_files
from memory.services import approvals
from memory.suppression import list_tombstones

__all__ = [
    "WorkspaceContext",
    "address",
    "answered_anew",
    "base_context",
    "get_workspace_context",
    "is_fragment",
    "number_in",
    "workspace_error_page",
]

workspace_error_page = WorkspaceErrorPage("Memory", "memory")
_DIGITS = 18


def base_context(ctx: WorkspaceContext, section: str = "") -> dict[str, Any]:
    """Return the context of every memory page. *section* is its entry in the side column."""
    root = ctx.files.root
    return {
        "section": section,
        "memory_files": [
            {"file": file, "href": address(file.path)} for file in memory_files.MEMORY_FILES
        ],
        "waiting_count": approvals.count(ctx.row),
        "forgotten_count": len(list_tombstones(root)),
    }


def address(path: str, line: int | None = None) -> str:
    where = f"?from={line}#line-{line}" if line else ""
    return f"/memory/files/{quote(path)}{where}"


def is_fragment(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


def answered_anew(request: HttpRequest, ctx: WorkspaceContext) -> HttpResponse | None:
    """Answer htmx with a reload when the page is of another workspace than the session's; else
    ``None``."""
    named = request.headers.get("X-Workspace", "")
    if is_fragment(request) and named and named != str(ctx.row.pk):
        return HttpResponse(headers={"HX-Refresh": "true"})
    return None


def number_in(text: str, *, default: int = 0) -> int:
    """Parse a number from a form or an address; *default* when it is none."""
    plain = text.strip()
    is_number = plain.isascii() and plain.isdecimal() and len(plain) <= _DIGITS
    return int(plain) if is_number else default
