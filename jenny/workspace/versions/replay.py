"""Telling apart what each actor did since the newest version."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jenny.workspace.rules import Actor
from jenny.workspace.versions.tracked import CURSOR
from jenny.workspace.versions.writes import Write

OUTSIDE = Actor("outside")
# Kinds of actors whose runs have versions of their own; others' are put together by kind.
OF_A_RUN = frozenset({"dream", "restore"})
# A review is a part of its run of Dream.
_SAME = {"review": "dream"}


@dataclass(slots=True)
class Share:
    """What one actor did in one go: the files' contents afterwards (``None``: no file)."""

    actor: Actor
    files: dict[str, bytes | None] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)


def replay(
    before: Mapping[str, str],
    writes: Sequence[Write],
    after: Mapping[str, str],
    content: Callable[[str], bytes | None],
) -> list[Share]:
    """What happened between the newest version and now, by actor, in order.

    *before* and *after*: ids of contents by path, of the newest version and on disk (what cannot
    be known on disk stands in it as it was before). *content* gives a content on disk.
    """
    now = dict(before)
    shares: list[Share] = []
    cursor = _Cursor()
    for write, seen in zip(writes, _next_seen(writes, after), strict=True):
        # A write that a crash or a full disk kept from landing: what was seen next is the old.
        has_landed = seen == write.new or seen != write.old
        if write.path == CURSOR:
            if has_landed and _is_known(write.new, write.new_data):
                cursor.moved(shares, write)
            continue
        if now.get(write.path) != write.old and _is_known(write.old, write.old_data):
            _step(shares, OUTSIDE, write.path, write.old_data)
            _set(now, write.path, write.old)
        if has_landed and _is_known(write.new, write.new_data):
            _step(shares, write.actor, write.path, write.new_data)
            _set(now, write.path, write.new)
            cursor.rides(shares[-1])
    last = {write.path: write for write in writes}
    for path in sorted(before.keys() | after.keys() | now.keys()):
        if path == CURSOR or now.get(path) == after.get(path):
            continue
        found = last.get(path)
        is_its = found is not None and found.new == after.get(path)
        actor = found.actor if found is not None and is_its else OUTSIDE
        _step(shares, actor, path, content(path) if path in after else None)
    if before.get(CURSOR) != after.get(CURSOR):
        _last_ride(shares, content(CURSOR) if CURSOR in after else None)
    return shares


class _Cursor:
    """Dream's cursor, which is nobody's own change: it rides with what a run does."""

    def __init__(self) -> None:
        self._waits: list[bytes | None] = []

    def moved(self, shares: Sequence[Share], write: Write) -> None:
        """It rides with its run's newest share, or waits for the next one."""
        if shares and shares[-1].actor.kind in OF_A_RUN and shares[-1].actor.run == write.actor.run:
            shares[-1].files[CURSOR] = write.new_data
        else:
            self._waits = [write.new_data]

    def rides(self, share: Share) -> None:
        """What waits goes with a share of a run."""
        if self._waits and share.actor.kind in OF_A_RUN:
            share.files[CURSOR] = self._waits.pop()


def _last_ride(shares: Sequence[Share], data: bytes | None) -> None:
    """The newest share of a run takes the cursor along as it is on disk."""
    for share in reversed(shares):
        if share.actor.kind in OF_A_RUN:
            share.files.setdefault(CURSOR, data)
            return


def _next_seen(writes: Sequence[Write], after: Mapping[str, str]) -> list[str | None]:
    """For each write the content that was found in its file next."""
    seen: dict[str, str | None] = {}
    result: list[str | None] = []
    for write in reversed(writes):
        result.append(seen.get(write.path, after.get(write.path)))
        seen[write.path] = write.old
    return result[::-1]


def _is_known(sha: str | None, data: bytes | None) -> bool:
    """Whether the content of this id is at hand."""
    return sha is None or data is not None


def _set(now: dict[str, str], path: str, sha: str | None) -> None:
    if sha is None:
        now.pop(path, None)
    else:
        now[path] = sha


def _step(shares: list[Share], actor: Actor, path: str, data: bytes | None) -> None:
    """Put one change to the share of its actor: the newest one, or a new one."""
    actor = replace(actor, kind=_SAME.get(actor.kind, actor.kind))
    if not shares or not _is_one(shares[-1].actor, actor):
        shares.append(Share(actor))
    share = shares[-1]
    share.files[path] = data
    if actor.run and actor.run not in share.runs:
        share.runs.append(actor.run)


def _is_one(first: Actor, second: Actor) -> bool:
    """Whether what the two did belongs into one version."""
    if first.kind != second.kind:
        return False
    return first.kind not in OF_A_RUN or first.run == second.run
