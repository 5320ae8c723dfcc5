"""Looking into snapshots and comparing them."""

import pytest

from jenny.workspace.errors import SnapshotUnknown
from jenny.workspace.snapshots import comparison, reader
from tests.workspace.snapshots.conftest import put


def rows(compared) -> dict[str, str]:
    """What differs, by path."""
    return {row.path: row.what for row in compared.rows}


def test_folders_first(store, root, take):
    """A folder is listed as a file browser does: folders first, then files, by name."""
    put(root, "a.md", b"a")
    put(root, "Z.md", b"z")
    shot = take().snapshot
    with store.open() as repo:
        found = reader.read_folder(repo, shot)
        inner = reader.read_folder(repo, shot, "/skills/tax/")
    assert [row.path for row in found] == [
        "memory", "skills", "uploads", "USER.md", "Z.md", "a.md",
    ]  # fmt: skip
    assert [(row.path, row.size) for row in inner] == [("skills/tax/SKILL.md", 23)]


@pytest.mark.parametrize(
    "path",
    ["nothing.md", "../USER.md", "memory", "USER.md/x", "", "/", "memory/../USER.md", "a\0b"],
)
def test_what_is_not_in_it(store, take, path):
    """A file that a snapshot does not have is said not to be there; no path leads elsewhere."""
    shot = take().snapshot
    with store.open() as repo, pytest.raises(SnapshotUnknown, match="has no file"):
        reader.find_file(repo, shot, path)
    with store.open() as repo, pytest.raises(SnapshotUnknown, match="has no folder"):
        reader.read_folder(repo, shot, "USER.md")


def test_two_snapshots(store, root, take):
    """What differs from one snapshot to another, in either direction, with the lines."""
    old = take().snapshot
    put(root, "USER.md", b"# User\nAna\n")
    put(root, "new/deep/file.md", b"new\n")
    (root / "uploads/picture.png").unlink()
    new = take().snapshot
    with store.open() as repo:
        compared = comparison.with_another(repo, old, new)
        texts = {row.path: comparison.text(repo, compared, row, root) for row in compared.rows}
        back = comparison.with_another(repo, new, old)
    assert rows(compared) == {
        "USER.md": "changed",
        "new/deep/file.md": "added",
        "uploads/picture.png": "removed",
    }
    assert rows(back)["new/deep/file.md"] == "removed"
    assert "+Ana" in texts["USER.md"].splitlines()
    assert "+new" in texts["new/deep/file.md"].splitlines()
    assert texts["uploads/picture.png"] == "It is no text (5.0 kB → none)."


def test_now(store, root, take):
    """What differs from a snapshot to the workspace as it is, without anything being written."""
    old = take().snapshot
    put(root, "USER.md", b"# User\nBo\n")
    (root / "uploads").joinpath("link").symlink_to("/etc/passwd")
    before = sorted((str(path), path.lstat().st_mtime_ns) for path in store.path.rglob("*"))
    with store.open() as repo:
        compared = comparison.with_now(store, repo, old, root)
        (row,) = compared.rows
        assert "+Bo" in comparison.text(repo, compared, row, root)
    assert [one.path for one in compared.skipped] == ["uploads/link"]
    after = sorted((str(path), path.lstat().st_mtime_ns) for path in store.path.rglob("*"))
    assert after == before


def test_a_folder_became_a_file(store, root, take):
    """A folder in a file's place is its files added and the file removed."""
    put(root, "thing", b"file")
    old = take().snapshot
    (root / "thing").unlink()
    put(root, "thing/inner.md", b"inner")
    with store.open() as repo:
        assert rows(comparison.with_now(store, repo, old, root)) == {
            "thing": "removed",
            "thing/inner.md": "added",
        }


def test_only_permissions(store, root, take):
    """A file that may now be run differs, and it is said that its lines do not."""
    old = take().snapshot
    (root / "USER.md").chmod(0o755)
    with store.open() as repo:
        compared = comparison.with_now(store, repo, old, root)
        (row,) = compared.rows
        told = comparison.text(repo, compared, row, root)
    assert told == "Only its permissions or line ends differ."


def test_diffs_are_bounded(store, root, take):
    """Large files and long diffs are cut short in words, however they were made."""
    put(root, "large.txt", b"line\n" * 100_000)
    put(root, "long.md", b"".join(b"%d\n" % number for number in range(5000)))
    put(root, "hard.md", b"a\nb\n" * 5000)
    old = take().snapshot
    put(root, "large.txt", b"line\n" * 100_001)
    put(root, "long.md", b"".join(b"%d\n" % -number for number in range(5000)))
    put(root, "hard.md", b"b\na\na\n" * 5000)
    with store.open() as repo:
        compared = comparison.with_now(store, repo, old, root)
        texts = {row.path: comparison.text(repo, compared, row, root) for row in compared.rows}
    assert texts["large.txt"] == ("It is too large to be shown line by line (500.0 kB → 500.0 kB).")
    assert all(len(text) < comparison.TEXT_CHARS + 200 for text in texts.values())
    assert "more lines" in texts["long.md"]


def test_a_comparison_with_now_follows_no_link(store, root, take, tmp_path):
    """A file that was replaced by a link after the comparison shows nothing from outside."""
    old = take().snapshot
    put(root, "USER.md", b"changed")
    put(tmp_path, "secret.md", b"secret")
    with store.open() as repo:
        compared = comparison.with_now(store, repo, old, root)
        (row,) = compared.rows
        (root / "USER.md").unlink()
        (root / "USER.md").symlink_to(tmp_path / "secret.md")
        assert "secret" not in comparison.text(repo, compared, row, root)
