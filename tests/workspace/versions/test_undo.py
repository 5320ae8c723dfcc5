"""Taking back one version: cases 1–24 of what the reference systems got wrong."""

import os
from pathlib import Path

import pytest

from jenny.workspace import write_rules
from jenny.workspace.errors import UndoRefused, WriteRefused
from jenny.workspace.files import Change, register_rule
from jenny.workspace.versions.commits import commit_pending
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.undo import cursor_in, plan_undo, undo


def read(root: Path, *names: str) -> list[bytes | None]:
    """Contents of files; ``None`` where there is none."""
    return [(root / name).read_bytes() if (root / name).exists() else None for name in names]


def signature(path: Path) -> tuple[int, ...]:
    """What tells that a file was not written: a read changes the time of access alone."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


def everything(root: Path) -> dict[str, bytes]:
    """Every file of the workspace but the store and the bookkeeping."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not {".git", ".jenny"} & set(path.relative_to(root).parts)
    }


def subjects(root: Path) -> list[str]:
    """Subjects, newest first."""
    with open_history(root) as history:
        return [row.subject for row in history.walk()]


def labels(plan) -> dict[str, str]:
    """Each file's label."""
    return {step.path: step.label for step in plan.steps}


def test_only_what_the_run_changed_is_undone(root, dream, git):
    """1: undoing B puts back what B changed; what A and C did stands, untouched."""
    dream.run({"SOUL.md": b"A\n"})
    b = dream.run({"SOUL.md": b"B\n"})
    dream.run({"USER.md": b"C\n"})
    before = signature(root / "USER.md")
    done = undo(root, b)
    assert read(root, "SOUL.md", "USER.md") == [b"A\n", b"C\n"]
    assert signature(root / "USER.md") == before
    assert [(step.path, step.label) for step in done.written] == [("SOUL.md", "clean")]
    assert done.dropped == {"SOUL.md": ["B"]}
    assert subjects(root)[0] == f"restore: undo {b[:8]}"
    assert git("show", "--name-only", "--format=", "main").split() == ["SOUL.md"]


def test_later_work_is_named_and_kept_in_its_version(root, dream, git):
    """2: a file that others changed since is named, with who did; it goes, and can come back."""
    a = dream.run({"USER.md": b"A\n", "SOUL.md": b"A\n"})
    b = dream.run({"USER.md": b"A\nB\n"})
    plan = plan_undo(root, a)
    assert labels(plan) == {"SOUL.md": "clean", "USER.md": "moved on"}
    (moved,) = plan.moved_on
    assert [row.sha for row in moved.later] == [b]
    assert not moved.is_pending
    assert "+B" in moved.lost.diff
    undo(root, a)
    assert read(root, "USER.md") == [b"# User\n"]
    assert git("show", f"{b}:USER.md") == "A\nB\n"


def test_edits_by_hand_are_saved_first_and_named(root, dream):
    """3: what a hand wrote and nobody committed is in a version before it is overwritten."""
    a = dream.run({"USER.md": b"A\n"})
    (root / "USER.md").write_bytes(b"A\nby hand\n")
    (root / "SOUL.md").write_bytes(b"elsewhere\n")
    plan = plan_undo(root, a)
    assert labels(plan) == {"USER.md": "moved on"}
    assert plan.steps[0].is_pending
    done = undo(root, a)
    assert [row.actor for row in done.pending] == ["outside"]
    assert read(root, "USER.md", "SOUL.md") == [b"# User\n", b"elsewhere\n"]
    with open_history(root) as history:
        assert history.file_as_of("USER.md", done.pending[0].sha) == b"A\nby hand\n"
    (step,) = done.written
    assert step.label == "moved on"
    assert [row.sha for row in step.later] == [done.pending[0].sha]


def test_an_added_file_goes_and_that_is_named(root, dream, git):
    """4: the skill that the version added is removed though edited since; in the version too."""
    a = dream.run({"skills/a/SKILL.md": b"a\n"})
    dream.run({"skills/a/SKILL.md": b"a\nmore\n"})
    plan = plan_undo(root, a)
    assert [(step.label, step.verb) for step in plan.steps] == [("moved on", "removed")]
    undo(root, a)
    assert read(root, "skills/a/SKILL.md") == [None]
    assert git("ls-tree", "-r", "--name-only", "main", "skills") == ""


@pytest.mark.parametrize(
    "data",
    [b"caf\xe9 \xff\x00\r\n", b"a\r\nb\r\n", b"\xef\xbb\xbfa", b"", b"no end", b"a\rb\n" * 99],
)
def test_bytes_come_back_as_they_were(root, dream, git, data):
    """5, 7: whatever the bytes, a changed or removed file comes back exactly."""
    dream.run({"USER.md": data, "skills/a/SKILL.md": data})
    b = dream.run({"USER.md": b"plain\n", "skills/a/SKILL.md": None})
    done = undo(root, b)
    assert read(root, "USER.md", "skills/a/SKILL.md") == [data, data]
    assert {step.verb for step in done.written} == {"put back", "brought back"}
    shown = git("show", "main:skills/a/SKILL.md").encode("utf-8", "surrogateescape")
    assert shown == data


def test_a_file_deleted_since_is_named_not_brought_back_silently(root, dream):
    """6: the plan says that it was deleted since."""
    a = dream.run({"skills/a/SKILL.md": b"one\n"})
    b = dream.run({"skills/a/SKILL.md": b"two\n"})
    (root / "skills" / "a" / "SKILL.md").unlink()
    plan = plan_undo(root, b)
    (step,) = plan.steps
    assert (step.label, step.verb, step.found, step.is_pending) == (
        "moved on",
        "brought back",
        None,
        True,
    )
    assert labels(plan_undo(root, a)) == {"skills/a/SKILL.md": "already there"}
    undo(root, b)
    assert read(root, "skills/a/SKILL.md") == [b"one\n"]


def put_link(root: Path, outside: Path) -> None:
    """The file is a link to one outside."""
    (root / "skills/a/SKILL.md").unlink()
    (root / "skills/a/SKILL.md").symlink_to(outside / "SKILL.md")


def put_dangling_link(root: Path, outside: Path) -> None:
    """The file is a link to nothing."""
    (root / "skills/a/SKILL.md").unlink()
    (root / "skills/a/SKILL.md").symlink_to(outside / "nothing")


def put_folder_link(root: Path, outside: Path) -> None:
    """The folder is a link to one outside."""
    (root / "skills/a").rename(root / "moved")
    (root / "skills/a").symlink_to(outside)


def put_top_link(root: Path, outside: Path) -> None:
    """The top folder is a link inside the workspace."""
    (root / "skills").rename(root / "elsewhere")
    (root / "skills").symlink_to(root / "elsewhere")


def put_folder(root: Path, outside: Path) -> None:
    """The file is a folder."""
    (root / "skills/a/SKILL.md").unlink()
    (root / "skills/a/SKILL.md").mkdir()


def put_file(root: Path, outside: Path) -> None:
    """The folder is a file."""
    (root / "skills/a/SKILL.md").unlink()
    (root / "skills/a").rmdir()
    (root / "skills/a").write_bytes(b"a file")


def put_pipe(root: Path, outside: Path) -> None:
    """The file is a pipe."""
    (root / "skills/a/SKILL.md").unlink()
    os.mkfifo(root / "skills/a/SKILL.md")


def put_hard_link(root: Path, outside: Path) -> None:
    """The file has a second name outside."""
    (root / "skills/a/SKILL.md").unlink()
    os.link(outside / "SKILL.md", root / "skills/a/SKILL.md")


@pytest.mark.parametrize(
    "put",
    [
        put_link,
        put_dangling_link,
        put_folder_link,
        put_top_link,
        put_folder,
        put_file,
        put_pipe,
        put_hard_link,
    ],
    ids=lambda put: put.__name__,
)
def test_what_stands_in_the_way_is_refused_before_anything_is_written(root, dream, tmp_path, put):
    """8–10: links, folders, pipes in the way: nothing is half done, nothing outside is touched."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_bytes(b"outside")
    dream.run({"skills/a/SKILL.md": b"one\n", "USER.md": b"one\n"})
    b = dream.run({"skills/a/SKILL.md": b"two\n", "USER.md": b"two\n"})
    put(root, outside)
    versions = subjects(root)
    with pytest.raises(Exception, match=r"Nothing (was changed|was read or written)") as refused:
        undo(root, b)
    assert "“skills" in str(refused.value)
    assert read(root, "USER.md") == [b"two\n"]
    assert (outside / "SKILL.md").read_bytes() == b"outside"
    assert sorted(path.name for path in outside.iterdir()) == ["SKILL.md"]
    assert [row for row in subjects(root) if row.startswith("restore")] == []
    assert len(subjects(root)) - len(versions) in (0, 1)


def test_the_same_undo_twice_says_so_and_writes_nothing(root, dream):
    """11: already in that state: no write, no version."""
    a = dream.run({"USER.md": b"A\n"})
    undo(root, a)
    before, versions = signature(root / "USER.md"), subjects(root)
    done = undo(root, a)
    assert (done.version, done.written, done.pending) == (None, (), ())
    assert done.plan.is_done
    assert signature(root / "USER.md") == before
    assert subjects(root) == versions


def test_part_of_it_already_there_is_left(root, dream):
    """Files that are as they were before are not opened for writing."""
    a = dream.run({"USER.md": b"A\n", "SOUL.md": b"A\n"})
    (root / "USER.md").write_bytes(b"# User\n")
    before = signature(root / "USER.md")
    done = undo(root, a)
    assert labels(done.plan) == {"USER.md": "already there", "SOUL.md": "clean"}
    assert signature(root / "USER.md") == before


def test_the_first_version_is_refused_with_the_true_reason(root, dream):
    """12: there is nothing before it."""
    with open_history(root) as history:
        first = history.tip
    assert first is not None
    with pytest.raises(UndoRefused, match="there is nothing before it"):
        undo(root, first)


def test_edits_of_others_are_not_undone(root, dream, by):
    """16, GIT2: what a person or a chat did is theirs; refused before anything is written."""
    dream.run({"USER.md": b"A\n"})
    by("browser").write("USER.md", b"B\n")
    (version,) = commit_pending(root).versions
    (root / "SOUL.md").write_bytes(b"pending\n")
    with pytest.raises(UndoRefused, match="outside a memory update"):
        undo(root, version.sha)
    assert subjects(root)[0] == version.subject


def test_an_undo_can_be_undone(root, dream):
    """17: and that again, for ever; each time byte for byte."""
    a = dream.run({"USER.md": b"A\r\n", "skills/a/SKILL.md": b"a"})
    after = everything(root)
    sha = a
    for _ in range(3):
        undone = undo(root, sha).version
        assert undone is not None
        assert read(root, "USER.md", "skills/a/SKILL.md") == [b"# User\n", None]
        redone = undo(root, undone.sha).version
        assert redone is not None
        left = everything(root)
        assert {**left, "memory/.dream_cursor": b""} == {**after, "memory/.dream_cursor": b""}
        sha = a
    assert subjects(root)[0] == f"restore: undo {undone.short}"


def test_a_rule_that_refuses_stops_the_whole_undo(root, dream, monkeypatch):
    """The write rules apply to an undo as to anybody; then nothing at all is written."""
    a = dream.run({"USER.md": b"A\n", "SOUL.md": b"A\n"})

    def rule(change: Change) -> None:
        if change.actor.kind == "restore" and change.path == "USER.md":
            raise WriteRefused("No.", "test")

    monkeypatch.setattr(write_rules, "_checking", dict(write_rules._checking))
    register_rule(rule)
    with pytest.raises(WriteRefused):
        undo(root, a)
    assert read(root, "USER.md", "SOUL.md", "memory/.dream_cursor") == [b"A\n", b"A\n", b"5\n"]
    assert not [row for row in subjects(root) if row.startswith("restore")]


def test_what_was_shown_is_what_is_done(root, dream):
    """A page's yes counts for what it showed: when that changed meanwhile, nothing is done."""
    a = dream.run({"USER.md": b"A\n"})
    token = plan_undo(root, a).token
    assert plan_undo(root, a).token == token
    (root / "USER.md").write_bytes(b"meanwhile\n")
    with pytest.raises(UndoRefused, match="changed since this was shown"):
        undo(root, a, expect=token)
    assert read(root, "USER.md") == [b"meanwhile\n"]
    assert undo(root, a, expect=plan_undo(root, a).token).version is not None


def test_the_cursor_goes_back_with_the_newest_run(root, dream, git):
    """24, GIT1: exactly that run's entries are offered again."""
    dream.run({"USER.md": b"A\n"}, entries=5)
    b = dream.run({"USER.md": b"B\n"}, entries=7)
    plan = plan_undo(root, b)
    assert (plan.cursor.before, plan.cursor.after, plan.cursor.entries) == (12, 5, (6, 12))
    undo(root, b)
    assert read(root, "memory/.dream_cursor") == [b"5\n"]
    assert git("show", "main:memory/.dream_cursor") == "5\n"


def test_the_cursor_stays_when_an_older_run_is_undone(root, dream):
    """GIT1: newer runs' entries are not offered again; the older run's are named."""
    a = dream.run({"USER.md": b"A\n"}, entries=5)
    dream.run({"SOUL.md": b"B\n"}, entries=7)
    plan = plan_undo(root, a)
    assert not plan.cursor.moves
    assert plan.cursor.entries == (1, 5)
    undo(root, a)
    assert read(root, "memory/.dream_cursor") == [b"12\n"]


def test_runs_without_a_version_in_between_are_not_offered_again(root, dream):
    """A run that learned nothing moved the cursor too: undoing the one before it must say so."""
    a = dream.run({"USER.md": b"A\n"}, entries=5)
    note = dream.begin()
    dream.end(note, entries=7)
    plan = plan_undo(root, a)
    assert plan.cursor.entries == (1, 5)
    assert plan.cursor.before == 12


def test_the_cursor_never_goes_forward(root, dream):
    """24: undoing an undo brings the text back; the entries stay on offer."""
    a = dream.run({"USER.md": b"A\n"}, entries=5)
    version = undo(root, a).version
    assert version is not None
    undo(root, version.sha)
    assert read(root, "USER.md", "memory/.dream_cursor") == [b"A\n", b"0\n"]
    undo(root, a)
    assert read(root, "USER.md", "memory/.dream_cursor") == [b"# User\n", b"0\n"]


def test_runs_are_undone_one_after_another(root, dream):
    """With the newest undone, the one before is Dream's newest that stands."""
    a = dream.run({"USER.md": b"A\n"}, entries=5)
    b = dream.run({"USER.md": b"A\nB\n"}, entries=7)
    undo(root, b)
    undo(root, a)
    assert read(root, "USER.md", "memory/.dream_cursor") == [b"# User\n", b"0\n"]


@pytest.mark.parametrize("cursor", [b"abc", b"-5", b"0x10", b"\xff", b"1" * 30])
def test_a_cursor_that_is_none_is_left_as_it_is(root, dream, cursor):
    """A damaged cursor has its own repair; undoing neither trusts nor overwrites it."""
    a = dream.run({"USER.md": b"A\n"})
    (root / "memory/.dream_cursor").write_bytes(cursor)
    undo(root, a)
    assert read(root, "USER.md", "memory/.dream_cursor") == [b"# User\n", cursor]
    assert cursor_in(cursor) is None


def test_a_run_in_parts_is_undone_part_by_part(root, dream, by):
    """What others wrote in between stands."""
    note = dream.begin()
    dream.write(note, "USER.md", b"dream 1\n")
    by("browser").write("SOUL.md", b"browser\n")
    dream.write(note, "skills/a/SKILL.md", b"dream 2\n")
    first, _, second = dream.end(note).versions
    undo(root, second.sha)
    assert read(root, "USER.md", "SOUL.md", "skills/a/SKILL.md", "memory/.dream_cursor") == [
        b"dream 1\n",
        b"browser\n",
        None,
        b"0\n",
    ]
    undo(root, first.sha)
    assert read(root, "USER.md", "SOUL.md") == [b"# User\n", b"browser\n"]


def test_odd_names_are_undone_and_named_whole(root, dream):
    """23: spaces, accents, quotes in a path."""
    path = "skills/mein größter Fund/it's “x”.md"
    a = dream.run({path: b"x\n"})
    plan = plan_undo(root, a)
    assert [step.path for step in plan.steps] == [path]
    undo(root, a)
    assert read(root, path) == [None]


def test_an_undo_is_the_restorers(root, dream):
    """The version of an undo says who and what, and its id is real git's (37)."""
    a = dream.run({"USER.md": b"A\n"})
    version = undo(root, a, account=7).version
    assert version is not None
    assert (version.kind, version.actor, version.undoes) == ("restore", "restore", a)
