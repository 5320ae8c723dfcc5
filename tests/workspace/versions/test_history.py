"""Reading versions: the log, ids, differences, blame, and what was when."""

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jenny.workspace import diffs
from jenny.workspace.errors import VersionAmbiguous, VersionUnknown
from jenny.workspace.git.store import Repository
from jenny.workspace.versions import messages
from jenny.workspace.versions.commits import commit_pending
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.undo import undo


def test_the_log_counts_what_it_shows(root, dream):
    """18, 19, GIT2: edits in between use up no place; far back, a run is found."""
    a = dream.run({"USER.md": b"A\n"})
    for number in range(30):
        (root / "SOUL.md").write_bytes(b"%d\n" % number)
        commit_pending(root)
    b = dream.run({"USER.md": b"B\n"})
    version = undo(root, b).version
    (root / "SOUL.md").write_bytes(b"last\n")
    commit_pending(root)
    with open_history(root) as history:
        rows = history.log(kinds=messages.UNDOABLE, limit=3)
        assert [row.sha for row in rows] == [version.sha, b, a]
        assert [row.sha for row in history.log(kinds=("dream",), limit=1)] == [b]
        assert [row.sha for row in history.log(kinds=("dream",), before=b)] == [a]
        assert len(history.log(limit=5)) == 5
        assert [row.sha for row in history.log(path="USER.md")][-2:] == [
            a,
            next(row.sha for row in history.walk() if row.kind == "first"),
        ]
        assert history.resolve(a[:8]).sha == a
        assert history.resolve(a).can_be_undone


def test_ids_are_found_by_any_beginning(root, dream):
    """13: forty digits, ten, four, in capitals, with a space around."""
    sha = dream.run({"USER.md": b"A\n"})
    with open_history(root) as history:
        for text in (sha, sha[:10], sha.upper(), f" {sha[:12].upper()} "):
            assert history.resolve(text).sha == sha


@pytest.mark.parametrize(
    "text",
    [
        "",
        "--help",
        "HEAD",
        "HEAD~1",
        "main",
        "a..b",
        "^main",
        "@{0}",
        ":/dream",
        "abc",
        "refs/heads/main",
        "-n1",
        "abcd\0",
        "abcd; rm -rf /",
        "a" * 41,
        "１２３４",  # full-width digits
        "abcg",
    ],
)
def test_what_is_no_id_is_refused(root, dream, text):
    """15: options, ranges and names mean nothing here; nothing is looked up by them."""
    dream.run({"USER.md": b"A\n"})
    with open_history(root) as history, pytest.raises(VersionUnknown, match="is no version's id"):
        history.resolve(text)


def test_ambiguous_beginnings_list_candidates(root, dream, monkeypatch):
    """14: nothing is picked silently."""
    shas = [dream.run({"USER.md": b"%d\n" % number}) for number in range(3)]
    with open_history(root) as history:
        monkeypatch.setattr(Repository, "commits_starting", lambda _repo, _prefix: shas[:2])
        with pytest.raises(VersionAmbiguous) as several:
            history.resolve(shas[0][:4])
        assert several.value.candidates == (shas[1], shas[0])


def test_only_versions_of_the_log_are_found(root, dream):
    """A commit that is in the store but not in the log (trees, contents, strays) is none."""
    sha = dream.run({"USER.md": b"A\n"})
    with Repository(root / "memory" / ".git") as repo:
        commit = repo.commit(sha)
        with repo.batch() as batch:
            stray = batch.commit(commit.tree, [], "dream: stray", when=1)
    with open_history(root) as history:
        for other in (stray, commit.tree, "0" * 40):
            with pytest.raises(VersionUnknown, match="There is no version"):
                history.resolve(other)


def test_no_versions_yet(root):
    """Before anything happened there is an empty log, and no store is made by looking."""
    with open_history(root) as history:
        assert history.log() == []
        assert history.newest_at(datetime.now(UTC)) is None
        assert history.until_now(None)
        assert [line.version for line in history.blame("USER.md")] == [None]
        with pytest.raises(VersionUnknown):
            history.resolve("abcd")
    assert not (root / "memory" / ".git").exists()


def test_who_made_a_commit_with_git_is_foreign(root, dream, git):
    """A commit made by hand in the store is labelled, whatever it calls itself."""
    sha = dream.run({"USER.md": b"A\n"})
    tree = git("rev-parse", f"{sha}^{{tree}}").strip()
    made = git(
        *("-c", "user.name=Jenny", "-c", "user.email=x@y", "commit-tree", "-p", sha),
        *("-m", "dream: scheduled run", tree),
    ).strip()
    git("update-ref", "refs/heads/main", made)
    (root / "SOUL.md").write_bytes(b"next\n")
    commit_pending(root)
    with open_history(root) as history:
        assert [row.kind for row in history.log(limit=3)] == ["edits", "foreign", "dream"]
        assert not history.resolve(made).can_be_undone


def test_files_as_they_were(root, dream, monkeypatch):
    """What did Jenny know on that day: any file, as of any version or time."""
    clock = [1_800_000_000]
    monkeypatch.setattr("jenny.workspace.versions.commits.time.time", lambda: clock[0])
    shas = []
    for number in range(4):
        clock[0] += 86_400
        shas.append(dream.run({"USER.md": b"%d\n" % number}))
    with open_history(root) as history:
        for number, sha in enumerate(shas):
            moment = datetime.fromtimestamp(1_800_000_000 + 86_400 * (number + 1) + 10, UTC)
            assert history.file_as_of("USER.md", sha) == b"%d\n" % number
            assert history.file_as_of("USER.md", moment) == b"%d\n" % number
        assert history.file_as_of("USER.md", datetime(1999, 1, 1, tzinfo=UTC)) is None
        assert history.file_as_of("skills/none.md", shas[-1]) is None
        (change,) = [row for row in history.between(shas[0], shas[2]) if row.path == "USER.md"]
        assert (change.old, change.new) == (b"0\n", b"2\n")
        (root / "USER.md").write_bytes(b"now\n")
        (change,) = history.until_now(shas[3])
        assert (change.path, change.new) == ("USER.md", b"now\n")


def test_versions_never_go_back_in_time(root, dream, monkeypatch):
    """A clock that was put back does not mix up what was when."""
    sha = dream.run({"USER.md": b"1\n"})
    with open_history(root) as history:
        when = history.version(sha).when
    monkeypatch.setattr("jenny.workspace.versions.commits.time.time", lambda: 1000.0)
    later = dream.run({"USER.md": b"2\n"})
    with open_history(root) as history:
        assert history.version(later).when == when


def test_blame_names_the_version_of_each_line(root, dream, by):
    """Why does Jenny believe this: every line leads to the version that brought it."""
    a = dream.run({"memory/MEMORY.md": b"# Memory\n- one\n- A\n- two\n- three\n"})
    by("browser").write("memory/MEMORY.md", b"# Memory\r\n- one\r\n- A\r\n- two!\r\n- three\r\n")
    (edit,) = commit_pending(root).versions
    c = dream.run({"memory/MEMORY.md": b"# Memory\n- C\n- one\n- A\n- two!\n- three\n"})
    (root / "memory" / "MEMORY.md").write_bytes(
        b"# Memory\n- C\n- one\n- A\n- two!\n- pending\n- three"
    )
    with open_history(root) as history:
        first = next(row.sha for row in history.walk() if row.kind == "first")
        found = [
            (line.text, line.version.sha if line.version else None)
            for line in history.blame("memory/MEMORY.md")
        ]
        assert found == [
            ("# Memory", first),
            ("- C", c),
            ("- one", first),
            ("- A", a),
            ("- two!", edit.sha),
            ("- pending", None),
            ("- three", None),
        ]
        assert [line.version.sha for line in history.blame("memory/MEMORY.md", a)] == [
            first,
            first,
            a,
            first,
            first,
        ]
        assert history.blame("skills/none.md") == []


LINES = st.lists(st.sampled_from(["a", "b", "c", "`", "```", "", "x\r"]), max_size=8)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(LINES, min_size=1, max_size=5), st.booleans())
def test_blame_agrees_with_the_versions(root, texts, ends):
    """Each line of the newest version is in the version it is traced to, and was new there."""
    for lines in texts:
        data = "\n".join(lines) + ("\n" if ends else "")
        (root / "USER.md").write_bytes(data.encode())
        commit_pending(root)
    with open_history(root) as history:
        assert history.tip is not None
        newest = history.file_as_of("USER.md", history.tip)
        lines = history.blame("USER.md", history.tip)
        assert [line.text for line in lines] == [
            text.rstrip("\n") for text in diffs.lines_of(newest)
        ]
        for line in lines:
            assert line.version is not None
            there = diffs.lines_of(history.file_as_of("USER.md", line.version.sha))
            assert line.text in [text.rstrip("\n") for text in there]


@settings(max_examples=200, deadline=None)
@given(LINES, LINES, st.booleans(), st.booleans())
def test_a_diff_leads_from_one_text_to_the_other(old, new, old_end, new_end):
    """Applied by hand, a diff makes the new text of the old one, whatever the lines are."""
    before = "\n".join(old) + ("\n" if old_end else "")
    after = "\n".join(new) + ("\n" if new_end else "")
    shown = diffs.unified("x", before.encode(), after.encode())
    source = diffs.lines_of(before.encode())
    made, place = [], 0
    body = shown.split("\n")[2:]
    rows = iter(body)
    for row in rows:
        if row.startswith("@@"):
            start, _, count = row.split(" ")[1][1:].partition(",")
            begin = int(start) - (1 if count != "0" else 0)
            made += source[place:begin]
            place = begin
        elif row.startswith((" ", "-")):
            assert source[place].rstrip("\n") == row[1:]
            if row[0] == " ":
                made.append(source[place])
            place += 1
        elif row.startswith("+"):
            made.append(row[1:] + "\n")
        elif row.startswith("\\") and made and body[body.index(row) - 1].startswith("+"):
            made[-1] = made[-1].rstrip("\n")
    made += source[place:]
    assert "".join(made).rstrip("\n") == "".join(diffs.lines_of(after.encode())).rstrip("\n")
    counted = diffs.counts(before.encode(), after.encode())
    assert counted.added - counted.removed == len(diffs.lines_of(after.encode())) - len(source)


@pytest.mark.parametrize("inside", ["", "```", "````` and ```", "~~~", "`" * 40])
def test_a_fence_is_longer_than_any_inside(inside):
    """22: nothing in a diff closes its fence."""
    shown = diffs.fenced(f"{inside}\n")
    fence = shown.partition("diff\n")[0]
    assert set(fence) == {"`"}
    assert fence not in inside
    assert shown.endswith(f"\n{fence}")


def test_a_large_diff_is_not_square():
    """Two files of 200,000 lines that have nothing in common are compared at once."""
    old = b"".join(b"%d\n" % number for number in range(200_000))
    new = b"".join(b"x%d\n" % number for number in range(200_000))
    assert diffs.counts(old, new) == diffs.Counts(200_000, 200_000)
    assert diffs.counts(old, old + b"one\n") == diffs.Counts(1, 0)
    assert diffs.bounded("a\n" * 10, 100) == "a\n" * 10
    assert diffs.bounded("a\n" * 100, 20) == "a\n" * 10 + "… 90 more lines\n"
    assert diffs.bounded("x" * 100, 20).startswith("x" * 20)
