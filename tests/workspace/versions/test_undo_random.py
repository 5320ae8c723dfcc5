"""Whatever happens in whatever order: an undo undoes its version and nothing else."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions.commits import commit_pending
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.tracked_files import CURSOR
from jenny.workspace.versions.undo import undo
from tests.workspace.versions.conftest import Dreamer, git_in

PATHS = ("USER.md", "SOUL.md", "memory/MEMORY.md", "skills/a/SKILL.md", "skills/b/x.md")
CONTENTS = st.sampled_from(
    [b"", b"a\n", b"a\nb\n", b"a\r\nb\r\n", b"b\n", b"\xff\xfe", b"# no end", b"```\n"]
)
FILES = st.dictionaries(st.sampled_from(PATHS), st.none() | CONTENTS, min_size=1, max_size=3)
STEPS = st.one_of(
    st.tuples(st.just("dream"), FILES),
    st.tuples(st.sampled_from(["chat", "browser", "outside"]), FILES),
    st.tuples(st.just("undo"), st.integers(0, 5)),
    st.tuples(st.just("commit"), st.none()),
)


def state(root: Path) -> dict[str, bytes]:
    """The files that there are."""
    return {path: (root / path).read_bytes() for path in PATHS if (root / path).is_file()}


def edit(root: Path, kind: str, files: dict[str, bytes | None]) -> None:
    """Write as somebody, or past the workspace's layer."""
    for path, data in files.items():
        if kind != "outside":
            workspace = open_workspace(root, Actor(kind))
            if data is None:
                workspace.delete(path)
            else:
                workspace.write(path, data)
        elif data is None:
            (root / path).unlink(missing_ok=True)
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)


def undo_one(root: Path, back: int) -> None:
    """Undo one of the versions that can be undone, and compare with what it says of itself."""
    with open_history(root) as history:
        found = history.log(kinds=("dream", "restore"), limit=10)
        if not found:
            return
        version = found[back % len(found)]
        changes = {row.path: row.old for row in history.changes(version) if row.path != CURSOR}
    before = state(root)
    done = undo(root, version.sha)
    after = state(root)
    wanted = dict(before)
    for path, old in changes.items():
        if old is None:
            wanted.pop(path, None)
        else:
            wanted[path] = old
    assert after == wanted
    assert {step.path for step in done.written} == {
        path for path in changes if before.get(path) != wanted.get(path)
    }
    with open_history(root) as history:
        for path, data in before.items():  # nothing that was there is beyond reach, but line ends
            if after.get(path) != data:
                plain = data.replace(b"\r\n", b"\n") if b"\xff" not in data else data
                states = [history.file_as_of(path, row.sha) or b"" for row in history.walk()]
                assert plain in [found.replace(b"\r\n", b"\n") for found in states]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(STEPS, min_size=2, max_size=10))
def test_an_undo_undoes_its_version_and_nothing_else(tmp_path_factory, steps):
    """Runs, edits of all kinds and undos in any order; then everything is in versions."""
    root = tmp_path_factory.mktemp("random") / "workspace"
    (root / "memory").mkdir(parents=True)
    commit_pending(root)
    dream = Dreamer(root)
    for kind, what in steps:
        if kind == "dream":
            note = dream.begin()
            for path, data in what.items():
                dream.write(note, path, data)
            dream.end(note)
        elif kind == "undo":
            undo_one(root, what)
            cursor = root / CURSOR
            dream.cursor = int(cursor.read_bytes()) if cursor.exists() else 0
        elif kind == "commit":
            commit_pending(root)
        else:
            edit(root, kind, what)
    commit_pending(root)
    assert commit_pending(root).versions == ()
    with open_history(root) as history:
        left = history.until_now(history.tip)
        assert all(
            row.path == CURSOR
            or (row.old or b"").replace(b"\r\n", b"\n") == (row.new or b"").replace(b"\r\n", b"\n")
            for row in left
        )
        for version in history.walk():
            actors = {"dream", "restore"} if version.kind in ("dream", "restore") else None
            assert actors is None or version.actor in actors
    said = git_in(root, "fsck", "--strict", "--full", "--no-dangling")
    assert said.strip() == ""
