"""The dry run itself: a run in a copy, and what it did there."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from jenny.workspace import config, diffs, scratch_copy
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions import tracked_files
from memory import files, skills
from memory.approvals import overlay
from memory.approvals.values import SETTING
from memory.dream import run
from memory.dream.dry_run.values import SNAPSHOT, DryRunResult, Estimate, Row
from memory.dream.reports import outcomes
from memory.dream.run_input import RunInput, RunResult
from memory.dream.values import Batch, BatchEntry

NAME = "dream:dry"
# What a run needs of a workspace; uploads, wikis and the like it neither reads nor writes.
_SETTINGS = "config.json"
_FOLDERS = ("memory", "skills", "prompts")
_FILES = (*files.BY_PATH, files.INSTRUCTIONS, _SETTINGS)
_WITHOUT = ("memory/.git",)
_TEXT_CHARS = 600
_DIFF_CHARS = 20_000


@contextlib.contextmanager
def copied(root: Path, beside: Path) -> Iterator[Path]:
    """A copy of what a run reads and writes of the workspace at *root*, below *beside*; gone when
    the block ends. What waits for approval stands in it as if it had been accepted, as a run goes
    on from it.

    Raises:
        WorkspaceError: it cannot be copied.
    """
    with scratch_copy.copied(
        root, beside, folders=_FOLDERS, files=_FILES, without=_WITHOUT
    ) as folder:
        _put_in(root, folder)
        yield folder


def dry_run_in_copy(
    job: RunInput, *, estimate_: Estimate, idle_minutes: int, approves: bool
) -> DryRunResult:
    """Carry a run out in the copy that the *job* names, and see what it did."""
    before = _texts(job.root)
    done = run.run_dream(job)
    after = _texts(job.root)
    changed = {
        path: diffs.bounded(diffs.unified(path, before.get(path), after.get(path)), _DIFF_CHARS)
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    }
    decision = done.decision
    if approves and changed and decision.status in ("completed", "held", "nothing_new"):
        decision = replace(decision, status="waiting")
    waits = outcomes.why_nothing(
        idle_minutes=idle_minutes,
        passed=len(done.batch.passed),
        set_aside=len(job.store.lists().set_aside),
    )
    message = outcomes.message(
        decision, seconds=done.seconds, waits=waits, is_capped=done.is_capped
    )
    return DryRunResult(
        status=decision.status,
        message=f"Preview; nothing was written. An update now would end so: {message}",
        review=done.review.message if done.review else "",
        entries=tuple(rows(done.batch, done)),
        waiting=done.batch.waiting,
        passed_over=len(done.batch.passed),
        estimate=estimate_,
        diffs=changed,
        refusals=tuple(_refusals(done)),
        notes=tuple(note for note in done.notes if note != SNAPSHOT),
        archived=tuple(_archived(done)),
        tokens=done.usage.total,
        seconds=round(done.seconds, 3),
    )


def rows(batch: Batch, done: RunResult | None = None) -> Iterator[Row]:
    """The batch's entries, with what became of them where a model was asked."""
    said = {row.cursor: row for row in done.decision.verdicts} if done else {}
    for entry in batch.entries:
        verdict = said.get(entry.cursor)
        yield replace(
            _row(entry),
            verdict=verdict.kind if verdict else "",
            reason=verdict.reason if verdict else "",
        )


def _row(entry: BatchEntry) -> Row:
    return Row(
        cursor=entry.cursor,
        when=entry.entry.timestamp,
        text=entry.text[:_TEXT_CHARS],
        chars=len(entry.text),
        tries=entry.tries,
        is_reoffered=entry.is_reoffered,
    )


def _texts(root: Path) -> dict[str, bytes]:
    paths = [*files.BY_PATH, *(skill.path for skill in skills.all_skills(root) if not skill.ships)]
    found = {path: tracked_files.read_tracked_file(root, path) for path in paths}
    return {path: data for path, data in found.items() if data is not None}


def _refusals(done: RunResult) -> Iterator[str]:
    reports = (done.review.report if done.review else {}, done.report)
    for report in reports:
        yield from (f"{row['path']}: {row['message']}" for row in report.get("refused", ()))


def _archived(done: RunResult) -> Iterator[str]:
    reports = (done.review.report if done.review else {}, done.report)
    for report in reports:
        yield from (row["text"] for row in report.get("archived", ()))


def _put_in(root: Path, folder: Path) -> None:
    """Let what waits for approval stand in the copy, where nothing waits any more."""
    if config.load_config(root).get(SETTING) == "off":
        return
    found = overlay.waiting(root)
    for path in dict.fromkeys([*files.BY_PATH, *(row.path for row in found.staged)]):
        data = tracked_files.read_tracked_file(folder, path)
        before = None if data is None else data.decode("utf-8", "replace")
        after = overlay.applied(found, path, before)
        if after is not None and after != before:
            open_workspace(folder, Actor("setup")).write(path, after.encode())
    config.change_config(folder, _without_approval)


def _without_approval(document: dict[str, object]) -> None:
    agents = document.get("agents")
    defaults = agents.get("defaults") if isinstance(agents, dict) else None
    dream = defaults.get("dream") if isinstance(defaults, dict) else None
    if isinstance(dream, dict):
        dream["approve"] = "off"
