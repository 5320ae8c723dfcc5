"""Hunks of a text, and where they stand in a file that has changed since."""

import random

import pytest

from memory.approvals import diff, merge
from memory.approvals.diff import derive
from tests.support import chance

USER = "USER.md"
BASE = """# User

## Home

- Lives in Berlin.
- Has two cats.

## Work

- Writes Python.
"""
WORDS = ["tea", "bees", "honey", "Berlin", "runs", "daily", "hive", "swims", "cat", "likes", "owns"]


def accept(text, pieces):
    """The text with all of the pieces, one verdict after the other."""
    for piece in pieces:
        placed = merge.merge_hunks(text, [piece])
        assert not placed.conflicts
        text = placed.text
    return text


def test_one_entry_is_one_hunk():
    """Three new facts, one reworded, one gone: five hunks, each by itself."""
    new = BASE.replace("Berlin", "Munich").replace("- Has two cats.\n", "")
    new = new.replace(
        "- Writes Python.\n", "- Writes Python.\n- Likes tea.\n  - Green above all.\n"
    )
    new += "- Swims on Mondays.\n\n## Health\n\n- Allergic to nuts.\n"
    found = derive(USER, BASE, new)
    assert [(row.kind, row.before, row.after) for row in found] == [
        ("change", ("- Lives in Berlin.",), ("- Lives in Munich.",)),
        ("remove", ("- Has two cats.",), ()),
        ("add", (), ("- Likes tea.", "  - Green above all.")),
        ("add", (), ("- Swims on Mondays.",)),
        ("add", (), ("", "## Health", "", "- Allergic to nuts.")),
    ]
    assert merge.merge_hunks(BASE, found).text == new


def test_a_heading_comes_with_whatever_is_accepted_below_it():
    """Of two facts under a new heading the first is turned down: the second brings the heading."""
    new = BASE + "\n## Health\n\n- Allergic to nuts.\n- Runs daily.\n"
    first, second = derive(USER, BASE, new)
    assert merge.merge_hunks(BASE, [second]).text == BASE + "\n## Health\n\n- Runs daily.\n"
    both = merge.merge_hunks(merge.merge_hunks(BASE, [second]).text, [first]).text
    assert both.count("## Health") == 1
    assert "- Allergic to nuts." in both


def test_others_may_write_around_it():
    """A line above, below and in another section changed: it still finds its place."""
    new = BASE.replace("two cats", "three cats")
    (piece,) = derive(USER, BASE, new)
    other = BASE.replace("- Lives in Berlin.\n", "- Lives in Munich.\n- Has a garden.\n")
    other = other.replace("# User\n", "# User\n\nKnown since 2024.\n")
    assert merge.merge_hunks(other, [piece]).text == other.replace("two cats", "three cats")


def test_of_equal_lines_the_one_with_the_same_neighbours_is_meant():
    """The same line stands in two sections; the one that was meant goes."""
    text = "# User\n\n## A\n\n- Same.\n- One.\n\n## B\n\n- Same.\n- Two.\n"
    (piece,) = derive(USER, text, text.replace("- Same.\n- Two.", "- Two."))
    moved = text.replace("## A\n", "## A\n\n- New.\n- Newer.\n")
    assert merge.merge_hunks(moved, [piece]).text == moved.replace("- Same.\n- Two.", "- Two.")


@pytest.mark.parametrize(
    "other",
    [
        BASE.replace("- Has two cats.", "- Has two cats and a dog."),
        BASE.replace("- Has two cats.\n", ""),
        "",
        None,
    ],
)
def test_a_reworded_line_that_is_not_there_is_a_conflict(other):
    """Changed, gone, an empty file, no file: nothing is guessed, nothing is written."""
    (piece,) = derive(USER, BASE, BASE.replace("two cats", "three cats"))
    placed = merge.merge_hunks(other, [piece])
    assert placed.conflicts == (0,)
    assert placed.text in (other, None, "")
    assert not merge.is_settled(other, piece)


def test_an_addition_to_a_section_that_is_gone_is_a_conflict():
    """Whether it belongs elsewhere is for a person to say; solved, the section is made anew."""
    (piece,) = derive(USER, BASE, BASE + "- Likes tea.\n")
    other = BASE.split("\n## Work", maxsplit=1)[0] + "\n"
    assert merge.merge_hunks(other, [piece]).conflicts == (0,)
    assert merge.solved(other, piece, ["- Likes green tea."]).endswith(
        "\n## Work\n\n- Likes green tea.\n"
    )


def test_what_stands_already_is_settled():
    """Whoever wrote it: by hand, in another place of the file, or a run that was killed."""
    reworded, came, gone = (
        derive(USER, BASE, new)[0]
        for new in (
            BASE.replace("two cats", "three cats"),
            BASE + "- Likes tea.\n",
            BASE.replace("- Writes Python.\n", ""),
        )
    )
    for piece in (reworded, came, gone):
        assert not merge.is_settled(BASE, piece)
        assert merge.is_settled(merge.merge_hunks(BASE, [piece]).text, piece)
    assert merge.is_settled(BASE.replace("two cats", "THREE cats"), reworded)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_bytes_that_are_not_meant_stay(ends, mark):
    """Line ends, byte order mark and a missing end of the last line are the file's own."""
    old = mark + BASE.rstrip("\n").replace("\n", ends)
    new = old.replace("Berlin", "Munich")
    assert merge.merge_hunks(old, derive(USER, old, new)).text == new


def test_a_skill_is_replaced_whole_or_not():
    """A skill's file is one hunk; any other text in its place is a conflict."""
    (piece,) = derive("skills/x/SKILL.md", None, "---\ndescription: x\n---\n\n1. One.\n")
    assert piece.kind == "skill"
    assert merge.merge_hunks(None, [piece]).text == "---\ndescription: x\n---\n\n1. One.\n"
    assert merge.merge_hunks("else\n", [piece]).conflicts == (0,)


def _line(rng):
    return "- " + " ".join(rng.choice(WORDS) for _ in range(rng.randint(2, 7)))


def _file(rng):
    lines = ["# User", ""]
    for heading in rng.sample(["Home", "Work", "Health"], rng.randint(0, 3)):
        lines += [f"## {heading}", ""]
        for _ in range(rng.randint(0, 5)):
            lines.append(_line(rng))
            lines += ["  " + _line(rng)] if rng.random() < 0.2 else []
        lines.append("")
    return lines


def _changed(rng, lines):
    lines = list(lines)
    for _ in range(rng.randint(1, 5)):
        at, kind = rng.randrange(len(lines) + 1), rng.random()
        if kind < 0.4:
            lines.insert(at, _line(rng))
        elif kind < 0.6 and lines:
            del lines[min(at, len(lines) - 1)]
        elif kind < 0.8 and lines and lines[min(at, len(lines) - 1)].startswith("- "):
            lines[min(at, len(lines) - 1)] += f" {rng.choice(WORDS)}"
        else:
            lines += [f"## New {rng.choice(WORDS)}", "", _line(rng), _line(rng)]
    return lines


def test_all_hunks_together_make_the_new_text_in_any_order():
    """Random files and changes: all hunks at once give the new text; one by one, in any order and
    each judged by the file as it is then, every line that was to come or go has."""
    rng = random.Random(chance.seed())
    for _ in range(400):
        old = "\n".join(_file(rng)) + "\n"
        new = "\n".join(_changed(rng, old.split("\n")[:-1])) + "\n"
        pieces = list(derive(USER, old, new))
        assert (merge.merge_hunks(old, pieces).text or "").rstrip() == new.rstrip()
        rng.shuffle(pieces)
        said = sorted(filter(None, diff.split_lines(accept(old, pieces))))
        wanted = sorted(filter(None, diff.split_lines(new)))
        assert [row for row in said if row.strip().startswith("-")] == [
            row for row in wanted if row.strip().startswith("-")
        ]
