"""Data of an earlier version, whose ids left out vowel signs, still holds."""

import json
from pathlib import Path

import pytest

from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.write_rules import Change
from memory import archive, suppression, write_rules
from memory.facts import digest, digests, earlier_digest
from memory.provenance import derive_origins

GRANDSON = "राम का पोता डॉक्टर है"
FATHER = "राम का पिता डॉक्टर है"
# As earlier versions wrote it for both.
OLD_ID = "74c9c9154ecc"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a tombstone and an archived text of an earlier version."""
    write_rules.install()
    kept = tmp_path / "memory" / "archive"
    kept.mkdir(parents=True)
    row = {"id": OLD_ID, "text": GRANDSON, "at": "2026-01-01T10:00:00", "actor": "browser"}
    (tmp_path / "memory/.forgotten.jsonl").write_text(
        json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    head = f'---\nid: "{OLD_ID}"\nsource: "USER.md"\nheading: "Family"\nkind: "bullet"\nevents:\n'
    event = '  - {"date": "2026-01-01", "actor": "browser", "reason": "removed"}\n---\n'
    (kept / f"2026-01-01-{OLD_ID}.md").write_text(f"{head}{event}{GRANDSON}\n", encoding="utf-8")
    (tmp_path / "USER.md").write_text("# User\n\n## Family\n", encoding="utf-8")
    return tmp_path


def test_the_ids_of_both_versions() -> None:
    """Earlier versions had one id for two facts; now they have two, and the old one is known."""
    assert earlier_digest(GRANDSON) == earlier_digest(FATHER)
    assert earlier_digest(GRANDSON).startswith(OLD_ID)
    assert digest(GRANDSON) != digest(FATHER)
    assert digests(GRANDSON) == (digest(GRANDSON), earlier_digest(GRANDSON))
    assert digests("Likes tea, 5%.") == (digest("Likes tea, 5%."),)


def test_a_tombstone_of_an_earlier_version_holds(root: Path) -> None:
    """It refuses its own text and no other, is not noted twice, and is lifted by its id."""
    dream = open_workspace(root, Actor("dream"))
    with pytest.raises(WriteRefused):
        dream.write("USER.md", f"- {GRANDSON}\n".encode())
    dream.write("USER.md", f"- {FATHER}\n".encode())
    done = suppression.forget(root, GRANDSON, Actor("command"))
    assert (done.removed, done.ids) == ({}, (OLD_ID,))
    assert len(suppression.list_tombstones(root)) == 1
    assert FATHER in (root / "USER.md").read_text(encoding="utf-8")
    suppression.lift_tombstone(root, OLD_ID, Actor("browser"))
    assert suppression.list_tombstones(root) == ()


def test_an_archived_text_of_an_earlier_version_is_found(root: Path) -> None:
    """By its old and its new id; the same text leaving again adds an event, another text a file;
    it comes back."""
    (row,) = archive.find(root, OLD_ID)
    assert (row.text, row.problem) == (GRANDSON, "")
    assert archive.find(root, digest(GRANDSON)[:12]) == (row,)
    suppression.lift_tombstone(root, OLD_ID, Actor("browser"))
    chat = open_workspace(root, Actor("chat"))
    chat.write("USER.md", f"## Family\n\n- {GRANDSON}\n- {FATHER}\n".encode())
    chat.write("USER.md", b"## Family\n")
    assert {item.text for item in archive.listing(root)} == {GRANDSON, FATHER}
    (row,) = archive.find(root, OLD_ID)
    assert len(row.events) == 2
    done = archive.bring_back(root, OLD_ID, Actor("browser"))
    assert done.landed


def test_lines_are_followed_to_rows_of_an_earlier_version(root: Path) -> None:
    """A reworded line names both digests of the one that it was."""
    old, new = f"- {GRANDSON}\n".encode(), f"- {GRANDSON} अब\n".encode()
    rows = derive_origins([Change("USER.md", old, new, Actor("dream"), root)])
    assert set(digests(GRANDSON)) <= {one for row in rows for one in row.was}
