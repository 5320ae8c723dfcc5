"""Findings about the archive, tombstones and pins for ``check_workspace``, and the list of files
that may hold a text."""

from collections.abc import Iterator
from pathlib import Path

from jenny.workspace import locks
from jenny.workspace.check import Finding
from memory import files, pins
from memory.archive import store
from memory.archive.file_format import FOLDER
from memory.suppression import PATH as FORGOTTEN
from memory.suppression import tombstones

_SHOWN = 20

# Every place in a workspace, beside the memory files, that may hold a text of the memory or of a
# conversation; globs from the workspace's folder. The database (conversations, changes of turns),
# the versions (memory/.git), the snapshots and the trash hold copies too.
STORES: tuple[str, ...] = (
    *files.BY_PATH,
    files.INSTRUCTIONS,
    f"{files.SKILLS}/**/*",
    "prompts/*",
    "memory/*",
    f"{FOLDER}/*",
    "output/**/*",
    "uploads/**/*",
    f"{locks.OWN_FOLDER}/*",
    f"{locks.OWN_FOLDER}/journal/*",
)


def stores(root: Path) -> tuple[str, ...]:
    """List the workspace's files that may hold a text of the memory."""
    found = {
        str(path.relative_to(root))
        for pattern in STORES
        for path in root.glob(pattern)
        if path.is_file() and not path.is_symlink()
    }
    return tuple(sorted(found))


def check_integrity(root: Path, *, repair: bool) -> Iterator[Finding]:  # noqa: ARG001  (nothing is repaired: these are people's decisions)
    """Yield unreadable lines and files; they are left as they are."""
    yield from _ledger(FORGOTTEN, tombstones.state(root).problem, tombstones.state(root).skipped)
    yield from _ledger(pins.PATH, pins.state(root).problem, pins.state(root).skipped)
    if not tombstones.state(root).problem and not pins.state(root).problem:
        yield from _adrift(root)
    yield from _archive(root)


def _ledger(path: str, problem: str, skipped: tuple[int, ...]) -> Iterator[Finding]:
    if problem:
        cure = "Move it away, or restore it from a snapshot. Until then Dream writes nothing."
        yield Finding(path, problem, cure)
    if skipped:
        lines = ", ".join(map(str, skipped[:_SHOWN]))
        more = f" and {len(skipped) - _SHOWN} more" if len(skipped) > _SHOWN else ""
        what = "line is" if len(skipped) == 1 else "lines are"
        message = f"{len(skipped)} {what} passed over, since they are not whole: {lines}{more}."
        cure = "Correct the line, or delete it; what it said does not hold meanwhile."
        yield Finding(path, message, cure)


def _adrift(root: Path) -> Iterator[Finding]:
    for row in [row for row in pins.pins(root) if row.line is None][:_SHOWN]:
        text = " ".join(row.text.split())[:60]
        message = f"A pinned line does not stand in {row.path} any more: “{text}”."
        cure = "None is needed. The pin holds again when the line comes back."
        yield Finding(pins.PATH, message, cure, "note")


def _archive(root: Path) -> Iterator[Finding]:
    damaged = [row for row in store.listing(root) if row.problem]
    for row in damaged[:_SHOWN]:
        message = f"This archived text is damaged: {row.problem}. What is left of it is shown."
        yield Finding(row.path, message, "Correct the file, or delete it.", "note")
    if len(damaged) > _SHOWN:
        message = f"{len(damaged) - _SHOWN:,} more archived texts are damaged."
        yield Finding(FOLDER, message, "See those named; the cure is the same.", "note")
    readable = {row.path for row in store.listing(root)}
    unread = [name for name in store.names(root) if f"{FOLDER}/{name}" not in readable]
    for name in unread[:_SHOWN]:
        message = "This archived text cannot be read: it is a link, a folder, or not permitted."
        yield Finding(f"{FOLDER}/{name}", message, "Put the file back, or remove what is there.")
