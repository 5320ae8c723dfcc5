"""Lists conversations page by page, marks them, and tags them.

A page begins after a position, which is found by an index: every page takes the same few queries,
however many conversations there are.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import QueryDict

from jenny.accounts.models import Workspace
from jenny.chat.models import Conversation, Tag, Turn

# Conversations of one page.
PAGE = 50
LONGEST_TAG = 40
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SHOWS = {
    "": "All but archived",
    "unread": "Unread",
    "pinned": "Pinned",
    "archived": "Archived",
    "temporary": "Temporary",
}


@dataclass(frozen=True, slots=True)
class Filters:
    """The choices of the list's page; empty: all conversations that are not archived."""

    show: str = ""
    project: str = ""
    tag: str = ""

    @classmethod
    def of(cls, query: QueryDict) -> "Filters":
        show = query.get("show", "")
        return cls(
            show if show in SHOWS else "",
            query.get("project", "").replace("\0", "")[:255],
            query.get("tag", "").replace("\0", "")[:LONGEST_TAG],
        )

    @property
    def query(self) -> str:
        """The query string of the page's address; it names only what is chosen."""
        found = QueryDict(mutable=True)
        for name in ("show", "project", "tag"):
            if value := getattr(self, name):
                found[name] = value
        return found.urlencode()

    def __bool__(self) -> bool:
        return bool(self.show or self.project or self.tag)


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a list: after the conversation *key*, whose time is *at*."""

    is_pinned: bool
    at: datetime
    key: UUID

    def __str__(self) -> str:
        since = (self.at - _EPOCH) // timedelta(microseconds=1)
        return f"{int(self.is_pinned)}-{since}-{self.key.hex}"

    @classmethod
    def of(cls, text: str) -> "Position | None":
        """Parse the position of an address; ``None``: it is none, and the list begins anew."""
        try:
            pinned, since, key = text[:80].split("-")
            at = _EPOCH + timedelta(microseconds=int(since))
            found = cls(pinned == "1", at, UUID(hex=key))
        except (ValueError, OverflowError):
            return None
        # A time far from now may be none in the person's zone.
        return found if at < datetime.now(UTC) + timedelta(days=1) else None


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of a list, and the position of the next one; ``None``: it is the last."""

    rows: list[Conversation]
    after: Position | None


def list_conversations(
    workspace: Workspace,
    filters: Filters = Filters(),
    after: Position | None = None,
    count: int = PAGE,
) -> ListPage:
    """List conversations: without filters the pinned ones first, then by their last activity."""
    live = Turn.objects.filter(conversation=OuterRef("pk"), state__in=Turn.LIVE)
    rows = _chosen(workspace, filters).annotate(is_live=Exists(live))
    found: list[Conversation] = []
    if not filters:
        if after is None or after.is_pinned:
            found = _next(rows.filter(is_pinned=True), "active_at", after, count)
            after = None
        rows = rows.filter(is_pinned=False)
    if len(found) <= count:
        found += _next(rows, "active_at", after, count - len(found))
    return _page(found, "active_at", count, has_pinned=not filters)


def list_trash(workspace: Workspace, after: Position | None = None) -> ListPage:
    """List the conversations in the trash, the last deleted first."""
    rows = Conversation.all_objects.filter(workspace=workspace, deleted_at__isnull=False)
    return _page(_next(rows, "deleted_at", after, PAGE), "deleted_at", PAGE)


def projects_of(workspace: Workspace) -> list[str]:
    rows = Conversation.objects.filter(workspace=workspace, kind=Conversation.Kind.PROJECT)
    return list(rows.order_by("project").values_list("project", flat=True).distinct())


def tags_of(workspace: Workspace) -> list[Tag]:
    """Return the tags that a conversation has, by name."""
    used = Conversation.objects.filter(tags=OuterRef("pk"))
    return list(Tag.objects.filter(Exists(used), workspace=workspace).order_by("key"))


def tag(workspace: Workspace, chats: Iterable[Conversation], name: str) -> str:
    """Give the tag of that name to conversations; return its name, or "" when *name* is blank."""
    name = " ".join(name.replace("\0", "").replace(",", " ").split())[:LONGEST_TAG].strip()
    if not name:
        return ""
    with transaction.atomic():
        # Locked, so that nobody deletes it as a tag that no conversation has.
        found, _ = Tag.objects.select_for_update().get_or_create(
            workspace=workspace, key=_tag_key(name), defaults={"name": name}
        )
        found.conversations.add(*chats)
    return found.name


def untag(workspace: Workspace, chats: Iterable[Conversation], name: str) -> None:
    """Take a tag from conversations; a tag that none has any more is deleted."""
    with transaction.atomic():
        rows = Tag.objects.select_for_update()
        found = rows.filter(workspace=workspace, key=_tag_key(name)).first()
        if found is not None:
            found.conversations.remove(*chats)
            if not found.conversations.exists():
                found.delete()


def set_tags(chat: Conversation, names: Iterable[str]) -> None:
    """Let the conversation have exactly these tags."""
    wanted = {_tag_key(name): name for name in names if name.strip()}
    for old in chat.tags.exclude(key__in=wanted):
        untag(chat.workspace, [chat], old.name)
    for name in wanted.values():
        tag(chat.workspace, [chat], name)


def mark_seen(chat: Conversation) -> None:
    Conversation.objects.filter(pk=chat.pk, is_unread=True).update(is_unread=False)


def _tag_key(name: str) -> str:
    return " ".join(name.replace("\0", "").split()).casefold()[:80]


def _chosen(workspace: Workspace, filters: Filters) -> QuerySet[Conversation]:
    rows = Conversation.objects.filter(workspace=workspace)
    if filters.show == "unread":
        # Archived ones, too: one can be archived while its answer is written.
        rows = rows.filter(is_unread=True)
    else:
        rows = rows.filter(is_archived=filters.show == "archived")
    if filters.show == "temporary":
        rows = rows.filter(kind=Conversation.Kind.TEMPORARY, project="")
    elif filters.show == "pinned":
        rows = rows.filter(is_pinned=True)
    if filters.project:
        rows = rows.filter(kind=Conversation.Kind.PROJECT, project=filters.project)
    if filters.tag:
        rows = rows.filter(tags__key=_tag_key(filters.tag))
    return rows


def _next(
    rows: QuerySet[Conversation], field: str, after: Position | None, count: int
) -> list[Conversation]:
    """Return the next *count* rows after the position, and one more if there is one."""
    if after is not None:
        # The first condition is the index's; the second one leaves out rows of the same time.
        same = Q(**{f"{field}__lt": after.at}) | Q(pk__lt=after.key)
        rows = rows.filter(same, **{f"{field}__lte": after.at})
    return list(rows.order_by(f"-{field}", "-pk")[: count + 1])


def _page(
    found: list[Conversation], field: str, count: int, *, has_pinned: bool = False
) -> ListPage:
    if len(found) <= count:
        return ListPage(found, None)
    last = found[count - 1]
    is_pinned = has_pinned and last.is_pinned
    return ListPage(found[:count], Position(is_pinned, getattr(last, field), last.pk))
