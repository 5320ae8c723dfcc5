"""Dream knows what day it is, and leaves what is about a day to come."""

import datetime as dt
from pathlib import Path

import pytest

from jenny.agent.errors import ToolProblem
from memory.dream import prompt
from memory.dream.drafts import EditStep
from tests.memory.dream.running import batch_of, entry, hand_of, new_root

TODAY = dt.datetime.now(dt.UTC).date()
SOON, GONE = TODAY + dt.timedelta(30), TODAY - dt.timedelta(30)
AHEAD = f"- The phone bill is due on {SOON}."
PASSED = f"- Dentist appointment on {GONE}."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a line for a day to come, and one whose day has passed."""
    root = new_root(tmp_path / "w")
    (root / "memory" / "MEMORY.md").write_text(f"# Memory\n\n{AHEAD}\n{PASSED}\n- Boat: red.\n")
    return root


def without(root: Path, text: str, *, said: str = "", instead: str = "") -> str:
    """MEMORY.md after a run that took a line out of it, by an entry that says *said*."""
    shown = batch_of(entry(12, said or "- [durable] The boat is red."))
    step = EditStep("memory/MEMORY.md", lambda old: (old or "").replace(f"{text}\n", instead))
    hand_of(root, shown).write("edit_file", [step], [12])
    return (root / "memory" / "MEMORY.md").read_text()


def test_runs_are_told_the_time_and_which_days_have_passed(root: Path) -> None:
    """In the message, so that the cached part of the prompt is the same from hour to hour."""
    shown = batch_of(entry(12, "- [durable] The boat is red."))
    for message in (prompt.first_message(shown, root), prompt.review_message(root)):
        text = message.parts[0].text  # type: ignore[union-attr]
        told = text.split("Now: ")[1].split(",")[1]
        # The day may have changed since this module was read.
        assert any(f"{(TODAY + dt.timedelta(more)).day} " in told for more in (0, 1))
        passed, _, ahead = text.partition("still to come")
        assert PASSED[2:] in passed
        assert AHEAD[2:] in ahead
    assert "Now: " not in prompt.system_prompt(root, batch=shown).text
    assert "Monday 2026-11-02 10:00" in shown.fenced_text


def test_a_line_for_a_day_to_come_stays(root: Path) -> None:
    """The sentence names it; what has passed may go."""
    with pytest.raises(ToolProblem, match="still to come"):
        without(root, AHEAD)
    assert PASSED not in without(root, PASSED)


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        (f"- [correction] The phone bill due on {SOON} is paid.", ""),
        ("- [durable] The phone bill is 20 euros.", f"- Phone bill of 20 euros, due on {SOON}.\n"),
    ],
)
def test_what_corrects_or_rewords_it_may(root: Path, said: str, instead: str) -> None:
    """An entry that takes it back, or a new line that says the same of that day."""
    assert AHEAD not in without(root, AHEAD, said=said, instead=instead)
