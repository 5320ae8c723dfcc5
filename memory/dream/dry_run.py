"""A dry run: what the next run of Dream would be shown, cost, and change.

It is a run like any other, in a copy of the workspace that is thrown away: the same batch, prompt,
tools and rules, the same model. Nothing is written where it counts, and no place moves.
"""

import contextlib
import shutil
import stat
import time
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from jenny.agent.errors import AgentError
from jenny.agent.provider import Provider
from jenny.agent.tokens import Usage, estimate, estimate_messages
from jenny.workspace import config, diffs
from jenny.workspace.errors import WriteFailed, reason_of
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions import tracked_files
from memory import files, skills
from memory.approvals import overlay
from memory.dream import model_turn, outcome, prompt, run
from memory.dream.batch import EntryLists, choose_batch
from memory.dream.report import run_message, why_nothing
from memory.dream.run_context import RunInput, RunResult
from memory.dream.tools import TOOLS
from memory.dream.values import Batch, BatchEntry, Decision, Due, ReviewResult
from memory.history.digest import Digests
from memory.history.entries import HistoryEntry

__all__ = [
    "NAME",
    "SNAPSHOT",
    "DryRunEntry",
    "DryRunResult",
    "Estimate",
    "NullRunStore",
    "PastRuns",
    "copy_workspace",
    "dry_run_in_copy",
    "estimate_run",
    "list_entries",
]


SNAPSHOT = "A snapshot of the workspace is taken before each run, so all of it can be undone."


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunEntry:
    """An entry of the batch: its number, time and text, how much of it is shown, how often it came
    back, and what became of it in the dry run (a verdict's kind; empty: no model was asked)."""

    cursor: int
    when: str
    text: str
    chars: int
    tries: int = 0
    is_reoffered: bool = False
    verdict: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The likely cost of a run. *prompt_tokens*: of its first request. *is_counted*: by the
    provider, and not by the characters. *tokens*: of the whole run; *cost* in US dollars; ``None``:
    the model has no prices. *sentences*: the same in words, with what it rests on."""

    prompt_tokens: int = 0
    is_counted: bool = False
    tokens: int = 0
    cost: Decimal | None = None
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunResult:
    """A dry run. *status* and *message*: how the run would end (a run's status; ``estimated``: no
    model was asked). *review*: the review pass's own sentence, empty when none is due. *diffs*:
    unified differences by path. *refusals*: what would be refused and never made good, in
    sentences. *archived*: texts that would move to the archive. *tokens*: what the dry run itself
    used."""

    status: str
    message: str
    review: str = ""
    entries: tuple[DryRunEntry, ...] = ()
    waiting: int = 0
    passed_over: int = 0
    estimate: Estimate = field(default_factory=Estimate)
    diffs: dict[str, str] = field(default_factory=dict)
    refusals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    tokens: int = 0
    seconds: float = 0.0
    model: str = ""
    is_demo: bool = False

    @property
    def json(self) -> dict[str, Any]:
        """All of it as plain values; the cost as text."""
        found = asdict(self)
        cost = self.estimate.cost
        found["estimate"]["cost"] = None if cost is None else str(cost)
        return found


class NullRunStore:
    """A ``RunStore`` that stores nothing. Earlier runs' lists and *digests* are given to it."""

    def __init__(self, lists: EntryLists, digests: Digests) -> None:
        self._lists = lists
        self._digests = digests

    def may_write(self) -> bool:
        """Nobody else is in the copy."""
        return True

    def began(self, cursor: int, snapshot: str) -> None:
        """Nobody takes a dry run over."""

    def reviewing(self, due: Due) -> None:
        """Nobody takes a dry run over."""

    def reviewed(self, found: ReviewResult) -> None:
        """It is in what the run gives back."""

    def spent(self, usage: Usage) -> None:
        """It is in what the run gives back."""

    def lists(self) -> EntryLists:
        return self._lists

    def digest(self, key: str) -> str | None:
        """Return a summariser's facts of a text, if a real run asked for them."""
        return self._digests.digest(key)

    def keep_digest(self, key: str, cursor: int, text: str) -> None: ...

    def save_outcome(self, batch: Batch, decision: Decision) -> None: ...


# Without earlier runs to go by: the requests of a run, and what the model writes in it.
_STEPS, _WRITTEN = 4.0, 1_500.0
# A review is shown the same files without the entries, and takes about as many requests.
_WITH_REVIEW = 1.9


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRuns:
    """Averages of recent runs here, each without its prompt being sent again: *steps*
    requests, *written* tokens. *runs*: of how many that is known."""

    runs: int = 0
    steps: float = _STEPS
    written: float = _WRITTEN


def estimate_run(
    job: RunInput, *, past: PastRuns, provider: Provider | None
) -> tuple[Batch, Estimate]:
    """The batch, and what a run over it is likely to take. No model is asked anything."""
    batch, _ = choose_batch(job.root, job.store.lists(), _as_it_is)
    if not batch:
        return batch, Estimate(sentences=("Nothing waits, so no model would be asked.",))
    system = prompt.system_prompt(job.root, batch=batch, snapshot=SNAPSHOT)
    message, schemas = (
        prompt.first_message(batch, job.root, zone=job.zone),
        [tool.schema for tool in TOOLS],
    )
    counted = None
    if provider is not None:
        with contextlib.suppress(AgentError):
            counted = provider.count_tokens(
                system=system.wire(),
                messages=[message],
                tools=schemas,
                watch=job.watch,
                limits=model_turn.run_limits(job.config, used_today=0),
            )
    first = counted or estimate(system.text + str(schemas)) + estimate_messages([message])
    due = outcome.review_due(
        outcome.load_counters(job.root), job.config.agents.defaults.dream.review_every_runs
    )
    sent = past.steps * first * (_WITH_REVIEW if due else 1) + past.steps * past.written / 2
    usage = Usage(input=round(sent), output=round(past.written * (2 if due else 1)))
    prices = provider.preset.prices if provider else None
    found = Estimate(
        prompt_tokens=first,
        is_counted=counted is not None,
        tokens=usage.total,
        cost=prices.cost(usage) if prices else None,
    )
    return batch, replace(found, sentences=tuple(_sentences(found, past, has_review=bool(due))))


def _as_it_is(entry: HistoryEntry) -> None:
    """A raw text is not summarised for this."""
    del entry


def _sentences(found: Estimate, past: PastRuns, *, has_review: bool) -> Iterator[str]:
    how = "as the provider counts" if found.is_counted else "judged by its characters"
    yield f"The first request has about {found.prompt_tokens:,} tokens, {how}."
    basis = f"the last {past.runs} runs here" if past.runs > 1 else "what runs usually take"
    yield f"The whole run takes about {found.tokens:,} tokens, going by {basis}."
    if found.cost is not None:
        yield f"That costs about ${found.cost:,.4f}, less where the provider caches."
    else:
        yield "What that costs is not known: the model has no prices in Settings → Models."
    if has_review:
        yield "A review pass is due and comes first; it is counted in."


NAME = "dream:dry"
# What a run needs of a workspace; uploads, wikis and the like it neither reads nor writes.
_SETTINGS = "config.json"
_FOLDERS = ("memory", "skills", "prompts")
_FILES = (*files.BY_PATH, files.INSTRUCTIONS, _SETTINGS)
_WITHOUT = ("memory/.git",)
_TEXT_CHARS = 600
_DIFF_CHARS = 20_000


@contextlib.contextmanager
def copy_workspace(root: Path, beside: Path) -> Iterator[Path]:
    """A copy of what a run reads and writes of the workspace at *root*, below *beside*; gone when
    the block ends. What waits for approval stands in it as if it had been accepted, as a run goes
    on from it.

    Raises:
        WorkspaceError: it cannot be copied.
    """
    with copy_parts(root, beside, folders=_FOLDERS, files=_FILES, without=_WITHOUT) as folder:
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
    waits = why_nothing(
        idle_minutes=idle_minutes,
        passed=len(done.batch.passed),
        set_aside=len(job.store.lists().set_aside),
    )
    message = run_message(decision, seconds=done.seconds, waits=waits, is_capped=done.is_capped)
    return DryRunResult(
        status=decision.status,
        message=f"Preview; nothing was written. An update now would end so: {message}",
        review=done.review.message if done.review else "",
        entries=tuple(list_entries(done.batch, done)),
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


def list_entries(batch: Batch, done: RunResult | None = None) -> Iterator[DryRunEntry]:
    """The batch's entries, with what became of them where a model was asked."""
    said = {row.cursor: row for row in done.decision.verdicts} if done else {}
    for entry in batch.entries:
        verdict = said.get(entry.cursor)
        yield replace(
            _row(entry),
            verdict=verdict.kind if verdict else "",
            reason=verdict.reason if verdict else "",
        )


def _row(entry: BatchEntry) -> DryRunEntry:
    return DryRunEntry(
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
    if config.load_config(root).agents.defaults.dream.approve == "off":
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


# A copy of a killed process is removed when the next one is made after this time.
_STALE_SECONDS = 6 * 3600


@contextlib.contextmanager
def copy_parts(
    root: Path,
    beside: Path,
    *,
    folders: Collection[str],
    files: Collection[str],
    without: Collection[str] = (),
) -> Iterator[Path]:
    """Yield a copy of these *folders* and *files* of the workspace, without the paths *without*.

    It is in a folder of the same name below *beside* and is deleted when the block ends. Only plain
    files and folders are copied, and no link is followed.

    Raises:
        WriteFailed: it cannot be copied; the copy is removed.
    """
    _remove_stale_copies(beside.parent)
    target = beside / root.name
    try:
        try:
            target.mkdir(mode=0o700, parents=True)
            for name in folders:
                if stat.S_ISDIR(_mode(root / name)):
                    _copy_folder(root, root / name, target / name, frozenset(without))
            for name in files:
                if stat.S_ISREG(_mode(root / name)):
                    (target / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(root / name, target / name, follow_symlinks=False)
        except OSError as error:
            message = f"The workspace could not be copied: {reason_of(error)}. Nothing was changed."
            raise WriteFailed(message) from error
        yield target
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _copy_folder(root: Path, source: Path, target: Path, without: frozenset[str]) -> None:
    target.mkdir()
    for path in source.iterdir():
        mode = _mode(path)
        if path.relative_to(root).as_posix() in without:
            continue
        if stat.S_ISDIR(mode):
            _copy_folder(root, path, target / path.name, without)
        elif stat.S_ISREG(mode):
            # A file that vanishes meanwhile was replaced or deleted.
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(path, target / path.name, follow_symlinks=False)


def _remove_stale_copies(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for left in list(folder.iterdir()):
            if time.time() - left.lstat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0
