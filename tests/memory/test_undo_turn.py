"""Taking back what one turn changed: byte for byte where nobody went on, else only its own."""

import random

import pytest

from jenny.workspace.files import Actor, open_workspace
from memory import suppression, write_rules
from memory.undo_turn import Changed, turned_back, undo_turn

RUN = "turn:5"
BEFORE = b"# User\n\n- One\n- Two\n- Three\n"
AFTER = b"# User\n\n- One\n- Two and a half\n- Three\n- Four\n"


@pytest.fixture
def place(tmp_path):
    """A workspace in which a turn changed USER.md."""
    write_rules.install()
    place = open_workspace(tmp_path, Actor("chat", run=RUN))
    place.write("USER.md", BEFORE)
    place.write("USER.md", AFTER)
    return place


CHANGED = [Changed("USER.md", BEFORE, AFTER)]


def test_a_file_that_stands_as_it_was_left_comes_back_byte_for_byte(place):
    """Also one that the turn made, which goes, and CRLF; a second time nothing is done."""
    place.write("skills/x/SKILL.md", b"---\ndescription: x\n---\r\nx")
    made = Changed("skills/x/SKILL.md", None, b"---\ndescription: x\n---\r\nx")
    steps = undo_turn(place.root, RUN, [*CHANGED, made], account=1)
    assert [step.label for step in steps] == ["clean", "clean"]
    assert place.read("USER.md").data == BEFORE
    assert not place.exists("skills/x/SKILL.md")
    assert {step.label for step in undo_turn(place.root, RUN, CHANGED, account=1)} == {
        "already there"
    }
    assert suppression.list_tombstones(place.root) == ()


def test_what_others_did_since_stays(place):
    """Lines added, changed and taken out elsewhere are left as they are."""
    place.write("USER.md", b"# Me\n\n- Zero\n- One\n- Two and a half\n- Three\n- Four\n- Five\n")
    (step,) = undo_turn(place.root, RUN, CHANGED, account=1)
    assert step.label == "moved on"
    assert place.read("USER.md").data == b"# Me\n\n- Zero\n- One\n- Two\n- Three\n- Five\n"


def test_a_place_that_was_changed_since_is_left(place):
    """Then nothing of the file is written."""
    now = AFTER.replace(b"Two and a half", b"Two and a quarter")
    place.write("USER.md", now)
    (step,) = undo_turn(place.root, RUN, CHANGED, account=1)
    assert step.label == "conflict"
    assert place.read("USER.md").data == now


def test_forgotten_stays_forgotten_unless_the_turn_itself_forgot(place):
    """A line that the user had forgotten since does not come back and is named; what the turn
    forgot on request does, and is known again."""
    cats = Changed("USER.md", BEFORE + b"- Has two cats at home\n", AFTER)
    suppression.forget(place.root, "Has two cats at home", Actor("command"))
    (step,) = undo_turn(place.root, RUN, [cats], account=1)
    assert step.left_out == ("Has two cats at home",)
    assert place.read("USER.md").data == BEFORE

    start = place.read("USER.md").data
    done = suppression.forget(place.root, "Three", Actor("chat", run="turn:6"))
    after = place.read("USER.md").data
    undo_turn(place.root, "turn:6", [Changed("USER.md", start, after)], account=1)
    assert place.read("USER.md").data == start
    assert done.ids[0] not in {row.id for row in suppression.list_tombstones(place.root)}


def test_random_edits_of_others_survive():
    """Whatever was done to other lines, turning back gives what those edits make of the old
    file; or it is refused."""
    seed = random.randrange(10**6)
    print("seed", seed)
    dice = random.Random(seed)
    refused = 0
    for _ in range(300):
        old = [f"line {number}\n" for number in range(dice.randint(1, 12))]
        mine, theirs = dice.sample(range(len(old) + 1), 1)[0], dice.randrange(len(old))
        left = [*old[:mine], "- mine\n", *old[mine:]]
        here = [line for line in left if line != old[theirs]]
        here.insert(dice.randint(0, len(here)), "- theirs\n")
        want = [line for line in here if line != "- mine\n"]
        texts = ["".join(lines).encode() for lines in (here, left, old)]
        try:
            assert turned_back(*texts) == "".join(want).encode()
        except ValueError:
            refused += 1
    assert refused == 0
