"""Histories in a backup: what was written is read again, whatever the contents are like."""

import os
from pathlib import Path

import pytest

from jenny.workspace.backup import bundles
from jenny.workspace.git.objects import TreeEntry, encode_commit, encode_tree
from jenny.workspace.snapshots.objects import Objects, PackBatch


@pytest.mark.parametrize("size", [0, 1, 262_143, 262_144, 262_145, 600_000, 5_000_000])
@pytest.mark.parametrize("kind", ["one word", "noise"])
def test_a_bundle_is_read_again(tmp_path: Path, size: int, kind: str) -> None:
    """Large texts that shrink to nothing, with other objects right behind them, and noise."""
    data = b"word " * (size // 5) if kind == "one word" else os.urandom(size)
    Objects.create(tmp_path / "a.git").close()
    with Objects(tmp_path / "a.git") as repo:
        batch = PackBatch(repo)
        rows = [
            TreeEntry(f"f{number}", batch.add("blob", one))
            for number, one in enumerate([data, b"small", data + b"!", b"last"])
        ]
        commit = batch.add(
            "commit", encode_commit(batch.add("tree", encode_tree(rows)), (), "x", when=1)
        )
        batch.finish()
        out: list[bytes] = []
        bundles.write_bundle(repo, {"refs/heads/main": commit}, out.append)
    found = bundles.unbundle(bundles.all_refs([b"".join(out)]), tmp_path / "b.git")
    assert found.refs == {"refs/heads/main": commit}
    with Objects(found.path) as again:
        assert [again.blob(row.sha) for row in rows] == [data, b"small", data + b"!", b"last"]
