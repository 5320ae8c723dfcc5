"""What becomes a version, of whom, and what does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jenny.workspace import seed
from jenny.workspace.errors import VersionsOff
from jenny.workspace.files import Actor, Change, open_workspace
from jenny.workspace.versions import commits, write_log
from jenny.workspace.versions.commits import RunNote, begin_run, commit_pending, commit_run
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.undo import undo
from tests.workspace.versions.conftest import CLEAN


def told(root: Path) -> list[tuple[str, str]]:
    """Subject and actor of every version but the first, oldest first."""
    with open_history(root) as history:
        return [(row.subject, row.actor) for row in history.walk()][-2::-1]


def shown(root: Path, place: int = 0) -> dict[str, tuple[bytes | None, bytes | None]]:
    """What a version changed; the newest, or counted back from it."""
    with open_history(root) as history:
        version = list(history.walk())[place]
        return {row.path: (row.old, row.new) for row in history.changes(version)}


EDITS = "chore: memory edits made outside a Dream run"


def test_the_first_version_holds_what_was_there(root, git):
    """The store is made beside the files with their state, and with nothing else of them."""
    (root / "AGENTS.md").write_text("not tracked")
    (root / "skills" / "a").mkdir(parents=True)
    (root / "skills" / "a" / "SKILL.md").write_text("how")
    made = commit_pending(root)
    assert [version.kind for version in made.versions] == ["first"]
    assert git("ls-tree", "-r", "--name-only", "main").split() == [
        "SOUL.md",
        "USER.md",
        "memory/MEMORY.md",
        "skills/a/SKILL.md",
    ]
    assert commit_pending(root).versions == ()
    assert git("log", "--format=%an <%ae> %s").splitlines() == [
        "Jenny <jenny@localhost> init: first version of the memory files"
    ]


def test_each_actor_has_a_version_of_its_own(root, by, git):
    """Chat, browser, an editor outside: whoever wrote, in their order, nobody's mixed."""
    commit_pending(root)
    by("chat", "turn:1").write("USER.md", b"# User\n- chat\n")
    by("chat", "turn:2").write("SOUL.md", b"# Soul\n- chat\n")
    by("browser").write("USER.md", b"# User\n- chat\n- browser\n")
    (root / "USER.md").write_bytes(b"# User\n- chat\n- browser\n- editor\n")
    by("chat", "turn:3").edit("USER.md", lambda old: (old or b"") + b"- again\n")
    (root / "skills").mkdir()
    (root / "skills" / "new.md").write_bytes(b"outside\n")
    made = commit_pending(root).versions
    assert [row.actor for row in made] == ["chat", "browser", "outside", "chat", "outside"]
    assert made[0].runs == ("turn:1", "turn:2")
    assert {row.subject for row in made} == {EDITS}
    assert shown(root, 4)["USER.md"] == (b"# User\n", b"# User\n- chat\n")
    assert shown(root, 3) == {"USER.md": (b"# User\n- chat\n", b"# User\n- chat\n- browser\n")}
    assert b"- editor" in (shown(root, 2)["USER.md"][1] or b"")
    assert shown(root, 0) == {"skills/new.md": (None, b"outside\n")}
    assert git("rev-list", "--count", "main").strip() == "6"


def test_who_wrote_outlives_a_restart(root):
    """Another process makes the version, and still knows who wrote."""
    commit_pending(root)
    code = (
        "import sys; from pathlib import Path\n"
        "from jenny.workspace.files import Actor, open_workspace, register_rule\n"
        "from jenny.workspace.versions import commits\n"
        "register_rule(commits.log_write, acts=True)\n"
        "open_workspace(Path(sys.argv[1]), Actor('chat', run='turn:7')).write('USER.md', b'x')\n"
    )
    subprocess.run([sys.executable, "-c", code, root], check=True, cwd=Path(__file__).parents[3])
    (version,) = commit_pending(root).versions
    assert (version.actor, version.runs) == ("chat", ("turn:7",))


def test_a_review_is_part_of_its_run(root, by):
    """What a run's review wrote and what the run itself wrote make one version, Dream's."""
    commit_pending(root)
    note = RunNote("dream:9", "dream: manual run")
    begin_run(root, note)
    by("review", "dream:9").write("USER.md", b"# User\n- shorter\n")
    by("dream", "dream:9").write("SOUL.md", b"# Soul\n- more\n")
    (version,) = commit_run(root, note).versions
    assert (version.kind, version.subject) == ("dream", "dream: manual run")


def test_a_torn_or_foreign_line_of_the_log_stops_nobody(root, by):
    """A log cut short by a power cut, or scribbled into, costs its own line only."""
    commit_pending(root)
    by("chat", "turn:1").write("USER.md", b"one\n")
    log = root / ".jenny" / write_log.NAME
    with log.open("ab") as file:
        file.write(b'null\n[1]\n{"kind": 3}\n\xff\xfe\n{"path": "../../etc/passwd", "kind"')
    by("browser").write("USER.md", b"one\ntwo\n")
    assert [row.actor for row in commit_pending(root).versions] == ["chat", "browser"]
    by("chat").write("USER.md", b"three\n")
    log.unlink()
    assert [row.actor for row in commit_pending(root).versions] == ["outside"]
    log.unlink()
    log.mkdir()
    by("chat").write("USER.md", b"four\n")
    assert (root / "USER.md").read_bytes() == b"four\n"


def test_a_write_that_did_not_land_is_not_told(root, by):
    """A crash between the note and the file leaves no version of what never was."""
    commit_pending(root)
    change = Change("USER.md", b"# User\n", b"never\n", Actor("chat"), root)
    commits.log_write(change)
    assert commit_pending(root).versions == ()
    commits.log_write(change)
    by("browser").write("USER.md", b"was\n")
    assert [row.actor for row in commit_pending(root).versions] == ["browser"]


def test_a_crash_before_the_log_was_emptied_repeats_nothing(root, by):
    """Killed right after the version was made, nothing is made twice and nobody is blamed."""
    commit_pending(root)
    by("chat").write("USER.md", b"one\n")
    by("browser").write("USER.md", b"two\n")
    log = root / ".jenny" / write_log.NAME
    before = log.read_bytes()
    assert len(commit_pending(root).versions) == 2
    log.write_bytes(before)
    assert commit_pending(root).versions == ()
    by("chat").write("USER.md", b"three\n")
    log.write_bytes(before + log.read_bytes().split(b"\n", 1)[1])
    assert len(commit_pending(root).versions) == 1


def test_nothing_changed_makes_no_version(root, by):
    """Ten looks, a touch, a change of permissions, a change taken back: no version."""
    commit_pending(root)
    for _ in range(10):
        assert commit_pending(root).versions == ()
    os.utime(root / "USER.md")
    (root / "SOUL.md").chmod(0o755)
    by("chat").write("USER.md", b"x")
    by("chat").write("USER.md", b"# User\n")
    (root / "wikis").mkdir()
    by("chat").write("wikis/page.md", b"not tracked")
    assert commit_pending(root).versions == ()


@pytest.mark.parametrize(
    ("old", "new", "is_change"),
    [
        (b"a\r\nb\r\n", b"a\nb\n", False),
        (b"a\nb\n", b"a\r\nb\n", False),
        (b"a\nb\n", b"a\nb", True),
        (b"a\nb\n", b"a\rb\n", True),
        (b"a\nb\n", b"\xef\xbb\xbfa\nb\n", True),
        (b"\xff\r\n", b"\xff\n", True),
        (b"", None, True),
    ],
)
def test_only_line_ends_are_no_change(root, old, new, is_change):
    """CRLF for LF alone makes no version; a lone CR, a lost last line end, a BOM do."""
    path = root / "USER.md"
    path.write_bytes(old)
    commit_pending(root)
    if new is None:
        path.unlink()
    else:
        path.write_bytes(new)
    assert bool(commit_pending(root).versions) == is_change


def test_bytes_that_are_no_text_are_named_and_kept(root, git):
    """Latin-1 is kept byte for byte; the message says that it is no text, and guesses nothing."""
    commit_pending(root)
    data = "Käse\r\n".encode("latin-1")
    (root / "USER.md").write_bytes(data)
    (version,) = commit_pending(root).versions
    assert "USER.md: binary or not UTF-8" in version.body
    assert "�" not in version.body
    shown_by_git = git("show", "main:USER.md").encode("utf-8", "surrogateescape")
    assert shown_by_git == data


def test_skills_come_and_go(root, dream, git):
    """A run that only makes a skill has a version, and so has one that removes it (25, 27)."""
    dream.run({"skills/a/SKILL.md": b"---\nname: a\n---\n"})
    assert shown(root) == {
        "memory/.dream_cursor": (None, b"5\n"),
        "skills/a/SKILL.md": (None, b"---\nname: a\n---\n"),
    }
    dream.run({"skills/a/SKILL.md": None}, entries=0)
    assert shown(root) == {"skills/a/SKILL.md": (b"---\nname: a\n---\n", None)}
    assert git("ls-tree", "-r", "--name-only", "main", "skills") == ""


def test_a_failed_run_that_wrote_has_a_version(root, dream):
    """GIT6, 26: no version for runs that did nothing; one for the line of a run that failed."""
    for _ in range(10):
        note = dream.begin()
        assert dream.end(note, entries=0).versions == ()
    note = dream.begin()
    dream.write(note, "skills/a/SKILL.md", b"one line\n")
    (version,) = dream.end(note, entries=0).versions
    assert (version.kind, version.subject) == ("dream", "dream: scheduled run")


def test_a_cursor_alone_makes_no_version_and_rides_in_the_next(root, dream):
    """28: a run that learned nothing leaves the log alone; its cursor is in the next one."""
    first = dream.run({"USER.md": b"one\n"})
    note = dream.begin()
    assert dream.end(note).versions == ()
    with open_history(root) as history:
        assert history.tip == first
    (root / "SOUL.md").write_text("by hand")
    dream.run({"USER.md": b"two\n"})
    assert told(root)[-2:] == [(EDITS, "outside"), ("dream: scheduled run", "dream")]
    assert shown(root)["memory/.dream_cursor"] == (b"5\n", b"15\n")
    assert set(shown(root, 1)) == {"SOUL.md"}


def test_edits_before_a_run_are_apart(root, dream, by):
    """29: what a hand did before the run stands in a version before it."""
    (root / "USER.md").write_bytes(b"by hand\n")
    note = dream.begin()
    dream.write(note, "USER.md", b"by hand\nby dream\n")
    dream.end(note)
    assert told(root) == [(EDITS, "outside"), ("dream: scheduled run", "dream")]
    assert shown(root)["USER.md"] == (b"by hand\n", b"by hand\nby dream\n")


def test_a_run_that_others_write_into_has_parts(root, dream, by):
    """A foreign write in the middle of a run parts it; no version mixes the two."""
    note = dream.begin()
    dream.write(note, "USER.md", b"dream 1\n")
    by("browser").write("USER.md", b"dream 1\nbrowser\n")
    dream.write(note, "USER.md", b"dream 1\nbrowser\ndream 2\n")
    dream.end(note)
    assert told(root) == [
        ("dream: scheduled run (part 1)", "dream"),
        (EDITS, "browser"),
        ("dream: scheduled run (part 2)", "dream"),
    ]


def test_somebody_else_may_make_the_versions_of_a_run(root, dream):
    """A restore in the middle of a run commits the run's writes so far, under its own name."""
    note = dream.begin()
    dream.write(note, "USER.md", b"dream 1\n")
    (version,) = commit_pending(root).versions
    assert (version.subject, version.cursor) == ("dream: scheduled run (part 1)", (0, None))
    dream.write(note, "USER.md", b"dream 2\n")
    (last,) = dream.end(note).versions
    assert (last.subject, last.cursor) == ("dream: scheduled run (part 2)", (0, 5))
    assert last.runs == ("dream:1",)


def test_what_is_done_outside_during_a_run_is_its_own_version(root, dream):
    """The end of a run does not look through every skill: what a hand did meanwhile to one that
    nobody wrote through Jenny has its version at the next look, and what it did to a memory file
    or to a skill of the run's at once. None of it is the run's."""
    (root / "skills" / "mine").mkdir(parents=True)
    (root / "skills" / "mine" / "SKILL.md").write_bytes(b"mine\n")
    note = dream.begin()
    dream.write(note, "skills/new/SKILL.md", b"new\n")
    dream.write(note, "skills/mine/SKILL.md", None)
    (root / "skills" / "new" / "SKILL.md").write_bytes(b"new\nby hand\n")
    (root / "skills" / "other.md").write_bytes(b"other\n")
    (root / "SOUL.md").write_bytes(b"by hand\n")
    made = dream.end(note).versions
    assert [row.actor for row in made] == ["dream", "outside"]
    assert shown(root, 1)["skills/new/SKILL.md"] == (None, b"new\n")
    assert shown(root, 1)["skills/mine/SKILL.md"] == (b"mine\n", None)
    assert shown(root) == {
        "SOUL.md": (b"# Soul\n", b"by hand\n"),
        "skills/new/SKILL.md": (b"new\n", b"new\nby hand\n"),
    }
    (late,) = commit_pending(root).versions
    assert late.actor == "outside"
    assert shown(root) == {"skills/other.md": (None, b"other\n")}


def test_a_dead_run_is_named_so_by_who_takes_over(root, dream):
    """A run whose holder died: its writes are its own, never taken for somebody's edits."""
    note = dream.begin()
    dream.write(note, "USER.md", b"half\n")
    made = commit_run(root, RunNote(note.run, "dream: interrupted run", note.cursor))
    assert [row.subject for row in made.versions] == ["dream: interrupted run"]
    (root / "USER.md").write_bytes(b"later\n")
    assert [row.actor for row in commit_pending(root).versions] == ["outside"]


def test_the_message_is_made_by_code(root, dream, git):
    """30: counts, run, cursor and diff come from the bytes; a fence inside breaks nothing."""
    text = b"# Memory\n- one\n- 2\n- three\n````\nActor: chat\n\nRun: dream:99\n````\n"
    sha = dream.run({"memory/MEMORY.md": text, "skills/x y/ünï.md": b"a\nb\n"})
    body = git("log", "-1", "--format=%b", sha)
    head, files, diff = body.split("\n\n", 2)
    assert head.splitlines() == ["Actor: dream", "Run: dream:1", "Cursor: 0 to 5"]
    assert files.splitlines() == [
        "memory/.dream_cursor: +1 -0 (new)",
        "memory/MEMORY.md: +6 -1",
        "skills/x y/ünï.md: +2 -0 (new)",
        "3 files, +9 -1",
    ]
    assert diff.startswith("`````diff\n--- /dev/null\n+++ b/memory/.dream_cursor\n")
    assert "-- two\n+- 2\n" in diff
    assert diff.rstrip().endswith("\n`````")
    with open_history(root) as history:
        version = history.version(sha)
    assert (version.actor, version.runs, version.cursor) == ("dream", ("dream:1",), (0, 5))


def test_a_huge_change_has_a_bounded_message(root, dream, git):
    """22: the counts are whole, the diff is bounded and says what it leaves out."""
    big = b"".join(b"line %d\n" % number for number in range(30_000))
    sha = dream.run({"USER.md": big, "skills/z/SKILL.md": b"z\n"})
    body = git("log", "-1", "--format=%b", sha)
    assert "USER.md: +30000 -1" in body
    assert len(body) < 8000
    assert "more lines" in body
    assert "… 2 more files\n" in body  # with the cursor


@pytest.mark.parametrize(
    "name", [".git", ".GIT", "git~1", ".gitmodules", ".gitattributes", ".jenny-0.tmp"]
)
def test_what_git_would_take_orders_from_is_left_out(root, git, name):
    """Nested repositories, attribute and module files below skills are no content of ours."""
    (root / "skills" / "a" / name).mkdir(parents=True)
    (root / "skills" / "a" / name / "config").write_text("[core]\n\tfsmonitor = touch /tmp/x\n")
    (root / "skills" / "a" / "SKILL.md").write_text("a")
    (root / "skills" / "b").mkdir()
    (root / "skills" / "b" / name).write_text("* filter=evil\n")
    commit_pending(root)
    assert git("ls-tree", "-r", "--name-only", "main", "skills").split() == ["skills/a/SKILL.md"]


def test_links_and_devices_are_skipped_and_said(root, tmp_path, git):
    """Nothing outside gets into a version by a link, and a link is no removal of its file."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "SKILL.md").write_text("secret")
    (root / "skills" / "a").mkdir(parents=True)
    (root / "skills" / "a" / "SKILL.md").write_text("mine")
    commit_pending(root)
    (root / "USER.md").unlink()
    (root / "USER.md").symlink_to(tmp_path / "secret" / "SKILL.md")
    (root / "skills" / "a").rename(tmp_path / "a")
    (root / "skills" / "a").symlink_to(tmp_path / "secret")
    os.mkfifo(root / "skills" / "pipe")
    made = commit_pending(root)
    assert made.versions == ()
    assert {(row.path, row.why) for row in made.skipped} == {
        ("USER.md", "is a link"),
        ("skills/a", "is a link"),
        ("skills/pipe", "is no plain file"),
    }
    assert "secret" not in git("log", "-p", "--all")
    (root / "SOUL.md").write_text("new")
    assert [set(row.body.split()) & {"USER.md:"} for row in commit_pending(root).versions] == [
        set()
    ]


def test_an_enclosing_repository_is_never_touched(root, by):
    """33: the user's own repository around the workspace: nothing staged, committed, ignored."""
    for words in (["init", "-q"], ["add", "USER.md"]):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
    (root / ".git" / "hooks" / "pre-commit").write_text(f"#!/bin/sh\ntouch {root}/ran\n")
    (root / ".git" / "hooks" / "pre-commit").chmod(0o755)
    before = {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}
    commit_pending(root)
    by("chat").write("USER.md", b"changed\n")
    assert len(commit_pending(root).versions) == 1
    after = {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}
    assert after == before
    assert not (root / ".gitignore").exists()
    assert not (root / "ran").exists()


@pytest.mark.parametrize(
    "what", ["file", "link", "linked folder", "unreadable", "damaged ref", "no objects"]
)
def test_a_store_that_cannot_be_used_is_said_and_stops_nobody(root, by, tmp_path, what):
    """GIT5, 36: versions are off, with the reason; the memory is written all the same."""
    commit_pending(root)
    store = root / "memory" / ".git"
    if what == "file":
        store.rename(tmp_path / "real")
        store.write_text(f"gitdir: {tmp_path}/real\n")
    elif what == "link":
        store.rename(tmp_path / "real")
        store.symlink_to(tmp_path / "real")
    elif what == "linked folder":
        store.parent.rename(tmp_path / "real")
        store.parent.symlink_to(tmp_path / "real")
    elif what == "unreadable":
        store.rename(tmp_path / "real")
        store.mkdir(mode=0o000)
    elif what == "damaged ref":
        (store / "refs" / "heads" / "main").write_text("--upload-pack=touch /tmp/x\n")
    else:
        for path in (store / "objects" / "pack").iterdir():
            path.unlink()
    by("chat").write("USER.md", b"written\n")
    assert (root / "USER.md").read_bytes() == b"written\n"
    with pytest.raises(VersionsOff) as off:
        commit_pending(root)
    assert off.value.message.endswith(".")
    with pytest.raises(VersionsOff), open_history(root) as history:
        list(history.walk())
    with pytest.raises(VersionsOff):
        begin_run(root, RunNote("dream:1", "dream: run"))


def test_no_git_program_and_no_home_are_needed(root, monkeypatch):
    """GIT5: as any user, without git, HOME or configuration, versions are made."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    commit_pending(root)
    (root / "USER.md").write_text("x")
    assert len(commit_pending(root).versions) == 1


def test_the_log_of_writes_does_not_grow_for_ever(root, by, monkeypatch):
    """Where nobody dreams, the log turns into versions by itself."""
    commit_pending(root)
    monkeypatch.setattr(commits, "FULL_BYTES", 5000)
    for number in range(60):
        by("chat").write("USER.md", os.urandom(200).hex().encode() + b"%d\n" % number)
    assert write_log.size(root) < 10_000
    assert len(told(root)) > 3
    assert commit_pending(root).versions
    assert {actor for _, actor in told(root)} == {"chat"}


def test_seeding_is_part_of_the_first_version(tmp_path):
    """A fresh workspace's templates are what was there at the beginning, not an edit."""
    root = tmp_path / "fresh"
    root.mkdir()
    setup = open_workspace(root, Actor("setup"))
    setup.write("USER.md", b"# User\n")
    setup.write("memory/MEMORY.md", b"# Memory\n")
    open_workspace(root, Actor("chat")).write("USER.md", b"# User\n- x\n")
    assert [(row.kind, row.actor) for row in commit_pending(root).versions] == [
        ("first", "setup"),
        ("edits", "chat"),
    ]


def test_old_locks_are_cleared(root, dream):
    """GIT4, 35: what a git that was killed left behind long ago stops nobody and goes."""
    store = root / "memory" / ".git"
    locks = [store / "index.lock", store / "refs" / "heads" / "main.lock"]
    for lock in locks:
        lock.write_text("")
        os.utime(lock, (1_600_000_000, 1_600_000_000))
    sha = dream.run({"USER.md": b"A\n"})
    assert not any(lock.exists() for lock in locks)
    with open_history(root) as history:
        assert history.tip == sha


def test_nothing_that_was_planted_runs(root, dream, tmp_path):
    """32, 34: hooks, filters, attributes, fsmonitor, diff and pager programs, includes: nothing
    of them runs, and none makes an empty version."""
    ran = tmp_path / "ran"
    store = root / "memory" / ".git"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
    program.chmod(0o755)
    (store / "config").write_text(
        f"[core]\n\tfsmonitor = {program}\n\thooksPath = {tmp_path}\n\tpager = {program}\n"
        f'[diff]\n\texternal = {program}\n[filter "x"]\n\tclean = {program}\n\tsmudge = {program}\n'
        f"[gpg]\n\tprogram = {program}\n[commit]\n\tgpgSign = true\n[include]\n\tpath = {program}\n"
    )
    (store / "hooks").mkdir()
    for hook in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        (store / "hooks" / hook).write_bytes(program.read_bytes())
        (store / "hooks" / hook).chmod(0o755)
    (store / "info" / "attributes").write_text("* filter=x diff=x\n")
    for path in (root / ".gitattributes", root / "memory" / ".gitattributes"):
        path.write_text("* filter=x -text\n")
    (root / ".gitignore").write_text("*\n")
    sha = dream.run({"USER.md": b"A\n", "skills/a/SKILL.md": b"a\n"})
    assert commit_pending(root).versions == ()
    with open_history(root) as history:
        assert len(history.changes(history.resolve(sha))) == 3
        history.blame("USER.md")
    assert undo(root, sha).version is not None
    assert not ran.exists()


def test_git_at_hand_works_in_the_folder(root, dream):
    """What the documents tell to type works: git log in the memory folder, and a diff."""
    dream.run({"USER.md": b"A\n"})
    done = subprocess.run(
        ["git", "-C", root / "memory", "log", "-p", "--stat"],
        env=CLEAN,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "dream: scheduled run" in done.stdout
    assert "+A" in done.stdout


def test_files_that_were_copied_in_are_not_the_setups(tmp_path: Path) -> None:
    """What the setting up wrote and what somebody copied in before the first version are told
    apart, also where one lies over the other."""
    seed.seed(open_workspace(tmp_path, Actor("setup")))
    (tmp_path / "USER.md").write_text("# User\n\n- Called Ana.\n")
    made = commit_pending(tmp_path).versions
    assert [(row.kind, row.actor) for row in made] == [("first", "setup"), ("first", "outside")]
    assert made[1].subject == "init: files brought in from outside"
    with open_history(tmp_path) as history:
        assert {row.path for row in history.changes(made[1])} == {"USER.md"}
    other = tmp_path / "other"
    other.mkdir()
    (other / "USER.md").write_text("# User\n\n- Called Bo.\n")
    (only,) = commit_pending(other).versions
    assert (only.kind, only.actor) == ("first", "outside")
