"""What ``check_workspace`` says of versions."""

import shutil

from jenny.workspace.versions.commits import check_versions, commit_pending


def test_a_whole_store_is_no_finding(root, dream):
    """Nothing to say where all is well, nor before the first version."""
    dream.run({"USER.md": b"A\n"})
    assert list(check_versions(root, repair=False)) == []
    shutil.rmtree(root / "memory" / ".git")
    assert list(check_versions(root, repair=False)) == []


def test_a_damaged_store_has_a_cure_that_works(root, dream, tmp_path):
    """The cure is carried out: versions begin anew, and nothing of the files is touched."""
    dream.run({"USER.md": b"A\n"})
    for pack in (root / "memory" / ".git" / "objects" / "pack").glob("*.pack"):
        pack.chmod(0o644)
        pack.write_bytes(pack.read_bytes()[:40])
    (found,) = check_versions(root, repair=True)
    assert found.is_open
    assert found.path == "memory/.git"
    assert "Versions of the memory files are off: " in found.message
    (root / "memory" / ".git").rename(tmp_path / "aside")
    assert [row.kind for row in commit_pending(root).versions] == ["first"]
    assert list(check_versions(root, repair=False)) == []
    assert (root / "USER.md").read_bytes() == b"A\n"


def test_files_too_large_for_versions_are_named(root, tmp_path):
    """A file that has no versions for its size is worth a note; links have one already."""
    with (root / "USER.md").open("wb") as file:
        file.truncate(32_000_001)
    (root / "SOUL.md").rename(tmp_path / "SOUL.md")
    (root / "SOUL.md").symlink_to(tmp_path / "SOUL.md")
    (found,) = check_versions(root, repair=False)
    assert (found.path, found.level) == ("USER.md", "note")
    assert found.message == "It has 32,000,001 bytes, so no versions of it are kept."
