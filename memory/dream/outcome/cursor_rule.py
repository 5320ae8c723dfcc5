"""The cursor rule: what follows from a run for Dream's place in the history. Values in, values out.

A clean run advances; a run that failed, wrote nothing of what it attempted, or left a refusal open
stays where it is, and so does one that is held. An entry that has come back four times is given
up: set aside, never dropped. An outage uses up nobody's try.
"""

from collections.abc import Iterable, Sequence

from memory.dream.values import (
    Attempt,
    BatchEntry,
    Decision,
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
    """What became of each entry: what the model said, as far as the run's writes bear it out.

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
    """Whether an entry has facts that are to be kept beyond the moment."""
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
    """Why the run is held; empty when it is not.

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
    """How far the cursor may go when these entries are over: up to the first that is not."""
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
    """Why writes came to nothing: how many by which rule, and where."""
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
