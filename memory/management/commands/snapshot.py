"""``snapshot``: takes, shows, compares, restores and prunes snapshots."""

import os
import stat
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.models import Workspace
from jenny.accounts.services.json_command import (
    JSONCommand,
    before_and_after_the_verb,
    workspace_called,
)
from jenny.workspace.errors import SnapshotUnknown, WorkspaceError, reason_of
from jenny.workspace.names import shown
from jenny.workspace.snapshots import comparison, reader
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import FileRow, Snapshot, counted, sized
from memory.services import restores, snapshots

# Files whose changed lines ``diff`` shows without naming them.
MOST_TEXTS = 50
MARKS = {"added": "+", "changed": "~", "removed": "−"}
PRINTED_BYTES = 1_000_000

type Answer = dict[str, Any]


class Command(JSONCommand):
    help = "Snapshots of a whole workspace: create, list, show, diff, restore, prune."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        both = before_and_after_the_verb(parser)
        verbs = parser.add_subparsers(dest="verb", required=True)

        verb = verbs.add_parser("create", parents=[both], help="take one now")
        verb.add_argument("--label", default="", help="words of your own to find it by")
        verb.add_argument(
            "--reread", action="store_true",
            help="read every file and check every stored object, whatever is remembered of them",
        )  # fmt: skip

        verb = verbs.add_parser("list", parents=[both], help="list them, newest first")
        verb.add_argument("--limit", type=int, default=50, metavar="N", help="so many (50)")

        verb = verbs.add_parser("show", parents=[both], help="show a snapshot, a folder or a file")
        verb.add_argument("snapshot", help="its number or id, or latest")
        verb.add_argument("path", nargs="?", default="", help="a folder or file in it")
        verb.add_argument("--output", metavar="FILE", help="write the file's exact bytes here")

        verb = verbs.add_parser("diff", parents=[both], help="say what differs")
        verb.add_argument("snapshot", help="the older one: its number or id, or latest")
        verb.add_argument("other", nargs="?", default="now", help="another one, or now (now)")
        verb.add_argument("--path", default="", help="only this file, or files in this folder")
        verb.add_argument("--names", action="store_true", help="only the names")

        verb = verbs.add_parser(
            "restore", parents=[both], help="bring everything, a folder or a file back"
        )
        verb.add_argument("snapshot", help="its number or id, or latest")
        verb.add_argument("path", nargs="?", default="", help="only this folder or file")
        verb.add_argument("--yes", action="store_true", help="do it; else it is only said")

        verb = verbs.add_parser("prune", parents=[both], help="say what the rules let go")
        verb.add_argument("--yes", action="store_true", help="and delete it")

    def answer(self, **options: Any) -> Answer:
        workspace = workspace_called(options["workspace"])
        try:
            answer: Answer = VERBS[options["verb"]](workspace, options)
        except WorkspaceError as error:
            raise CommandError(error.message) from error
        return {"workspace": workspace.slug} | answer


def _create(workspace: Workspace, options: dict[str, Any]) -> Answer:
    outcome = snapshots.take_snapshot(
        workspace, "manual", label=options["label"], reread=options["reread"]
    )
    lines = [outcome.message, *(f"  {row.message}" for row in outcome.skipped)]
    lines.append(_line(outcome.snapshot))
    return {
        "message": "\n".join(lines),
        "new": outcome.is_new,
        "snapshot": _facts(outcome.snapshot),
        "skipped": [asdict(row) for row in outcome.skipped],
    }


def _list(workspace: Workspace, options: dict[str, Any]) -> Answer:
    shots = reader.list_snapshots(snapshots.store_of(workspace))
    some = shots[: max(options["limit"], 0)]
    lines = [_line(shot) for shot in some]
    if len(some) < len(shots):
        lines.append(f"… {len(shots) - len(some):,} older ones; see --limit.")
    return {
        "message": "\n".join(lines) or "There is no snapshot yet.",
        "total": len(shots),
        "snapshots": [_facts(shot) for shot in some],
    }


def _show(workspace: Workspace, options: dict[str, Any]) -> Answer:
    store = snapshots.store_of(workspace)
    name = store.resolve(options["snapshot"])
    with store.open() as repo:
        shot = _shelved(store, name) or store.get(repo, name)
        path = options["path"].strip("/")
        if path and (row := _file(repo, shot, path)):
            return {"snapshot": _facts(shot)} | _content(repo, row, options["output"])
        rows = reader.read_folder(repo, shot, path)
        missing = [] if path else reader.read_skipped(repo, shot)
    lines = [_line(shot), *map(_row, rows)]
    if missing:
        lines += ["Skipped or worth a note:", *(f"  {one.message}" for one in missing)]
    return {
        "message": "\n".join(lines),
        "snapshot": _facts(shot),
        "files": [_row_facts(row) for row in rows],
        "skipped": [asdict(one) for one in missing],
    }


def _diff(workspace: Workspace, options: dict[str, Any]) -> Answer:
    store, wanted = snapshots.store_of(workspace), options["path"].strip("/")
    name, other = store.resolve(options["snapshot"]), options["other"]
    with store.open() as repo:
        old = store.get(repo, name)
        if other == "now":
            compared = comparison.with_now(store, repo, old, workspace.root)
        else:
            compared = comparison.with_another(repo, old, store.get(repo, store.resolve(other)))
        rows = [
            row for row in compared.rows if not wanted or f"{row.path}/".startswith(f"{wanted}/")
        ]
        texts = {
            row.path: comparison.text(repo, compared, row, workspace.root)
            for row in rows[: 0 if options["names"] else MOST_TEXTS]
        }
    until = compared.new.id if compared.new is not None else "now"
    lines = [f"From {old.id} to {until}: {_differ(len(rows))}."]
    for row in rows:
        lines.append(f"{MARKS[row.what]} {shown(row.path)}")
        lines += [f"    {line}" for line in texts.get(row.path, "").splitlines()]
    if texts and len(rows) > MOST_TEXTS:
        lines.append(f"Lines are shown for the first {MOST_TEXTS} files; see --path.")
    return {
        "message": "\n".join(lines),
        "old": old.id,
        "new": until,
        "files": [
            {"path": row.path, "what": row.what, "text": texts.get(row.path)} for row in rows
        ],
    }


def _restore(workspace: Workspace, options: dict[str, Any]) -> Answer:
    shot, answer = restores.answer(workspace, options)
    return {"snapshot": _facts(shot)} | answer


def _prune(workspace: Workspace, options: dict[str, Any]) -> Answer:
    plan = snapshots.plan(workspace)
    answer: Answer = {
        "keep_for": plan.keep_for,
        "thinned": [shot.id for shot in plan.thinned],
        "expired": [shot.id for shot in plan.expired],
        "kept": plan.kept,
        "deleted": [],
    }
    lines = [plan.message, *(f"  {_line(shot)}" for shot in plan.goes)]
    if options["yes"]:
        done = snapshots.prune(workspace, plan)
        answer |= {"deleted": list(done.deleted), "freed": done.freed}
        lines.append(done.message)
    elif plan.goes:
        lines.append("Nothing was deleted. Delete it with: snapshot prune --yes")
    return {"message": "\n".join(lines)} | answer


VERBS: dict[str, Callable[[Workspace, dict[str, Any]], Answer]] = {
    "create": _create,
    "list": _list,
    "show": _show,
    "diff": _diff,
    "restore": _restore,
    "prune": _prune,
}


def _differ(count: int) -> str:
    return f"{counted(count, 'file')} {'differs' if count == 1 else 'differ'}"


def _shelved(store: Store, name: str) -> Snapshot | None:
    """Return the snapshot with its changes from the one before it."""
    return next((shot for shot in reader.list_snapshots(store) if shot.id == name), None)


def _file(repo: Objects, shot: Snapshot, path: str) -> FileRow | None:
    try:
        return reader.find_file(repo, shot, path)
    except SnapshotUnknown:
        return None


def _content(repo: Objects, row: FileRow, output: str | None) -> Answer:
    """Return a file's text, or the path to which its bytes were written."""
    answer: Answer = {"file": _row_facts(row)}
    if output:
        _write(repo, row, Path(output))
        return answer | {"message": f"{sized(row.size)} were written to {output}."}
    if row.size > PRINTED_BYTES:
        message = f"It has {sized(row.size)}. Write it to a file with --output FILE."
        raise CommandError(message)
    data = b"".join(reader.read_content(repo, row))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"It is no text ({sized(row.size)}). Write it to a file with --output FILE."
        raise CommandError(message) from error
    return answer | {"message": text, "text": text}


def _write(repo: Objects, row: FileRow, target: Path) -> None:
    """Write a file's exact bytes, or nothing.

    Raises:
        CommandError: it cannot be written, or exists already.
    """
    try:
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        message = f"{target} cannot be written: {reason_of(error)}."
        raise CommandError(message) from error
    try:
        with os.fdopen(fd, "wb") as file:
            file.writelines(reader.read_content(repo, row))
    except (OSError, WorkspaceError) as error:
        target.unlink(missing_ok=True)
        why = error.message if isinstance(error, WorkspaceError) else reason_of(error)
        message = f"{target} was not written: {why}"
        raise CommandError(message) from error


def _facts(shot: Snapshot) -> Answer:
    return {
        "id": shot.id,
        "when": shot.when.isoformat(),
        "trigger": shot.trigger,
        "label": shot.label,
        "files": shot.files,
        "size": shot.size,
        "skipped": shot.skipped,
        "before": shot.before,
        "changes": asdict(shot.changes),
    }


def _line(shot: Snapshot) -> str:
    label = f" “{shot.label}”" if shot.label else ""
    return (
        f"{shot.id}  {shot.when:%Y-%m-%d %H:%M} UTC  {shot.why}{label}: "
        f"{counted(shot.files, 'file')}, {sized(shot.size)}; {shot.changes}"
    )


def _row(row: FileRow) -> str:
    """Format a file or folder on one line."""
    size = "folder" if row.is_folder else sized(row.size)
    return f"  {stat.filemode(row.mode)[1:]}  {size:>12}  {shown(row.path)}"


def _row_facts(row: FileRow) -> Answer:
    """Return a file or folder for ``--json``. Bytes of a name that are not UTF-8 are surrogates."""
    return asdict(row) | {"mode": f"{row.mode:o}"}
