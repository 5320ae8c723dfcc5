"""The search of the person's own pages: what each hit is, when it was said, and where it is.

It shows also what is forgotten, marked as such; the tools of models never look for that.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

from django.db.models import Min
from django.urls import reverse
from django.utils.dateformat import format as formatted

from jenny.accounts.services.workspace_context import WorkspaceContext
from jenny.chat.models import Attachment, Conversation, Message
from jenny.chat.services import search as chat_search
from jenny.chat.services.conversation_sources import (
    FILE_MARK,
    KINDS_OF_CONVERSATIONS,
    title_of,
)
from jenny.search import Hit, Results
from jenny.search.store import CANDIDATES
from jenny.search.words import QUERY_CHARS, mark_words
from jenny.workspace import paths
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.uploads import is_upload_path
from memory import archive, files, line_edits, recall, search_sources
from memory.archive import Archived
from memory.facts import Fact, digests
from memory.history.fact_tags import strip_tag
from memory.models import LineOrigin
from memory.search_sources import (
    ARCHIVED,
    CHAT,
    CHAT_VERSION,
    FILE,
    FORGOTTEN,
    HISTORY,
    MEMORY,
    PROJECT_CHAT,
    SKILL,
    TITLE,
    VERSION,
    WIKI,
)
from memory.services import origins
from memory.suppression import tombstones
from memory.suppression.hide import visible_line
from wikis import pages as wikis

__all__ = ["CANDIDATES", "KINDS", "QUERY_CHARS", "TIMES", "Days", "Row", "find", "find_versions"]

# The kinds that the page can be narrowed to.
KINDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "chats": ("Conversations", (TITLE, CHAT, PROJECT_CHAT)),
    "history": ("History", (HISTORY,)),
    "memory": ("Memory", (MEMORY,)),
    "removed": ("Removed", (ARCHIVED,)),
    "forgotten": ("Forgotten", (FORGOTTEN,)),
    "skills": ("Skills", (SKILL,)),
    "wikis": ("Wikis", (WIKI,)),
    "files": ("Files", (FILE,)),
}
EVERYTHING = tuple(kind for _, kinds in KINDS.values() for kind in kinds)
TIMES: Mapping[str, tuple[str, int]] = {
    "week": ("Past 7 days", 7),
    "month": ("Past 30 days", 30),
    "year": ("Past 12 months", 365),
}
_NAMES = {
    TITLE: "Conversation, by its title",
    CHAT: "Conversation",
    PROJECT_CHAT: "Conversation of a project",
    HISTORY: "History",
    MEMORY: "Memory",
    ARCHIVED: "Removed from memory",
    FORGOTTEN: "Forgotten",
    SKILL: "Skill",
    WIKI: "Wiki",
    FILE: "File",
    VERSION: "Old version",
    CHAT_VERSION: "Another version of a conversation",
}
_IN_FILES = frozenset({MEMORY, SKILL, WIKI, FILE})
_CHATS = frozenset({CHAT, PROJECT_CHAT})
_SNIPPET_CHARS = 280
_TITLE_CHARS = 80
# Messages that a hit names for a file that was sent with several.
_MOST_SENT = 3
# Time for what the index lacks; a worker adds the rest.
_SECONDS = 1.0

type Pieces = list[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class Days:
    """The first and the last day, as 2026-12-04; "": any."""

    since: str = ""
    until: str = ""

    def __contains__(self, day: str) -> bool:
        return self.since <= day <= (self.until or "9999")

    def __bool__(self) -> bool:
        return bool(self.since or self.until)


@dataclass(frozen=True, slots=True)
class Row:
    """A hit as the page shows it. *words*: its text in pieces, True for what was looked for.

    *when*: when it was said or, for a fact, when it was true. *note*: what became of it.
    *sent_in*: title and address of messages that the file was sent with. *is_title*: the words are
    the title.
    """

    kind: str
    name: str
    title: str
    href: str
    words: Pieces
    when: str = ""
    note: str = ""
    sent_in: Sequence[tuple[str, str]] = ()
    is_forgotten: bool = False
    is_title: bool = False


def find(ctx: WorkspaceContext, query: str, kind: str, days: Days) -> tuple[Results, list[Hit]]:
    """Search the workspace of a person, who may see all of it."""
    kinds = KINDS[kind][1] if kind in KINDS else EVERYTHING
    if days:
        # A title was not said on a day.
        kinds = tuple(one for one in kinds if one != TITLE)
    # The index knows no days of files: these are ranked apart, so that they displace nothing.
    parts = [[one for one in kinds if (one in _IN_FILES) == is_file] for is_file in (False, True)]
    found = [
        chat_search.search(
            ctx.row,
            query,
            part,
            most=CANDIDATES,
            seconds=_SECONDS,
            is_typed=True,
            days=(days.since, days.until),
        )
        for part in (parts if days else [kinds])
        if part
    ]
    # A part in which all of the words are found counts alone.
    best = [one for one in found if one.hits and not one.is_partial] or found
    ranked = [hit for row in zip_longest(*(one.hits for one in best)) for hit in row if hit]
    # A line that a person took out is both removed and forgotten; its hit is marked.
    removed = {hit.passage.lines for hit in ranked if hit.kind == ARCHIVED}
    # What was said in a conversation is no hit for the words of its title.
    called = {hit.place for hit in ranked if hit.kind == TITLE}
    hits = [
        hit
        for hit in ranked
        if not (hit.kind == FORGOTTEN and hit.passage.lines in removed)
        and not (hit.kind in _CHATS and hit.place in called and not any(hit.matches))
        and (not days or _is_within(ctx, hit, days))
    ]
    forms = frozenset[str]().union(*(one.forms for one in best))
    return replace(best[0], forms=forms), hits


def find_versions(ctx: WorkspaceContext, query: str, days: Days) -> Results:
    """Search what left the files, and the conversations, with earlier versions."""
    limits = (days.since, days.until)
    return chat_search.search_versions(ctx.row, query, seconds=_SECONDS, is_typed=True, days=limits)


def rows(ctx: WorkspaceContext, found: Results, hits: Sequence[Hit]) -> list[Row]:
    """Describe hits; for those of one page, since each is looked up."""
    page = _Page(ctx, found.forms, hits)
    return [row for hit in hits if (row := page.row(hit)) is not None]


def snippet(lines: Mapping[int, str], best: int, forms: frozenset[str]) -> Pieces:
    """Return the best line with what is around it, or the part of a long line with the words."""
    line = lines[best]
    if len(line) <= _SNIPPET_CHARS:
        text = recall.excerpt(lines, best, _SNIPPET_CHARS)
        return mark_words("\n".join(filter(str.strip, text.split("\n"))), forms)
    pieces = mark_words(line, forms)
    first, at = 0, 0
    for text, is_mark in pieces:
        if is_mark:
            first = at
            break
        at += len(text)
    start = max(0, first - _SNIPPET_CHARS // 3)
    cut = line[start : start + _SNIPPET_CHARS]
    ends = ("…" if start else "", "…" if start + _SNIPPET_CHARS < len(line) else "")
    return mark_words(ends[0] + cut + ends[1], forms)


def _plain(lines: Mapping[int, str], best: int) -> dict[int, str]:
    """Return lines of the memory without what only programs read: tags, and comments and headings
    around the best line."""
    found = {number: strip_tag(line) for number, line in lines.items()}
    return {
        number: line
        for number, line in found.items()
        if number == best or not line.lstrip().startswith(("<!--", "#"))
    }


def day_of(text: str) -> str:
    """Write a day in words; a damaged one as it is."""
    try:
        return formatted(dt.date.fromisoformat(text[:10]), "j F Y")
    except ValueError:
        return text[:10]


def _is_within(ctx: WorkspaceContext, hit: Hit, days: Days) -> bool:
    return hit.kind not in _IN_FILES or _changed(ctx, hit.place) in days


def _changed(ctx: WorkspaceContext, path: str) -> str:
    """Return the day on which a file was changed; empty when it is gone."""
    try:
        status = paths.locate(ctx.root, path).status
    except WorkspaceError:
        return ""
    return ctx.local(status.st_mtime).date().isoformat() if status else ""


@dataclass
class _Page:
    """Describes the hits of one page, with a query for each kind of thing and not for each hit."""

    ctx: WorkspaceContext
    forms: frozenset[str]
    hits: Sequence[Hit]
    state: tombstones.State = field(init=False)

    def __post_init__(self) -> None:
        self.state = tombstones.state(self.ctx.root)

    def row(self, hit: Hit) -> Row | None:
        """Return the hit as a row; ``None`` when it is gone meanwhile."""
        of_kind: Mapping[str, Callable[[Hit], dict[str, Any] | None]] = {
            TITLE: self._title,
            CHAT: self._chat,
            PROJECT_CHAT: self._chat,
            CHAT_VERSION: self._chat,
            HISTORY: self._entry,
            ARCHIVED: self._archived,
            MEMORY: self._line,
            FORGOTTEN: self._forgotten,
            VERSION: self._version,
        }
        values = of_kind.get(hit.kind, self._file)(hit)
        if values is None:
            return None
        lines = dict(enumerate(hit.passage.lines))
        words = snippet(lines, hit.best, self.forms)
        shown = "".join(text for text, _ in words).split("\n")
        if hit.kind in {HISTORY, MEMORY}:
            words = snippet(_plain(lines, hit.best), hit.best, self.forms)
        is_forgotten = any(visible_line(self.state, line) != line for line in shown)
        return Row(
            hit.kind,
            _NAMES[hit.kind],
            words=words,
            **{"is_forgotten": is_forgotten, **values},
        )

    def _title(self, hit: Hit) -> dict[str, Any] | None:
        chat = self._conversations.get(hit.place)
        if chat is None:
            return None
        when = formatted(chat.active_at.astimezone(self.ctx.zone), "j F Y, H:i")
        return {
            "title": chat.title,
            "href": _url(hit),
            "when": f"last used {when}",
            "note": _project(chat),
            "is_title": True,
        }

    def _chat(self, hit: Hit) -> dict[str, Any] | None:
        found = self._messages.get(hit.passage.anchors[hit.best])
        if found is None:
            return None
        said, chat = found
        when = formatted(said.astimezone(self.ctx.zone), "j F Y, H:i")
        file = hit.passage.title.removeprefix(title_of(chat)).removeprefix(FILE_MARK)
        attached = f"in the attached file {file}" if file else ""
        return {
            "title": chat.title or "Untitled",
            "href": _url(hit),
            "when": f"said {when}",
            "note": " · ".join(filter(None, (attached, _project(chat)))),
        }

    def _entry(self, hit: Hit) -> dict[str, Any]:
        day = day_of(hit.passage.day)
        title = f"Note of {day}" if day else "A note without a day"
        return {"title": title, "href": _url(hit), "when": f"said {day}" if day else ""}

    def _archived(self, hit: Hit) -> dict[str, Any] | None:
        item = self._items.get(hit.place)
        if item is None:
            return None
        where = f"{item.source}, {item.heading}".removesuffix(", ")
        there = self._standing.get(item.id)
        return {
            "title": f"Removed from {where}" if where else "Removed from memory",
            "href": reverse("memory_archived", args=[item.id]),
            "when": self._time_of(item),
            "note": f"it is in {there.path} again, line {there.line}" if there else "",
            "is_forgotten": self.state.match(item.as_fact) is not None,
        }

    def _time_of(self, item: Archived) -> str:
        """Say when the fact was true, and what replaced it."""
        since = self._since_day(item.text)
        start = f"from {since} " if since else ""
        if not item.events:
            return start.strip()
        event = item.events[-1]
        now = recall.excerpt({0: event.now}, 0, _TITLE_CHARS)
        end = f", replaced by “{now}”" if now else ", then removed"
        return f"{start}until {day_of(event.date)}{end}"

    def _line(self, hit: Hit) -> dict[str, Any]:
        number = hit.passage.anchors[hit.best]
        fact = self._fact(hit.place, number)
        number = fact.first if fact else number
        day = self._since_day(fact.text) if fact else ""
        return {
            "title": f"{hit.place}, line {number}",
            "href": f"{reverse('memory_file', args=[hit.place])}?from={number}#line-{number}",
            "when": f"known since {day}" if day else self._changed(hit),
        }

    def _since_day(self, text: str) -> str:
        """Return the day on which a fact was first written; empty when nobody noted it."""
        found = [self._since[one] for one in digests(text) if one in self._since]
        return formatted(min(found).astimezone(self.ctx.zone), "j F Y") if found else ""

    def _forgotten(self, hit: Hit) -> dict[str, Any]:
        return {
            "title": "Forgotten",
            "href": f"{reverse('memory_forgotten')}?id={hit.place}#forgotten-{hit.place}",
            "when": f"forgotten on {day_of(hit.passage.day)}",
            "note": "Jenny is not shown this",
            "is_forgotten": True,
        }

    def _version(self, hit: Hit) -> dict[str, Any]:
        path, day = hit.passage.title, day_of(hit.passage.day)
        href = f"{reverse('files_history', args=[path])}?version={hit.place}"
        return {"title": path, "href": href, "when": f"until {day}", "note": "left with a version"}

    def _file(self, hit: Hit) -> dict[str, Any]:
        title = f"{hit.place}, line {hit.passage.anchors[hit.best]}"
        if hit.kind == WIKI and hit.place.count("/") > 1:
            _, name, path = hit.place.split("/", 2)
            page = wikis.without_ending(path.removeprefix(f"{wikis.PAGES}/"))
            heading = search_sources.heading_of(hit.passage.title, hit.place)
            title = " › ".join(part for part in (name, page, heading) if part)
        sent_in = self._sent_in.get(hit.place, ())[:_MOST_SENT]
        when = self._changed(hit)
        return {"title": title, "href": _url(hit), "when": when, "sent_in": sent_in}

    def _changed(self, hit: Hit) -> str:
        day = _changed(self.ctx, hit.place)
        return f"changed {day_of(day)}" if day else ""

    def _fact(self, path: str, number: int) -> Fact | None:
        found = self._facts.get(path, [])
        return next((fact for fact in found if fact.first <= number <= fact.last), None)

    def _of(self, *kinds: str) -> list[Hit]:
        return [hit for hit in self.hits if hit.kind in kinds]

    @cached_property
    def _messages(self) -> dict[int, tuple[dt.datetime, Conversation]]:
        found = self._of(CHAT, PROJECT_CHAT, CHAT_VERSION)
        rows = Message.objects.filter(
            pk__in=[hit.passage.anchors[hit.best] for hit in found],
            conversation__workspace=self.ctx.row,
            conversation__deleted_at=None,
        )
        return {
            row.pk: (row.created_at, row.conversation)
            for row in rows.select_related("conversation")
        }

    @cached_property
    def _conversations(self) -> dict[str, Conversation]:
        places = [hit.place for hit in self._of(TITLE)]
        rows = Conversation.objects.filter(workspace=self.ctx.row, pk__in=places)
        return {str(row.pk): row for row in rows}

    @cached_property
    def _sent_in(self) -> dict[str, list[tuple[str, str]]]:
        """Title and address of the messages that files were sent with, the newest first."""
        found: dict[str, list[tuple[str, str]]] = {}
        rows = Attachment.objects.filter(
            workspace=self.ctx.row,
            path__in={hit.place for hit in self._of(*_IN_FILES) if is_upload_path(hit.place)},
            message__is_current=True,
            conversation__deleted_at=None,
            conversation__kind__in=KINDS_OF_CONVERSATIONS,
        ).order_by("-message")
        for row in rows.select_related("conversation"):
            if row.conversation is not None:
                url = reverse("chat:at", args=[row.conversation_id, row.message_id])
                found.setdefault(row.path, []).append((row.conversation.title or "Untitled", url))
        return found

    @cached_property
    def _items(self) -> dict[str, Archived]:
        found = ((hit.place, archive.get(self.ctx.root, hit.place)) for hit in self._of(ARCHIVED))
        return {place: item for place, item in found if item is not None}

    @cached_property
    def _standing(self) -> dict[str, archive.Standing]:
        return archive.standing(self.ctx.root, self._items.values())

    @cached_property
    def _facts(self) -> dict[str, list[Fact]]:
        return {
            path: line_edits.current_facts(self.ctx.files, path) or []
            for path in {hit.place for hit in self._of(MEMORY)}
            if path in files.BY_PATH
        }

    @cached_property
    def _since(self) -> dict[str, dt.datetime]:
        """The first write of each fact of the page, by its digest."""
        texts = [item.text for item in self._items.values()]
        facts = (self._fact(hit.place, hit.passage.anchors[hit.best]) for hit in self._of(MEMORY))
        texts += [fact.text for fact in facts if fact is not None]
        if not texts:
            return {}
        origins.save_origins(self.ctx.row)
        keys = {one for text in texts for one in digests(text)}
        rows = LineOrigin.objects.filter(workspace=self.ctx.row, digest__in=keys)
        first = rows.exclude(relation="removed").values_list("digest").annotate(Min("at"))
        return dict(first)


def _project(chat: Conversation) -> str:
    return f"in the project {chat.project}" if chat.project else ""


def _url(hit: Hit) -> str:
    passage = hit.passage
    return chat_search.passage_url(
        recall.FoundPassage(
            hit.kind, hit.place, passage.anchors[hit.best], "", passage.day, passage.title
        )
    )
