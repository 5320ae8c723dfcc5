"""Files of people's decisions that cannot be read: the safer choice counts, and is said."""

from pathlib import Path

import pytest

from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Actor, open_workspace
from memory import checks, consents, pins, skills

PERSON = Actor("browser")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    for name in ("report", "travel"):
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text("---\ndescription: x\n---\nbody\n")
    (tmp_path / "USER.md").write_text("# User\n\n- Likes tea.\n")
    return tmp_path


def tear(root: Path, path: str, keep: int) -> bytes:
    """Cut the file's last line after so many characters; what is left of the file."""
    file = root / path
    *lines, last = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines) + last[:keep])
    return file.read_bytes()


def said(root: Path) -> str:
    return " ".join(checks.sentences(root))


def repair(root: Path, path: str) -> None:
    """Set the damaged lines aside; they are kept, and the ledger is whole again."""
    damaged = (root / path).read_bytes().splitlines()[-1]
    (found,) = checks.check_ledgers(root, repair=True)
    assert (found.path, found.repaired) == (path, True)
    assert damaged in (root / f"{path}.damaged").read_bytes()
    assert damaged not in (root / path).read_bytes().splitlines()
    assert said(root) == ""


@pytest.mark.parametrize("keep", [5, 15, 40])
def test_a_withdrawn_consent_does_not_come_back(root: Path, keep: int) -> None:
    """Where the line that withdrew it is torn, the person is asked again."""
    consents.give(root, "AGENTS.md", PERSON)
    consents.withdraw(root, "AGENTS.md", PERSON)
    before = tear(root, consents.PATH, keep)
    assert not consents.given(root)
    assert consents.PATH in said(root)
    (found,) = checks.check_ledgers(root, repair=False)
    assert "Line 2" in found.message
    assert found.is_open
    assert (root / consents.PATH).read_bytes() == before
    repair(root, consents.PATH)
    assert not consents.given(root)
    consents.give(root, "AGENTS.md", PERSON)
    assert consents.given(root) == {"AGENTS.md"}


def test_a_consent_that_is_given_after_a_torn_line_holds(root: Path) -> None:
    """The torn line stays in the file, and the person's new word counts."""
    consents.give(root, "AGENTS.md", PERSON)
    torn = tear(root, consents.PATH, 20)
    consents.give(root, "prompts/dream.md", PERSON)
    assert consents.given(root) == {"prompts/dream.md"}
    assert (root / consents.PATH).read_bytes().startswith(torn)


def test_a_yes_before_a_torn_line_is_asked_for_again(root: Path) -> None:
    """A skill of Dream's that was agreed to is only listed until then."""
    path = "skills/report/SKILL.md"
    skills.approve_skill(root, path, "v1", PERSON)
    skills.withdraw_approval(root, path, PERSON)
    tear(root, skills.APPROVALS_PATH, 12)
    assert not skills.approved_versions(root)
    repair(root, skills.APPROVALS_PATH)
    assert not skills.approved_versions(root)
    skills.approve_skill(root, path, "v1", PERSON)
    assert skills.approved_versions(root) == {(path, "v1")}


@pytest.mark.parametrize(("keep", "others_stay"), [(4, False), (35, True)])
def test_a_skill_stays_off(root: Path, keep: int, *, others_stay: bool) -> None:
    """The one that a torn line names; where it names none, every skill, until it is switched on."""
    skills.switch_skill(root, "report", PERSON, off=True)
    tear(root, skills.DISABLED_PATH, keep)
    names = {skill.name for skill in skills.listing(root)}
    assert "report" not in names
    assert ("travel" in names) is others_stay
    assert "report" not in skills.blocks(root)[1].text
    repair(root, skills.DISABLED_PATH)
    assert {skill.name for skill in skills.listing(root)} == names
    skills.switch_skill(root, "report", PERSON, off=False)
    assert "report" in {skill.name for skill in skills.listing(root)}


@pytest.mark.parametrize("data", [b"\0" * 100, b"\xff\xfe\n"])
def test_a_file_of_no_sense_switches_no_skill_on(root: Path, data: bytes) -> None:
    """As a crashed disk leaves it."""
    skills.switch_skill(root, "report", PERSON, off=True)
    (root / skills.DISABLED_PATH).write_bytes(data)
    assert "report" in skills.disabled_skills(root)
    skills.switch_skill(root, "travel", PERSON, off=False)
    assert "travel" not in skills.disabled_skills(root)
    assert (root / skills.DISABLED_PATH).read_bytes().startswith(data.rstrip(b"\n"))


@pytest.mark.parametrize("keep", [6, 30, 60])
def test_what_was_pinned_stays_pinned(root: Path, keep: int) -> None:
    """A torn pin is on the whole file that it names, or on all."""
    pins.pin(root, "USER.md", 3, PERSON)
    tear(root, pins.PATH, keep)
    for step in ("torn", "repaired"):
        with pytest.raises(WriteRefused):
            open_workspace(root, Actor("dream")).write("USER.md", b"# User\n")
        assert open_workspace(root, PERSON).write("notes.md", step.encode(), expect=None)
        (root / "notes.md").unlink()
        if step == "torn":
            repair(root, pins.PATH)


def test_a_pin_whose_removal_is_torn_stays(root: Path) -> None:
    """It is taken off again by the person."""
    pins.pin(root, "USER.md", 3, PERSON)
    pins.unpin(root, "USER.md", 3, PERSON)
    tear(root, pins.PATH, 60)
    assert [row.text for row in pins.pins(root)] == ["Likes tea."]
