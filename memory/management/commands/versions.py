"""``versions``: lists Dream's changes of the memory files and reverts them."""

import datetime as dt
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.models import Workspace
from jenny.accounts.services.json_command import (
    JSONCommand,
    before_and_after_the_verb,
    workspace_called,
)
from jenny.agent.clock import zone_of
from jenny.workspace import config, diffs
from jenny.workspace.errors import VersionAmbiguous, WorkspaceError
from jenny.workspace.versions import messages
from jenny.workspace.versions.history import FileChange, open_history
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.undo import Step, Undone, UndoPlan, plan_undo
from memory.versions import (
    TIME,
    cursor_sentence,
    kept_out_text,
    left_out_lines,
    undo_run,
    version_title,
)

# A longer change is cut; ``--json`` has all of it.
PRINTED_CHARS = 20_000

type Answer = dict[str, Any]


class Command(JSONCommand):
    help = "Versions of the memory files: list them, show one, undo one."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        both = before_and_after_the_verb(parser)
        verbs = parser.add_subparsers(dest="verb", required=True)

        verb = verbs.add_parser("list", parents=[both], help="list Dream's, newest first")
        verb.add_argument("--limit", type=int, default=20, metavar="N", help="so many (20)")
        verb.add_argument("--all", action="store_true", help="also edits made outside Dream")
        verb.add_argument("--path", default=None, help="only those that changed this file")

        verb = verbs.add_parser("show", parents=[both], help="show what one changed")
        verb.add_argument("version", help="its id, 4 digits or more, or latest")

        verb = verbs.add_parser("restore", parents=[both], help="undo one of Dream's")
        verb.add_argument("version", help="its id, 4 digits or more, or latest")
        verb.add_argument("--dry-run", action="store_true", help="only say what it would do")
        verb.add_argument(
            "--may-return", action="store_true", help="let Dream write its lines again"
        )

    def answer(self, **options: Any) -> Answer:
        workspace = workspace_called(options["workspace"])
        try:
            answer: Answer = VERBS[options["verb"]](workspace, options)
        except VersionAmbiguous as error:
            ids = "\n".join(f"  {sha}" for sha in error.candidates)
            message = f"{error.message} Nothing was changed.\n{ids}"
            raise CommandError(message) from error
        except WorkspaceError as error:
            raise CommandError(error.message) from error
        return {"workspace": workspace.slug} | answer


def _list(workspace: Workspace, options: dict[str, Any]) -> Answer:
    kinds = None if options["all"] else messages.UNDOABLE
    with open_history(workspace.root) as history:
        found = history.log(kinds=kinds, limit=max(options["limit"], 0), path=options["path"])
    where = _zone(workspace)
    return {
        "message": "\n".join(_line(row, where) for row in found) or "There is no version yet.",
        "versions": [_facts(row) for row in found],
    }


def _show(workspace: Workspace, options: dict[str, Any]) -> Answer:
    with open_history(workspace.root) as history:
        version = _chosen(workspace, options["version"])
        changes = history.changes(version)
    text = "".join(change.diff for change in changes)
    return {
        "message": "\n".join(
            [_line(version, _zone(workspace)), "", diffs.bounded(text, PRINTED_CHARS).rstrip()]
        ),
        "version": _facts(version),
        "files": [_change(change) for change in changes],
    }


def _restore(workspace: Workspace, options: dict[str, Any]) -> Answer:
    version = _chosen(workspace, options["version"])
    if options["dry_run"]:
        plan = plan_undo(workspace.root, version.sha)
        return {"message": _plan_told(plan, "would be "), "version": None} | _plan(plan)
    done = undo_run(workspace.root, version.sha, keep_out=not options["may_return"])
    return {
        "message": "\n".join(
            filter(None, (_told(done), kept_out_text(workspace.root, version.sha)))
        ),
        "version": done.version.sha if done.version else None,
        "pending": [row.sha for row in done.pending],
        "dropped": done.dropped,
        "problem": done.problem,
    } | _plan(done.plan)


VERBS: dict[str, Callable[[Workspace, dict[str, Any]], Answer]] = {
    "list": _list,
    "show": _show,
    "restore": _restore,
}


def _chosen(workspace: Workspace, text: str) -> Version:
    """Return the version that was asked for."""
    with open_history(workspace.root) as history:
        if text != "latest":
            return history.resolve(text)
        newest = history.log(kinds=messages.UNDOABLE, limit=1)
    if not newest:
        message = "Dream has not changed anything yet, so there is no version of its."
        raise CommandError(message)
    return newest[0]


def _zone(workspace: Workspace) -> dt.tzinfo:
    own = config.load_config(workspace.root).agents.defaults.timezone
    return zone_of(own or workspace.owner.time_zone)


def _line(version: Version, where: dt.tzinfo) -> str:
    when = dt.datetime.fromtimestamp(version.when, where).strftime(TIME)
    return f"{version.short}  {when}  {diffs.plain_path(version_title(version))}"


def _facts(version: Version) -> Answer:
    return {
        "id": version.sha,
        "parent": version.parent,
        "at": dt.datetime.fromtimestamp(version.when, dt.UTC).isoformat(),
        "kind": version.kind,
        "actor": version.actor,
        "subject": version.subject,
        "runs": list(version.runs),
        "cursor": version.cursor,
        "undoes": version.undoes,
        "can_be_undone": version.can_be_undone,
    }


def _change(change: FileChange) -> Answer:
    counts = change.counts
    return {
        "path": change.path,
        "added": counts.added,
        "removed": counts.removed,
        "binary": counts.is_binary,
        "new": change.old is None,
        "deleted": change.new is None,
        "diff": change.diff,
    }


def _plan(plan: UndoPlan) -> Answer:
    return {
        "undoes": plan.version.sha,
        "files": [
            {
                "path": step.path,
                "label": step.label,
                "verb": step.verb,
                "later": [row.sha for row in step.later],
                "pending": step.is_pending,
                "left_out": [{"text": row.text, "id": row.id} for row in step.left_out],
            }
            for step in plan.steps
        ],
        "cursor": {
            "before": plan.cursor.before,
            "after": plan.cursor.after,
            "entries": plan.cursor.entries,
        },
    }


def _told(done: Undone) -> str:
    if not done.written:
        listed = ["Nothing to do: every file is already as it was before that version."]
        return "\n".join([*listed, *_left_out_told(done.plan)])
    end = f"The new version is {done.version.short}." if done.version else done.problem
    kept = [f"Kept first, in a version of its own: {row.short}." for row in done.pending]
    return "\n".join([_plan_told(done.plan, ""), *kept, end])


def _plan_told(plan: UndoPlan, would: str) -> str:
    """Describe a plan, or its result."""
    lines = [_step_line(step, would) for step in plan.steps]
    lines += _left_out_told(plan)
    return "\n".join(line for line in (*lines, cursor_sentence(plan.cursor)) if line)


def _left_out_told(plan: UndoPlan) -> list[str]:
    """List the lines that stay away, and the way to bring them back."""
    rows = left_out_lines(plan.left_out)
    if not rows:
        return []
    return [
        "Left out, since you had it forgotten:",
        *(
            f"  {one}  {diffs.plain_path(path)}: {diffs.plain_path(text)}"
            for path, text, one in rows
        ),
        "manage.py forget --lift ID lets Jenny know one again; /recall finds it then.",
        "Restoring once more puts it in its place.",
    ]


def _step_line(step: Step, would: str) -> str:
    path = diffs.plain_path(step.path)
    if step.label == "already there":
        return f"{path}: already as it was before"
    line = f"{path}: {would}{step.verb}"
    if step.label == "moved on":
        later = ", ".join(row.short for row in step.later)
        where = f" ({later})" if later else ""
        line += f"; changed since{where}, which goes too"
    return line
