"""List, compare and write whole trees, and the index for people who use git on the repository.

Without an index, ``git status`` shows every file of the newest commit as deleted. Nothing here
reads it. It holds only the content id of each file, so git compares contents once and then keeps
times of its own.
"""

import contextlib
import hashlib
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace.git.objects import FILE, FOLDER, TreeEntry
from jenny.workspace.git.store import Batch, Repository


@dataclass(frozen=True, slots=True)
class Difference:
    """One file that differs between two trees; the ids of its contents, ``None``: no file."""

    path: str
    old: str | None
    new: str | None


def files(repo: Repository, tree: str | None) -> dict[str, str]:
    """Return the content id of every plain file below *tree*, by path."""
    return dict(_files(repo, tree, "")) if tree else {}


def _files(repo: Repository, tree: str, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in repo.tree(tree):
        if entry.is_folder:
            yield from _files(repo, entry.sha, f"{prefix}{entry.name}/")
        elif entry.is_file:
            yield prefix + entry.name, entry.sha


def entry_at(repo: Repository, tree: str | None, path: str) -> TreeEntry | None:
    *folders, name = path.split("/")
    for part in folders:
        inner = _named(repo, tree, part)
        if inner is None or not inner.is_folder:
            return None
        tree = inner.sha
    return _named(repo, tree, name)


def file_at(repo: Repository, tree: str | None, path: str) -> str | None:
    """Return the content id of a plain file in *tree*; ``None``: there is no such file."""
    found = entry_at(repo, tree, path)
    return found.sha if found is not None and found.is_file else None


def _named(repo: Repository, tree: str | None, name: str) -> TreeEntry | None:
    if tree is None:
        return None
    return next((entry for entry in repo.tree(tree) if entry.name == name), None)


def differences(repo: Repository, old: str | None, new: str | None) -> list[Difference]:
    """Return the plain files that differ between two trees, by path. Equal folders are not read."""
    return sorted(_differences(repo, old, new, ""), key=lambda row: row.path)


def _differences(
    repo: Repository, old: str | None, new: str | None, prefix: str
) -> Iterator[Difference]:
    if old == new:
        return
    before = {entry.name: entry for entry in repo.tree(old)} if old else {}
    after = {entry.name: entry for entry in repo.tree(new)} if new else {}
    for name in before.keys() | after.keys():
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        path = prefix + name
        yield from _differences(repo, _folder(was), _folder(now), f"{path}/")
        if _file(was) != _file(now):
            yield Difference(path, _file(was), _file(now))


def _folder(entry: TreeEntry | None) -> str | None:
    return entry.sha if entry is not None and entry.is_folder else None


def _file(entry: TreeEntry | None) -> str | None:
    return entry.sha if entry is not None and entry.is_file else None


def write(
    batch: Batch, repo: Repository, base: str | None, changes: Mapping[str, str | None]
) -> str:
    """Write the tree that *base* becomes when files get new contents (ids; ``None``: removed).

    Unchanged folders are reused; empty ones are dropped. A new file replaces a folder of the same
    name, and the other way round.
    """
    return _write(batch, repo, base, changes) or batch.tree([])


def _write(
    batch: Batch, repo: Repository, base: str | None, changes: Mapping[str, str | None]
) -> str | None:
    """Write the new tree; ``None`` when it is empty."""
    rows = {entry.name: entry for entry in repo.tree(base)} if base else {}
    inner: dict[str, dict[str, str | None]] = {}
    for path, sha in changes.items():
        name, _, rest = path.partition("/")
        if rest:
            inner.setdefault(name, {})[rest] = sha
        elif sha is not None:
            rows[name] = TreeEntry(name, sha)
        elif name in rows and not rows[name].is_folder:
            del rows[name]
    for name, below in inner.items():
        there = rows.get(name)
        if there is not None and not there.is_folder and not any(below.values()):
            continue
        made = _write(batch, repo, _folder(there), below)
        if made is not None:
            rows[name] = TreeEntry(name, made, FOLDER)
        else:
            rows.pop(name, None)
    return batch.tree(list(rows.values())) if rows else None


_NAME, _LOCK, _CONFIG = "index", "index.lock", "config"
# Always the same name, so that a leftover of a killed process is overwritten.
_TEMP = "jenny-index.tmp"
_HEADER = struct.Struct(">4sLL")
# Times, device, inode: unknown. Then mode, owner, size, the content's id, and the name's length.
_ENTRY = struct.Struct(">24xLLLL20sH")
_MOST_LENGTH = 0xFFF
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_STATUS = "[status]\n\tshowUntrackedFiles = no\n"


def encode_index(files: Mapping[str, str]) -> bytes:
    """Encode an index (version 2) of these files, ids of contents by path."""
    rows = sorted((path.encode("utf-8", "surrogateescape"), sha) for path, sha in files.items())
    parts = [_HEADER.pack(b"DIRC", 2, len(rows))]
    for name, sha in rows:
        head = _ENTRY.pack(FILE, 0, 0, 0, bytes.fromhex(sha), min(len(name), _MOST_LENGTH))
        size = len(head) + len(name)
        parts.append(head + name + b"\0" * (8 - size % 8))
    data = b"".join(parts)
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def write_index(git_dir: Path, files: Mapping[str, str]) -> None:
    """Write the index, and exclude files that are in no commit from ``git status``.

    Both are for people only, so errors are ignored until the next time.
    """
    with contextlib.suppress(OSError):
        # Git's own lock is not taken: a leftover of a killed process would block git. Its holder
        # writes an index anyway.
        temp = git_dir / _TEMP
        with os.fdopen(os.open(temp, _FLAGS, 0o644), "wb") as file:
            file.write(encode_index(files))
        if (git_dir / _LOCK).exists():
            temp.unlink()
            return
        os.rename(temp, git_dir / _NAME)  # noqa: PTH104  (one call to watch)
        config = git_dir / _CONFIG
        if "showuntrackedfiles" not in config.read_text(encoding="utf-8", errors="replace").lower():
            with config.open("a", encoding="utf-8") as text:
                text.write(_STATUS)


def has_index(git_dir: Path) -> bool:
    return (git_dir / _NAME).exists()
