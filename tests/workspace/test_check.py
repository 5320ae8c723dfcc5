"""``check_workspace``: everything that is wrong is said, with the cure; repair loses nothing."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jenny.workspace import check, seed, transaction_journal, transactions
from jenny.workspace.check import Finding, check_workspace, register_check
from jenny.workspace.files import Workspace
from jenny.workspace.transaction_journal import Step

PROJECT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own_checks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what other floors add."""
    monkeypatch.setattr(check, "_checks", [])


@pytest.fixture
def seeded(workspace: Workspace) -> Path:
    """A workspace with its first files, in which nothing is wrong."""
    seed.seed(workspace)
    return workspace.root


def found(root: Path, *, repair: bool = False) -> dict[str, Finding]:
    """The findings by path."""
    findings = check_workspace(root, repair=repair)
    assert all(row.message[-1] in ".…" and row.cure.endswith(".") for row in findings)
    return {row.path: row for row in findings}


def test_a_new_workspace_is_fine(seeded: Path) -> None:
    """Nothing is found where nothing is wrong, and looking changes nothing."""
    before = sorted(path for path in seeded.rglob("*") if ".jenny" not in path.parts)
    assert check_workspace(seeded) == []
    assert sorted(path for path in seeded.rglob("*") if ".jenny" not in path.parts) == before


def test_a_missing_folder_is_a_finding(tmp_path: Path) -> None:
    """A workspace without its folder is reported, not made."""
    assert "no workspace folder" in found(tmp_path / "gone")["."].message
    assert not (tmp_path / "gone").exists()


def test_settings(seeded: Path) -> None:
    """A broken file, wrong values, unknown keys and secrets are each named."""
    (seeded / "config.json").write_text("{")
    rows = check_workspace(seeded)
    assert "cannot be read" in next(row for row in rows if row.path == "config.json").message
    assert any(row.path.startswith("config.corrupt-") and row.level == "note" for row in rows)
    (seeded / "config.json").write_text(
        '{"agents": {"defaults": {"maxTokens": 0}}, "mine": 1, "providers": [{"apiKey": "k"}]}'
    )
    rows = [row for row in check_workspace(seeded) if row.path == "config.json"]
    assert [(row.level, row.message.split()[0]) for row in rows] == [
        ("problem", "agents.defaults.maxTokens"),
        ("problem", "providers.apiKey"),
        ("note", "mine"),
        ("note", "providers"),
    ]


def test_left_over_temporary_files_are_removed_by_repair(seeded: Path) -> None:
    """A file of a killed process is told of, and goes with repair; nothing else does."""
    (seeded / "memory" / ".jenny-0123456789abcdef.tmp").write_text("half")
    (seeded / ".jenny-notes.md").write_text("mine")
    path = "memory/.jenny-0123456789abcdef.tmp"
    assert found(seeded)[path].is_open
    assert (seeded / path).exists()
    assert found(seeded, repair=True)[path].repaired
    assert not (seeded / path).exists()
    assert (seeded / ".jenny-notes.md").exists()
    assert check_workspace(seeded) == []


def test_an_act_cut_short_is_settled(seeded: Path) -> None:
    """Looking finishes what a crash left, and says so."""
    step = Step(("USER.md",), (seeded / "USER.md").read_bytes(), b"new")
    transaction_journal.store(
        seeded, transaction_journal.Journal("1-a.json", (transactions._stage(seeded, step),))
    )
    rows = found(seeded)
    assert rows[".jenny/journal/1-a.json"].repaired
    assert (seeded / "USER.md").read_bytes() == b"new"
    assert not any(row.is_open for row in rows.values())


def test_a_damaged_journal_is_told_of_until_repair(seeded: Path) -> None:
    """It stops nobody, but somebody should look at the files; its texts stay."""
    temp = seeded / ".jenny-0123456789abcdef.tmp"
    temp.write_text("what was to land")
    folder = seeded.joinpath(*transaction_journal.FOLDER)
    folder.mkdir(parents=True)
    (folder / "1-a.json").write_text(f'{{"steps": [{{"temp": "{temp.name}"')
    assert found(seeded)[".jenny/journal/1-a.json.broken"].is_open
    rows = found(seeded, repair=True)
    assert rows[".jenny/journal/1-a.json.broken"].repaired
    assert temp.read_text() == "what was to land"
    assert check_workspace(seeded) == []


def test_missing_templates_are_made_anew_by_repair(seeded: Path) -> None:
    """A removed SOUL.md is noticed; what is there is not touched."""
    (seeded / "SOUL.md").unlink()
    (seeded / "USER.md").write_text("mine")
    assert found(seeded)["SOUL.md"].is_open
    assert found(seeded, repair=True)["SOUL.md"].repaired
    assert (seeded / "SOUL.md").read_bytes() == seed.template("SOUL.md")
    assert (seeded / "USER.md").read_text() == "mine"


def test_what_is_skipped_is_named(seeded: Path) -> None:
    """Links, devices and hard links are told of, each with what becomes of it."""
    (seeded / "out").symlink_to("/etc")
    (seeded / "in").symlink_to("USER.md")
    (seeded / "nowhere").symlink_to("gone.md")
    (seeded / "round").symlink_to("round")
    os.mkfifo(seeded / "pipe")
    os.link(seeded / "SOUL.md", seeded / "again.md")
    rows = found(seeded)
    assert "leads out of the workspace" in rows["out"].message
    assert rows["out"].is_open
    assert "in a circle" in rows["round"].message
    for path, words in {
        "in": "A link to “USER.md” is skipped",
        "nowhere": "where nothing is",
        "pipe": "device, pipe or socket",
        "again.md": "hard link",
        "SOUL.md": "hard link",
    }.items():
        assert words in rows[path].message
        assert rows[path].level == "note"


def test_names_that_will_not_survive_a_move_are_named(seeded: Path) -> None:
    """Odd and clashing names work here; the person learns of it before moving."""
    for name in ("aux.md", "end.", "soul.md"):
        (seeded / name).write_text("x")
    (seeded / "USER.unfinished-20260101T000000Z.md").write_text("kept")
    rows = found(seeded)
    assert "device" in rows["aux.md"].message
    assert "ends with a dot" in rows["end."].message
    assert "differs only in case" in rows["soul.md"].message
    assert "act cut short" in rows["USER.unfinished-20260101T000000Z.md"].message
    assert all(row.level == "note" for row in rows.values())


def test_names_that_are_no_text_do_not_stop_the_check(seeded: Path) -> None:
    """A file whose name is not UTF-8 is told of in words that can be printed."""
    Path(os.fsdecode(os.fsencode(seeded) + b"/caf\xe9.md")).write_text("x")
    rows = check_workspace(seeded)
    assert "half of a character" in rows[0].message
    assert rows[0].message.encode()


def test_a_workspace_held_by_somebody_is_said_to_be_busy(
    seeded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who holds it is named; the rest is looked at all the same."""
    monkeypatch.setattr(check, "WAIT_SECONDS", 0.1)
    (seeded / "out").symlink_to("/etc")
    with subprocess.Popen(
        [sys.executable, "-m", "tests.workspace.act", "hold", seeded, "WORKSPACE"],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        rows = found(seeded)
        holder.kill()
    assert f"process {holder.pid}" in rows["."].message
    assert "out" in rows


def test_other_floors_add_their_checks(seeded: Path) -> None:
    """What they find stands among the rest, problems first."""

    def more(root: Path, *, repair: bool) -> Iterator[Finding]:
        yield Finding(f"{root.name}/{repair}", "A note.", "None.", "note")
        yield Finding("z", "A problem.", "A cure.")

    register_check(more)
    register_check(more)
    assert [row.path for row in check_workspace(seeded, repair=True)] == ["z", "workspace/True"]
