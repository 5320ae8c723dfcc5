"""Budgets: what unattended writers may make of a file that is full."""

import itertools
import threading
from pathlib import Path

import pytest

from jenny.workspace import config
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Actor, open_workspace
from memory import budgets, write_rules

# No text of these is forgotten, archived as reworded, or longer in bytes than in characters by
# accident: "ä" has two bytes.
BEFORE = {"missing": None, "under": 2000, "at": 3000, "over": 3400}
CHANGE = {"shrink": -100, "same": 0, "grow": 100}
STATES = ("plain", "undecodable", "bom", "linked workspace")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty workspace with the budgets that are usual."""
    write_rules.install()
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def content(size: int, state: str, fill: str) -> bytes:
    """So many characters."""
    data = (fill * size).encode()
    if state == "undecodable":
        return b"\xff" + data + b"\xc3\xff"
    return b"\xef\xbb\xbf" + data if state == "bom" else data


@pytest.mark.parametrize(
    ("kind", "path"),
    [("dream", "USER.md"), ("review", "memory/MEMORY.md")],
)
@pytest.mark.parametrize("state", STATES)
def test_the_truth_table(root, kind, path, state):
    """BUD1: refused exactly when the result is over the budget and not smaller than what is on
    disk now; by characters, whatever the file is and however it is reached."""
    top = root
    if state == "linked workspace":
        top = root.parent / "link"
        top.symlink_to(root)
    file = root / path
    for (before, size), (change, step) in itertools.product(BEFORE.items(), CHANGE.items()):
        (root / "memory").mkdir(exist_ok=True)
        file.unlink(missing_ok=True)
        if size is not None:
            file.write_bytes(content(size, state, "ä"))
        old = size if size is not None else 0
        new = (
            max(old + step, 0)
            if size is not None
            else {"shrink": 1, "same": 3000, "grow": 3001}[change]
        )
        is_refused = new > 3000 and new >= old
        workspace = open_workspace(top, Actor(kind))
        data = content(new, state, "ö")
        if is_refused:
            was = file.read_bytes() if file.exists() else None
            with pytest.raises(WriteRefused) as error:
                workspace.write(path, data)
            assert error.value.rule == "budget", (before, change)
            assert f"{new:,} characters, {new - 3000:,} over its budget of 3,000" in str(
                error.value
            )
            assert "Nothing was written" in str(error.value)
            assert (file.read_bytes() if file.exists() else None) == was
        else:
            workspace.write(path, data)
            assert file.read_bytes() == data


def test_a_linked_file_is_no_way_round(root):
    """Unattended writers are refused behind a link, whatever the size."""
    (root / "elsewhere.md").write_bytes(b"x" * 3400)
    (root / "USER.md").symlink_to("elsewhere.md")
    for size in (3300, 3500):
        with pytest.raises(WriteRefused):
            open_workspace(root, Actor("dream")).write("USER.md", b"y" * size)
    assert (root / "elsewhere.md").read_bytes() == b"x" * 3400
    assert {gauge.file.name: gauge.chars for gauge in budgets.gauge(root)}["user"] == 3400


@pytest.mark.parametrize("kind", ["chat", "browser", "command", "restore", "setup", "pipeline"])
def test_nobody_else_is_bound(root, kind):
    """A full file never refuses a chat, a person or a restore."""
    open_workspace(root, Actor(kind)).write("USER.md", b"x" * 9000)


def test_settings_count_from_the_next_write_on(root):
    """A budget is read from disk for each write; 0 measures and refuses nothing; the soul has
    none."""
    dream = open_workspace(root, Actor("dream"))
    dream.write("SOUL.md", b"x" * 9000)
    config.change_config(root, lambda raw: dreaming(raw).update(userBudgetChars=10))
    with pytest.raises(WriteRefused):
        dream.write("USER.md", b"x" * 11)
    config.change_config(root, lambda raw: dreaming(raw).update(userBudgetChars=0))
    dream.write("USER.md", b"x" * 9000)
    config.change_config(root, lambda raw: dreaming(raw).update(memoryBudgetChars=100))
    dream.write("memory/MEMORY.md", b"x" * 80)
    gauges = {gauge.file.name: gauge for gauge in budgets.gauge(root)}
    assert (gauges["memory"].near, gauges["memory"].held_mark) == (True, False)
    assert gauges["memory"].message == "memory/MEMORY.md: 80 of 100 characters (80 %)"
    assert gauges["soul"].message == "SOUL.md: 9,000 characters, no budget"
    (root / "USER.md").unlink()
    (root / "USER.md").mkdir()
    gauges = {gauge.file.name: gauge for gauge in budgets.gauge(root)}
    assert gauges["user"].chars is None


def dreaming(raw: dict) -> dict:
    """Dream's part of the settings."""
    return raw.setdefault("agents", {}).setdefault("defaults", {}).setdefault("dream", {})


def test_calls_of_one_step_are_decided_one_after_the_other(root):
    """Ten writers at once that each add 400 characters to a file of 1,000: five fit, and each
    of them is in the file."""
    open_workspace(root, Actor("chat")).write("USER.md", b"x" * 1000)
    refused = []

    def add(number: int) -> None:
        more = (f"{number}" * 400).encode()
        try:
            open_workspace(root, Actor("dream")).edit("USER.md", lambda old: (old or b"") + more)
        except WriteRefused as error:
            refused.append(error.rule)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == ["budget"] * 5
    assert len((root / "USER.md").read_bytes()) == 3000
