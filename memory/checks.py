"""Checks of the memory for ``check_workspace``: ledgers, the archive, memory files, skills.

An unreadable line of a ledger is reported with what counts in its place. A repair moves damaged
lines to a file with ``.damaged`` behind the ledger's name and writes down what counted in their
place, so that the repair changes no decision.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jenny.workspace import config, locks, paths, seed, transactions
from jenny.workspace.check import Finding
from jenny.workspace.content import read_text
from jenny.workspace.errors import FileMissing, WorkspaceError
from jenny.workspace.file_cache import StampedFiles
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.write_rules import Change
from memory import (
    artifacts,
    budgets,
    consents,
    dream_guide,
    files,
    injection_scan,
    ledgers,
    pins,
    skills,
    suppression,
)
from memory.archive import store
from memory.archive.file_format import FOLDER
from memory.suppression import PATH as FORGOTTEN
from memory.suppression import tombstones

SUFFIX = ".damaged"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A ledger. *effect* says what counts while it is damaged; *rows* returns the rows that say
    the same for the ledger without the damaged lines."""

    path: str
    effect: str
    rows: Callable[[Path, ledgers.Ledger], list[dict[str, Any]]]


def check_ledgers(root: Path, *, repair: bool) -> Iterator[Finding]:
    """Yield ledgers of people's decisions that are wholly or partly unreadable."""
    real = paths.real_root(root)
    for kind in _KINDS:
        found = ledgers.read_ledger(real, kind.path)
        if found.problem:
            cure = "Put the file right, or move it away to begin a new one."
            yield Finding(kind.path, f"{found.problem} {kind.effect}", cure)
        elif found.skipped:
            message = _describe(kind, found)
            is_repaired = repair and _repair(real, kind)
            cure = f"check_workspace --repair sets it aside in {kind.path}{SUFFIX}."
            if is_repaired:
                cure = f"What cannot be read was set aside in {kind.path}{SUFFIX}."
            yield Finding(kind.path, message, cure, repaired=is_repaired)


def sentences(root: Path) -> tuple[str, ...]:
    """Return a sentence for each ledger that is wholly or partly unreadable."""
    if any(ledgers.is_odd(root, kind.path) for kind in _KINDS):
        return _derive(root)
    return _SENTENCES.read(root)


def _derive(root: Path) -> tuple[str, ...]:
    real = paths.real_root(root)
    found = ((kind, ledgers.read_ledger(real, kind.path)) for kind in _KINDS)
    return tuple(
        f"{one.problem} {kind.effect}" if one.problem else _describe(kind, one)
        for kind, one in found
        if one.problem or one.skipped
    )


def _describe(kind: _Kind, found: ledgers.Ledger) -> str:
    if len(found.skipped) == 1:
        return f"Line {found.skipped[0]} of {kind.path} cannot be read. {kind.effect}"
    count, first = len(found.skipped), found.skipped[0]
    return f"{count:,} lines of {kind.path} cannot be read, the first is {first}. {kind.effect}"


def _repair(root: Path, kind: _Kind) -> bool:
    """Set the damaged lines aside. ``False``: nothing was changed."""
    aside = f"{kind.path}{SUFFIX}"
    try:
        with transactions.lock_workspace(root):
            data = ledgers.content(root, kind.path) or b""
            before = ledgers.content(root, aside)
            damaged = ledgers.parsed(data).damaged
            kept = b"".join(line + b"\n" for line in data.split(b"\n") if line not in damaged)
            kept = kept.removesuffix(b"\n")
            rows = kind.rows(root, ledgers.parsed(kept))
            stamp = {"at": ledgers.now(), "actor": "command"}
            change = Change(kind.path, data, kept, ledgers.ACTOR, root)
            change = ledgers.added(root, kind.path, [row | stamp for row in rows], change)
            lines = b"".join(line + b"\n" for line in damaged)
            added = Change(aside, before, (before or b"") + lines, ledgers.ACTOR, root)
            ledgers.land(root, [added, change])
    except (WorkspaceError, OSError):
        return False
    return True


def _withdrawn_consents(root: Path, left: ledgers.Ledger) -> list[dict[str, Any]]:
    there = consents.given(root)
    return [{"path": path, "withdrawn": True} for path in sorted(consents.given_by(left) - there)]


def _withdrawn_approvals(root: Path, left: ledgers.Ledger) -> list[dict[str, Any]]:
    lost = skills.approved_by(left) - skills.approved_versions(root)
    return [{"path": path, "withdrawn": True} for path in sorted({path for path, _ in lost})]


def _switched_off(root: Path, left: ledgers.Ledger) -> list[dict[str, Any]]:
    off, without = skills.disabled_skills(root), skills.disabled_by(left)
    names = {skill.name for skill in skills.all_skills(root)} | off.names
    lost = sorted(name for name in names if name in off and name not in without)
    return [{"skill": name, "off": True} for name in lost]


def _pinned(root: Path, left: ledgers.Ledger) -> list[dict[str, Any]]:
    now, without = pins.state(root), pins.state_by(left)
    paths_ = {path for path, rows in now.by_path.items() if any(row.is_whole for row in rows)}
    if now.problem:
        paths_ |= {file.path for file in files.MEMORY_FILES}
    known = {path for path, rows in without.by_path.items() if any(row.is_whole for row in rows)}
    return [{"path": path, "text": ""} for path in sorted(paths_ - known)]


def _nothing(_root: Path, _left: ledgers.Ledger) -> list[dict[str, Any]]:
    return []


_KINDS = (
    _Kind(
        consents.PATH,
        "No consent that was given before it holds; the person is asked each time.",
        _withdrawn_consents,
    ),
    _Kind(
        skills.APPROVALS_PATH,
        "No skill of Dream's that was agreed to before it is read in every conversation.",
        _withdrawn_approvals,
    ),
    _Kind(
        skills.DISABLED_PATH,
        "The skill that it names is off; where it names none, all skills are that were not "
        "switched on since.",
        _switched_off,
    ),
    _Kind(
        pins.PATH,
        "The file that it names counts as pinned; where it names none, Dream writes nothing.",
        _pinned,
    ),
    _Kind(
        suppression.PATH,
        "What it says of something forgotten is not known, so that may be learned again.",
        _nothing,
    ),
)
_SENTENCES: StampedFiles[tuple[str, ...]] = StampedFiles(
    tuple(kind.path for kind in _KINDS), _derive
)


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


SETTINGS = "Settings → Memory updates"


def check_memory(root: Path, *, repair: bool) -> Iterator[Finding]:  # noqa: ARG001  (nothing to repair)
    settings = config.load_config(root)
    for file in files.MEMORY_FILES:
        yield from _text(root, file.path, budgets.budget_of(settings, file))
        yield from _lines(root, file.path)
    yield from _text(root, files.INSTRUCTIONS, 0)
    yield from _text(root, files.GUIDE, dream_guide.MAX_CHARS)
    yield from _skills(root)


def _skills(root: Path) -> Iterator[Finding]:
    """Yield skills that are broken, wait for approval, or should be reviewed."""
    waiting = {skill.path for skill in skills.waiting(root)}
    for skill in skills.listing(root):
        if not skill.ships:
            yield from _lines(root, skill.path)
        if skill.problem:
            message = f"The skill is broken and not loaded: {skill.problem}."
            yield Finding(skill.path, message, "Correct the file; it was left as it is.")
        if skill.path in waiting:
            message = "Dream wrote it to be read in every conversation; it is only listed."
            cure = (
                "Take “made-by: dream” out of its header to make it yours, or “always: true” to "
                "leave it listed."
            )
            yield Finding(skill.path, message, cure, "note")
        if skill.suspect:
            message = f"It may not be what it seems: {skill.suspect}."
            yield Finding(skill.path, message, "Look at the file; it was left as it is.", "note")


def _lines(root: Path, path: str) -> Iterator[Finding]:
    """Yield lines that repeat the record or read like instructions to a model, and empty
    headings."""
    found = read_text(root, path)
    look = "Look at the file; it was left as it is."
    for number, what in artifacts.list_artifacts(found.text):
        yield Finding(path, f"Line {number} holds {what}.", f"Take it out. {look}", "note")
    if not path.endswith(files.SKILL_FILE):
        for number, line in enumerate(found.text.split("\n"), 1):
            if what := injection_scan.orders(line):
                message = f"Line {number} may not be what it seems: {what}."
                yield Finding(path, message, look, "note")
    if not seed.is_untouched(path, found.data):
        default = seed.template_lines(path)
        for number, title in artifacts.list_empty_headings(found.text):
            if not any(line.strip("# ") == title for line in default):
                message = f"Nothing stands below the heading “{title}” (line {number})."
                yield Finding(path, message, "Take it out, or leave it.", "note")


def _text(root: Path, path: str, bound: int) -> Iterator[Finding]:
    """Check a text file; *bound* is its limit in characters, 0 for none."""
    try:
        text = open_workspace(root, Actor("command")).read(path).text
    except FileMissing:
        return
    except WorkspaceError as error:
        yield Finding(path, error.message, "Put a readable text file in its place.")
        return
    if found := injection_scan.invisible(text):
        message = f"It holds invisible characters ({found}), which Jenny reads all the same."
        yield Finding(path, message, "Look at the file in an editor that shows them.", "note")
    if bound and len(text) > bound:
        message = f"It has {len(text):,} characters, {len(text) - bound:,} over its {bound:,}."
        cure = f"Shorten it, or raise its budget in {SETTINGS}."
        if path == files.GUIDE:
            cure = "Shorten it; what is beyond is cut."
        yield Finding(path, message, cure, "note")
