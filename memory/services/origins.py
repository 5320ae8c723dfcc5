import contextlib
import logging
import zlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import DatabaseError, transaction
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.db_connections import release_db_connection
from jenny.workspace import line_files, retention
from jenny.workspace.errors import WorkspaceError
from memory import provenance
from memory.history import reader
from memory.models import LineOrigin, TurnChange
from memory.provenance import PAGE, Writing, unpack_content

log = logging.getLogger(__name__)

# Limit of predecessors that are followed, and of writes that are listed.
_GENERATIONS = 40
MOST_WRITES = 100
_ROWS_AT_ONCE = 500
_COLUMN = 512


def save_origins(workspace: Workspace) -> bool:
    """Store the origins that writes noted in the workspace. ``False``: it failed, the notes are
    kept, and the next call stores them."""
    root = workspace.root
    if not line_files.size(root, provenance.NAME):
        return True
    try:
        with line_files.taking(root, provenance.NAME) as rows:
            _keep(workspace, rows)
    except (DatabaseError, OSError, WorkspaceError) as error:
        log.warning("origins.not_kept", extra={"cause": type(error).__name__})
        return False
    return True


def save_all_origins() -> None:
    """Store the noted origins of every workspace, and delete old changes of the pages."""
    old = timezone.now() - retention.PAGE_CHANGE
    TurnChange.objects.filter(run__startswith=PAGE, at__lt=old).delete()
    for workspace in Workspace.objects.filter(deleted_at=None).exclude(folder_made_at=None):
        save_origins(workspace)
        release_db_connection()


def writings(workspace: Workspace, *digests: str) -> tuple[Writing, ...]:
    """Return the writes of the lines with this digest and of their predecessors, newest first."""
    found: list[tuple[bool, LineOrigin]] = []
    wanted, seen = set(digests), set(digests)
    for generation in range(_GENERATIONS):
        if not wanted or len(found) >= MOST_WRITES:
            break
        rows = LineOrigin.objects.filter(workspace=workspace, digest__in=wanted)
        rows = rows.exclude(relation="removed").order_by("-at", "-pk")[:MOST_WRITES]
        wanted = set()
        for row in rows:
            found.append((generation == 0, row))
            wanted |= {one for one in row.was if one not in seen}
        seen |= wanted
    found.sort(key=lambda pair: (pair[1].at, pair[1].pk), reverse=True)
    return tuple(_writing(row, is_own=is_own) for is_own, row in found[:MOST_WRITES])


def changes_of(workspace: Workspace, run: str) -> list[TurnChange]:
    """Return the changes of a chat turn or a form by path, without what it reverted itself."""
    save_origins(workspace)
    rows = TurnChange.objects.filter(workspace=workspace, run=run).order_by("path")
    return [row for row in rows if row.before != row.after]


def mark_undone(rows: Iterable[TurnChange]) -> None:
    TurnChange.objects.filter(pk__in=[row.pk for row in rows]).update(undone_at=timezone.now())


def drop_changes(workspace: Workspace, runs: Iterable[str]) -> None:
    """Delete the contents that these turns changed, since no page shows them any more. The
    origins of lines are kept."""
    TurnChange.objects.filter(workspace=workspace, run__in=list(runs)).delete()


def exported(workspace: Workspace) -> Iterator[dict[str, Any]]:
    """Yield the rows as values for JSON lines, oldest first."""
    save_origins(workspace)
    for row in LineOrigin.objects.filter(workspace=workspace).order_by("pk").values().iterator():
        del row["id"], row["workspace_id"]
        yield row | {"at": row["at"].isoformat()}


def holding(workspace: Workspace, text: str) -> list[TurnChange]:
    """Return the kept contents that contain *text*, for a search for every copy."""
    wanted = text.encode()
    rows = TurnChange.objects.filter(workspace=workspace).order_by("pk").iterator()
    return [
        row for row in rows if any(wanted in bytes(one or b"") for one in (row.before, row.after))
    ]


def _keep(workspace: Workspace, rows: list[dict[str, Any]]) -> None:
    """Store new notes; existing rows stay."""
    whole = [row for row in rows if _is_whole(row)]
    there = _there(workspace.root, whole)
    made = [
        LineOrigin(
            workspace=workspace,
            act=row["act"],
            number=number,
            path=row["path"][:_COLUMN],
            digest=digest,
            relation=relation,
            was=was,
            was_path=was_path[:_COLUMN],
            actor=row["actor"][:16],
            account=row["account"],
            run=row["run"][:128],
            sources=[one for one in row["sources"] if there is None or one in there],
            missing=[] if there is None else [one for one in row["sources"] if one not in there],
            reason=row["reason"][:2_000],
            at=datetime.fromisoformat(row["at"]),
        )
        for row in whole
        for number, (digest, relation, was, was_path) in enumerate(row["lines"])
    ]
    with transaction.atomic():
        LineOrigin.objects.bulk_create(made, _ROWS_AT_ONCE, ignore_conflicts=True)
        for row in whole:
            if "before" in row:
                _keep_contents(workspace, row)


def _keep_contents(workspace: Workspace, row: dict[str, Any]) -> None:
    """Store a turn's change of a file: the first content stays, the last one is updated."""
    with contextlib.suppress(ValueError, zlib.error):
        before, after = unpack_content(row["before"]), unpack_content(row["after"])
        at = datetime.fromisoformat(row["at"])
        mine = TurnChange.objects.filter(workspace=workspace, run=row["run"], path=row["path"])
        if not mine.exists():
            TurnChange.objects.create(
                workspace=workspace,
                run=row["run"],
                path=row["path"],
                before=before,
                after=after,
                at=at,
            )
        else:
            mine.filter(at__lte=at).update(after=after, at=at)


def _is_whole(row: dict[str, Any]) -> bool:
    texts = ("act", "at", "path", "actor", "run", "reason")
    return (
        all(isinstance(row.get(name), str) for name in texts)
        and all(isinstance(row.get(name), list) for name in ("sources", "lines"))
        and all(isinstance(line, list) and len(line) == 4 for line in row["lines"])  # noqa: PLR2004 - the parts of a line
    )


def _there(root: Path, rows: list[dict[str, Any]]) -> frozenset[int] | None:
    """Return which of the named entries exist; ``None`` when that is unknown now."""
    named = {one for row in rows for one in row["sources"] if type(one) is int}
    try:
        return frozenset(reader.find_by_cursor(root, named))
    except WorkspaceError:
        return None


def _writing(row: LineOrigin, *, is_own: bool) -> Writing:
    return Writing(
        path=row.path,
        relation=row.relation,  # type: ignore[arg-type]  # only derive() fills the column
        actor=row.actor,
        run=row.run,
        account=row.account,
        sources=tuple(row.sources),
        missing=tuple(row.missing),
        reason=row.reason,
        at=row.at,
        was_path=row.was_path,
        is_own=is_own,
    )
