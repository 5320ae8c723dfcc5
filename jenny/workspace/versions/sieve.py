"""What may not come back when a version is undone: others say which lines of a file stay away."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line that does not come back, and the id by which it can be let back all the same."""

    text: str
    id: str


@dataclass(frozen=True, slots=True)
class Sifted:
    """A file's content without what stays away, and what was left out of it."""

    data: bytes
    left_out: tuple[LeftOut, ...] = ()


Sieve = Callable[[Path, str, bytes], Sifted]
_sieves: dict[str, Sieve] = {}


def register_sieve(sieve: Sieve) -> None:
    """Let *sieve* take lines out of what undoing would write to a file; it is asked with the
    workspace's folder, the file's path and its content, for plans too, and writes nothing."""
    _sieves[f"{sieve.__module__}.{sieve.__qualname__}"] = sieve


def sift(root: Path, path: str, data: bytes | None) -> tuple[bytes | None, tuple[LeftOut, ...]]:
    """What of *data* may be written to the file at *path*, and what is left out.

    Raises:
        WorkspaceError: nobody can say now what stays away.
    """
    left_out: tuple[LeftOut, ...] = ()
    if data is None:
        return None, left_out
    for sieve in list(_sieves.values()):
        found = sieve(root, path, data)
        data, left_out = found.data, left_out + found.left_out
    return data, left_out
