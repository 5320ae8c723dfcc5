"""What is damaged in the archive and in the lists of what is forgotten and pinned, for
``check_workspace``; and where a text may be kept, for whoever looks for every copy of it."""

from collections.abc import Iterator
from pathlib import Path

from jenny.workspace import locks
from jenny.workspace.check import Finding
from memory import files, pins
from memory.archive import store
from memory.archive.form import FOLDER
from memory.forgotten import PATH as FORGOTTEN
from memory.forgotten import stones

_SHOWN = 20

# Every place in a workspace that may hold a text which stood in a memory file or was said, beside
# the memory files themselves; globs from the workspace's folder. The database (conversations,
# what turns changed), the versions (memory/.git), the snapshots and the trash hold copies too.
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
    """The files of the workspace at *root* that may hold a text of the memory, by path."""
    found = {
        str(path.relative_to(root))
        for pattern in STORES
        for path in root.glob(pattern)
        if path.is_file() and not path.is_symlink()
    }
    return tuple(sorted(found))


def check(root: Path, *, repair: bool) -> Iterator[Finding]:  # noqa: ARG001  (nothing is repaired: these are people's decisions)
    """Lines and files that say nothing any more; each is left as it is."""
    yield from _ledger(FORGOTTEN, stones.state(root).problem, stones.state(root).skipped)
    yield from _ledger(pins.PATH, pins.state(root).problem, pins.state(root).skipped)
    if not stones.state(root).problem and not pins.state(root).problem:
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
        sentence = f"{len(skipped)} {what} passed over, since they are not whole: {lines}{more}."
        cure = "Correct the line, or delete it; what it said does not hold meanwhile."
        yield Finding(path, sentence, cure)


def _adrift(root: Path) -> Iterator[Finding]:
    for row in [row for row in pins.pins(root) if row.line is None][:_SHOWN]:
        text = " ".join(row.text.split())[:60]
        sentence = f"A pinned line does not stand in {row.path} any more: “{text}”."
        cure = "None is needed. The pin holds again when the line comes back."
        yield Finding(pins.PATH, sentence, cure, "note")


def _archive(root: Path) -> Iterator[Finding]:
    damaged = [row for row in store.listing(root) if row.problem]
    for row in damaged[:_SHOWN]:
        sentence = f"This archived text is damaged: {row.problem}. What is left of it is shown."
        yield Finding(row.path, sentence, "Correct the file, or delete it.", "note")
    if len(damaged) > _SHOWN:
        sentence = f"{len(damaged) - _SHOWN:,} more archived texts are damaged."
        yield Finding(FOLDER, sentence, "See those named; the cure is the same.", "note")
    readable = {row.path for row in store.listing(root)}
    unread = [name for name in store.names(root) if f"{FOLDER}/{name}" not in readable]
    for name in unread[:_SHOWN]:
        sentence = "This archived text cannot be read: it is a link, a folder, or not permitted."
        yield Finding(f"{FOLDER}/{name}", sentence, "Put the file back, or remove what is there.")
