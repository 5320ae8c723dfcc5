"""The outcome of a run as pure tables: verdicts, the cursor rule, and the counts from run to run.

A clean run advances the cursor; a run that failed, wrote nothing of what it attempted, or left a
refusal open stays where it is, and so does one that is held. An entry that has come back four
times is set aside, never dropped. An outage uses up no try.

The counters are in ``memory/.dream_review``, JSON that is replaced in one piece; one that cannot
be read counts as zeros, since no count is worth stopping for.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Literal

from jenny.workspace import line_files, paths
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import open_workspace
from jenny.workspace.write_rules import Actor
from memory.dream.values import (
    Attempt,
    BatchEntry,
    Decision,
    Due,
    EntryVerdict,
    RunFacts,
    Status,
)
from memory.history.summary_answer import KEPT_MARKS

TRIES = 4
# Statuses of runs whose entries come back.
CAME_BACK: frozenset[Status] = frozenset({"failed", "wrote_nothing", "partly_written", "held"})


def apply_cursor_rule(facts: RunFacts) -> Decision:
    verdicts = verified_verdicts(facts)
    if not facts.batch:
        newest = facts.batch.newest
        advance = newest if newest > facts.cursor else None
        return Decision(status="nothing_pending", advance_to=advance, done_with=_passed(facts))
    status, why = _status(facts)
    if status in CAME_BACK:
        return _come_back(facts, status, why, verdicts)
    newest = facts.batch.newest
    left = _left_out(facts, verdicts)
    if status == "waiting":
        # The place moves on; what a refusal kept from being written comes back by itself.
        left |= {c for row in _open_refusals(facts) for c in row.sources} & facts.batch.cursors
    set_aside = frozenset(
        row.cursor
        for row in facts.batch.entries
        if row.cursor in left and row.is_reoffered and row.tries + 1 >= TRIES
    )
    reoffered = frozenset(row.cursor for row in facts.batch.entries if row.is_reoffered)
    return Decision(
        status=status,
        advance_to=newest if newest > facts.cursor else None,
        why=why,
        tried=reoffered & left,
        reoffer=left - set_aside,
        done_with=reoffered - left | set_aside | _passed(facts),
        set_aside=set_aside,
        verdicts=verdicts,
    )


def verified_verdicts(facts: RunFacts) -> tuple[EntryVerdict, ...]:
    """Return what became of each entry: the model's account, as far as the run's writes verify it.

    An entry with a fact that no file states is not accounted for, whatever was said. A landed write
    that names an entry saves it. ``saved`` without one is no account, unless the files state all of
    its facts. What only waits for approval is told as that.
    """
    said = {row.cursor: row for row in facts.verdicts}
    landed = {c for row in facts.attempts if row.ok and not row.waits for c in row.sources}
    staged = {c for row in facts.attempts if row.ok and row.waits for c in row.sources}
    covered = _covered(facts)
    uncovered = facts.uncovered or {}
    found = []
    for cursor in dict.fromkeys(row.cursor for row in facts.batch.entries):
        own = said.get(cursor)
        if cursor in uncovered:
            found.append(EntryVerdict(cursor, "unaccounted", _uncovered_text(uncovered[cursor])))
        elif cursor in landed:
            found.append(EntryVerdict(cursor, "saved", own.reason if own else ""))
        elif cursor in staged:
            found.append(EntryVerdict(cursor, "waiting", own.reason if own else ""))
        elif cursor in covered and (own is None or own.kind in ("saved", "unaccounted")):
            found.append(EntryVerdict(cursor, "already_known", own.reason if own else ""))
        elif own is None or own.kind in ("saved", "unaccounted"):
            reason = "Said to be saved, but no write that names it landed." if own else ""
            found.append(EntryVerdict(cursor, "unaccounted", reason))
        else:
            found.append(own)
    return tuple(found)


def _covered(facts: RunFacts) -> frozenset[int]:
    """Entries with facts to be kept of which none is missing after the run."""
    if facts.uncovered is None:
        return frozenset()
    return frozenset(
        row.cursor
        for row in facts.batch.entries
        if is_tagged(row) and row.cursor not in facts.uncovered
    )


def _uncovered_text(missing: Sequence[tuple[str, str]]) -> str:
    name, text = missing[0]
    more = f" ({len(missing) - 1} more facts are missing.)" if len(missing) > 1 else ""
    return f"No file says fact {name}: “{text[:160]}”.{more}"


def _open_refusals(facts: RunFacts) -> tuple[Attempt, ...]:
    """The refusals that matter: an edit that did not fit is settled when the files state every
    fact of the entries it named, whichever write brought them."""
    covered = _covered(facts)
    return tuple(
        row
        for row in facts.open_refusals
        if row.rule == "budget" or not row.sources or not covered.issuperset(row.sources)
    )


def is_tagged(row: BatchEntry) -> bool:
    """True when an entry has facts that are to be kept beyond the moment."""
    return bool(row.tags & KEPT_MARKS)


def _status(facts: RunFacts) -> tuple[Status, str]:
    if facts.ending != "done":
        return "failed", facts.why
    if facts.staged:
        return "waiting", ""
    landed = [row for row in facts.attempts if row.ok]
    still_open = _open_refusals(facts)
    was_settled = bool(facts.open_refusals) and not still_open
    # A write about which the run was asked, and which it left, is none that failed.
    tried = [row for row in facts.attempts if row.rule != "grounding"]
    if tried and not landed and not was_settled:
        return "wrote_nothing", refusals_text(facts.attempts)
    if still_open:
        return "partly_written", refusals_text(still_open)
    if why := _held(facts):
        return "held", why
    return ("completed" if landed else "nothing_new"), ""


def _held(facts: RunFacts) -> str:
    """Explain why the run is held; empty when it is not.

    Held is a run that began with a memory file near the end of its budget, was shown facts to be
    kept, and wrote none of them, unless every such fact is known and found. Whether a file grew
    does not matter: a fact may take the place of a longer line.
    """
    tagged = [row.cursor for row in facts.batch.entries if is_tagged(row)]
    if not facts.near_mark or not tagged or not facts.landed_facts.isdisjoint(tagged):
        return ""
    known = {row.cursor for row in facts.verdicts if row.kind == "already_known"}
    found = facts.known_in_files | _covered(facts)
    if all(cursor in known and cursor in found for cursor in tagged):
        return ""
    names = " and ".join(facts.near_mark)
    many = len(facts.near_mark) > 1
    return (
        f"{names} {'are' if many else 'is'} nearly full, and nothing of what is to be kept was "
        "written to any memory file."
    )


def _come_back(
    facts: RunFacts, status: Status, why: str, verdicts: tuple[EntryVerdict, ...]
) -> Decision:
    """The cursor stays, but for entries that have come back often enough."""
    rows = facts.batch.entries
    counts = facts.was_seen and not facts.is_outage
    left = _left_out(facts, verdicts)
    tried = frozenset(row.cursor for row in rows) if counts else frozenset()
    spent = frozenset(row.cursor for row in rows if counts and row.tries + 1 >= TRIES)
    doubtful = {cursor for row in _open_refusals(facts) for cursor in row.sources}
    saved = frozenset(
        row.cursor
        for row in verdicts
        if row.kind in ("saved", "waiting") and row.cursor not in doubtful and status != "held"
    )
    set_aside = (spent - saved) or spent
    reoffered = frozenset(row.cursor for row in rows if row.is_reoffered)
    over = set_aside | (spent & saved)
    return Decision(
        status="gave_up" if set_aside else status,
        advance_to=_behind(facts, over) if set_aside else None,
        why=why,
        tried=tried,
        reoffer=(reoffered & left) - over,
        done_with=reoffered & (saved | set_aside) | _passed(facts),
        set_aside=set_aside,
        verdicts=verdicts,
        is_held=status == "held",
        counts_as_stuck=facts.ending != "failed",
        held_count=max((row.tries for row in rows), default=0) + 1,
    )


def _passed(facts: RunFacts) -> frozenset[int]:
    """Entries that were passed over: nobody is shown them again, so they leave every list."""
    return frozenset(row.cursor for row in facts.batch.passed)


def _behind(facts: RunFacts, over: frozenset[int]) -> int | None:
    """Return the cursor when these entries are over: up to the first that is not."""
    stays = min(
        (
            row.cursor
            for row in facts.batch.entries
            if row.cursor not in over and not row.is_reoffered
        ),
        default=None,
    )
    passed = (row.cursor for row in facts.batch.passed)
    shown = (row.cursor for row in facts.batch.entries if not row.is_reoffered)
    reach = [c for c in (*shown, *passed) if stays is None or c < stays]
    newest = max(reach, default=0)
    return newest if newest > facts.cursor else None


def _left_out(facts: RunFacts, verdicts: Iterable[EntryVerdict]) -> frozenset[int]:
    """Entries with facts to be kept of which the run gave no account."""
    silent = {row.cursor for row in verdicts if row.kind == "unaccounted"}
    return frozenset(
        row.cursor for row in facts.batch.entries if row.cursor in silent and is_tagged(row)
    )


def refusals_text(attempts: Iterable[Attempt]) -> str:
    """Explain the refused writes: how many by which rule, and where."""
    counted: dict[tuple[str, str], int] = {}
    for row in attempts:
        if not row.ok:
            key = (row.path, row.rule or "edit")
            counted[key] = counted.get(key, 0) + 1
    parts = [
        f"{count} {'write' if count == 1 else 'writes'} to {path} {_WORDS.get(rule, _OTHER)}"
        for (path, rule), count in counted.items()
    ]
    shown = parts[:3]
    if len(parts) > len(shown):
        shown.append(f"{len(parts) - len(shown)} more kinds")
    return f"{'; '.join(shown)}." if shown else ""


_OTHER = "refused"
_WORDS = {
    "budget": "refused by its budget",
    "forgotten": "refused, since you had it forgotten",
    "pinned": "refused, since the line is pinned",
    "grounding": "not made, since it says what no entry says",
    "dated": "refused, since the line’s day is still to come",
    "protected": "refused, since Dream may not write there",
    "consent": "refused, since it needs your consent",
    "epoch": "refused, since the run was taken over",
    "edit": "that did not fit the file",
    "together": "not made, since another file of the same call was refused",
}


COUNTERS_PATH = "memory/.dream_review"
ALARM_AT = 4
_BYTES = 10_000
_MOST = 2**31

type Progress = Literal["advanced", "stayed", "nothing", "fault", "paused"]
"""How a run went, for counting: Dream's place moved on; it should have and did not; there was
nothing to read; or a fault (an exception, or of the provider) came in between. ``paused``: somebody
paused all calls to models, which counts as nothing at all."""


@dataclass(frozen=True, slots=True)
class Counters:
    """``runs_since_review``: runs since a review pass ended well. ``stuck_runs``: in a row that
    should have moved Dream's place in the history and did not; ``forced_at_stuck``: at which of
    them a review was last forced. ``failures``: faults in a row. ``empty_runs``: in a row that
    were shown facts to be kept and wrote none of them."""

    runs_since_review: int = 0
    stuck_runs: int = 0
    forced_at_stuck: int = 0
    failures: int = 0
    empty_runs: int = 0


@dataclass(frozen=True, slots=True)
class Alarm:
    """A notice for the person. *kind* is the counter's name."""

    kind: str
    count: int
    message: str


def load_counters(root: Path) -> Counters:
    """The counts; zeros where the file is missing, damaged, or holds what is no count."""
    try:
        with line_files.open_lines(paths.real_root(root), COUNTERS_PATH) as file:
            data = b"" if file is None else file.read(0, min(file.size, _BYTES))
        row = json.loads(data)
    except (OSError, WorkspaceError, ValueError, RecursionError):
        return Counters()
    if not isinstance(row, dict):
        return Counters()
    known = {field.name: row.get(field.name) for field in fields(Counters)}
    return Counters(**{name: _count(value) for name, value in known.items()})


def store_counters(root: Path, counters: Counters, actor: Actor) -> None:
    """Replace the file.

    Raises:
        WorkspaceError: it is as it was.
    """
    data = json.dumps(asdict(counters)).encode() + b"\n"
    open_workspace(root, actor).write(COUNTERS_PATH, data)


def review_due(now: Counters, every: int) -> Due:
    """Decide on a review pass before the batch: when Dream is stuck for an even number of runs
    at which none was forced yet; or when as many runs went by as the settings say. How full the
    files are has no say."""
    is_even = now.stuck_runs > 0 and now.stuck_runs % 2 == 0
    if is_even and now.stuck_runs != now.forced_at_stuck:
        return "forced"
    return "due" if now.runs_since_review >= every else ""


def count_review(now: Counters, due: Due, every: int, *, failed: bool) -> Counters:
    """The counts once a pass is over, before its run is counted. One that failed comes back in two
    runs. It changes nothing about being stuck; one that was forced is noted, whichever way it went,
    so that a count that stands still forces no second one."""
    return replace(
        now,
        runs_since_review=max(every - 2, 0) if failed else 0,
        forced_at_stuck=now.stuck_runs if due == "forced" else now.forced_at_stuck,
    )


def count_run(
    before: Counters, progress: Progress, *, is_empty: bool | None, gave_up: bool
) -> Counters:
    """The counts after a run. *is_empty*: whether it wrote none of the facts to be kept that it
    was shown (``None``: it was shown none). A run that *gave_up* has moved on by that."""
    if progress == "paused":
        return before
    stuck, forced = before.stuck_runs, before.forced_at_stuck
    if progress == "advanced" or gave_up:
        stuck = forced = 0
    elif progress == "stayed":
        stuck += 1
    empty = before.empty_runs
    if is_empty is not None and progress != "fault":
        empty = empty + 1 if is_empty else 0
    return Counters(
        runs_since_review=min(before.runs_since_review + 1, _MOST),
        stuck_runs=min(stuck, _MOST),
        forced_at_stuck=forced,
        failures=min(before.failures + 1, _MOST) if progress == "fault" else 0,
        empty_runs=min(empty, _MOST),
    )


def raise_alarms(
    before: Counters,
    progress: Progress,
    *,
    is_empty: bool | None,
    cause: str,
    gave_up: bool = False,
) -> tuple[Alarm, ...]:
    """The alarms that a run raises: of counts that reach four by it, whether or not it is then
    given up. *cause* is a sentence when it is known. *gave_up*: nothing is set aside without one,
    also when no count in a row came to four."""
    counted = count_run(before, progress, is_empty=is_empty, gave_up=False)
    found = standing_alarms(counted, cause, only_new_since=before)
    if gave_up and not standing_alarms(counted):
        return (Alarm("gave_up", ALARM_AT, f"{_GAVE_UP} {cause}".strip()),)
    return found


def standing_alarms(
    now: Counters, cause: str = "", *, only_new_since: Counters | None = None
) -> tuple[Alarm, ...]:
    """The alarms that the counts stand for."""
    found = []
    for kind, words in _ALARM_WORDS.items():
        count: int = getattr(now, kind)
        earlier: int = getattr(only_new_since, kind) if only_new_since else 0
        if count >= ALARM_AT and (only_new_since is None or earlier < ALARM_AT):
            message = words.format(count=count)
            found.append(Alarm(kind, count, f"{message} {cause}".strip()))
    return tuple(found)


def without_alarm(counters: Counters, kind: str) -> Counters:
    """The counts with one of them begun anew, once its cause was seen to."""
    return replace(counters, **{kind: 0})


_ALARM_WORDS = {
    "stuck_runs": "The last {count} memory updates got no further. "
    "What was said is kept and will be tried again.",
    "failures": "Dream has failed {count} times in a row. What was said is kept and waits.",
    "empty_runs": "Dream was shown facts worth keeping in {count} runs in a row "
    "and wrote none of them.",
}


_GAVE_UP = (
    "Dream came to no end with something in the history in 4 runs and has set it aside. It is kept."
)


def _count(value: object) -> int:
    """A count, or 0 for what is none."""
    return value if type(value) is int and 0 <= value <= _MOST else 0
