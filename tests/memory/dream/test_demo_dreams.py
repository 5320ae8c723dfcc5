"""The demo model dreams: small honest edits by rule, to be walked through without a key."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jenny.agent.demo import DemoServer, serve
from memory import archive
from memory.dream import report
from memory.history import summary_answer
from tests.memory.dream.running import batch_of, entry, new_root, run


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoServer]:
    """The demo model, without its pace."""
    server = serve(pace=0)
    yield server
    server.close()


def test_facts_are_added_corrected_and_the_old_wording_kept(
    tmp_path: Path, demo: DemoServer
) -> None:
    """Three facts, dreamed, land under fitting headings; a correction takes one line's place, and
    what stood there before is in the archive."""
    root = new_root(tmp_path / "w")
    first = batch_of(
        entry(1, "- [durable] The user lives in Brno.\n- [durable] The user likes green tea."),
        entry(2, "- [permanent] The user's daughter is called Mia."),
        entry(3, "- [ephemeral] The user is tired today."),
    )
    session, outcome = run(root, first, demo.url)
    assert outcome.ending == "done"
    assert session.finished
    assert {row.cursor: row.kind for row in session.verdicts.values()} == {
        1: "saved",
        2: "saved",
        3: "not_kept",
    }
    user = (root / "USER.md").read_text()
    assert user.index("## Identity") < user.index("- The user lives in Brno.")
    assert "- The user lives in Brno.\n\n## Communication" in user
    assert "- The user likes green tea.\n" in user
    assert "[durable]" not in user

    text = "- [correction] Actually the user lives in Graz, no longer in Brno."
    assert summary_answer.is_kept(text)
    again = batch_of(entry(4, text), entry(5, "- [durable] The user likes green tea."))
    session, outcome = run(root, again, demo.url)
    assert outcome.ending == "done"
    assert {row.kind for row in session.verdicts.values()} == {"saved", "already_known"}
    user = (root / "USER.md").read_text()
    assert "- The user lives in Graz, no longer in Brno.\n" in user
    assert "lives in Brno." not in user.replace("no longer in Brno.", "")
    assert [row.text for row in archive.listing(root)] == ["The user lives in Brno."]

    told = report.make_report(
        root, attempts=session.attempts, archived=[archive.listing(root)[0].id]
    )
    assert told.removed == {"USER.md": ("- The user lives in Brno.",)}
    assert "The user lives in Brno." in told.markdown


def test_what_is_refused_is_not_said_to_be_saved(tmp_path: Path, demo: DemoServer) -> None:
    """A full file takes nothing more, and the entry is left open rather than accounted for."""
    root = new_root(tmp_path / "w")
    (root / "USER.md").write_text("# User\n\n" + "- Something that fills the file up.\n" * 85)
    session, outcome = run(root, batch_of(entry(7, "- [durable] The user likes rye.")), demo.url)
    assert outcome.ending == "done"
    assert session.unaccounted == (7,)
    assert [row.rule for row in session.open_refusals] == ["budget"]
    assert "rye" not in (root / "USER.md").read_text()


def test_a_fact_that_was_noted_and_summarised_is_one_line(tmp_path: Path, demo: DemoServer) -> None:
    """What a person asked to remember, in their own words, and the summary of the same
    conversation end as one line in one file."""
    root = new_root(tmp_path / "w")
    notes = (
        entry(1, "- [permanent] I drink green tea"),
        entry(2, "- [permanent] The user said, and asked to remember: My flat has a balcony"),
        entry(
            3, "- [durable] The user drinks green tea.\n- [durable] The user's flat has a balcony."
        ),
    )
    session, _ = run(root, batch_of(*notes), demo.url)
    assert {row.kind for row in session.verdicts.values()} == {"saved", "already_known"}
    files = (root / "USER.md").read_text() + (root / "memory" / "MEMORY.md").read_text()
    assert files.count("green tea") == 1
    assert files.count("balcony") == 1
    assert "- The user drinks green tea.\n" in (root / "USER.md").read_text()
