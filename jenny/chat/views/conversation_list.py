"""The list of conversations: its page, the side list, acts on several at once, and the trash."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet, prefetch_related_objects
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    QueryDict,
    StreamingHttpResponse,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts import access as accounts
from jenny.accounts.models import Account, Workspace
from jenny.agent.clock import zone_of
from jenny.chat import thread as threads
from jenny.chat.models import Conversation
from jenny.chat.services import conversation_documents as documents
from jenny.chat.services import conversation_list as lists
from jenny.chat.services import deletion
from jenny.chat.services.attachment_files import paths_of
from jenny.chat.services.conversation_list import Filters, ListPage, Position
from jenny.db_connections import query_database_apart
from jenny.workspace import retention

# Conversations of the side list before one scrolls, and after which it is made shorter again.
RAIL, LONGEST_RAIL = 60, 1000
# Titles on the page that asks before several are deleted.
_NAMED = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Group:
    """Conversations of a day, or of a name. *is_continued*: the page before has its heading."""

    label: str
    rows: list[Conversation]
    is_continued: bool = False


@dataclass(frozen=True, slots=True)
class Rail:
    """The side list: its groups, and the position of what it does not show yet."""

    groups: list[Group]
    after: Position | None


def rail_of(account: Account, workspace: Workspace, count: int = RAIL) -> Rail:
    """Return the newest conversations: pinned, temporary, by project, then by day."""
    page = lists.list_conversations(workspace, count=count)
    kinds = Conversation.Kind
    pinned = [row for row in page.rows if row.is_pinned]
    others = [row for row in page.rows if not row.is_pinned]
    apart = [row for row in others if row.kind == kinds.TEMPORARY]
    projects: dict[str, list[Conversation]] = {}
    for row in others:
        if row.kind == kinds.PROJECT:
            projects.setdefault(row.project, []).append(row)
    found = [
        Group("Pinned", pinned),
        Group("Temporary", apart),
        *(Group(f"Project {name}", rows) for name, rows in sorted(projects.items())),
        *_by_day([row for row in others if row.kind == kinds.PERSONAL], account),
    ]
    return Rail([group for group in found if group.rows], page.after)


@require_safe
def rail(request: HttpRequest) -> HttpResponse:
    """Render the side list alone, as long as *count*, or what comes ``?after=`` a position.

    ``?current=`` is the conversation that the page shows.
    """
    workspace, account = accounts.workspace(request), accounts.account(request)
    if after := Position.of(request.GET.get("after", "")):
        page = lists.list_conversations(workspace, after=after)
        found = Rail(_groups(page, account, after), page.after)
    else:
        count = request.GET.get("count", "")
        shown = int(count[:6]) if count.isascii() and count.isdecimal() else 0
        found = rail_of(account, workspace, min(max(shown, RAIL), LONGEST_RAIL))
    current = request.GET.get("current", "")
    rows = (row for group in found.groups for row in group.rows)
    shown_row = next((row for row in rows if str(row.pk) == current), None)
    return render(request, "chat/list.html#rows", {"rail": found, "conversation": shown_row})


@require_safe
def conversation_list(request: HttpRequest) -> HttpResponse:
    """Show all conversations that the filters choose, from ``?after=`` on."""
    workspace, account = accounts.workspace(request), accounts.account(request)
    filters = Filters.of(request.GET)
    after = Position.of(request.GET.get("after", ""))
    page = lists.list_conversations(workspace, filters, after)
    prefetch_related_objects(page.rows, "tags")
    context = {
        "filters": filters,
        "shows": lists.SHOWS,
        "projects": lists.projects_of(workspace),
        "tags": lists.tags_of(workspace),
        "groups": _groups(page, account, after, has_pinned=not filters),
        "after": page.after,
        "is_later": after is not None,
        "rail": rail_of(account, workspace),
        "longest_tag": lists.LONGEST_TAG,
        "zone": account.time_zone,
    }
    return render(request, "chat/conversations.html", context)


@require_POST
def act(request: HttpRequest) -> HttpResponseBase:
    """Do what the pressed button says: ``pin:<id>`` for one, ``archive`` for the chosen ones.

    ``export-all:md`` is for all but temporary ones, chosen or not.
    """
    workspace = accounts.workspace(request)
    name, _, key = request.POST.get("act", "").partition(":")
    rows = _rows(workspace, [key] if key else request.POST.getlist("chosen"))
    filters = Filters.of(QueryDict(request.POST.get("back", "")))
    back = HttpResponseRedirect(f"{reverse('chat:all')}?{filters.query}".rstrip("?"))
    if _is_key(request.POST.get("page", "")):
        back = redirect("chat:conversation", UUID(request.POST["page"]))
    if name == "export-all":
        every = Conversation.objects.filter(workspace=workspace)
        return _export(every.exclude(kind=Conversation.Kind.TEMPORARY), key)
    if not rows:
        messages.error(request, "No conversation was chosen. Tick some, then press again.")
    elif name == "export":
        chosen = Conversation.objects.filter(pk__in=[row.pk for row in rows])
        return _export(chosen, request.POST.get("format", ""))
    elif name == "delete":
        if "memory" not in request.POST:
            return _ask_to_delete(request, rows, filters)
        _delete(request, rows)
    elif name in _ACTS:
        _ACTS[name](request, workspace, rows)
    return back


def _rows(workspace: Workspace, keys: Sequence[str]) -> list[Conversation]:
    found = set()
    for key in keys:
        try:
            found.add(UUID(key))
        except ValueError:
            continue
    rows = Conversation.objects.filter(workspace=workspace, pk__in=found).order_by("-active_at")
    return list(rows.select_related("workspace__owner"))


def _mark(message: str, **changes: object) -> Callable[..., None]:
    """Return an act that sets columns; *message* has the number of conversations for ``{}``."""

    def mark(request: HttpRequest, _workspace: Workspace, rows: list[Conversation]) -> None:
        keys = [row.pk for row in rows]
        Conversation.objects.filter(pk__in=keys).update(**changes)
        messages.success(request, message.format(_count(len(rows))))

    return mark


def _tag(request: HttpRequest, workspace: Workspace, rows: list[Conversation]) -> None:
    if name := lists.tag(workspace, rows, request.POST.get("tag", "")):
        messages.success(request, f"{_count(len(rows))} tagged “{name}”.")
    else:
        messages.error(request, "Write the tag into its field first.")


def _untag(request: HttpRequest, workspace: Workspace, rows: list[Conversation]) -> None:
    name = request.POST.get("tag", "")
    lists.untag(workspace, rows, name)
    messages.success(request, f"The tag “{name}” was taken from {_count(len(rows))}.")


def _export(rows: QuerySet[Conversation], ending: str) -> HttpResponseBase:
    """Send the conversations as files in a zip, which is written while it is sent."""
    pieces = documents.stream_zip(rows, ending if ending in documents.FORMATS else "md")
    answer = StreamingHttpResponse(_sent(pieces), content_type="application/zip")
    return as_file(answer, f"Conversations {datetime.now(UTC):%Y-%m-%d}.zip")


async def _sent(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await query_database_apart(next, pieces, None)) is not None:
        yield piece


def as_file[Answer: HttpResponseBase](answer: Answer, name: str) -> Answer:
    """Let the browser save the answer under that name."""
    answer["Content-Disposition"] = str(content_disposition_header(True, name))  # noqa: FBT003 - as Django has it
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Cache-Control"] = "private, no-store"
    return answer


_ACTS: dict[str, Callable[..., None]] = {
    "pin": _mark("{} pinned.", is_pinned=True, is_archived=False),
    "unpin": _mark("{} no longer pinned.", is_pinned=False),
    "archive": _mark("{} archived: off the lists, and found by the search.",
                     is_archived=True, is_pinned=False),
    "unarchive": _mark("{} back on the list.", is_archived=False),
    "read": _mark("{} marked as read.", is_unread=False),
    "tag": _tag,
    "untag": _untag,
}  # fmt: skip


def _ask_to_delete(
    request: HttpRequest, rows: list[Conversation], filters: Filters
) -> HttpResponse:
    """Show what deleting these conversations covers, and what the memory has of them."""
    kinds = Counter(row.kind for row in rows)
    context = {
        "conversations": rows,
        "named": rows[:_NAMED],
        "unnamed": len(rows[_NAMED:]),
        "temporary": kinds[Conversation.Kind.TEMPORARY],
        "of_projects": kinds[Conversation.Kind.PROJECT],
        "holds": deletion.memory_of_conversations(rows),
        "files": [path for row in rows for path in paths_of(row)],
        "kept_days": retention.TRASH.days,
        "filters": filters,
        "rail": rail_of(accounts.account(request), accounts.workspace(request)),
    }
    return render(request, "chat/delete_several.html", context)


def _delete(request: HttpRequest, rows: list[Conversation]) -> None:
    now = datetime.now(UTC)
    choice = request.POST["memory"]
    memory = choice if choice in deletion.CHOICES else deletion.KEEP
    with_files = request.POST.get("files") == "1"
    done = deletion.delete_conversations(rows, memory, deleted_at=now, with_files=with_files)
    if done.problem:
        left = len(rows) - len(done.conversations)
        messages.error(request, f"{done.problem} {_count(left)} not deleted.")
    elif not done.conversations:
        messages.info(request, "Somebody else deleted that meanwhile. Nothing else was changed.")
    deleted(request, now, done.conversations)


def deleted(request: HttpRequest, when: datetime, rows: Sequence[Conversation]) -> None:
    """Say what was deleted at that time, with a button that takes it out of the trash."""
    count = sum(chat.kind != Conversation.Kind.TEMPORARY for chat in rows)
    if forgotten := len(rows) - count:
        chats = "The temporary chat is" if forgotten == 1 else f"{forgotten:,} temporary chats are"
        messages.success(request, f"{chats} deleted for good.")
    if count:
        batch = (when - _EPOCH) // timedelta(microseconds=1)
        message = "Deleted." if count == 1 else f"{_count(count)} deleted."
        messages.success(request, message, extra_tags=reverse("chat:undelete", args=[batch]))


@require_safe
def trash(request: HttpRequest) -> HttpResponse:
    """Show what is in the trash, from ``?after=`` on."""
    return _trash_page(request)


def _trash_page(request: HttpRequest, status: int = HTTPStatus.OK) -> HttpResponse:
    workspace, account = accounts.workspace(request), accounts.account(request)
    page = lists.list_trash(workspace, Position.of(request.GET.get("after", "")))
    now = datetime.now(UTC)
    context = {
        "items": [
            {"row": row, "days": max(0, (row.deleted_at + retention.TRASH - now).days)}
            for row in page.rows
            if row.deleted_at is not None
        ],
        "after": page.after,
        "kept_days": retention.TRASH.days,
        "rail": rail_of(account, workspace),
        "zone": account.time_zone,
    }
    return render(request, "chat/trash.html", context, status=status)


@require_POST
def act_on_trash(request: HttpRequest) -> HttpResponse:
    """Bring back or delete for good: one (``back:<id>``), or the chosen ones."""
    name, _, key = request.POST.get("act", "").partition(":")
    rows = _in_trash(request)
    keys = [key] if key else request.POST.getlist("chosen")
    if name != "empty":
        rows = rows.filter(pk__in=[row for row in keys if _is_key(row)])
    if name == "back":
        count = deletion.bring_back(rows)
        messages.success(request, f"{_count(count)} brought back.")
        if count and key and request.POST.get("page"):
            return redirect("chat:conversation", UUID(key))
    elif name in {"delete", "empty"}:
        count = deletion.delete_for_good(rows)
        messages.success(request, f"{_count(count)} deleted for good.")
    return redirect("chat:trash")


@require_POST
def undelete(request: HttpRequest, batch: int) -> HttpResponse:
    """Bring back what was deleted together at that time, in microseconds since 1970."""
    keys: list[UUID] = []
    with contextlib.suppress(OverflowError):
        rows = _in_trash(request).filter(deleted_at=_EPOCH + timedelta(microseconds=batch))
        keys = list(rows.values_list("pk", flat=True))
    if not keys or not deletion.bring_back(rows):
        messages.error(request, "It is not in the trash any more. Nothing was changed.")
        return _trash_page(request, HTTPStatus.NOT_FOUND)
    if len(keys) == 1:
        return redirect("chat:conversation", keys[0])
    return redirect("chat:all")


def _in_trash(request: HttpRequest) -> QuerySet[Conversation]:
    workspace = accounts.workspace(request)
    return Conversation.all_objects.filter(workspace=workspace, deleted_at__isnull=False)


def _is_key(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _count(number: int) -> str:
    return "1 conversation" if number == 1 else f"{number:,} conversations"


def _groups(
    page: ListPage, account: Account, after: Position | None, *, has_pinned: bool = True
) -> list[Group]:
    """Return the rows by day; the heading of the page before is not repeated."""
    pinned = [row for row in page.rows if has_pinned and row.is_pinned]
    days = _by_day([row for row in page.rows if not (has_pinned and row.is_pinned)], account)
    found = [*([Group("Pinned", pinned)] if pinned else []), *days]
    if after is None or not found:
        return found
    now = _now(account)
    day = after.at.astimezone(now.tzinfo).date()
    last = "Pinned" if after.is_pinned else threads.day_label(day, now.date())
    first, *others = found
    return [Group(first.label, first.rows, is_continued=first.label == last), *others]


def _by_day(rows: Iterable[Conversation], account: Account) -> list[Group]:
    days = threads.by_day(rows, lambda row: row.active_at, _now(account))
    return [Group(label, some) for label, some in days]


def _now(account: Account) -> datetime:
    return datetime.now(UTC).astimezone(zone_of(account.time_zone))
