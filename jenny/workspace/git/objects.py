"""Encode and decode git's objects."""

import hashlib
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from jenny.workspace.errors import StoreBroken

type Kind = Literal["commit", "tree", "blob", "tag"]

FILE = 0o100644
FOLDER = 0o040000
IDENTITY = "Jenny <jenny@localhost>"

_ID = re.compile(r"[0-9a-f]{40}")
_PERSON = re.compile(rb"(.*) (-?\d{1,15}) ([+-]\d{4})")


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A tree's entry for one name in a folder. ``sha`` is the object's id in hex."""

    name: str
    sha: str
    mode: int = FILE

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        """True for a plain file (not a link or a submodule)."""
        return stat.S_ISREG(self.mode)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit. ``when`` in seconds since 1970 (UTC); the message begins with its subject."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: str
    when: int
    message: str

    @property
    def parent(self) -> str | None:
        """The first parent; ``None`` for the first commit."""
        return self.parents[0] if self.parents else None

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0]

    @property
    def body(self) -> str:
        return self.message.partition("\n")[2].lstrip("\n")


def is_id(text: str) -> bool:
    """True when it is an object's full id: 40 digits of lower-case hex."""
    return _ID.fullmatch(text) is not None


def id_of(kind: Kind, data: bytes) -> str:
    digest = hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


def name_bytes(name: str) -> bytes:
    """Return a name as it is on disk; names that are not UTF-8 keep their bytes."""
    return name.encode("utf-8", "surrogateescape")


def encode_tree(entries: Iterable[TreeEntry]) -> bytes:
    """Encode a tree, in git's order."""
    rows = [(name_bytes(entry.name), entry) for entry in entries]
    rows.sort(key=lambda row: row[0] + b"/" if row[1].is_folder else row[0])
    return b"".join(
        b"%o %s\0%s" % (entry.mode, name, bytes.fromhex(entry.sha)) for name, entry in rows
    )


def decode_tree(data: bytes) -> tuple[TreeEntry, ...]:
    """Decode a tree.

    Raises:
        StoreBroken: it is invalid, or names something outside its folder.
    """
    entries, start = [], 0
    try:
        while start < len(data):
            space = data.index(b" ", start)
            end = data.index(b"\0", space)
            name = data[space + 1 : end].decode("utf-8", "surrogateescape")
            sha = data[end + 1 : end + 21].hex()
            entries.append(TreeEntry(name, sha, int(data[start:space], 8)))
            start = end + 21
    except ValueError as error:
        raise StoreBroken("A folder in the store of versions is damaged.") from error
    if any(row.name in ("", ".", "..") or "/" in row.name for row in entries) or start > len(data):
        raise StoreBroken("A folder in the store of versions is damaged.")
    return tuple(entries)


def encode_commit(
    tree: str, parents: Iterable[str], message: str, *, when: int, author: str = IDENTITY
) -> bytes:
    """Encode a commit; *when* in seconds since 1970."""
    plain = message.replace("\0", "\N{REPLACEMENT CHARACTER}").strip("\n")
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"{role} {author} {when} +0000" for role in ("author", "committer")]
    return ("\n".join([*lines, "", plain]) + "\n").encode("utf-8", "replace")


def decode_commit(sha: str, data: bytes) -> Commit:
    """Decode a commit; unknown headers are skipped.

    Raises:
        StoreBroken: it is invalid.
    """
    head, _, message = data.partition(b"\n\n")
    tree, parents, author, when = "", [], "", 0
    for line in head.split(b"\n"):
        word, _, rest = line.partition(b" ")
        if word == b"tree":
            tree = rest.decode("ascii", "replace")
        elif word == b"parent":
            parents.append(rest.decode("ascii", "replace"))
        elif word == b"author" and (found := _PERSON.fullmatch(rest)):
            author, when = found[1].decode("utf-8", "replace"), int(found[2])
    if not is_id(tree) or not all(is_id(parent) for parent in parents):
        raise StoreBroken(f"Version {sha[:8]} is damaged.")
    text = message.decode("utf-8", "replace").strip("\n")
    return Commit(sha, tree, tuple(parents), author, when, text)
