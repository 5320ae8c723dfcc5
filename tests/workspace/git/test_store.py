"""The store of objects, held against git itself."""

import os
import random
import subprocess
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jenny.workspace.errors import StoreBroken, StoreBusy, VersionsOff
from jenny.workspace.git import packs, refs, trees
from jenny.workspace.git.objects import TreeEntry, id_of
from jenny.workspace.git.store import MAIN, Repository

CLEAN = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


def git(git_dir: Path, *words: str) -> str:
    """What the real git says of the repository."""
    done = subprocess.run(
        ["git", f"--git-dir={git_dir}", *words],
        env=CLEAN
        | {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory"}
        | {"GIT_CONFIG_VALUE_0": "*"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape")


def check(git_dir: Path) -> None:
    """Nothing is wrong in the eyes of git."""
    said = git(git_dir, "fsck", "--strict", "--full", "--no-dangling")
    assert said.strip() == ""


@pytest.fixture
def repo(tmp_path: Path):
    """A new repository, open."""
    with Repository.create(tmp_path / "store.git") as opened:
        yield opened


def commit(repo: Repository, files: dict[str, bytes | None], message: str = "x") -> str:
    """A commit on top of what is there."""
    tip = repo.ref()
    base = repo.commit(tip).tree if tip else None
    with repo.batch() as batch:
        ids = {path: None if data is None else batch.blob(data) for path, data in files.items()}
        tree = trees.write(batch, repo, base, ids)
        sha = batch.commit(tree, [tip] if tip else [], message, when=1_700_000_000)
    assert repo.move_ref(sha, expect=tip)
    return sha


def contents(repo: Repository, sha: str) -> dict[str, bytes]:
    """Every file of a commit."""
    found = trees.files(repo, repo.commit(sha).tree)
    return {path: repo.blob(blob) for path, blob in found.items()}


def test_git_reads_what_was_written(repo: Repository):
    """Plain git lists the commits, finds no fault, and gives the very same bytes."""
    odd = {
        "a.md": b"one\r\ntwo\0\xff",
        "skills/a/SKILL.md": b"",
        "skills/a.b/x y.md": "ünïcode".encode(),
        "skills/a-b/z": b"z" * 100_000,
        os.fsdecode(b"skills/\xff\xfe.md"): b"name",
    }
    first = commit(repo, odd, "first: commit\n\nWith a body, and ünïcode.")
    second = commit(repo, {"a.md": None, "skills/a": b"a file now"}, "second")
    check(repo.git_dir)
    assert git(repo.git_dir, "log", "--format=%H").split() == [second, first]
    assert git(repo.git_dir, "log", "-1", "--format=%an <%ae> %at", first).strip() == (
        "Jenny <jenny@localhost> 1700000000"
    )
    for path, data in odd.items():
        shown = git(repo.git_dir, "show", f"{first}:{path}")
        assert shown.encode("utf-8", "surrogateescape") == data
    assert contents(repo, first) == odd
    left = {path: data for path, data in odd.items() if path not in ("a.md", "skills/a/SKILL.md")}
    assert contents(repo, second) == left | {"skills/a": b"a file now"}


def test_what_git_packed_anew_is_read(repo: Repository):
    """Somebody may run ``git gc`` in the folder: changes of changes, packed names and all."""
    text = [f"line {number} {random.random()}" for number in range(500)]
    ids = []
    for number in range(30):
        text[number * 7] = f"changed {number}"
        ids.append(commit(repo, {"a.md": "\n".join(text).encode(), f"b{number}": b"%d" % number}))
    before = [contents(repo, sha) for sha in ids]
    git(repo.git_dir, "gc", "-q", "--aggressive", "--prune=now")
    assert not (repo.git_dir / MAIN).exists()
    assert "chain length" in git(
        repo.git_dir, "verify-pack", "-v", str(next((repo.git_dir / "objects/pack").glob("*.idx")))
    )
    with Repository(repo.git_dir) as again:
        assert again.ref() == ids[-1]
        assert [contents(again, sha) for sha in ids] == before
        ids.append(commit(again, {"c": b"c"}))
        again.tidy()
        assert contents(again, ids[-1])["c"] == b"c"
    check(repo.git_dir)
    with Repository(repo.git_dir) as third:
        assert third.ref() == ids[-1]


def test_objects_of_other_gits_are_read(tmp_path: Path):
    """Objects in files of their own, as every git writes them first."""
    subprocess.run(["git", "init", "-q", "-b", "main", tmp_path / "theirs"], env=CLEAN, check=True)
    (tmp_path / "theirs" / "a.txt").write_text("hello\n")
    for words in (["add", "."], ["-c", "user.name=x", "-c", "user.email=y", "commit", "-qm", "m"]):
        subprocess.run(["git", "-C", tmp_path / "theirs", *words], env=CLEAN, check=True)
    with Repository(tmp_path / "theirs" / ".git") as repo:
        tip = repo.ref()
        assert tip is not None
        assert contents(repo, tip) == {"a.txt": b"hello\n"}
        assert repo.commit(tip).author == "x <y>"
        assert repo.commits_starting(tip[:6]) == [tip]
        tree = repo.commit(tip).tree
        assert repo.commits_starting(tree[:10]) == []


def test_many_commits_leave_few_files(repo: Repository):
    """Packs are joined as they come, each object copied a handful of times; nothing is lost."""
    copied = 0
    join = packs.join_packs

    def counted(folder, chosen):
        nonlocal copied
        copied += sum(pack.count for pack in chosen)
        join(folder, chosen)

    packs.join_packs = counted
    try:
        ids = []
        for number in range(120):
            ids.append(commit(repo, {f"skills/s{number % 50}/SKILL.md": b"%d" % number}))
            repo.tidy()
    finally:
        packs.join_packs = join
    files = [path for path in repo.git_dir.rglob("*") if path.is_file()]
    assert len(files) < 60
    objects = int(git(repo.git_dir, "rev-list", "--all", "--objects", "--count"))
    assert copied < objects * 5
    assert git(repo.git_dir, "rev-list", "main").split() == ids[::-1]
    check(repo.git_dir)
    with Repository(repo.git_dir) as again:
        assert contents(again, ids[-1])["skills/s19/SKILL.md"] == b"119"


def test_a_reader_does_not_mind_packs_being_joined(repo: Repository):
    """A page that reads while a commit joins packs finds every object all the same."""
    ids = [commit(repo, {"a": b"%d" % number}) for number in range(12)]
    with Repository(repo.git_dir) as reader:
        assert reader.commit(ids[0]).sha == ids[0]  # its index is open, most packs are not
        repo.tidy()
        assert len(list((repo.git_dir / "objects/pack").glob("*.idx"))) == 1
        assert [contents(reader, sha)["a"] for sha in ids] == [b"%d" % n for n in range(12)]


def test_unchanged_folders_are_reused(repo: Repository):
    """A commit among 2,000 files writes the changed file, its folders and itself: no more."""
    commit(repo, {f"skills/s{number}/SKILL.md": b"%d" % number for number in range(2000)})
    before = git(repo.git_dir, "count-objects", "-v")
    commit(repo, {"skills/s7/SKILL.md": b"new"})
    after = git(repo.git_dir, "count-objects", "-v")

    def packed(said: str) -> int:
        return int(next(row for row in said.splitlines() if row.startswith("in-pack")).split()[1])

    assert packed(after) - packed(before) == 5


def test_a_name_moves_only_from_where_it_was(repo: Repository):
    """Of two who move the same name from the same place one is told that it was too late."""
    first = commit(repo, {"a": b"1"})
    second = commit(repo, {"a": b"2"})
    assert not repo.move_ref(first, expect=first)
    assert not repo.move_ref(first, expect=None)
    assert repo.ref() == second
    assert repo.move_ref(first, expect=second)
    assert repo.move_ref(first, expect=None, name="refs/snapshots/20260101-1")
    assert repo.refs("refs/snapshots") == {"refs/snapshots/20260101-1": first}
    assert not repo.delete_ref("refs/snapshots/20260101-1", expect=second)
    assert repo.delete_ref("refs/snapshots/20260101-1", expect=first)
    assert repo.refs() == {MAIN: first}
    for name in ("HEAD", "refs/../x", "refs/heads/../../x", "refs/heads/-x", "refs/a.lock", "x"):
        with pytest.raises(ValueError, match=r".*"):
            repo.move_ref(first, expect=None, name=name)


def test_a_lock_of_a_dead_process_of_ours_goes_at_once(repo: Repository):
    """Killed between taking the name's lock and moving it, the next one goes on at once."""
    tip = commit(repo, {"a": b"1"})
    temp = repo.git_dir / "jenny-ref-0123456789abcdef"
    temp.write_text(f"{tip}\n")
    lock = repo.git_dir / f"{MAIN}.lock"
    os.link(temp, lock)
    commit(repo, {"a": b"2"})
    assert not lock.exists()
    assert not temp.exists()


def test_a_live_lock_of_another_program_is_waited_for(repo: Repository):
    """Another git that is just moving the name is let through first; one that stays is named."""
    commit(repo, {"a": b"1"})
    tip = repo.ref()
    lock = repo.git_dir / f"{MAIN}.lock"
    lock.write_text("")
    with pytest.raises(StoreBusy, match=r"main\.lock"):
        refs.move(repo.git_dir, MAIN, tip, expect=tip, wait=0.1)
    assert repo.ref() == tip
    done = threading.Event()
    thread = threading.Thread(target=lambda: (commit(repo, {"a": b"2"}), done.set()))
    thread.start()
    assert not done.wait(0.2)
    lock.unlink()
    assert done.wait(60)
    thread.join()


def test_an_old_lock_goes_unless_somebody_has_it_open(repo: Repository):
    """Age alone is no proof: a lock that a process has open is left alone."""
    commit(repo, {"a": b"1"})
    tip = repo.ref()
    lock = repo.git_dir / f"{MAIN}.lock"
    with lock.open("w"):
        old = time.time() - 2 * refs.STALE_SECONDS
        os.utime(lock, (old, old))
        with pytest.raises(StoreBusy):
            refs.move(repo.git_dir, MAIN, tip, expect=tip, wait=0.1)
        assert lock.exists()
    assert refs.move(repo.git_dir, MAIN, tip, expect=tip, wait=0.1)
    assert not lock.exists()
    index = repo.git_dir / "index.lock"
    index.write_text("")
    repo.tidy()
    assert index.exists()
    os.utime(index, (old, old))
    repo.tidy()
    assert not index.exists()


def test_damage_is_told_not_passed_on(repo: Repository):
    """A flipped bit in a pack is never taken for content."""
    data = os.urandom(5000)
    sha = id_of("blob", data)
    commit(repo, {"a": data})
    pack = next((repo.git_dir / "objects/pack").glob("*.pack"))
    raw = bytearray(pack.read_bytes())
    pack.chmod(0o644)
    seen = 0
    for place in range(12, len(raw) - 20, 97):
        broken = bytearray(raw)
        broken[place] ^= 0x10
        pack.write_bytes(broken)
        with Repository(repo.git_dir) as again:
            try:
                assert again.blob(sha) == data
            except StoreBroken:
                seen += 1
    assert seen > 10
    pack.write_bytes(raw[: len(raw) // 2])
    with Repository(repo.git_dir) as again, pytest.raises(StoreBroken):
        again.blob(sha)


@pytest.mark.parametrize("part", ["", "objects", "objects/pack", "refs", "refs/heads"])
def test_links_in_the_repository_are_not_followed(tmp_path: Path, part: str):
    """A repository that is partly somewhere else is not used, and that is said."""
    with Repository.create(tmp_path / "store.git") as repo:
        commit(repo, {"a": b"1"})
    path = tmp_path / "store.git" / part
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(VersionsOff, match="is a link"):
        Repository.create(tmp_path / "store.git")


def test_nothing_of_the_environment_or_the_folder_has_a_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Variables, configuration, hooks and alternates do nothing, and no process is started."""
    other = tmp_path / "other.git"
    with Repository.create(other) as theirs:
        commit(theirs, {"secret": b"theirs"})
        secret = theirs.ref()
    for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"):
        monkeypatch.setenv(name, str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("PATH", "")
    ran = tmp_path / "ran"
    with Repository.create(tmp_path / "store.git") as repo:
        commit(repo, {"a": b"1"})
        (repo.git_dir / "config").write_text(f"[core]\n\tfsmonitor = touch {ran}\n\tbroken")
        (repo.git_dir / "objects/info/alternates").write_text(f"{other}/objects\n")
        (repo.git_dir / "HEAD").write_text("nonsense")
        hooks = repo.git_dir / "hooks"
        hooks.mkdir()
        for hook in ("pre-commit", "post-commit", "reference-transaction", "update"):
            (hooks / hook).write_text(f"#!/bin/sh\ntouch {ran}\n")
            (hooks / hook).chmod(0o755)
        commit(repo, {"a": b"2"})
        assert secret is not None
        assert not repo.has(secret)
        with pytest.raises(StoreBroken):
            repo.commit(secret)
    assert not ran.exists()
    assert not (tmp_path / "index").exists()


def test_open_files_stay_where_they_were(tmp_path: Path):
    """Hundreds of rounds in one process leave its open files and children as they were."""
    folder = Path("/proc/self/fd")
    with Repository.create(tmp_path / "store.git") as repo:
        commit(repo, {"a": b"x"})
    before = len(list(folder.iterdir()))
    children = children_of_this_process()
    for number in range(250):
        with Repository(tmp_path / "store.git") as repo:
            commit(repo, {"a": b"%d" % number})
            repo.tidy()
    assert len(list(folder.iterdir())) == before
    maps = Path("/proc/self/maps").read_text()
    assert str(tmp_path) not in maps
    assert children_of_this_process() <= children


def children_of_this_process() -> set[str]:
    """The process ids; instances that other tests share are among them."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


NAMES = st.sampled_from(["a", "b", "a.b", "a-b", "ä", "a0", "z"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
CHANGES = st.dictionaries(PATHS, st.none() | st.binary(max_size=5), max_size=6)


def applied(files: dict[str, bytes], changes: dict[str, bytes | None]) -> dict[str, bytes]:
    """What changes make of files, without trees."""
    result = dict(files)
    for path, data in changes.items():
        if data is None:
            result.pop(path, None)
    for path, data in changes.items():
        if data is not None:
            for other in list(result):
                if other.startswith(f"{path}/") or path.startswith(f"{other}/"):
                    del result[other]
            result[path] = data
    return result


@settings(max_examples=40, deadline=None)
@given(st.lists(CHANGES, min_size=1, max_size=5))
def test_trees_hold_what_was_put_into_them(tmp_path_factory, steps):
    """Whatever changes follow each other: the files, the differences, and git's own opinion."""
    with Repository.create(tmp_path_factory.mktemp("trees") / "store.git") as repo:
        files: dict[str, bytes] = {}
        last = None
        for changes in steps:
            clash = [
                path
                for path, data in changes.items()
                if data is not None and any(other.startswith(f"{path}/") for other in changes)
            ]
            wanted = {path: data for path, data in changes.items() if path not in clash}
            sha = commit(repo, wanted)
            before, files = files, applied(files, wanted)
            assert contents(repo, sha) == files
            rows = trees.differences(
                repo, repo.commit(last).tree if last else None, repo.commit(sha).tree
            )
            found = {
                row.path: (row.old and repo.blob(row.old), row.new and repo.blob(row.new))
                for row in rows
            }
            assert found == {
                path: (before.get(path), files.get(path))
                for path in before.keys() | files.keys()
                if before.get(path) != files.get(path)
            }
            last = sha
        check(repo.git_dir)


def test_a_long_past_does_not_fill_the_memory(repo: Repository, monkeypatch):
    """What an open repository keeps of what it read is bounded; what is written stays at hand."""
    monkeypatch.setattr("jenny.workspace.git.store._KEPT_ENTRIES", 20)
    monkeypatch.setattr("jenny.workspace.git.store._KEPT_COMMITS", 3)
    ids = []
    for number in range(10):
        files = {f"skills/{n}/x": b"%d %d" % (n, number) for n in range(8)}
        ids.append(commit(repo, files))
    assert [contents(repo, sha)["skills/7/x"] for sha in ids] == [b"7 %d" % n for n in range(10)]
    assert len(repo._trees) < 15
    assert len(repo._commits) <= 3
    assert repo._new_trees == {}


def test_a_folder_that_is_none_is_refused(repo: Repository):
    """An entry whose name would lead elsewhere is damage, not a path."""
    with repo.batch() as batch:
        bad = [batch.tree([TreeEntry(name, "0" * 40)]) for name in ("..", ".", "a/b")]
    with Repository(repo.git_dir) as again:
        for sha in bad:
            with pytest.raises(StoreBroken):
                again.tree(sha)
