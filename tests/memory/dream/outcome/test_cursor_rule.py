"""The cursor rule, each row in both directions."""

from dataclasses import replace

import pytest

from memory.dream.outcome import apply_cursor_rule, verified_verdicts
from memory.dream.values import Attempt, Batch, BatchEntry, EntryVerdict, PassedOver, RunFacts
from memory.history.entries import HistoryEntry

MEMORY = "memory/MEMORY.md"


def entry(cursor, text="- [durable] A fact.", tries=0, *, again=False):
    """An entry of a batch."""
    tag = text.partition("[")[2].partition("]")[0]
    tags = frozenset({tag} if tag else ())
    return BatchEntry(
        HistoryEntry(cursor, "2026-11-30 10:00", text), (text,), tags, None, tries, again
    )


def facts(*rows, **more):
    """A run over these entries; Dream's place is before the first."""
    return RunFacts(batch=Batch(tuple(rows)), cursor=min(r.cursor for r in rows) - 1, **more)


def landed(*sources, path=MEMORY, grew=10):
    """A write that landed."""
    return Attempt("apply_patch", path, sources, ok=True, grew=grew)


def refused(*sources, rule="budget", path=MEMORY):
    """A write that did not."""
    return Attempt("apply_patch", path, sources, ok=False, rule=rule)


def said(kind, *cursors):
    """Verdicts of the model."""
    return tuple(EntryVerdict(cursor, kind, "because") for cursor in cursors)


def test_nothing_pending_moves_nothing():
    """No entries: nothing to process; entries passed over alone move the place all the same."""
    assert apply_cursor_rule(RunFacts(batch=Batch(), cursor=3)).status == "nothing_pending"
    assert apply_cursor_rule(RunFacts(batch=Batch(), cursor=3)).advance_to is None
    passed = Batch(passed=(PassedOver(4, "edited away"),))
    assert apply_cursor_rule(RunFacts(batch=passed, cursor=3)).advance_to == 4


@pytest.mark.parametrize("ending", ["failed", "step_cap", "repeat", "cut", "time", "empty"])
def test_no_natural_end_is_failed(ending):
    """Whatever was written: the place stays, with the reason; a natural end moves it."""
    run = facts(entry(1), attempts=(landed(1),), ending=ending, why="It broke off.")
    found = apply_cursor_rule(run)
    assert (found.status, found.advance_to, found.why) == ("failed", None, "It broke off.")
    assert apply_cursor_rule(replace(run, ending="done")).advance_to == 1


def test_writes_refused_or_landed():
    """All refused: wrote nothing. Some landed with a refusal open: partly. None open: completed.
    None attempted: nothing new."""
    rows = (entry(1), entry(2))
    none = apply_cursor_rule(facts(*rows, attempts=(refused(1),), open_refusals=(refused(1),)))
    assert (none.status, none.advance_to) == ("wrote_nothing", None)
    assert "memory/MEMORY.md refused by its budget" in none.why
    edit = apply_cursor_rule(facts(*rows, attempts=(refused(1, rule="edit"),)))
    assert edit.status == "wrote_nothing"
    both = (landed(1), refused(2))
    partly = apply_cursor_rule(facts(*rows, attempts=both, open_refusals=(refused(2),)))
    assert (partly.status, partly.advance_to) == ("partly_written", None)
    whole = apply_cursor_rule(facts(*rows, attempts=both))
    assert (whole.status, whole.advance_to) == ("completed", 2)
    assert apply_cursor_rule(facts(*rows)).status == "nothing_new"
    assert apply_cursor_rule(facts(*rows)).advance_to == 2
    skill = apply_cursor_rule(facts(*rows, attempts=(landed(1, path="skills/x/SKILL.md"),)))
    assert skill.status == "completed"


def test_held_and_its_ways_out():
    """Near the mark, facts to be kept, none of them written: held. Below the mark, without such
    facts, with one of them written (whether the file grew or not), or with all of them known and
    found, it is not."""
    near = (MEMORY,)
    held = apply_cursor_rule(facts(entry(1), near_mark=near))
    assert (held.status, held.advance_to, held.is_held, held.held_count) == ("held", None, True, 1)
    assert apply_cursor_rule(facts(entry(1, tries=2), near_mark=near)).held_count == 3
    assert apply_cursor_rule(facts(entry(1))).status == "nothing_new"
    assert (
        apply_cursor_rule(facts(entry(1, "- [ephemeral] Rain."), near_mark=near)).status
        == "nothing_new"
    )
    for grew in (10, 0, -5):
        written = facts(entry(1), near_mark=near, attempts=(landed(1, grew=grew),))
        assert apply_cursor_rule(written).status == "held"
        written = replace(written, landed_facts=frozenset({1}))
        assert apply_cursor_rule(written).status == "completed"
    known = facts(entry(1), near_mark=near, verdicts=said("already_known", 1))
    assert apply_cursor_rule(known).status == "held"
    assert apply_cursor_rule(replace(known, known_in_files=frozenset({1}))).status == "nothing_new"


def test_come_back_four_times_is_given_up():
    """At the fourth time the entry is set aside and the place moves past it, with its neighbours
    not taken along; before, it only uses up a try."""
    third = apply_cursor_rule(facts(entry(1, tries=2), ending="step_cap"))
    assert (third.status, third.tried, third.set_aside) == ("failed", {1}, frozenset())
    fourth = apply_cursor_rule(facts(entry(1, tries=3), ending="step_cap"))
    assert (fourth.status, fourth.set_aside, fourth.advance_to) == ("gave_up", {1}, 1)
    mixed = apply_cursor_rule(facts(entry(1, tries=3), entry(2, tries=1), ending="step_cap"))
    assert (mixed.set_aside, mixed.advance_to) == ({1}, 1)
    behind = apply_cursor_rule(facts(entry(1, tries=1), entry(2, tries=3), ending="step_cap"))
    assert (behind.set_aside, behind.advance_to) == ({2}, None)


def test_what_was_saved_is_not_set_aside():
    """Of a batch that is given up, entries whose own writes all landed are done with."""
    rows = (entry(1, tries=3), entry(2, tries=3))
    attempts = (landed(1), refused(2))
    run = apply_cursor_rule(facts(*rows, attempts=attempts, open_refusals=(refused(2),)))
    assert (run.status, run.set_aside, run.advance_to) == ("gave_up", {2}, 2)


def test_outages_use_up_nothing():
    """A rate limit, a missing key, or a fault before any answer: nobody's try; a refusal by the
    model is one."""
    outage = facts(entry(1, tries=3), ending="failed", why="Overloaded.", is_outage=True)
    assert apply_cursor_rule(outage).status == "failed"
    assert apply_cursor_rule(outage).tried == frozenset()
    unseen = facts(entry(1, tries=3), ending="failed", was_seen=False)
    assert apply_cursor_rule(unseen).status == "failed"
    assert apply_cursor_rule(facts(entry(1, tries=3), ending="failed")).status == "gave_up"


def test_only_landed_writes_save():
    """``saved`` without a write that names the entry is no account; a write is one without being
    said."""
    run = facts(entry(1), entry(2), entry(3), attempts=(landed(2),), verdicts=said("saved", 1))
    assert [row.kind for row in verified_verdicts(run)] == ["unaccounted", "saved", "unaccounted"]


def test_a_fact_that_no_file_states_opens_its_entry_again():
    """Whatever was said of the entry and whatever was written for it: it is shown again."""
    run = facts(
        entry(1),
        entry(2),
        attempts=(landed(1, 2),),
        verdicts=said("saved", 1, 2),
        uncovered={2: (("2.1", "A fact."),)},
    )
    found = apply_cursor_rule(run)
    assert (found.status, found.advance_to, found.reoffer) == ("completed", 2, {2})
    assert [row.kind for row in found.verdicts] == ["saved", "unaccounted"]
    assert "2.1: “A fact.”" in found.verdicts[1].reason


def test_the_end_state_of_a_fact_settles_edits_that_did_not_fit():
    """An edit that did not fit is not open once the files state the entry's facts; a refusal by a
    budget is, and so is an edit for a fact that no file states."""
    stale = refused(1, rule="edit", path="USER.md")
    run = facts(entry(1), attempts=(stale, landed(1)), open_refusals=(stale,))
    assert apply_cursor_rule(run).status == "partly_written"
    assert apply_cursor_rule(replace(run, uncovered={})).status == "completed"
    missing = {1: (("1.1", "A fact."),)}
    assert apply_cursor_rule(replace(run, uncovered=missing)).status == "partly_written"
    full = replace(run, open_refusals=(refused(1),), uncovered={})
    assert apply_cursor_rule(full).status == "partly_written"
    replayed = facts(entry(1), attempts=(stale,), open_refusals=(stale,), uncovered={})
    assert apply_cursor_rule(replayed).status == "nothing_new"


def test_what_is_left_out_is_offered_again():
    """A tagged entry without an account is shown again although the place moves on; one without
    tags, or with an account, is not."""
    rows = (entry(1), entry(2, "- [ephemeral] Rain."), entry(3), entry(4))
    run = apply_cursor_rule(facts(*rows, attempts=(landed(3),), verdicts=said("not_kept", 4)))
    assert (run.status, run.advance_to, run.reoffer) == ("completed", 4, {1})


def test_offered_again_up_to_four_times():
    """Silence uses up one of four; an account ends it; after the fourth it is set aside."""
    again = entry(1, again=True)
    run = RunFacts(batch=Batch((again,)), cursor=9)
    assert (apply_cursor_rule(run).tried, apply_cursor_rule(run).reoffer) == ({1}, {1})
    assert apply_cursor_rule(run).advance_to is None
    told = apply_cursor_rule(replace(run, verdicts=said("not_kept", 1)))
    assert (told.done_with, told.reoffer) == ({1}, frozenset())
    last = apply_cursor_rule(RunFacts(batch=Batch((replace(again, tries=3),)), cursor=9))
    assert (last.set_aside, last.reoffer, last.done_with) == ({1}, frozenset(), {1})


def test_staged_changes_wait_and_the_place_moves():
    """What waits for approval counts as read, and never as held."""
    run = apply_cursor_rule(facts(entry(1), near_mark=(MEMORY,), staged=2))
    assert (run.status, run.advance_to) == ("waiting", 1)
