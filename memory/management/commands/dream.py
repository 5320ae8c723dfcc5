"""``dream``: one run of Dream now."""

import signal
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from jenny.accounts.models import Workspace
from jenny.accounts.services.json_command import JSONCommand, workspace_called
from jenny.agent.cancellation import OPEN_TOKENS
from jenny.runtime import valkey
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from memory import files
from memory.dream.dry_run import DryRunResult
from memory.models import DreamRun
from memory.services import dream_runs, dream_scheduler

# Statuses of a successful run.
GOOD = frozenset({"completed", "nothing_new", "nothing_pending", "waiting"})


# Length of an entry's line.
_SHOWN = 100


class Command(JSONCommand):
    help = (
        "Bring the memory files up to date from the history, in this process, whether the app runs "
        "or not. The exit code is 0 when Dream got on, or nothing was waiting."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--workspace", default="", metavar="SLUG", help="which workspace")
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="say what a run now would be shown, take and change; write nothing",
        )

    def answer(self, **options: Any) -> dict[str, Any]:
        """Run Dream once, or do a dry run.

        Raises:
        CommandError: nothing was done, or the run failed."""
        workspace = workspace_called(options["workspace"])
        # Ctrl-C ends the run like a shutdown: its progress is kept.
        signal.signal(signal.SIGINT, lambda *_: OPEN_TOKENS.cancel_all())
        try:
            with valkey.for_command(settings.JENNY_DATA):
                if options["dry_run"]:
                    return _rehearsed(workspace, as_json=options["as_json"])
                before = _files(workspace)
                run = _carried_out(workspace)
                result = facts_of(run, before, _files(workspace))
        except valkey.ValkeyProblem as problem:
            raise CommandError(problem.message) from problem
        if run.status not in GOOD and not options["as_json"]:
            raise CommandError(result["message"])
        return result


def _rehearsed(workspace: Workspace, *, as_json: bool) -> dict[str, Any]:
    try:
        found = dream_runs.run_dry(workspace)
    except WorkspaceError as error:
        raise CommandError(error.message) from error
    ok = found.status not in dream_runs.FAILED_STATUSES
    if not ok and not as_json:
        raise CommandError(found.message)
    result = found.json if as_json else {}
    return result | {
        "ok": ok,
        "dry_run": True,
        "message": found.message if as_json else "\n".join(_lines(found)),
    }


def _lines(found: DryRunResult) -> Iterator[str]:
    """Describe a dry run for a terminal."""
    count = len(found.entries)
    more = f", and {found.waiting:,} more wait for later runs" if found.waiting else ""
    yield f"{count} {'entry' if count == 1 else 'entries'} would be shown{more}."
    if found.passed_over:
        yield f"{found.passed_over} would be passed over: edited away, or forgotten."
    for row in found.entries:
        said = " ".join(row.text.split())
        short = said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
        verdict = f" → {row.verdict.replace('_', ' ')}" if row.verdict else ""
        yield f"  {row.cursor}  {row.when}  {short}{verdict}"
    yield ""
    yield from found.estimate.sentences
    yield ""
    before, so, outcome = found.message.partition(" so: ")
    yield from (
        (f"{before}{so.rstrip()}", found.review, outcome) if found.review else (found.message,)
    )
    yield from found.notes
    for text in found.archived:
        yield f"To the archive: {text}"
    for message in found.refusals:
        yield f"Refused: {message}"
    for diff in found.diffs.values():
        yield ""
        yield diff.rstrip("\n")


def _carried_out(workspace: Workspace) -> DreamRun:
    asked = dream_scheduler.start_run(workspace, "command")
    run = asked.run or asked.live
    if run is None or run.state != DreamRun.State.QUEUED:
        raise CommandError(asked.message)
    dream_runs.execute_run(run.pk)
    # A worker may have claimed it, or this process was taken for dead.
    return dream_runs.outcome_of(run)


def facts_of(run: DreamRun, before: dict[str, str], after: dict[str, str]) -> dict[str, Any]:
    """Return a run as the command's answer."""
    return {
        "ok": run.status in GOOD,
        "message": " ".join(part for part in (run.review.get("message"), run.message) if part),
        "run": run.pk,
        "status": run.status,
        "why": run.why,
        "cursor": {"before": run.cursor_from, "after": run.cursor_to or run.cursor_from},
        "entries": run.entries,
        "writes": run.writes,
        "set_aside": run.set_aside,
        "files": {
            path: {"before": before.get(path), "after": after.get(path)} for path in files.BY_PATH
        },
        "commits": run.commits,
        "archived": run.archived,
        "snapshot": run.snapshot,
        "review": run.review or None,
        "notes": run.notes,
        "report": run.report,
        "model": run.model,
        "demo": run.is_demo,
        "steps": run.steps,
        "tokens": {
            "input": run.input_tokens,
            "output": run.output_tokens,
            "cache_read": run.cache_read_tokens,
            "cache_write": run.cache_write_tokens,
        },
        "cost": None if run.cost is None else str(run.cost),
        "seconds": run.seconds,
    }


def _files(workspace: Workspace) -> dict[str, str]:
    """Return the texts of the existing memory files."""
    found: dict[str, str] = {}
    try:
        opened = open_workspace(workspace.root, Actor("command"))
    except WorkspaceError:
        return found
    for path in files.BY_PATH:
        try:
            found[path] = opened.read(path).text
        except WorkspaceError:
            continue
    return found
