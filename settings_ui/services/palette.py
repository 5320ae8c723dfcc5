"""What the palette of every page offers for some words: places to go, and commands to write."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse

from jenny.accounts.services.workspace_context import WorkspaceContext
from jenny.chat.models import Conversation
from jenny.chat.services import search as chat_search
from jenny.chat.services.commands import COMMANDS
from jenny.search.store import CANDIDATES
from jenny.text_normalisation import search_tokens
from memory import recall
from memory.search_sources import FILE, MEMORY, SKILL, TITLE, WIKI
from settings_ui.services import search
from wikis import names

# Offered of each kind, and of recent conversations when nothing is typed yet.
_MOST, _RECENT = 5, 8
# The newest titles are looked at themselves, as they may not be in the index yet.
_NEWEST = 300
_TITLE_CHARS = 90
# Longer texts are for the page.
QUERY_CHARS = 200
# Time for what the index lacks, as each letter asks again.
_SECONDS = 0.2

# The name of a page's route, its title, and other words for it.
PAGES: tuple[tuple[str, str, str], ...] = (
    ("chat:start", "New chat", "begin conversation"),
    ("chat:all", "All conversations", "archived pinned tags"),
    ("chat:trash", "Trash of conversations", "deleted bin"),
    ("memory", "What Jenny knows", "memory facts lines"),
    ("memory_overview", "Memory overview", "dream"),
    ("memory_runs", "Memory updates", "dream runs"),
    ("memory_history", "History", "memory notes"),
    ("memory_approvals", "To review", "memory approve changes"),
    ("memory_archive", "Removed from memory", "archive bring back"),
    ("memory_forgotten", "Forgotten", "memory allow again"),
    ("wikis", "Wikis", "pages projects"),
    ("wiki_graph_of_all", "Graph of all wikis", "links"),
    ("wiki_create", "New wiki", "create project"),
    ("files", "Files", "workspace folder"),
    ("files_trash", "Trash of files", "deleted bin"),
    ("snapshots", "Snapshots", "restore undo backup"),
    ("snapshot_versions", "Versions", "history of memory files git"),
    ("search", "Search", "find everything"),
    ("settings_memory", "Settings: Memory updates", "dream schedule"),
    ("settings_conversation", "Settings: Conversation", "context window"),
    ("settings_models", "Settings: Models", "key provider preset"),
    ("settings_skills", "Settings: Skills", "tools"),
    ("settings_projects", "Settings: Projects", "gardener tidy"),
    ("settings_workspaces", "Settings: Workspaces", "switch"),
    ("settings_backup", "Settings: Backup", "export import download"),
    ("settings_privacy", "Settings: Privacy", "what is sent"),
    ("settings_usage", "Settings: Usage", "tokens cost money"),
    ("settings_account", "Settings: Account", "password sessions two-factor log in"),
    ("settings_appearance", "Settings: Appearance", "theme dark light"),
    ("settings_system", "Settings: System", "developer mode version"),
    ("settings_health", "Health of the workspace", "check files"),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry. *writes*: what it writes into the message field, where there is one."""

    kind: str
    title: str
    href: str
    hint: str = ""
    writes: str = ""


def choices(ctx: WorkspaceContext, query: str) -> list[Choice]:
    """Return what fits the words, the best of each kind; the last entry searches everything."""
    plain = query.replace("\0", " ").strip()[:QUERY_CHARS]
    if not plain:
        pages = [Choice("Page", *_page(name, title)) for name, title, _ in PAGES[:4]]
        return [*islice(_conversations(ctx, "", ()), _RECENT), *pages]
    words = _words(plain)
    if plain.startswith("/"):
        return [*_commands(plain), _everything(plain)]
    found = [
        *islice(_conversations(ctx, plain, words), _MOST),
        *islice(_pages(words), _MOST),
        *_lines(ctx, plain),
        *_files(ctx, words),
        *islice(_commands(plain), _MOST),
    ]
    return [*(found if words else ()), _everything(plain)]


def _words(text: str) -> tuple[str, ...]:
    return tuple(form for _, _, form in search_tokens(text))


def _fits(words: Iterable[str], text: str) -> bool:
    """True when each of the words is the beginning of one of the text's."""
    there = _words(text)
    return all(any(one.startswith(word) for one in there) for word in words)


def _conversations(ctx: WorkspaceContext, query: str, words: tuple[str, ...]) -> Iterator[Choice]:
    """Yield conversations whose titles have the words: of the newest and of temporary ones, which
    the index does not have or not yet, then those that it has; of each the newest first."""
    rows = Conversation.objects.filter(workspace=ctx.row).order_by("-active_at")
    temporary = rows.filter(kind=Conversation.Kind.TEMPORARY)
    fitting = (
        row
        for row in chain(_titles(rows[:_NEWEST]), _titles(temporary[:_NEWEST]))
        if _fits(words, " ".join(row[1:]))
    )
    seen = set()
    for pk, title, project in chain(fitting, _indexed(ctx, query, rows)):
        if pk not in seen:
            seen.add(pk)
            hint = f"project {project}" if project else ""
            href = reverse("chat:conversation", args=[pk])
            yield Choice("Conversation", title or "Untitled", href, hint)


def _titles(rows: QuerySet[Conversation]) -> Iterator[tuple[UUID, str, str]]:
    yield from rows.values_list("pk", "title", "project")


def _indexed(
    ctx: WorkspaceContext, query: str, rows: QuerySet[Conversation]
) -> Iterator[tuple[UUID, str, str]]:
    limits: dict[str, Any] = {"most": CANDIDATES, "seconds": _SECONDS, "is_quick": True}
    found = chat_search.search(ctx.row, query, (TITLE,), **limits, is_typed=True, is_begun=True)
    if found.hits and not found.is_partial:
        yield from _titles(rows.filter(pk__in=[hit.place for hit in found.hits]))


def _page(name: str, title: str) -> tuple[str, str]:
    return title, reverse(name)


def _pages(words: tuple[str, ...]) -> Iterator[Choice]:
    """Yield the pages whose title has the words, then those that other words name."""
    rest = []
    for name, title, more in PAGES:
        choice = Choice("Page", *_page(name, title))
        if _fits(words, title):
            yield choice
        elif _fits(words, f"{title} {more}"):
            rest.append(choice)
    yield from rest


def _lines(ctx: WorkspaceContext, query: str) -> Iterator[Choice]:
    """Yield lines of memory; looking for them also brings the index up to date."""
    limits: dict[str, Any] = {"most": _MOST, "seconds": _SECONDS, "is_typed": True}
    found = chat_search.search(ctx.row, query, (MEMORY,), **limits)
    for row in search.rows(ctx, found, () if found.is_partial else found.hits):
        line = "".join(text for text, _ in row.words).split("\n")
        best = next((one for one in line if one.strip()), "")
        title = recall.excerpt({0: best.lstrip("-*# ")}, 0, _TITLE_CHARS)
        hint = "forgotten" if row.is_forgotten else row.title
        yield Choice("Memory", title, row.href, hint)


def _files(ctx: WorkspaceContext, words: tuple[str, ...]) -> Iterator[Choice]:
    """Yield wikis and files whose path has the words, the shortest first."""
    places = chat_search.index_of(ctx.row).places()
    paths = [(kind, path) for kind, path in places if kind in {MEMORY, SKILL, WIKI, FILE}]
    wikis = {path.split("/")[1] for kind, path in paths if kind == WIKI and path.count("/") > 1}
    for name in sorted(name for name in wikis if _fits(words, name))[:_MOST]:
        yield Choice("Wiki", name, names.wiki_url(name))
    fitting = [row for row in paths if _fits(words, row[1])]
    for kind, path in sorted(fitting, key=lambda row: (len(row[1]), row[1]))[:_MOST]:
        if kind == WIKI and path.count("/") > 1:
            _, name, inside = path.split("/", 2)
            yield Choice("Wiki page", inside, names.page_url(name, inside), name)
        else:
            yield Choice("File", path, f"/workspace/{quote(path)}")


def _commands(query: str) -> Iterator[Choice]:
    """Yield slash commands by the beginning of their names, or by words of what they do."""
    typed = query.lower().removeprefix("/")
    words = _words(typed)
    for command in COMMANDS:
        name = command.name.removeprefix("/")
        is_named = name.startswith(typed.split(" ")[0]) if typed else True
        if is_named or (words and not query.startswith("/") and _fits(words, command.help)):
            text = f"{command.name} " if command.argument else command.name
            href = f"{reverse('chat:start')}#{urlencode({'write': text})}"
            yield Choice("Command", command.name, href, command.help, text)


def _everything(query: str) -> Choice:
    href = f"{reverse('search')}?{urlencode({'q': query})}"
    return Choice("Search", f"Search everything for “{query}”", href)
