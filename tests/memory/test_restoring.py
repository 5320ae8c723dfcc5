"""What is forgotten stays away when a version is undone, and the rest comes back to the byte."""

import pytest

from jenny.workspace.errors import UndoRefused
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions.commits import RunNote, begin_run, commit_pending, commit_run
from jenny.workspace.versions.undo import LeftOut, plan_undo, undo
from memory import suppression, write_rules
from memory.suppression.write_rule import filter_forgotten

CATS = "Has two cats at home"
SKILL = b"---\nname: tea\ndescription: Makes tea\n---\r\nBoil the water first.\r\n\r\n- " + (
    CATS.encode() + b"\r\n"
)


@pytest.fixture
def root(tmp_path):
    """A workspace as Dream found it, with a fact that it took out."""
    write_rules.install()
    root = tmp_path / "workspace"
    (root / "memory").mkdir(parents=True)
    (root / "USER.md").write_bytes(b"# User\r\n\r\n- Lives in Bern\r\n- " + CATS.encode() + b"\r\n")
    commit_pending(root)
    return root


def dream(root, files) -> str:
    """A run of Dream; its version's id."""
    note = RunNote("dream:1", "dream: scheduled run")
    begin_run(root, note)
    open_workspace(root, Actor("dream", run=note.run)).write_many(files)
    return commit_run(root, note).versions[-1].sha


def test_forgotten_beats_undoing(root):
    """Dream's version is undone, but for the line that was forgotten since, which is named with
    what lifts it; lifted, it comes back when the version is undone once more."""
    old = (root / "USER.md").read_bytes()
    sha = dream(root, {"USER.md": b"# User\r\n\r\n- Lives in Basel\r\n"})
    (tombstone,) = suppression.forget(root, CATS, Actor("command")).ids
    left_out = {"USER.md": (LeftOut(CATS, tombstone),)}
    assert plan_undo(root, sha).left_out == left_out
    done = undo(root, sha)
    assert done.left_out == left_out
    assert (root / "USER.md").read_bytes() == b"# User\r\n\r\n- Lives in Bern\r\n"
    assert [row.id for row in suppression.list_tombstones(root)] == [tombstone]
    undo(root, done.version.sha)
    assert (root / "USER.md").read_bytes() == b"# User\r\n\r\n- Lives in Basel\r\n"
    suppression.lift_tombstone(root, tombstone, Actor("command"))
    assert undo(root, sha).left_out == {}
    assert (root / "USER.md").read_bytes() == old


def test_what_a_hand_took_out_right_before_stays_away(root):
    """An editor outside took the fact out; that it is forgotten is noted before undoing."""
    (root / "USER.md").write_bytes(b"# User\n\n- Lives in Bern\n- Plays chess on Sundays\n")
    commit_pending(root)
    sha = dream(root, {"USER.md": b"# User\n\n- Lives in Bern\n- Plays chess on Sundays\n- New\n"})
    (root / "USER.md").write_bytes(b"# User\n\n- Lives in Bern\n- New\n")
    done = undo(root, sha)
    assert [row.text for row in done.left_out["USER.md"]] == ["Plays chess on Sundays"]
    assert (root / "USER.md").read_bytes() == b"# User\n\n- Lives in Bern\n"


def test_a_skill_comes_back_without_what_is_forgotten(root):
    """Its header, other bytes and line ends are as they were."""
    open_workspace(root, Actor("browser")).write("skills/tea/SKILL.md", SKILL)
    commit_pending(root)
    sha = dream(root, {"skills/tea/SKILL.md": None})
    suppression.forget(root, CATS, Actor("command"))
    undo(root, sha)
    assert (root / "skills/tea/SKILL.md").read_bytes() == SKILL[: SKILL.index(b"- ")]


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_every_other_byte_stays(root, start):
    """Byte order marks, lone CRs, bytes that are no UTF-8; a file that is no memory is not looked
    into."""
    suppression.forget(root, CATS, Actor("command"))
    line = b"- " + CATS.encode()
    data = start + line + b"\r\n# caf\xe9 \xff\x00\r\n\n\n- one\r- two\n" + line
    assert (
        filter_forgotten(root, "USER.md", data).data
        == start + data.removeprefix(start + line + b"\r\n")[: -len(line)]
    )
    for path in ("prompts/dream.md", "skills/tea/notes.md"):
        assert filter_forgotten(root, path, data).data == data
    plain = data.replace(line, b"- other")
    assert filter_forgotten(root, "USER.md", plain) == type(
        filter_forgotten(root, "USER.md", plain)
    )(plain)


def test_a_list_of_forgotten_things_that_cannot_be_read_stops_it(root):
    """Better nothing is undone than that something forgotten comes back."""
    sha = dream(root, {"USER.md": b"# User\n"})
    (root / suppression.PATH).mkdir()
    with pytest.raises(UndoRefused, match="Nothing was changed"):
        undo(root, sha)
    assert (root / "USER.md").read_bytes() == b"# User\n"
