"""What a person undid of a run stays out until they say it anew."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command

from memory import suppression
from memory.versions import kept_out_text, undo_run
from tests.model_server import Call
from tests.support.dreams import MEMORY, Dreams, add, finish

LINE = "- Plays the viola in the town's orchestra"


def dreamt(dreams: Dreams, line: str = LINE) -> str:
    """A run that wrote the line, from an entry that says so; the id of its version."""
    (cursor,) = dreams.say(f"- [durable] The user {line[2:3].lower()}{line[3:]}.")
    dreams.model.script(add(line, cursor), finish(saved=[cursor]))
    run = dreams.run()
    assert line in dreams.text()
    return str(run.commits[0])


def again(dreams: Dreams, line: str) -> str:
    """One more run that tries to write the line; what it was told before."""
    (cursor,) = dreams.say("- [durable] The user bought a music stand.")
    dreams.model.script(
        add(line, cursor), add("- Bought a music stand", cursor), finish(saved=[cursor])
    )
    dreams.model.script("Done.")
    dreams.run()
    return "\n".join(part["text"] for part in dreams.shown()[-1].json["system"])


@pytest.mark.parametrize("words", [LINE, "- The user plays the viola in the town's orchestra."])
def test_an_undone_line_stays_out_in_the_same_words_and_nearly_the_same(
    dreams: Dreams, words: str
) -> None:
    """The next run is told that the person undid it, and refused when it writes it all the same;
    the other lines of that run are written."""
    sha = dreamt(dreams)
    undo_run(dreams.root, sha)
    assert LINE not in dreams.text()
    assert f"until you say it anew: `{LINE[2:]}`" in kept_out_text(dreams.root, sha)
    told = again(dreams, words)
    assert f"* {LINE[2:]} (written by a run, and undone by the person)" in told
    assert "viola" not in dreams.text()
    assert "Bought a music stand" in dreams.text()


def test_an_undone_line_is_written_when_the_person_says_it_anew(dreams: Dreams) -> None:
    """In a message that is newer than the undoing; an older one does not count."""
    undo_run(dreams.root, dreamt(dreams))
    now = datetime.now(UTC)
    said = "I play the viola in the town's orchestra."
    assert not suppression.restated(dreams.root, said, now - timedelta(hours=1))
    assert suppression.restated(dreams.root, said, now + timedelta(minutes=1))
    again(dreams, LINE)
    assert LINE in dreams.text()


def test_the_person_may_let_dream_decide_anew(dreams: Dreams) -> None:
    """With that choice nothing is refused; the command has it as well."""
    sha = dreamt(dreams)
    undo_run(dreams.root, sha, keep_out=False)
    assert kept_out_text(dreams.root, sha) == ""
    again(dreams, LINE)
    assert LINE in dreams.text()
    call_command("versions", "restore", "latest", "--may-return")
    again(dreams, LINE)
    assert LINE in dreams.text()


def test_putting_a_run_back_lets_its_lines_be_known_again(dreams: Dreams) -> None:
    """An undoing that is undone leaves nothing forgotten."""
    done = undo_run(dreams.root, dreamt(dreams))
    assert done.version is not None
    undo_run(dreams.root, done.version.sha)
    assert LINE in dreams.text()
    assert not suppression.list_tombstones(dreams.root)


def test_what_stands_in_a_file_is_not_hidden_by_an_undoing(dreams: Dreams) -> None:
    """A run shortened a line; undoing it brings the longer one back, for every prompt."""
    long = "- Lives in Brno, near the dam"
    (dreams.root / MEMORY).write_text(f"# Memory\n\n{long}\n")
    (cursor,) = dreams.say("- [durable] The user lives in Brno.")
    edit = {"path": MEMORY, "old_text": long, "new_text": "- Lives in Brno", "sources": [cursor]}
    dreams.model.script(Call("edit_file", edit), finish(saved=[cursor]))
    run = dreams.run()
    assert long not in dreams.text()
    undo_run(dreams.root, run.commits[0])
    assert long in dreams.text()
    assert long in suppression.without(dreams.root, dreams.text()).text
