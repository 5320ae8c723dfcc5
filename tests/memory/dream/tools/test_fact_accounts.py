"""Each fact of an entry is accounted for, and looked up in the files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jenny.agent.tools import ToolOutcome
from memory.dream.fact_checks import list_facts
from memory.dream.tools import WriteSession, toolbox
from memory.dream.values import Batch
from tests.memory.dream.running import batch_of, entry, hand_of, new_root

MEMORY = "memory/MEMORY.md"
type Do = Callable[..., ToolOutcome]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = new_root(tmp_path / "w")
    (root / "USER.md").write_text("# User\n\n- Likes tea.\n")
    (root / MEMORY).write_text("# Memory\n\n- The boat is red.\n")
    return root


def session(root: Path, *texts: str) -> tuple[WriteSession, Do]:
    """A run over entries with these texts, numbered from 1."""
    shown = batch_of(*(entry(number, text) for number, text in enumerate(texts, 1)))
    hand = hand_of(root, shown)
    box = toolbox(hand)
    return hand, lambda name, **arguments: box.call(name, arguments)


def add(do: Do, line: str, *sources: int, path: str = "USER.md") -> ToolOutcome:
    edit = {"path": path, "action": "add", "new_text": line, "heading": ""}
    return do("apply_patch", edits=[edit], sources=list(sources or (1,)))


def account(do: Do, *rows: tuple[Any, ...]) -> ToolOutcome:
    """``finish`` with rows of an entry, a verdict, a reason, and the number of a fact."""
    names = ("cursor", "verdict", "reason", "fact")
    return do("finish", entries=[dict(zip(names, row, strict=False)) for row in rows])


TWO = "- [durable] The user likes figs.\n- [durable] The user plays the viola."


def test_the_model_sees_the_numbers_of_facts() -> None:
    """Each fact of an entry has its number; lines that belong to a fact have none."""
    text = "- [durable] The user likes figs.\n  and dates\n- [ephemeral] It rains.\nNo fact."
    shown: Batch = batch_of(entry(7, text))
    assert "(7.1) - [durable] The user likes figs." in shown.fenced_text
    assert "(7.2) - [ephemeral] It rains." in shown.fenced_text
    assert shown.fenced_text.count("(7.") == 2
    assert [(row.name, row.text) for row in list_facts(shown.entries[0])] == [
        ("7.1", "The user likes figs. and dates"),
        ("7.2", "It rains."),
    ]


def test_a_fact_that_no_line_says_is_asked_back_once(root: Path) -> None:
    """Of two facts one is written and ``saved`` is said: the refused call names the other; said
    once more, the entry stays open."""
    hand, do = session(root, TWO)
    assert add(do, "- Likes figs.").ok
    asked = account(do, (1, "saved"))
    assert (asked.ok, asked.ends_run) == (False, False)
    assert "1.2" in asked.content
    assert "The user plays the viola." in asked.content
    assert "figs" not in asked.content
    assert account(do, (1, "saved")).ends_run
    assert [fact.name for fact in hand.fact_states().uncovered[1]] == ["1.2"]


def test_what_was_asked_back_and_written_is_covered(root: Path) -> None:
    hand, do = session(root, TWO)
    add(do, "- Likes figs.")
    account(do, (1, "saved"))
    assert add(do, "- Viola player.").ok
    assert account(do, (1, "saved")).ends_run
    assert not hand.fact_states().uncovered


def test_facts_are_accounted_for_one_by_one(root: Path) -> None:
    """An entry is accounted for when each of its facts to be kept is."""
    hand, do = session(root, TWO)
    add(do, "- Likes figs.")
    half = account(do, (1, "saved", "", 1))
    assert "Not accounted for yet: 1." in half.content
    assert "has no fact 1.5" in account(do, (1, "saved", "", 5)).content
    assert account(do, (1, "not_kept", "expired: sold it", 2)).ends_run
    assert (hand.verdicts[1].kind, hand.verdicts[1].reason) == ("saved", "expired: sold it")
    assert not hand.fact_states().uncovered


@pytest.mark.parametrize("reason", ["handled", "noted elsewhere", "not used lately", "done"])
def test_a_fact_to_be_kept_is_left_out_only_for_a_reason_of_the_list(
    root: Path, reason: str
) -> None:
    """Any other reason is refused with the list; without such facts any reason will do."""
    hand, do = session(root, "- [permanent] The user is allergic to nuts.", "- [ephemeral] Rain.")
    refused = account(do, (1, "not_kept", reason), (2, "not_kept", reason))
    assert "superseded, duplicate, asked_to_forget" in refused.content
    assert "Fact 1.1 is marked [permanent]" in refused.content
    assert hand.unaccounted == (1,)
    assert account(do, (1, "not_kept", "Not about the person: her friend")).ends_run


def test_a_duplicate_must_be_found(root: Path) -> None:
    """In a file, or in another entry that is not itself left out as a duplicate."""
    fig, same = "- [durable] The user likes figs.", "- [durable] The user is fond of figs."
    hand, do = session(root, fig, same)
    add(do, "- Likes figs.")
    assert account(do, (1, "saved"), (2, "not_kept", "duplicate")).ends_run
    hand, do = session(root, "- [durable] The user plays the viola.")
    assert "is no duplicate" in account(do, (1, "not_kept", "duplicate")).content
    hand, do = session(root, "- [durable] The user rows.", "- [durable] The user rows.")
    both = account(do, (1, "not_kept", "duplicate"), (2, "not_kept", "duplicate"))
    assert not both.ok
    assert "is no duplicate" in both.content
    assert len(hand.unaccounted) == 1


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        (
            "[durable] The user's daughter Mia started school in Linden.",
            "Mia goes to school (Linden)",
        ),
        ("[permanent] The user is allergic to peanuts.", "Allergy: peanuts"),
        ("[durable] The user does not eat pork.", "No pork"),
        ("[correction] Actually the user lives in Graz, no longer in Brno.", "Lives in Graz"),
        ("[correction] The rent is now 900, was 850.", "Rent: 900"),
        ("[correction] Choir moved from Tuesday to Thursday.", "Choir on Thursdays"),
        ("[durable] Der Nutzer wohnt seit 2019 in Bremen.", "Wohnhaft in Bremen (seit 2019)"),
        ("[durable] Der Nutzer isst kein Schweinefleisch.", "Verzichtet auf Schweinefleisch"),
        ("[durable] ユーザーは紅茶が好きです。", "紅茶を好む"),
        ("[durable] ユーザーは横浜に住んでいます。", "横浜在住"),
    ],
)
def test_a_fact_in_other_words_is_covered(root: Path, fact: str, line: str) -> None:
    _, do = session(root, f"- {fact}")
    assert add(do, f"- {line}").ok
    assert account(do, (1, "saved")).ends_run


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        ("[durable] The user does not eat pork.", "Has a garden with pork on the barbecue"),
        ("[durable] The user's cat weighs 5 kg.", "Cat weighs 4 kg"),
        ("[durable] The user's daughter Mia plays the piano.", "Daughter Mia plays the violin"),
        ("[correction] The rent is now 900, was 850.", "Rent: 850"),
        ("[durable] Der Nutzer trinkt keinen Kaffee.", "Trinkt Kaffee"),
        ("[durable] ユーザーは珈琲が好きです。", "紅茶を好む"),
    ],
)
def test_a_line_about_something_else_covers_nothing(root: Path, fact: str, line: str) -> None:
    (root / "USER.md").write_text(f"# User\n\n- {line}.\n")
    _, do = session(root, f"- {fact}")
    asked = account(do, (1, "already_known"))
    assert not asked.ok
    assert "1.1" in asked.content


def test_a_line_that_says_it_in_other_words_may_be_named(root: Path) -> None:
    """Word for word, as the reason; a line that stands nowhere, or that is about something else, is
    not believed."""
    (root / "USER.md").write_text("# User\n\n- Likes tea.\n- Partner: Ben, nurse at St. Anna.\n")
    fact = "- [durable] The user's husband Ben works as a nurse at the St. Anna hospital."
    for reason in ("it stands there", "Husband Ben, nurse at St. Anna hospital.", "Likes tea."):
        _, do = session(root, fact)
        assert not account(do, (1, "already_known", reason)).ok
    hand, do = session(root, fact)
    assert not account(do, (1, "already_known")).ok
    assert account(do, (1, "already_known", "Partner: Ben, nurse at St. Anna.")).ends_run
    assert not hand.fact_states().uncovered


def test_a_write_that_only_removes_does_not_save_what_its_entry_states(root: Path) -> None:
    """A correction that takes something back is settled by it."""
    old = {"path": "USER.md", "old_text": "- Likes tea.\n", "new_text": ""}
    hand, do = session(root, "- [durable] The user drinks oat milk instead of tea.")
    assert do("edit_file", **old, sources=[1]).ok
    assert not account(do, (1, "saved")).ok
    assert hand.fact_states().uncovered
    (root / "USER.md").write_text("# User\n\n- Likes tea.\n")
    hand, do = session(root, "- [correction] The user no longer likes tea.")
    assert do("edit_file", **old, sources=[1]).ok
    assert account(do, (1, "saved")).ends_run


def test_a_replayed_edit_adds_nothing_a_second_time(root: Path) -> None:
    """Whichever tool brings the line, into whichever file: the model is told where it stands, and
    the fact counts as known."""
    edit = {"path": "USER.md", "old_text": "- Likes tea.", "sources": [1]}
    edit["new_text"] = "- Likes tea.\n- Plays the viola."
    hand, do = session(root, "- [durable] The user plays the viola.")
    assert do("edit_file", **edit).ok
    text = (root / "USER.md").read_text()
    hand, do = session(root, "- [durable] The user plays the viola.")
    again = do("edit_file", **edit)
    assert "USER.md, line 4, says it already" in again.content
    assert "says it already" in add(do, "- The user plays the viola.", path=MEMORY).content
    other = {"path": MEMORY, "old_text": "- The boat is red.", "sources": [1]}
    other["new_text"] = "- The boat is red.\n- Plays the viola"
    assert "says it already" in do("edit_file", **other).content
    assert (root / "USER.md").read_text() == text
    assert (root / MEMORY).read_text() == "# Memory\n\n- The boat is red.\n"
    assert account(do, (1, "saved")).ends_run
    assert not hand.landed


def test_a_line_may_be_reworded_and_moved(root: Path) -> None:
    """What the same call takes out does not stand there already."""
    _, do = session(root, "- [durable] The user likes tea.")
    reworded = {"path": "USER.md", "old_text": "- Likes tea.", "new_text": "* Likes tea"}
    assert do("edit_file", **reworded, sources=[1]).ok
    assert (root / "USER.md").read_text() == "# User\n\n* Likes tea\n"
    moved = [
        {"path": MEMORY, "action": "add", "new_text": "- Likes tea.", "heading": ""},
        {"path": "USER.md", "action": "replace", "old_text": "* Likes tea\n", "new_text": ""},
    ]
    assert do("apply_patch", edits=moved, sources=[1]).ok
    assert "Likes tea" in (root / MEMORY).read_text()
    assert "tea" not in (root / "USER.md").read_text()


def test_refusals_name_their_cause(root: Path) -> None:
    """Of two files in one patch each is told its own; a line in ``noted`` that no file has is
    named."""
    hand, do = session(root, "- [durable] The user likes figs.")
    both = [
        {"path": "USER.md", "action": "add", "new_text": "- Likes figs.", "heading": ""},
        {"path": MEMORY, "action": "add", "new_text": "- " + "figs " * 1_000, "heading": ""},
    ]
    assert not do("apply_patch", edits=both, sources=[1]).ok
    told = {row.path: (row.rule, row.message) for row in hand.attempts}
    assert told[MEMORY][0] == "budget"
    assert told["USER.md"][0] == "together"
    assert "can be written by itself" in told["USER.md"][1]
    assert "budget" not in told["USER.md"][1]
    skill = "---\nname: x\ndescription: When x is asked.\n---\n1. Do it.\n2. Do more.\n"
    call = {"path": "skills/x/SKILL.md", "content": skill, "sources": [1], "noted": "Deploys so"}
    assert "noted names “Deploys so”" in do("write_file", **call).content


def test_a_copied_number_does_not_land(root: Path) -> None:
    _, do = session(root, "- [durable] The user likes figs.")
    assert add(do, "(1.1) - [durable] Likes figs.").ok
    assert (root / "USER.md").read_text() == "# User\n\n- Likes tea.\n- Likes figs.\n"
