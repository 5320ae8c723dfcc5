"""``snapshot restore``: says what it would do, does it with --yes, and can be taken back."""

import io
import json
import unicodedata
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from jenny.accounts.models import Workspace
from memory.models import DreamEntry, StagedHunk
from memory.services import restores, snapshots

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    """What the command printed."""
    out = io.StringIO()
    call_command("snapshot", "restore", *words, stdout=out)
    return out.getvalue()


def run_json(*words: str) -> tuple[int, dict]:
    """Its exit code and its answer with ``--json``."""
    out = io.StringIO()
    try:
        call_command("snapshot", "restore", *words, "--json", stdout=out)
    except SystemExit as end:
        return int(str(end.code)), json.loads(out.getvalue())
    return 0, json.loads(out.getvalue())


@pytest.fixture
def shot(workspace: Workspace) -> str:
    """A snapshot, from before some changes."""
    root = workspace.root
    (root / "USER.md").write_text("# User\n\n- Lives in Bern\n")
    (root / "note.md").write_text("then")
    found = snapshots.take_snapshot(workspace, "manual").snapshot.id
    (root / "note.md").write_text("now")
    (root / "later.md").write_text("later")
    return found


def test_without_yes_it_is_only_said(workspace: Workspace, shot: str) -> None:
    """Every file is named, nothing is changed."""
    said = run("1")
    assert "~ “note.md”" in said
    assert "− “later.md”" in said
    assert "Nothing was changed. Do it with" in said
    code, told = run_json(shot)
    assert (code, told["ok"], told["restored"]) == (0, True, False)
    assert (told["changed"], told["removed"], told["added"]) == (["note.md"], ["later.md"], [])
    assert (workspace.root / "note.md").read_text() == "now"


def test_everything_and_back_again(workspace: Workspace, shot: str) -> None:
    """With --yes it is done; the snapshot before is named, and restoring that is the way back."""
    code, told = run_json(shot, "--yes")
    assert (code, told["restored"]) == (0, True)
    assert (workspace.root / "note.md").read_text() == "then"
    assert not (workspace.root / "later.md").exists()
    assert told["before"] in told["message"]
    assert run_json(told["before"], "--yes")[1]["restored"] is True
    assert (workspace.root / "note.md").read_text() == "now"
    assert "already as it was" in run(told["before"], "--yes")
    with snapshots.store_of(workspace).open() as repo:
        assert snapshots.store_of(workspace).pinned(repo) == {}


@pytest.mark.parametrize(("stored", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
@pytest.mark.parametrize("now", ["same", "other", "gone"])
@pytest.mark.parametrize("what", ["Übung/Zürich.md", "Übung"])
def test_a_path_is_found_in_either_coding(
    workspace: Workspace, stored: str, asked: str, now: str, what: str
) -> None:
    """A file or folder is restored by its name in NFC as in NFD, and no second one is made."""
    name = unicodedata.normalize(stored, "Übung/Zürich.md")
    file = workspace.root / name
    file.parent.mkdir()
    file.write_text("then")
    found = snapshots.take_snapshot(workspace, "manual").snapshot.id
    file.write_text("now")
    if now != "same":
        file.unlink()
        file.parent.rmdir()
    if now == "other":
        other = workspace.root / unicodedata.normalize(asked, name)
        other.parent.mkdir()
        other.write_text("now")
    code, told = run_json(found, unicodedata.normalize(asked, what), "--yes")
    assert (code, told["ok"]) == (0, True), told
    assert [path.read_text() for path in workspace.root.glob("*bung/*")] == ["then"]


def test_one_file(workspace: Workspace, shot: str) -> None:
    """And nothing else."""
    assert "“note.md” is as it was" in run(shot, "note.md", "--yes")
    assert (workspace.root / "later.md").exists()


@pytest.mark.parametrize("words", [("99",), ("1", "never/was"), ("1", "../outside"), ("zz",)])
def test_what_is_not_there(workspace: Workspace, shot: str, words: tuple[str, ...]) -> None:
    """A sentence and exit code 1; nothing was changed."""
    with pytest.raises(CommandError, match=r"There is no|has no"):
        run(*words, "--yes")
    code, told = run_json(*words, "--yes")
    assert (code, told["ok"]) == (1, False)
    assert (workspace.root / "note.md").read_text() == "now"


def test_the_oldest_is_pinned_while_it_is_restored(
    workspace: Workspace, shot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pruning at that very moment leaves the snapshot alone that is being restored."""
    seen = []
    real = restores.stop_dream

    def looking(row: Workspace) -> str:
        with snapshots.store_of(row).open() as repo:
            seen.extend(snapshots.store_of(row).pinned(repo))
        return real(row)

    monkeypatch.setattr(restores, "stop_dream", looking)
    run(shot, "--yes")
    assert seen == ["refs/pins/restore-by-command"]


def test_what_waited_for_a_yes_is_void_and_comes_again(workspace: Workspace) -> None:
    """A change of Dream's that was staged cannot be made any more; its entries are shown again."""
    folder: Path = workspace.root
    (folder / "USER.md").write_text("# User\n\n- Lives in Bern\n")
    rows = [{"cursor": n, "timestamp": "2026-01-01 10:00", "content": f"f{n}"} for n in (1, 2)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "memory/history.jsonl").write_text(lines)
    shot = snapshots.take_snapshot(workspace, "manual").snapshot.id
    (folder / "memory/.dream_cursor").write_text("2\n")
    (folder / "USER.md").write_text("# User\n\n- Lives in Bern\n- New\n")
    piece = {"before": [], "after": ["- Works as a gardener"]}
    hunk = StagedHunk.objects.create(
        workspace=workspace, actor="dream", path="USER.md", kind="add", piece=piece, sources=[2]
    )
    assert "1 memory change to review cannot be made any more" in run(shot)
    run(shot, "--yes")
    hunk.refresh_from_db()
    assert hunk.state == "void"
    found = DreamEntry.objects.filter(workspace=workspace, place="reoffered")
    assert sorted(found.values_list("cursor", flat=True)) == [1, 2]
