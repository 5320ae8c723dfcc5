"""The command ``versions`` and the replies of ``/dream-log`` and ``/dream-restore``."""

import io
import json
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.core.management import CommandError, call_command

from jenny.chat.models import Conversation
from jenny.chat.services import commands
from jenny.markdown.render import render
from jenny.workspace import write_rules
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.git.store import Repository
from jenny.workspace.versions.commits import RunNote, begin_run, commit_pending, commit_run
from jenny.workspace.versions.history import open_history
from memory import versions
from memory.models import SnapshotState
from memory.services import snapshots
from tests.memory.services.conftest import START

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    """What the command printed."""
    out = io.StringIO()
    call_command("versions", *words, stdout=out)
    return out.getvalue()


def run_json(*words: str) -> tuple[int, dict]:
    """Its exit code and its answer with ``--json``."""
    out = io.StringIO()
    try:
        call_command("versions", *words, "--json", stdout=out)
    except SystemExit as end:
        return int(str(end.code)), json.loads(out.getvalue())
    return 0, json.loads(out.getvalue())


@pytest.fixture
def root(workspace):
    """The workspace's folder, its first version made."""
    commit_pending(workspace.root)
    return workspace.root


def dream(root, number: int, files: dict[str, bytes | None]) -> str:
    """A run of Dream over the entries 10·(n−1)+1 to 10·n; its version's id."""
    note = RunNote(f"dream:{number}", "dream: scheduled run", (10 * (number - 1), 10 * number))
    begin_run(root, note)
    for path, data in files.items():
        opened = open_workspace(root, Actor("dream", run=note.run))
        if data is None:
            opened.delete(path)
        else:
            opened.write(path, data)
    open_workspace(root, Actor("pipeline", run=note.run)).write(
        "memory/.dream_cursor", b"%d\n" % (10 * number)
    )
    return commit_run(root, note).versions[-1].sha


@pytest.fixture
def say(workspace):
    """A command said in a conversation of the workspace; the reply."""
    chat = Conversation.objects.create(workspace=workspace)

    def said(text: str) -> str:
        call = commands.parse(text)
        assert call is not None
        return commands.run_command(chat, call)

    return said


def test_a_new_workspace_is_taught(workspace, say):
    """Before Dream ran, both say what will be here and when, and make nothing."""
    for text in ("/dream-log", "/dream-restore"):
        assert "Dream has not run yet." in say(text)
    assert run("list") == "There is no version yet.\n"
    assert run_json("show", "latest")[0] == 1
    assert not (workspace.root / "memory" / ".git").exists()
    (workspace.root / "memory" / ".dream_cursor").write_text("7\n")
    assert "it has not changed a file" in say("/dream-log")


def test_the_apps_note_who_writes(root):
    """The rule is registered when the apps load: a chat's write has the chat's version."""
    open_workspace(root, Actor("chat", run="turn:3")).write("USER.md", b"# User\n- x\n")
    open_workspace(root, Actor("browser")).write("USER.md", b"# User\n- x\n- y\n")
    made = commit_pending(root).versions
    assert [(row.actor, row.runs) for row in made] == [("chat", ("turn:3",)), ("browser", ())]


def test_dream_log_shows_the_newest_and_those_before(root, say):
    """28, GIT2: Dream's and undoings only, without a place for anybody's edits."""
    a = dream(root, 1, {"USER.md": b"# User\n- one\n"})
    (root / "SOUL.md").write_text("# Mine\n")
    b = dream(root, 2, {"USER.md": b"# User\n- one\n- two\n", "skills/a-b/SKILL.md": b"how\n"})
    (root / "SOUL.md").write_text("# Mine again\n")
    commit_pending(root)
    told = say("/dream-log")
    assert told.startswith("**Memory update**, 20")
    assert re.search(rf"^- 20.*, Memory update \(`{a[:8]}`\)$", told, re.MULTILINE)
    assert "outside" not in told
    assert "- `USER.md` +1 −0\n" in told
    assert "- `skills/a-b/SKILL.md` +1 −0 (new)" in told
    assert "```diff\n" in told
    assert "+- two\n" in told
    assert f"`/dream-restore {b[:8]}` undoes it." in told


@pytest.mark.parametrize("shape", [str, str.upper, lambda sha: sha[:10], lambda sha: sha[:4]])
def test_an_id_of_any_length_and_case(root, say, shape):
    """13: shown by the command and by the reply."""
    sha = dream(root, 1, {"USER.md": b"# User\n- one\n"})
    assert f"`/dream-restore {sha[:8]}` undoes it." in say(f"/dream-log {shape(sha)}")
    code, answer = run_json("show", shape(sha))
    assert (code, answer["version"]["id"]) == (0, sha)
    assert {row["path"] for row in answer["files"]} == {"USER.md", "memory/.dream_cursor"}


@pytest.mark.parametrize("text", ["--help", "HEAD", "a..b", "abc", "zzzz", "-x", "`*<b>`"])
def test_what_is_no_id_is_told(root, say, text):
    """15: no option, name or range is looked up, and the reply is harmless as a page."""
    dream(root, 1, {"USER.md": b"# User\n- one\n"})
    before = (root / "USER.md").read_bytes()
    for command in ("/dream-log", "/dream-restore"):
        told = say(f"{command} {text}")
        assert "is no version's id" in told
        assert "<b>" not in render(told)
    if not text.startswith("-"):
        code, answer = run_json("restore", text)
        assert code == 1
        assert "is no version's id" in answer["error"]
    assert (root / "USER.md").read_bytes() == before


def test_an_ambiguous_id_lists_candidates(root, say, monkeypatch):
    """14: with enough digits to tell them apart; nothing is written."""
    shas = [dream(root, n, {"USER.md": b"# User\n- %d\n" % n}) for n in (1, 2)]
    monkeypatch.setattr(Repository, "commits_starting", lambda _repo, _prefix: shas)
    for command in ("/dream-log", "/dream-restore"):
        told = say(f"{command} abcd")
        assert "2 versions' ids begin with" in told
        assert all(f", Memory update (`{sha[:8]}`)" in told for sha in shas)
    code, answer = run_json("restore", "abcd")
    assert code == 1
    assert all(sha in answer["error"] for sha in shas)
    assert (root / "USER.md").read_bytes() == b"# User\n- 2\n"


def test_restore_says_everything_that_happened(root, say):
    """2, 3, 24: what was written, what went with it and where it is kept, what is read again."""
    sha = dream(root, 1, {"USER.md": b"# User\n- one\n", "skills/a/SKILL.md": b"how\n"})
    (root / "USER.md").write_bytes(b"# User\n- one\n- by hand\n")
    told = say(f"/dream-restore {sha[:6]}")
    with open_history(root) as history:
        newest, kept = history.log(limit=2)
        assert history.file_as_of("USER.md", kept.sha) == b"# User\n- one\n- by hand\n"
    assert told.startswith("Undone: Memory update, ")
    assert f"`/dream-restore {newest.short}` takes it back." in told
    assert "- `USER.md` put back" in told
    assert "- `skills/a/SKILL.md` removed" in told
    later = "**Later changes that went with it:**\n\n- `USER.md` +1 −0, kept in 1 later version"
    assert later in told
    assert "what was in no version yet was kept in one of its own." in told
    assert "Notes 1 to 10 (10) of the history will be tried again with the next update." in told
    assert say(f"/dream-restore {sha}").startswith("Nothing to do: every file is already")
    assert say(f"/dream-restore {newest.short}").startswith("Undone: ")
    assert (root / "USER.md").read_bytes() == b"# User\n- one\n- by hand\n"


def test_an_older_run_keeps_the_cursor_and_says_so(root, say):
    """GIT1."""
    sha = dream(root, 1, {"USER.md": b"# User\n- one\n"})
    dream(root, 2, {"SOUL.md": b"# Soul\n- two\n"})
    assert "Newer updates stand, so its notes are not tried again" in say(f"/dream-restore {sha}")
    assert (root / "memory" / ".dream_cursor").read_bytes() == b"20\n"


def test_others_versions_are_shown_and_not_undone(root, say):
    """16, GIT2: labelled; refused before anything is written."""
    (root / "USER.md").write_bytes(b"# by hand\n")
    (version,) = commit_pending(root).versions
    told = say(f"/dream-log {version.short}")
    assert "Changed in another program" in told
    assert "Only a memory update, and undoing one, can be undone here." in told
    assert "outside a memory update" in say(f"/dream-restore {version.short}")
    code, answer = run_json("restore", version.sha)
    assert code == 1
    assert "Nothing was changed." in answer["error"]
    with open_history(root) as history:
        first = list(history.walk())[-1]
    assert "there is nothing before it" in say(f"/dream-restore {first.short}")


def test_the_list_counts_what_it_shows(root, say):
    """19: ten of Dream's, however many edits lie between."""
    for number in range(1, 13):
        dream(root, number, {"USER.md": b"# %d\n" % number})
        (root / "SOUL.md").write_bytes(b"# %d\n" % number)
    told = say("/dream-restore")
    assert len(re.findall(r"^- 20.* \(`", told, re.MULTILINE)) == 10
    assert len(run_json("list", "--limit", "5")[1]["versions"]) == 5
    every = run_json("list", "--all", "--limit", "100")[1]["versions"]
    assert {row["kind"] for row in every} == {"dream", "edits", "first"}
    only = run_json("list", "--path", "SOUL.md", "--all")[1]["versions"]
    assert {row["kind"] for row in only} == {"edits", "first"}


def test_hostile_content_stays_content(root, say, monkeypatch):
    """22, AUT5: fences, scripts and images in files and names are shown, not obeyed; also in a
    name that Dream could not give today."""
    monkeypatch.setattr(write_rules, "_checking", {})
    evil = "```\n<img src=x onerror=alert(1)>\n````\n[x](javascript:alert(1))\n~~~\n"
    path = "skills/`<svg onload=alert(1)>`/SKILL.md"
    sha = dream(root, 1, {"USER.md": evil.encode(), path: evil.encode()})
    for text in (f"/dream-log {sha}", "/dream-log", "/dream-restore", f"/dream-restore {sha}"):
        html = render(say(text))
        assert "<img" not in html
        assert "<svg" not in html
        assert "javascript:" not in re.sub(r"<(pre|code).*?</\1>", "", html, flags=re.DOTALL)


def test_a_huge_change_is_bounded(root, say):
    """22: 300 KB of change make a reply that a phone can show."""
    files = {f"skills/s{n}/SKILL.md": b"line\n" * 2000 for n in range(40)}
    sha = dream(root, 1, files)
    told = say(f"/dream-log {sha}")
    assert len(told) < 10_000
    assert "… and 20 more files" in told
    assert len(say(f"/dream-restore {sha}")) < 5_000


def test_versions_that_are_off_are_said(root, say, tmp_path):
    """GIT5, 36: with the reason; the rest works."""
    (root / "memory" / ".git").rename(tmp_path / "elsewhere")
    (root / "memory" / ".git").symlink_to(tmp_path / "elsewhere")
    for text in ("/dream-log", "/dream-restore", "/dream-restore abcd"):
        told = say(text)
        assert told.startswith("Versions are off: ")
        assert told.endswith("Everything else works.")
    code, answer = run_json("list")
    assert code == 1
    assert "is a link" in answer["error"]
    assert "USER.md" not in say("/status")


def test_times_are_the_persons(root):
    """Times are shown in the zone that is asked for."""
    dream(root, 1, {"USER.md": b"# 1\n"})
    here = versions.log_text(root, "", UTC)
    there = versions.log_text(root, "", timezone(timedelta(hours=13)))
    assert here != there


def test_the_command_restores(root):
    """A dry run says what would happen, with the words for it, and touches nothing."""
    sha = dream(root, 1, {"USER.md": b"# User\n- one\n", "skills/a/SKILL.md": b"how\n"})
    code, answer = run_json("restore", sha[:7], "--dry-run")
    assert code == 0
    assert {row["path"]: (row["label"], row["verb"]) for row in answer["files"]} == {
        "USER.md": ("clean", "put back"),
        "skills/a/SKILL.md": ("clean", "removed"),
    }
    assert answer["cursor"] == {"before": 10, "after": 0, "entries": [1, 10]}
    assert (root / "skills" / "a" / "SKILL.md").exists()
    assert "would be removed" in run("restore", "latest", "--dry-run")
    code, answer = run_json("restore", sha)
    assert code == 0
    assert not (root / "skills" / "a" / "SKILL.md").exists()
    assert answer["dropped"] == {"USER.md": ["- one"], "skills/a/SKILL.md": ["how"]}
    with open_history(root) as history:
        assert answer["version"] == history.tip
    assert "Nothing to do" in run("restore", sha)
    assert "  Undid a memory update" in run("list")
    with pytest.raises(CommandError, match="There is no version"):
        run("show", "0000000")


def test_edits_get_their_versions_when_it_is_quiet(workspace):
    """Where nobody dreams, what a chat and a person wrote is still to be had as of any day."""
    open_workspace(workspace.root, Actor("chat")).write("USER.md", b"# chat\n")
    open_workspace(workspace.root, Actor("browser")).write("USER.md", b"# browser\n")
    row = SnapshotState.of(workspace, START)
    assert (
        snapshots.take_due_snapshots(row, START) is not None
    )  # the daily one; later: ten quiet minutes
    answer = run_json("list", "--all")[1]
    assert [row["actor"] for row in answer["versions"]] == ["browser", "chat", "setup"]
    with open_history(workspace.root) as history:
        assert history.file_as_of("USER.md", datetime.now(UTC)) == b"# browser\n"
