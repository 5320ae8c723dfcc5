"""Run in processes of their own by the tests: a swap, killed at a chosen moment, and what was left.

``swapper.py FOLDER [N…]``: for n = 1, 2, … a fresh workspace is made, and a process swaps its files
and is killed with SIGKILL right before its n-th step that reaches the disk; until one gets through.
Each time a further process opens the workspace again; with ``twice`` it is killed at each of its
steps as well, before one more opens it. One line of JSON each time: every name, what it is, its
bytes.
"""

import contextlib
import hashlib
import json
import stat
import sys
from pathlib import Path
from typing import Any

from jenny.workspace import bulk_replace, locks, transaction_journal, transactions
from jenny.workspace.bulk_replace_journal import Stage, move_signature
from jenny.workspace.files import Actor, open_workspace
from tests.support import dying

STEPS = ("fsync", "rename", "link", "unlink", "mkdir", "rmdir", "chmod")
OLD = {
    "a.md": b"old a",
    "b.md": b"old b" * 4000,
    "gone/deep/c.md": b"old c",
    "d": b"a file that becomes a folder",
    "e/f.md": b"in a folder that becomes a file",
    "memory/history.jsonl": b'{"cursor": 1}\n',
    "same.md": b"nobody touches this",
    "mine/.git/config": b"[core]\n",
}
NEW = {
    "a.md": b"new a",
    "b.md": None,
    "gone/deep/c.md": None,
    "d/inner.md": b"new d",
    "e": b"a file now",
    "fresh/one/two.md": b"new two",
    "memory/history.jsonl": b'{"cursor": 1}\n{"cursor": 2}\n',
}


def start(root: Path) -> None:
    """The state before."""
    for path, data in OLD.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    (root / "link").symlink_to("/etc/hostname")
    (root / "a.md").chmod(0o640)


def swap(root: Path) -> None:
    """Everything at once."""
    with Stage(root) as stage:
        staged = {
            path: stage.write([data], mode=0o600, modified=1_000_000_000)
            for path, data in NEW.items()
            if data is not None
        }
        with transactions.lock_workspace(root), locks.hold(root, locks.Level.HISTORY):
            for path in ("b.md", "gone/deep/c.md", "d", "e/f.md"):
                stage.remove(path, move_signature((root / path).lstat()))
            for path in ("gone/deep", "gone", "e"):
                stage.unfolder(path, stat.S_IMODE((root / path).lstat().st_mode))
            for path in ("d", "fresh", "fresh/one"):
                stage.folder(path, 0o750)
            for path, one in staged.items():
                there = root / path
                was = move_signature(there.lstat()) if path in OLD and path != "e" else None
                stage.put(path, one, was, "grow" if path.startswith("memory/") else "beside")
            bulk_replace.commit_replace(root, stage.ready())


def reopen(root: Path) -> None:
    """What the next start does."""
    open_workspace(root, Actor("pipeline"))


def state(root: Path) -> dict[str, Any]:
    """What lies in the workspace, read without the layer that is tested."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.split("/", maxsplit=1)[0] == ".jenny" or name.endswith(".lock"):
            continue
        kind = stat.S_IFMT(path.lstat().st_mode)
        if kind == stat.S_IFLNK:
            found[name] = f"link {path.readlink()}"
        elif kind == stat.S_IFDIR:
            found[name] = "folder"
        else:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"files": found, "journals": transaction_journal.pending(root)}


def main(folder: Path, only: frozenset[int], *, twice: bool) -> None:
    """Kill the swap at each of its steps in turn."""
    root = folder / "workspace"
    for row in dying.killed_everywhere(
        root, start, swap, reopen, steps=STEPS, only=only, twice=twice
    ):
        sys.stdout.write(json.dumps(row | state(root)) + "\n")


if __name__ == "__main__":
    place, *rest = sys.argv[1:]
    with contextlib.suppress(BrokenPipeError):
        only = frozenset(int(one) for one in rest if one.isdigit())
        main(Path(place), only, twice="twice" in rest)
