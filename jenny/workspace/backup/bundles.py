"""Writing a git bundle: references and every object behind them, in one stream.

Objects are written whole, none as a change of another, so that whoever reads the bundle needs no
more memory than one folder takes. A pack says first how many objects it has, so they are found
before the first one is written.
"""

import hashlib
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from gitdb.fun import create_pack_object_header

from jenny.workspace.backup.values import MOST_OBJECTS
from jenny.workspace.errors import BackupRefused, StoreBroken
from jenny.workspace.git.packs import NUMBERS
from jenny.workspace.snapshots.objects import Objects

SIGNATURE = b"# v2 git bundle\n"
REF = re.compile(r"refs/(?:heads/main|snapshots/\d{1,9}-[0-9a-f]{8})")
_PACK_HEAD = b"PACK" + (2).to_bytes(4)
_LARGE = 4 << 20

type Kind = Literal["commit", "tree", "blob"]
type Write = Callable[[bytes], object]
type Tell = Callable[[int, int], None]


def reachable(repo: Objects, tips: Mapping[str, str]) -> dict[str, Kind]:
    """Every object behind the commits *tips*, once, with its kind.

    Raises:
        StoreBroken: one of them is missing or damaged.
        BackupRefused: there are more than a backup may hold.
    """
    found: dict[str, Kind] = {}
    commits = list(tips.values())
    folders: list[str] = []
    while commits or folders:
        if folders:
            sha = folders.pop()
            for row in repo.tree(sha):
                if row.sha in found:
                    continue
                found[row.sha] = "tree" if row.is_folder else "blob"
                if row.is_folder:
                    folders.append(row.sha)
            if len(found) > MOST_OBJECTS:
                raise BackupRefused(
                    f"The history has more than {MOST_OBJECTS:,} objects, which a backup cannot "
                    "hold. None was made. Export without the history."
                )
            continue
        sha = commits.pop()
        if sha in found:
            continue
        found[sha] = "commit"
        commit = repo.commit(sha)
        commits.extend(commit.parents)
        if commit.tree not in found:
            found[commit.tree] = "tree"
            folders.append(commit.tree)
    return found


def write(repo: Objects, tips: Mapping[str, str], out: Write, tell: Tell | None = None) -> None:
    """Write a bundle of the references *tips* (names of ours) to *out*. *tell*: how many objects
    of how many are written.

    Raises:
        StoreBroken: an object is missing or damaged; what was written so far is of no use.
    """
    objects = reachable(repo, tips)
    lines = [f"{sha} {name}\n" for name, sha in sorted(tips.items())]
    out(SIGNATURE + "".join(lines).encode("ascii") + b"\n")
    digest = hashlib.sha1(usedforsecurity=False)
    for piece in _pack(repo, objects, tell or _silent):
        digest.update(piece)
        out(piece)
    out(digest.digest())


def _silent(done: int, total: int) -> None:
    """Nobody asked."""


def _pack(repo: Objects, objects: Mapping[str, Kind], tell: Tell) -> Iterator[bytes]:
    yield _PACK_HEAD + len(objects).to_bytes(4)
    for done, (sha, kind) in enumerate(objects.items()):
        yield from _one(repo, sha, kind)
        tell(done, len(objects))


def _one(repo: Objects, sha: str, kind: Kind) -> Iterator[bytes]:
    """One object as it stands in a pack."""
    size = repo.size(sha)
    if kind != "blob" or size <= _LARGE:
        found, data = repo.read(sha)
        if found != kind:
            raise StoreBroken(f"Object {sha[:8]} of the history is a {found}, not a {kind}.")
        yield bytes(create_pack_object_header(NUMBERS[kind], len(data)))
        yield zlib.compress(data, _level(data))
        return
    yield bytes(create_pack_object_header(NUMBERS["blob"], size))
    machine = None
    for piece in repo.stream(sha):
        machine = machine or zlib.compressobj(_level(piece))
        yield machine.compress(piece)
    yield (machine or zlib.compressobj()).flush()


def _level(data: bytes) -> int:
    """Not at all where it does not shrink (pictures, archives), and quickly elsewhere."""
    sample = data[: 1 << 14]
    return 1 if len(zlib.compress(sample, 1)) < 0.9 * len(sample) else 0
