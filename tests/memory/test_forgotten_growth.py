"""What many forgotten lines cost, and that what is kept of them is what the file says now."""

import datetime as dt
import json
import random
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import forgotten
from jenny.workspace.write_rules import Actor
from memory import ledgers, suppression
from memory.history import dated_facts, log
from memory.history.entries import NewHistoryEntry
from memory.paraphrases import ParaphraseMatcher
from memory.suppression import PATH, hide, tombstones
from memory.suppression.hide import visible_line
from memory.suppression.tombstones import State, tombstone

TODAY = dt.date(2026, 12, 1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    return tmp_path.resolve()


def seconds_after_an_entry(root: Path) -> float:
    """The processor's time for what a turn asks after one more entry, the best of some tries."""
    found = []
    for number in range(5):
        text = f"- [dated 2199-02-01] {forgotten.fact(900_000 + number)}"
        log.append(root, [NewHistoryEntry(text)])
        started = time.process_time()
        forgotten.ask(root)
        found.append(time.process_time() - started)
    return min(found)


def test_a_new_entry_alone_is_compared_with_what_is_forgotten(root: Path) -> None:
    """After one more entry, a page takes a small part of what it takes when nothing is known."""
    forgotten.make_workspace(root / "w", 2_000, 2_000)
    where = (root / "w").resolve()
    started = time.process_time()
    forgotten.ask(where)
    took = time.process_time() - started
    assert seconds_after_an_entry(where) < took / 8


def rows_of(root: Path) -> tuple[str, ...]:
    return tuple(row.text for row in suppression.list_tombstones(root))


@pytest.mark.parametrize("seed", range(6))
def test_lines_by_anybody_are_read_as_the_whole_file_is(root: Path, seed: int) -> None:
    """Lines are added, lifted, put out of order, damaged and edited by hand, read or not read in
    between."""
    chance = random.Random(seed)
    path = root / PATH
    times = [f"2026-11-{day:02}T10:00:00.000000+00:00" for day in range(1, 29)]
    for number in range(150):
        text = forgotten.fact(chance.randrange(60))
        one = {
            "id": f"{zlib.crc32(text.encode()):x}",
            "text": text,
            "at": times[min(number // 6, 27)],
        }
        match chance.randrange(12):
            case 0:
                one = {"lifted": one["id"], "at": chance.choice(times)}
            case 1:
                one["at"] = chance.choice(times)
        line = json.dumps(one) + chance.choice(["\n"] * 15 + [""])
        if chance.random() < 0.05 and path.exists():
            old = path.read_text().splitlines(keepends=True)
            old[chance.randrange(len(old))] = (
                json.dumps({"id": "abc", "text": "Owns a boat."}) + "\n"
            )
            path.write_text("".join(old))
        with path.open("a") as file:
            file.write(line)
        if chance.random() < 0.7:
            whole = tombstones.state_of(ledgers.read_ledger(root, PATH))
            now = tombstones.state(root)
            assert (now.active, now.skipped) == (whole.active, whole.skipped)
            for row in whole.active[:5] + whole.active[-5:]:
                found = now.match(row.text)
                assert found is not None
                assert found in whole.active
            assert now.ids == whole.ids


def test_what_one_act_adds_is_found_and_what_another_lifts_is_not(root: Path) -> None:
    """Also where a line was asked about before."""
    forgotten.make_workspace(root / "w", 200, 1)
    where = (root / "w").resolve()
    line = "- [durable] The user keeps three bees in Lund."
    assert tombstones.state(where).match(line) is None
    suppression.forget(where, "The user keeps three bees in Lund.", Actor("browser"))
    tombstone = tombstones.state(where).match(line)
    assert tombstone is not None
    assert len(rows_of(where)) == 201
    suppression.lift_tombstone(where, tombstone.id, Actor("browser"))
    assert tombstones.state(where).match(line) is None


def test_a_fact_is_heard_among_many_as_it_is_alone() -> None:
    """By whichever of its words it is found."""
    chance = random.Random(3)
    facts = [forgotten.fact(number) for number in range(100)]
    facts += ["Owns 3 bicycles", "Likes tea", "Is allergic to nuts and to cats", "Born 3 May 1980"]
    many = ParaphraseMatcher(facts)
    for fact in [*facts[-60:], "I own 3 bicycles", "I like tea", "My cats are allergic to nuts"]:
        words = fact.split()
        chance.shuffle(words)
        for message in (fact, " ".join(words), f"By the way, {fact} since last year"):
            alone = [
                at for at, one in enumerate(facts) if ParaphraseMatcher([one]).matches(message)
            ]
            assert many.matches(message) == alone


def test_a_later_correction_and_an_edited_file_count_at_once(root: Path) -> None:
    """Whatever was found of a fact before."""

    def shown() -> list[str]:
        return [row.text for row in dated_facts.list_upcoming(root.resolve(), TODAY)]

    log.append(root, [NewHistoryEntry("- [dated 2026-12-04] Dentist in Graz with Petra.")])
    assert shown() == ["Dentist in Graz with Petra."]
    log.append(root, [NewHistoryEntry("- [correction] Dentist in Graz with Petra is cancelled.")])
    assert shown() == []
    history = root / log.PATH
    history.write_bytes(history.read_bytes().replace(b"[correction]", b"[durable]   "))
    assert shown() == ["Dentist in Graz with Petra."]


def calls_of(act: Callable[[], object], path: str) -> int:
    """How often functions of a file are called or resumed."""
    count = 0

    def tick(frame: object, event: str, _: object) -> None:
        nonlocal count
        code = getattr(frame, "f_code", None)
        count += event == "call" and getattr(code, "co_filename", "") == path

    before = sys.getprofile()
    sys.setprofile(tick)
    try:
        act()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("part", ["(a, b), ", "a, ", "(", "[(a), "])
def test_cutting_a_line_into_clauses_grows_with_the_line(part: str) -> None:
    """Four times as many brackets and separators take about four times the calls."""
    few, many = (
        calls_of(lambda count=count: hide.has_clauses(part * count), hide.__file__)
        for count in (100, 400)
    )
    assert many <= 5 * few + 100


def test_a_very_long_sentence_is_left_out_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of its clauses is looked at; a shorter one loses only the clause. The next prompt asks
    for the same line without judging it again."""
    judged = []
    named, matched = ParaphraseMatcher.named, State._matched

    def count_clause(matcher: ParaphraseMatcher, text: str) -> list[int]:
        judged.append("clause")
        return named(matcher, text)

    def count_line(state: State, text: str, context: str) -> tombstones.Tombstone | None:
        judged.append("line")
        return matched(state, text, context)

    monkeypatch.setattr(ParaphraseMatcher, "named", count_clause)
    monkeypatch.setattr(State, "_matched", count_line)
    state = State((tombstone("The boat of Ana is painted red"),))
    line = "Ana has a boat; the boat of Ana is painted red; " + "there is a harbour; " * 40
    shown = visible_line(state, line)
    assert shown is not None
    assert "harbour" in shown
    assert "red" not in shown
    assert "clause" in judged
    judged.clear()
    assert visible_line(state, line + "there is a harbour; " * 1_000) is None
    assert "clause" not in judged
    judged.clear()
    assert visible_line(state, line + "there is a harbour; " * 1_000) is None
    assert judged == []
