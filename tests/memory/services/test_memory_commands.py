"""The commands ``forget``, ``recall`` and ``pin``: what a person does to the memory in a shell."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from jenny.workspace.files import Actor, open_workspace
from memory import archive, pins, suppression
from memory.history import log
from memory.history.entries import NewHistoryEntry

pytestmark = pytest.mark.django_db

USER = b"# User\n\n## Health\n\n- Allergic to nuts since 2011\n- Runs on Sundays\n"


@pytest.fixture
def root(workspace):
    """A workspace that knows two things about its person."""
    open_workspace(workspace.root, Actor("browser")).write("USER.md", USER)
    return workspace.root


def run(command: str, *words: str) -> dict:
    """Its answer with ``--json``."""
    out = io.StringIO()
    call_command(command, *words, "--json", stdout=out)
    return json.loads(out.getvalue())


def failed(command: str, *words: str) -> dict:
    """Its answer when it does not do what it was asked; its exit code is not 0."""
    out = io.StringIO()
    with pytest.raises(SystemExit) as end:
        call_command(command, *words, "--json", stdout=out)
    assert end.value.code == 1
    return json.loads(out.getvalue())


def test_forget_list_recall_and_lift(root):
    """A fact goes by words of its line, is not recalled, and can be let back."""
    told = run("forget", "nuts", "allergic")
    assert told["removed"] == {"USER.md": ["Allergic to nuts since 2011"]}
    assert b"nuts" not in (root / "USER.md").read_bytes()
    (row,) = run("forget", "--list")["forgotten"]
    assert row["text"] == "Allergic to nuts since 2011"
    assert "was forgotten is not shown" in failed("recall", "nuts")["error"]
    assert run("forget", "--lift", row["id"][:6])["lifted"]["id"] == row["id"]
    (fact,) = run("recall", "NUTS")["facts"]
    assert fact["events"][0]["reason"] == "forgotten"
    told = run("recall", fact["id"][:5], "--bring-back")
    assert (told["path"], told["landed"]) == ("USER.md", True)
    assert b"- Allergic to nuts since 2011\n" in (root / "USER.md").read_bytes()


def test_recall_gives_entries_whole(root):
    """A program gets the whole entry with time and kind, but for what is forgotten."""
    lines = [f"- [durable] Fact {number} about the garden shed" for number in range(60)]
    said = "\n".join(["- Allergic to nuts since 2011", *lines])
    (entry,) = log.append(root, [NewHistoryEntry(said, kind="note")]).entries
    run("forget", "nuts", "allergic")
    (row,) = run("recall", "shed")["entries"]
    assert row == {
        "cursor": entry.cursor,
        "timestamp": entry.timestamp,
        "kind": "note",
        "content": "\n".join(lines),
    }


def test_what_is_asked_for_wrongly_is_said(root):
    """No text, an unknown id, no line: nothing is changed, and the exit code says so."""
    for command, *words in (
        ("forget",),
        ("forget", "x", "--list"),
        ("forget", "?!"),
        ("forget", "--lift", "0000"),
        ("recall", "0123456789ab", "--bring-back"),
        ("recall", "xylophones"),
        ("pin",),
        ("pin", "USER.md"),
        ("pin", "USER.md:1"),
        ("pin", "USER.md:99"),
        ("pin", "notes.md:1"),
        ("pin", "../USER.md:1"),
        ("pin", "USER.md:6", "--remove"),
    ):
        assert failed(command, *words)["ok"] is False
    assert (root / "USER.md").read_bytes() == USER
    assert suppression.list_tombstones(root) == ()
    with pytest.raises(CommandError, match="FILE:LINE"):
        call_command("pin")


def test_pin_list_and_remove(root):
    """A line is pinned by its number, listed with it, and the pin comes off again."""
    assert run("pin", "USER.md:6")["pin"]["text"] == "Runs on Sundays"
    open_workspace(root, Actor("browser")).write("USER.md", b"- new\n" + USER)
    (row,) = run("pin", "--list")["pins"]
    assert (row["path"], row["line"]) == ("USER.md", 7)
    run("pin", "USER.md:7", "--remove")
    assert pins.pins(root) == ()
    assert run("pin", "--list")["message"] == "Nothing is pinned."
    assert run("pin", "USER.md:0")["pin"]["whole_file"] is True


def test_the_check_names_what_is_damaged(root):
    """Torn lines, a pinned line that is gone, an archived text that was edited, a folder in the
    place of a list: each with its cure, and the good lines hold all the same."""
    run("forget", "Allergic to nuts since 2011")
    run("pin", "USER.md:5")
    with (root / "memory" / ".forgotten.jsonl").open("ab") as file:
        file.write(b'{"id": "torn')
    open_workspace(root, Actor("browser")).write("USER.md", b"# User\n")
    (item, *_) = archive.listing(root)
    path = root / item.path
    path.write_bytes(path.read_bytes() + b"and more\n")
    (told,) = failed("check_workspace")["workspaces"]
    found = {row["path"]: row for row in told["findings"]}
    assert "2" in found["memory/.forgotten.jsonl"]["message"]
    assert "Sundays" in found["memory/.pins.jsonl"]["message"]
    assert "damaged" in found[item.path]["message"]
    assert len(suppression.list_tombstones(root)) == 2
