"""Define the parts of a backup, their limits, and the paths that are valid in it."""

from dataclasses import dataclass, field

from jenny.workspace import locks, names
from jenny.workspace.snapshots.scan import DEEPEST

FORMAT = 1
# Names in the zip.
MANIFEST = "manifest.json"
FILES = "workspace/"
SNAPSHOTS = "history/snapshots.bundle"
VERSIONS = "history/versions.bundle"
CONVERSATIONS = "conversations.jsonl"
LEDGERS = "ledgers/"
README = "READ ME.txt"

MOST_ENTRIES = 300_000
MOST_DIRECTORY_BYTES = 150_000_000
MOST_MANIFEST_BYTES = 1_000_000
# Sentences in a manifest about omitted data, and their characters as JSON.
MOST_LEFT_OUT, MOST_LEFT_OUT_CHARS = 900, 500_000
# One line of JSON holds a message or a tool call's result; those have limits far below this.
MOST_LINE_BYTES = 32_000_000
MOST_LINES = 5_000_000
MOST_OBJECTS = 3_000_000
# Folders and commits, which are read whole; files are not.
MOST_OBJECT_BYTES = 64_000_000
MOST_REFS = 100_000
# Data that unpacks to more than this ratio, and is large then, is taken for a zip bomb.
MOST_RATIO = 100
FREE_RATIO_BYTES = 2_000_000_000
# Free space that must remain on the disk afterwards.
SPARE_BYTES = 50_000_000


@dataclass(frozen=True)
class Manifest:
    """The manifest of a backup.

    ``made``: ISO time in UTC; ``source``: the id of the workspace it was made of; ``left_out``:
    sentences about omitted data.
    """

    source: str
    name: str
    made: str
    version: str
    files: int = 0
    size: int = 0
    conversations: int = 0
    messages: int = 0
    snapshots: int = 0
    versions: int = 0
    left_out: tuple[str, ...] = field(default=())


def is_too_much(unpacked: int, packed: int) -> bool:
    """True when something unpacks to more than any honest file would."""
    return unpacked > FREE_RATIO_BYTES and unpacked > packed * MOST_RATIO


_LOCKS = frozenset(locks.LOCK_FILES.values())
_OWN_GIT = "memory/.git"


class Places:
    """The paths of one backup, checked as they come."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        self._files: dict[str, str] = {}

    def problem(self, path: str, *, is_folder: bool = False) -> str:
        """Return why the path cannot be in the backup, as the end of a sentence.

        Empty: it can, and it is remembered for later paths.
        """
        parts = path.split("/")
        why = _unfit(path) or self._clash(parts if is_folder else parts[:-1])
        return why or ("" if is_folder else self._taken(path))

    def _clash(self, folders: list[str]) -> str:
        here = ""
        for part in folders:
            here = f"{here}/{part}" if here else part
            plain = names.folded(here)
            if plain in self._files:
                return "lies in what is a file"
            if self._folders.setdefault(plain, here) != here:
                return "differs only in case or accents from another name"
        return ""

    def _taken(self, path: str) -> str:
        plain = names.folded(path)
        if plain in self._folders:
            return "is a folder as well"
        if plain in self._files:
            is_twin = self._files[plain] == path
            return "is there twice" if is_twin else "differs only in case or accents from another"
        self._files[plain] = path
        return ""


def _unfit(path: str) -> str:
    if why := names.unusable(path):
        return why
    parts = path.split("/")
    if len(parts) > DEEPEST:
        return "lies too deep"
    if why := next(filter(None, map(_name_problem, parts)), ""):
        return why
    is_lock = names.folded(path) in _LOCKS
    return "is a lock file" if is_lock or names.folded(path) == _OWN_GIT else ""


def _name_problem(name: str) -> str:
    if name in ("", ".", ".."):
        return "leads out of its folder"
    if names.is_own(name):
        return "belongs to Jenny's own bookkeeping"
    return "lies in a git folder" if names.is_git(name) else names.unfit(name)
