"""What leaves USER.md or MEMORY.md is in the archive before it is gone, and can be brought back."""

import hashlib
import re
from pathlib import Path

import pytest
import yaml

from jenny.workspace.errors import WorkspaceError, WriteRefused
from jenny.workspace.files import Actor, Workspace, open_workspace
from jenny.workspace.seed import seed
from memory import archive, suppression, write_rules
from memory.archive import write_rule
from memory.archive.store import block
from memory.errors import NotArchived
from memory.facts import normal
from memory.recall import format_plain, recall

KINDS = ("chat", "dream", "review", "browser", "command", "restore", "outside")
USER = b"""\
# User

Ana lives in Brno, she is 41.

## Preferences

- Likes tea
  with milk
- Hates coriander
  - except in soup
1. First thing
| k | v |
|---|---|
| wifi | blue |
```
code one

code two
```
---
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with the rules that the app registers."""
    write_rules.install()
    folder = tmp_path / "workspace"
    folder.mkdir()
    seed(open_workspace(folder, Actor("setup")))
    return folder


def by(root: Path, kind: str, **more: str) -> Workspace:
    """The workspace as an actor sees it."""
    return open_workspace(root, Actor(kind, **more))


def bodies(root: Path) -> list[str]:
    """The texts in the archive, read by nothing of the product's."""
    files = sorted((root / "memory" / "archive").glob("*.md"))
    return [file.read_text("utf-8").split("\n---\n", 1)[1].removesuffix("\n") for file in files]


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_kept_whoever_writes(root, kind):
    """TOO3: a whole-file write that drops everything leaves every fact in the archive, by the
    name, header and body that people rely on; headings and rules are no losses."""
    by(root, "browser").write("USER.md", USER)
    by(root, kind, run="x:1", reason="spring").write("USER.md", b"# User\n")
    assert sorted(bodies(root)) == sorted(
        [
            "Ana lives in Brno, she is 41.",
            "Likes tea\nwith milk",
            "Hates coriander",
            "except in soup",
            "First thing",
            "| k | v |",
            "| wifi | blue |",
            "```\ncode one\n\ncode two\n```",
        ]
    )
    (row,) = archive.search(root, "tea milk")
    digest = hashlib.sha256(normal(row.text).encode()).hexdigest()
    assert re.fullmatch(rf"memory/archive/\d{{4}}-\d\d-\d\d-{digest[:12]}\.md", row.path)
    header = yaml.safe_load((root / row.path).read_text().split("---\n")[1])
    assert (header["id"], header["source"], header["heading"]) == (
        digest[:12],
        "USER.md",
        "Preferences",
    )
    (event,) = header["events"]
    assert event == {"date": row.date, "actor": kind, "run": "x:1", "reason": "spring"}


def test_what_moves_is_no_loss(root):
    """Within a file, to another memory file in one act, or there before: nothing is archived."""
    chat = by(root, "chat")
    chat.write("USER.md", b"- One fact here\n- Two facts there\n- Third thing of all\n")
    chat.write(
        "USER.md", b"- Third thing of all\n\n## New\n\n* one fact here!\n- Two facts there\n"
    )
    chat.write_many(
        {"SOUL.md": b"- Two facts there\n", "USER.md": b"- Third thing of all\n- one fact here\n"}
    )
    chat.edit("memory/MEMORY.md", lambda old: (old or b"") + b"\n- One fact here\n")
    chat.write("USER.md", b"- Third thing of all\n")
    assert bodies(root) == []
    chat.write("USER.md", b"- Third thing of everything\n")
    chat.delete("memory/MEMORY.md")
    assert sorted(bodies(root)) == ["One fact here", "Third thing of all"]


def test_a_refused_or_failed_write_archives_nothing(root, monkeypatch):
    """Nothing is kept of what did not leave."""
    by(root, "chat").write("USER.md", b"- a fact that stays\n")
    with pytest.raises(WriteRefused):
        by(root, "dream").write("USER.md", b"x" * 4000)
    with pytest.raises(WorkspaceError):
        by(root, "chat").write_many({"USER.md": b"", "memory/.cursor": b"5"})
    (root / "memory" / "archive").write_bytes(b"in the way")
    with pytest.raises(WorkspaceError):
        by(root, "chat").write("USER.md", b"")
    assert (root / "USER.md").read_bytes() == b"- a fact that stays\n"
    (root / "memory" / "archive").unlink()
    by(root, "chat").write("USER.md", b"")
    assert bodies(root) == ["a fact that stays"]


def test_the_same_text_twice_is_one_file_with_two_events(root):
    """And a damaged or edited file of that id is left as it is: the text gets more digits."""
    for _ in range(2):
        by(root, "chat").write("USER.md", b"- Likes tea\n")
        by(root, "dream", run="dream:7").write("USER.md", b"")
    (row,) = archive.listing(root)
    assert [event.run for event in row.events] == ["dream:7", "dream:7"]
    (root / row.path).write_bytes(b"\xff\xfe not ours any more")
    by(root, "chat").write("USER.md", b"- Likes tea\n")
    by(root, "dream").write("USER.md", b"")
    found = {item.path: item for item in archive.listing(root)}
    assert found.pop(row.path).problem
    (other,) = found.values()
    assert (other.text, len(other.id)) == ("Likes tea", 13)
    assert [item.id for item in archive.find(root, row.id[:4])]
    for _ in range(70):
        by(root, "chat").write("USER.md", b"- Likes tea\n")
        by(root, "chat").write("USER.md", b"")
    (other,) = (item for item in archive.listing(root) if not item.problem)
    assert len(other.events) + other.events_left_out == 71


def test_thirty_reviewed_away_come_back_one_by_one(root):
    """REV1: ten passes that each drop three lines lose nothing; all thirty return by id, under
    their headings, and everything else stays byte for byte."""
    lines = [f"- Fact number {n} about Ana, {2000 + n}" for n in range(40)]
    for half, heading in ((lines[:20], "## Old"), (lines[20:], "## New")):
        text = "\r\n".join([heading, "", *half, "", ""]).encode()
        by(root, "browser").edit("USER.md", lambda old, text=text: (old or b"") + text)
    before = by(root, "browser").read("USER.md").data
    for turn in range(10):
        gone = tuple(line.encode() for line in lines[turn * 4 : turn * 4 + 3])
        by(root, "review", run=f"review:{turn}").edit(
            "USER.md",
            lambda old, gone=gone: b"".join(
                line for line in (old or b"").splitlines(keepends=True) if not line.startswith(gone)
            ),
        )
    rows = archive.listing(root)
    assert len(rows) == 30
    left = by(root, "browser").read("USER.md").data
    for row in rows:
        done = archive.bring_back(root, row.id, Actor("command"))
        assert done.landed
        at = by(root, "browser").read("USER.md").data.split(b"\r\n")
        assert row.text.encode() in b"\n".join(at)
    after = by(root, "browser").read("USER.md").data
    assert sorted(after.split(b"\r\n")) == sorted(before.split(b"\r\n"))
    new = after.index(b"## New")
    for number, line in enumerate(lines):
        assert (after.index(line.encode()) > new) == (number >= 20)
    again = archive.bring_back(root, rows[0].id, Actor("command"))
    assert (again.landed, "already" in again.message) == (False, True)
    assert set(left.split(b"\r\n")) <= set(after.split(b"\r\n"))


def test_back_where_its_place_is_gone(root):
    """The heading is made anew, a deleted file too; a paragraph stands by itself; an id that is
    unknown or not one is refused."""
    by(root, "browser").write("USER.md", b"## Food\n\n- Likes tea\n\nProse of two\nlines.")
    by(root, "chat").delete("USER.md")
    for row in archive.listing(root):
        archive.bring_back(root, row.id[:6], Actor("chat"))
    text = (root / "USER.md").read_text()
    assert text.count("## Food") == 1
    assert "- Likes tea\n" in text
    assert "\n\nProse of two\nlines.\n" in text
    for wrong in ("ffffffffffff", "", "zz"):
        with pytest.raises(NotArchived):
            archive.bring_back(root, wrong, Actor("command"))


def test_the_forgotten_comes_back_for_a_person_only(root):
    """Dream and the chat are told that it is forgotten; a person's asking lifts it."""
    by(root, "browser").write("USER.md", b"- Allergic to nuts\n")
    by(root, "browser").write("USER.md", b"")
    (row,) = archive.listing(root)
    for kind in ("chat", "dream"):
        with pytest.raises(NotArchived, match="forgotten"):
            archive.bring_back(root, row.id, Actor(kind))
    archive.bring_back(root, row.id, Actor("browser"))
    assert suppression.list_tombstones(root) == ()
    assert b"nuts" in (root / "USER.md").read_bytes()


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe- caf\xe9 TOKEN\x00x\r\n",
        "\ufeff- TOKEN \u202e\u200b sch\u00f6n \U0001f34e\r\n".encode(),
        b"- " + b"TOKEN " * 1_700_000,
        b"---\nTOKEN\n---\n",
        b"TOKEN\n---\n",
        b"<!-- TOKEN\n",
        b"~~~\nTOKEN",
        b"- \n  TOKEN\n",
        b"# a\n\n> TOKEN\n",
    ],
    ids=["bytes", "bom", "10MB", "header", "setext", "comment", "fence", "late", "quote"],
)
def test_odd_files_lose_nothing(root, data):
    """Whatever the file is, what it said is found in the archive afterwards."""
    (root / "USER.md").write_bytes(data)
    by(root, "chat").write("USER.md", b"")
    assert any("TOKEN" in body for body in bodies(root))


def test_very_many_at_once_are_kept_together(root):
    """A file of thousands of lines emptied makes no thousands of files; each line is there."""
    lines = [f"- fact {number}" for number in range(3 * write_rule.MOST)]
    by(root, "chat").write("memory/MEMORY.md", "\n".join(lines).encode())
    by(root, "chat").write("memory/MEMORY.md", b"")
    assert len(bodies(root)) <= write_rule.MOST
    assert set(lines) <= {line for body in bodies(root) for line in body.split("\n")}
    item = archive.search(root, "2999")[0]
    archive.bring_back(root, item.id, Actor("command"))
    assert b"- fact 2999\n" in (root / "memory" / "MEMORY.md").read_bytes()


def test_a_file_under_another_name_is_kept_as_well(root):
    """A link in the place of a memory file leads to it: what leaves there is archived."""
    (root / "notes").mkdir()
    (root / "USER.md").rename(root / "notes" / "me.md")
    (root / "USER.md").symlink_to("notes/me.md")
    by(root, "chat").write("USER.md", b"- Likes tea\n")
    by(root, "chat").write("notes/me.md", b"")
    assert bodies(root)[0] == "Likes tea"
    assert archive.listing(root)[0].source == "USER.md"


def test_the_prompt_says_how_many(root):
    """The line counts the archived facts and is absent without any. It names ``recall``, which
    hides what is forgotten, and no tool that shows files or searches them."""
    assert block(root) is None
    by(root, "chat").write("USER.md", b"- one\n- two\n")
    by(root, "chat").write("USER.md", b"")
    found = block(root)
    assert found is not None
    assert "2 archived facts" in found.text
    assert "recall" in found.text
    for name in ("grep", "read_file", "memory/archive"):
        assert name not in found.text


def test_archived_texts_say_what_replaced_them(root):
    """A corrected value names the line that holds now, a reworded one is neither listed nor
    offered, what moved says so, and the rest says who removed it."""
    path = "memory/MEMORY.md"
    by(root, "chat").write(
        path,
        b"- Lives in Bern with two cats\n- Dentist: Dr Meyer in Graz\n- Plays the viola daily\n"
        b"- Likes green tea\n- Keeps bees in May\n- Owns a boat\n",
    )
    by(root, "dream").edit(
        path,
        lambda old: (
            (old or b"")
            .replace(b"Lives in Bern with two cats", b"Lives in Lund with two cats")
            .replace(b"Dr Meyer", b"Dr Weiss")
            .replace(b"Plays the viola daily", b"The user plays the viola daily.")
            .replace(b"- Owns a boat\n", b"")
        ),
    )
    by(root, "dream").write_many(
        {
            "SOUL.md": b"- The user likes green tea.\n",
            path: (root / path).read_bytes().replace(b"- Likes green tea\n", b""),
        }
    )
    day = archive.listing(root)[0].date
    assert {row.text: row.fate for row in archive.listing(root)} == {
        "Lives in Bern with two cats": f"corrected on {day}, now: Lives in Lund with two cats",
        "Dentist: Dr Meyer in Graz": f"corrected on {day}, now: Dentist: Dr Weiss in Graz",
        "Plays the viola daily": f"reworded on {day}, now: The user plays the viola daily.",
        "Likes green tea": f"moved on {day}, now: The user likes green tea.",
        "Owns a boat": f"removed on {day} by Dream",
    }
    assert "Plays the viola daily" not in [row.text for row in archive.removed(root)]
    shown = format_plain(recall(root, "Meyer"))
    assert f"corrected on {day}, now: Dentist: Dr Weiss in Graz" in shown
    suppression.forget(root, "Dentist: Dr Weiss in Graz", Actor("command"))
    assert "Weiss" not in format_plain(recall(root, "Meyer"))


def test_archived_texts_of_earlier_versions_are_read(root):
    """Events without the line that replaced a text keep their date, actor and reason."""
    by(root, "browser").write("USER.md", b"- Owns a boat\n")
    by(root, "browser").write("USER.md", b"")
    (file,) = (root / "memory" / "archive").glob("*.md")
    text = file.read_text()
    event = text[text.index('  - {"date"') : text.index("\n---\n", 5)]
    old = '  - {"date": "2026-03-01", "actor": "dream", "run": "dream:3", "reason": "reworded"}'
    file.write_text(text.replace(event, old))
    (row,) = archive.listing(root)
    assert (row.fate, row.problem) == ("reworded on 2026-03-01", "")
    assert archive.removed(root) == ()
