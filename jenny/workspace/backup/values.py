"""What a backup consists of, and how much of anything one may hold."""

from dataclasses import dataclass, field

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
# One line of JSON holds a message or a tool call's result; those have limits far below this.
MOST_LINE_BYTES = 32_000_000
MOST_LINES = 5_000_000
MOST_OBJECTS = 3_000_000
# A folder or a commit, which are read whole; files are not.
MOST_OBJECT_BYTES = 64_000_000
MOST_REFS = 100_000
# What unpacks to so much more than it is long, and is large then, was made to fill a disk.
MOST_RATIO = 100
FREE_RATIO_BYTES = 2_000_000_000
# What a disk is to have left when all is done.
SPARE_BYTES = 50_000_000


@dataclass(frozen=True)
class Manifest:
    """What a backup says of itself. ``made``: ISO time in UTC; ``source``: the id of the workspace
    it was made of; ``left_out``: sentences about what it does not hold."""

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
    """Whether something unpacks to more than any honest file would."""
    return unpacked > FREE_RATIO_BYTES and unpacked > packed * MOST_RATIO
