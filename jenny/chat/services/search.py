"""The search over a workspace: its files, and what was said in its conversations."""

import contextlib
import datetime as dt
import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote
from uuid import UUID

import redis
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.urls import reverse

from jenny.accounts.models import Workspace
from jenny.agent import tokens
from jenny.agent.clock import zone_of
from jenny.agent.prompt import one_line
from jenny.broker import enqueue, redis_client
from jenny.chat.models import Conversation
from jenny.chat.services.conversation_sources import (
    KINDS_OF_CONVERSATIONS,
    ChatSource,
    ChatVersionSource,
    TitleSource,
    files_of_temporary_chats,
)
from jenny.chat.services.model_context import Said, load_history, prompt_of
from jenny.markdown.link_context import anchor
from jenny.search import Hit, Index, IndexLost, PassageStore, Results, SqliteStore
from jenny.search.index import Source
from jenny.search.postgres import PostgresStore
from jenny.search.words import Term, index_words, parse_query
from jenny.workspace import paths
from jenny.workspace.redact import redact
from memory import search_sources
from memory.history import cursors
from memory.recall import MOST, FoundPassage, PassageView, Search, shown_lines
from memory.search_sources import (
    CHAT,
    CHAT_VERSION,
    PROJECT_CHAT,
    TITLE,
    VERSION,
    VersionSource,
)
from memory.suppression import tombstones
from memory.suppression.hide import visible_line
from wikis import names

log = logging.getLogger(__name__)

# Searched for a personal conversation; those of projects stay in their projects.
PERSONAL = (*search_sources.KINDS, CHAT)
EVERYTHING = (*PERSONAL, PROJECT_CHAT)

_KEPT_INDEXES = 16
# The index of old versions, beside that of what there is.
_VERSIONS = "-versions"
# What is put behind a message by itself: lines of these kinds with at least so many and such a
# share of its words, and as many others. A wiki may be a project's.
_RELATED = (search_sources.HISTORY, search_sources.FILE, CHAT)
_RELATED_LINES, _RELATED_HITS = 3, 10
_RELATED_WORDS, _RELATED_SHARE = 2, 0.5
# The answer waits for them.
_RELATED_SECONDS = 0.3
# The prompt and the newest of what was said are compared, each up to so many characters.
_KNOWN_CHARS = 100_000
# Of each line; with their places three of them have about 150.
_RELATED_TOKENS = 40
# What stands before the text of such a line.
_HEAD = re.compile(r"\s*(?:[-*] )?(?:\[[^\]\n]{1,60}\] )?(?:You: |Jenny: )?")
# How long one task works, and how long others count on it.
_SLICE_SECONDS = 3.0
_TASK_SECONDS = 600
_indexes: OrderedDict[tuple[Any, ...], Index] = OrderedDict()
_indexes_lock = threading.Lock()


def index_of(workspace: Workspace, part: str = "") -> Index:
    """Return the index of a workspace, or that of its versions; the process keeps those used
    last."""
    name = str(connection.settings_dict["NAME"])
    key = (connection.vendor, name, settings.JENNY_DATA.cache, workspace.pk, part)
    with _indexes_lock:
        found = _indexes.pop(key, None) or _new_index(workspace, part)
        _indexes[key] = found
        while len(_indexes) > _KEPT_INDEXES:
            _indexes.popitem(last=False)
        return found


def search(
    workspace: Workspace, query: str, kinds: Sequence[str] = PERSONAL, **limits: Any
) -> Results:
    """Search a workspace. What the index lacks after a few seconds is read in the background."""
    found = index_of(workspace).search(query, kinds, **limits)
    if found.missing:
        enqueue_update(workspace.pk)
    return found


def search_versions(workspace: Workspace, query: str, **limits: Any) -> Results:
    """Search the lines that left files with earlier versions, and versions of conversations that
    are not shown, in an index of their own: it is made when somebody first asks for it."""
    kinds = (VERSION, CHAT_VERSION)
    found = index_of(workspace, _VERSIONS).search(query, kinds, **limits)
    if found.missing:
        enqueue_update(workspace.pk, _VERSIONS)
    return found


def search_for(conversation: Conversation) -> Search:
    """Return the search of a conversation's tools and commands.

    It leaves out what the model sees anyway: the conversation itself from where its context begins.
    """
    is_personal = conversation.kind == Conversation.Kind.PERSONAL
    allowed = PERSONAL if is_personal else search_sources.KINDS

    def search_kinds(query: str, kinds: Sequence[str] | None) -> Results:
        chosen = [kind for kind in allowed if kinds is None or kind in kinds]
        if not chosen:
            return Results(())
        found = search(conversation.workspace, query, chosen, most=2 * MOST)
        hits = (_unseen(conversation, hit) for hit in found.hits)
        return replace(found, hits=tuple(filter(None, hits)))

    return search_kinds


def find_related(
    conversation: Conversation, message: str, tools: Sequence[str]
) -> list[FoundPassage]:
    """Return the few earlier lines that have at least half of the words of a message, without what
    stands in the prompt or the conversation anyway.

    What waits for Dream is in the prompt, and what was archived is outdated.

    Raises:
        WorkspaceError: the files of the prompt cannot be read.
    """
    workspace = conversation.workspace
    found = search(
        workspace,
        message,
        _RELATED,
        most=_RELATED_HITS,
        seconds=_RELATED_SECONDS,
        is_quick=True,
    )
    if found.missing:
        log.info("search.index_is_behind", extra={"documents": found.missing})
    root = paths.real_root(workspace.root)
    view = PassageView(root, tombstones.state(root), found.hits)
    read_to = cursors.dream_cursor(workspace.root)
    close = [
        (hit, lines)
        for hit in filter(None, (_unseen(conversation, hit) for hit in found.hits))
        if (hit.kind != search_sources.HISTORY or hit.passage.anchors[0] <= read_to)
        and (lines := _close_lines(hit, found.words, view))
    ]
    if not close:
        return []
    asked = frozenset(index_words([message.replace("\n", " ")])[0].split())
    known = _known_lines(conversation, tools)
    related: list[FoundPassage] = []
    for hit, lines in close:
        for at, line in lines:
            terms = parse_query(_HEAD.sub("", line, count=1)).terms
            new = [term for term in terms if not asked & (term.forms | term.others)]
            if len(new) >= _RELATED_WORDS and not any(_has_all(one, terms) for one in known):
                known.append(frozenset(index_words([line])[0].split()))
                place = hit.kind, hit.place, hit.passage.anchors[at]
                text = _cut_to_tokens(redact(line.strip()).text)
                title = visible_line(view.state, hit.passage.title) or ""
                related.append(FoundPassage(*place, text, hit.passage.day, title))
                break
    return related[:_RELATED_LINES]


def _cut_to_tokens(text: str) -> str:
    size = tokens.estimate(text)
    return one_line(text, max(1, len(text) * _RELATED_TOKENS // max(_RELATED_TOKENS, size)))


def _close_lines(hit: Hit, words: int, view: PassageView) -> list[tuple[int, str]]:
    """Return the lines of a passage that fit a message of so many *words* well, best first."""
    least = max(_RELATED_WORDS, _RELATED_SHARE * words)
    lines = [(at, line) for at, line in shown_lines(hit, view).items() if hit.matches[at] >= least]
    return sorted(lines, key=lambda row: -hit.scores[row[0]])


def _known_lines(conversation: Conversation, tools: Sequence[str]) -> list[frozenset[str]]:
    """Return the words of each line of the prompt and of the newest part of the conversation."""
    said = "\n".join(
        text
        for row in load_history(conversation)
        for text in (row.text, row.context, *(piece.text for piece in row.pieces))
    )
    prompt = prompt_of(conversation, tools).text[:_KNOWN_CHARS]
    lines = index_words(f"{prompt}\n{said[-_KNOWN_CHARS:]}".split("\n"))
    return [frozenset(line.split()) for line in lines]


def _has_all(words: frozenset[str], terms: Sequence[Term]) -> bool:
    return all(words & (term.forms | term.others) for term in terms)


def hide_forgotten(conversation: Conversation, spoken: Sequence[Said]) -> list[Said]:
    """Leave out the related lines of earlier messages that were forgotten since then."""
    state = tombstones.state(conversation.workspace.root)
    if not state.active:
        return list(spoken)
    return [replace(row, context=_remembered(row.context, state)) for row in spoken]


def _remembered(context: str, state: tombstones.State) -> str:
    # A line names its place, and may name a speaker, before what was said.
    return "\n".join(
        line
        for line in context.split("\n")
        if not line.startswith("- ")
        or not any(state.match(line[head.end() :]) for head in re.finditer("^- |: ", line))
    )


def search_all(workspace: Workspace) -> Search:
    """Return a search of the files and the personal conversations of a workspace."""
    return lambda query, kinds: search(workspace, query, kinds or PERSONAL, most=2 * MOST)


def _unseen(conversation: Conversation, hit: Hit) -> Hit | None:
    """Return the hit without the lines that the model sees; ``None`` when no other fits."""
    if hit.kind != CHAT or hit.place != str(conversation.pk):
        return hit
    passage = hit.passage
    count = sum(anchor < conversation.context_from for anchor in passage.anchors)
    if count == len(passage.anchors):
        return hit
    scores = hit.scores[:count]
    if not any(scores):
        return None
    older = replace(passage, lines=passage.lines[:count], anchors=passage.anchors[:count])
    return replace(hit, passage=older, scores=scores, matches=hit.matches[:count])


def passage_url(row: FoundPassage) -> str:
    """Return the address of a passage, as near to its line as there is one."""
    if row.kind == search_sources.HISTORY:
        return reverse("chat:entry", args=[row.anchor])
    if row.kind == TITLE:
        return reverse("chat:conversation", args=[row.place])
    if row.kind in (CHAT, PROJECT_CHAT, CHAT_VERSION):
        return reverse("chat:at", args=[row.place, row.anchor])
    if row.kind == search_sources.MEMORY:
        return f"/memory/files/{quote(row.place)}?from={row.anchor}#line-{row.anchor}"
    if row.kind == search_sources.WIKI and row.place.count("/") > 1:
        _, name, path = row.place.split("/", 2)
        heading = search_sources.heading_of(row.title, row.place)
        return names.page_url(name, path, anchor(heading) if heading else "")
    return f"/workspace/{quote(row.place)}?line={row.anchor}#line-{row.anchor}"


def enqueue_update(workspace: UUID, part: str = "") -> None:
    """Have an index of a workspace brought up to date, unless that is enqueued already."""
    with contextlib.suppress(redis.RedisError):
        if redis_client().set(_task_key(workspace, part), 1, nx=True, ex=_TASK_SECONDS):
            enqueue("chat.update_search_index", str(workspace), part)


def enqueue_updates() -> None:
    """Have every index brought up to date, so that none keeps what was edited or deleted."""
    for pk in Workspace.objects.values_list("pk", flat=True):
        enqueue_update(pk)
        _update_versions(pk)


def _update_versions(workspace: UUID) -> None:
    """Have the index of versions brought up to date if somebody asked for it before."""
    with contextlib.suppress(IndexLost):
        if _store(f"{workspace}{_VERSIONS}").exists():
            enqueue_update(workspace, _VERSIONS)


def update_index(workspace_id: str, part: str = "") -> None:
    """Bring an index of a workspace up to date for a few seconds; another task does what is left
    then, so that others of the queue are not kept waiting."""
    workspace = Workspace.objects.select_related("owner").filter(pk=workspace_id).first()
    left = 0
    if workspace is not None:
        # After an error the next search, or the next of these tasks, tries again.
        with contextlib.suppress(IndexLost):
            index = index_of(workspace, part)
            left = index.update(seconds=_SLICE_SECONDS)
            if not left:
                index.compact()
    key = _task_key(workspace_id, part)
    with contextlib.suppress(redis.RedisError):
        if left:
            redis_client().expire(key, _TASK_SECONDS)
            enqueue("chat.update_search_index", workspace_id, part)
        else:
            redis_client().delete(key)


def forget_conversation(conversation: Conversation) -> None:
    """Remove a deleted conversation from the indexes."""
    place = str(conversation.pk)
    with contextlib.suppress(IndexLost):
        index_of(conversation.workspace).remove(
            [(kind, place) for kind in (TITLE, *KINDS_OF_CONVERSATIONS.values())]
        )
        versions = _store(f"{conversation.workspace_id}{_VERSIONS}")
        if versions.exists():
            versions.remove([(CHAT_VERSION, place)])
    # What the index still has of its words is overwritten, and what somebody stored at the moment
    # of the deletion is removed.
    enqueue_update(conversation.workspace_id)
    _update_versions(conversation.workspace_id)


def forget_index(workspace: str) -> None:
    """Remove the indexes of a deleted workspace; they contain its texts."""
    for part in ("", _VERSIONS):
        _store(workspace + part).clear()


def _new_index(workspace: Workspace, part: str) -> Index:
    zone: dt.tzinfo = zone_of(workspace.owner.time_zone)
    sources: tuple[Source, ...]
    if part:
        sources = (VersionSource(workspace.root, zone), ChatVersionSource(workspace.pk, zone))
    else:
        left_out = partial(files_of_temporary_chats, workspace.pk)
        sources = (
            TitleSource(workspace.pk),
            *search_sources.sources(workspace.root, left_out),
            ChatSource(workspace.pk, zone),
            search_sources.ForgottenSource(workspace.root),
        )
    return Index(_store(f"{workspace.pk}{part}"), sources)


def _store(workspace: str) -> PassageStore:
    if connection.vendor == "postgresql":
        return PostgresStore(workspace, _cursor)
    return SqliteStore(settings.JENNY_DATA.cache / "search" / f"{workspace}.sqlite3")


def _task_key(workspace: UUID | str, part: str) -> str:
    return f"jenny:search:{workspace}{part}"


@contextlib.contextmanager
def _cursor() -> Iterator[Any]:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            yield cursor
    except DatabaseError as error:
        raise IndexLost from error
