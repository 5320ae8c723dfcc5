"""The command ``snapshot``."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from jenny.accounts import access
from jenny.accounts.models import Account

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    """What the command printed."""
    out = io.StringIO()
    call_command("snapshot", *words, stdout=out)
    return out.getvalue()


def run_json(*words: str) -> tuple[int, dict]:
    """Its exit code and its answer with ``--json``."""
    out = io.StringIO()
    try:
        call_command("snapshot", *words, "--json", stdout=out)
    except SystemExit as end:
        return int(str(end.code)), json.loads(out.getvalue())
    return 0, json.loads(out.getvalue())


def test_create_and_list(workspace):
    """One is taken, then none since nothing changed; the list tells both in words and as JSON."""
    assert run("list") == "There is no snapshot yet.\n"
    code, told = run_json("create", "--label", "before the move")
    assert (code, told["ok"], told["new"]) == (0, True, True)
    assert told["snapshot"]["changes"]["added"] == told["snapshot"]["files"] > 3
    code, told = run_json("create")
    assert (code, told["new"]) == (0, False)
    assert told["message"].startswith("Nothing has changed since the newest snapshot")
    assert "by hand “before the move”" in run("list")
    assert run_json("list")[1]["total"] == 1


def test_skipped_things_are_told(workspace):
    """Links are told when the snapshot is taken and when it is shown."""
    (workspace.root / "link").symlink_to("/etc/passwd")
    assert "“link” is a link, which is skipped" in run("create")
    assert "“link” is a link, which is skipped" in run("show", "latest")


def test_show(workspace, tmp_path):
    """A snapshot's folders and files are shown, and a file's exact bytes written where asked."""
    (workspace.root / "odd.bin").write_bytes(b"\xff\x00\r\n")
    (workspace.root / "note.md").write_bytes(b"# Note\r\n")
    run("create")
    assert "“memory”" in run("show", "1")
    assert "“memory/MEMORY.md”" in run("show", "1", "memory")
    assert run_json("show", "1", "note.md")[1]["text"] == "# Note\r\n"
    with pytest.raises(CommandError, match="It is no text"):
        run("show", "1", "odd.bin")
    target = tmp_path / "odd.bin"
    run("show", "1", "odd.bin", "--output", str(target))
    assert target.read_bytes() == b"\xff\x00\r\n"
    with pytest.raises(CommandError, match="cannot be written"):
        run("show", "1", "note.md", "--output", str(target))
    assert target.read_bytes() == b"\xff\x00\r\n"


def test_diff(workspace):
    """Differences to now and to another snapshot, with lines, by folder, or names only."""
    run("create")
    (workspace.root / "USER.md").write_text("# Ana\n")
    (workspace.root / "new.md").write_text("new\n")
    printed = run("diff", "latest")
    assert "2 files differ." in printed
    assert "~ “USER.md”" in printed
    assert "+# Ana" in printed
    run("create")
    code, told = run_json("diff", "1", "2", "--path", "new.md", "--names")
    assert code == 0
    assert told["files"] == [{"path": "new.md", "what": "added", "text": None}]
    assert run_json("diff", "2")[1]["files"] == []


def test_prune_says_first(workspace):
    """Without a yes nothing is deleted."""
    run("create")
    code, told = run_json("prune")
    assert (code, told["kept"], told["deleted"]) == (0, 1, [])
    assert "Nothing is to be deleted; 1 snapshot stays." in told["message"]
    assert run_json("prune", "--yes")[1]["deleted"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("show", "9"),
        ("show", "--", "--all"),
        ("show", "1", "nothing.md"),
        ("show", "1", "../../etc/passwd"),
        ("diff", "1", "9"),
        ("diff", "HEAD"),
        ("list", "--workspace", "nobody"),
    ],
)
def test_what_cannot_be_done_fails_in_words(workspace, words):
    """An unknown snapshot, file or workspace is a sentence and an exit code."""
    run("create")
    with pytest.raises(CommandError, match=r"(?i)there (is|are) no|has no"):
        run(*words)
    if "--" not in words:
        code, told = run_json(*words)
        assert (code, told["ok"]) == (1, False)


def test_several_workspaces(workspace):
    """With several workspaces one must be chosen; each has a store of its own."""
    other = access.made_workspace(
        Account.objects.make_account("two", "a good long password", "UTC")
    )
    with pytest.raises(CommandError, match="choose one with --workspace"):
        run("list")
    run("create", "--workspace", workspace.slug)
    assert run_json("list", "--workspace", other.slug)[1]["total"] == 0
    assert run_json("--workspace", workspace.slug, "list")[1]["total"] == 1
