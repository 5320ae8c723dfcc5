"""Report what is broken, skipped or left over in a workspace, with the cure.

Other packages add checks of their own files (``register_check``).
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from jenny.workspace import (
    atomic,
    config,
    names,
    paths,
    seed,
    transaction_journal,
    transactions,
)
from jenny.workspace.config import document, store
from jenny.workspace.errors import FileMissing, PathRefused, WorkspaceError, reason_of
from jenny.workspace.files import Actor, Entry, open_workspace, walk_folder

# Left beside its target by a transaction that could not be finished
# (``jenny.workspace.transactions``).
_UNFINISHED = ".unfinished-"
WAIT_SECONDS = 10.0


@dataclass(frozen=True)
class Finding:
    """One finding. A ``note`` is worth knowing; a ``problem`` needs the ``cure``.

    ``repaired``: it was mended just now.
    """

    path: str
    message: str
    cure: str
    level: Literal["problem", "note"] = "problem"
    repaired: bool = False

    @property
    def is_open(self) -> bool:
        return self.level == "problem" and not self.repaired


class Check(Protocol):
    """A check of the workspace in the folder *root*; with *repair* it may mend what it finds."""

    def __call__(self, root: Path, *, repair: bool) -> Iterable[Finding]: ...


_checks: list[Check] = []


def register_check(check: Check) -> None:
    """Add *check* to ``check_workspace``; adding it again changes nothing."""
    if check not in _checks:
        _checks.append(check)


def check_workspace(root: Path, *, repair: bool = False) -> list[Finding]:
    """Check the workspace at *root*; with *repair*, mend what can be mended without loss."""
    try:
        real = paths.real_root(root)
    except FileMissing as error:
        return [Finding(".", error.message, "Restore it from a backup, or remove the workspace.")]
    findings: list[Finding] = []
    for check in (_leftovers, _templates, _settings, _tree, *_checks):
        try:
            findings += check(real, repair=repair)
        except (WorkspaceError, OSError) as error:
            cause = error.message if isinstance(error, WorkspaceError) else reason_of(error)
            message = f"A part of the check could not be made: {cause}"
            findings.append(Finding(".", message, "Look into it, then check again."))
    return sorted(findings, key=lambda found: (found.level != "problem", found.path))


def _leftovers(root: Path, *, repair: bool) -> Iterator[Finding]:
    """Find interrupted transactions and temporary files that are not needed any more."""
    waiting = transaction_journal.pending(root)
    # From here on nobody writes, and interrupted transactions are recovered.
    with transactions.lock_workspace(root, timeout=WAIT_SECONDS):
        for name in sorted(set(waiting) - {path.stem for path in transaction_journal.broken(root)}):
            message = "An act on several files had been cut short. It is settled now."
            path = "/".join((*transaction_journal.FOLDER, name))
            yield Finding(path, message, "Nothing is left to do.", repaired=True)
        for journal_file in transaction_journal.broken(root):
            yield _broken_journal(root, journal_file, repair=repair)
        for temp in _stray_temps(root):
            message = "A temporary file was left by a process that was stopped in the middle."
            if repair:
                temp.unlink(missing_ok=True)
            cure = "Removed." if repair else "Repair removes it; the file it was for is whole."
            yield Finding(str(temp.relative_to(root)), message, cure, repaired=repair)


def _broken_journal(root: Path, path: Path, *, repair: bool) -> Finding:
    """Report an unusable journal; with *repair* it is kept but not reported again."""
    if repair:
        path.rename(path.with_suffix(".kept"))
    message = "An act on several files was cut short and could not be settled; it may be half done."
    cure = "Compare the files changed last with a snapshot. Repair takes this note away."
    return Finding(str(path.relative_to(root)), message, cure, repaired=repair)


def _stray_temps(root: Path) -> list[Path]:
    """Find temporary files that no transaction needs. Call it under the lock."""
    needed = transaction_journal.named_temps(root)
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not names.is_git(name)]
        found += [Path(folder, name) for name in files if atomic.is_temp(name)]
    return sorted(path for path in found if path.name not in needed)


def _templates(root: Path, *, repair: bool) -> Iterator[Finding]:
    workspace = open_workspace(root, Actor("command"))
    made = seed.seed(workspace) if repair else []
    for path in seed.SHIPPED:
        with contextlib.suppress(PathRefused):
            if path in made or not workspace.exists(path):
                message = f"{path} is missing; Jenny goes without it."
                cure = "Made anew from its template." if path in made else "Repair makes it anew."
                yield Finding(path, message, cure, repaired=path in made)


def _settings(root: Path, *, repair: bool) -> Iterator[Finding]:  # noqa: ARG001  (a Check)
    state, current = store.read_disk(root), config.load_config(root)
    for message in current.notices:
        yield Finding(store.CONFIG_FILE, message, "Open Settings, or correct the file.")
    for message in current.problems.values():
        yield Finding(store.CONFIG_FILE, message, "Correct it in Settings or in the file.")
    for key in document.secrets_in(state.raw):
        message = f"{key} looks like a secret, which this file should not hold."
        cure = "Enter it under Settings → Models, where it is stored encrypted, and remove it here."
        yield Finding(store.CONFIG_FILE, message, cure)
    for key in current.unknown:
        message = f"{key} is not a setting that this version knows. It is kept and not used."
        yield Finding(store.CONFIG_FILE, message, "Remove it if it is a slip.", "note")
    for name in store.quarantined(root):
        message = "A settings file that could not be read was copied here."
        yield Finding(name, message, "Delete it when nothing in it is needed.", "note")


def _tree(root: Path, *, repair: bool) -> Iterator[Finding]:  # noqa: ARG001  (a Check)
    """Find what is skipped, cannot be read, or will not survive a move to another system."""
    seen: dict[str, str] = {}
    for entry in walk_folder(paths.locate(root, "")):
        yield from _entry(root, entry)
        twin = seen.setdefault(names.folded(entry.path), entry.path)
        if twin != entry.path:
            message = f"Its name differs only in case or accents from {names.shown(twin)}."
            cure = "Rename one of them: on other systems one would replace the other."
            yield Finding(entry.path, message, cure, "note")


def _entry(root: Path, entry: Entry) -> Iterator[Finding]:
    if entry.kind == "link":
        yield _link(root, entry)
    elif entry.kind == "other":
        message = "It is a device, pipe or socket, which is skipped everywhere."
        yield Finding(entry.path, message, "Remove it if nothing needs it.", "note")
    elif not os.access(root / entry.path, os.R_OK | (os.X_OK if entry.kind == "folder" else 0)):
        yield Finding(entry.path, "It may not be read.", "Give Jenny's user permission to read it.")
    elif entry.kind == "file" and root.joinpath(entry.path).lstat().st_nlink > 1:
        message = "It is a hard link: the same file has another name, so it is read-only here."
        yield Finding(entry.path, message, "Replace it with a copy to edit it.", "note")
    if why := names.unusable(entry.path) or names.unfit(entry.name):
        cure = "Rename it before the workspace moves to another system."
        yield Finding(entry.path, f"Its name {why}.", cure, "note")
    if _UNFINISHED in entry.name:
        message = "It is what an act cut short was to write where somebody else had written."
        yield Finding(entry.path, message, "Take over what you need, then delete it.", "note")


def _link(root: Path, entry: Entry) -> Finding:
    try:
        place = paths.locate(root, entry.path)
    except PathRefused as error:
        cure = "Put a copy in its place if it is to be read, searched and saved in snapshots."
        return Finding(entry.path, f"A link is skipped: {error.message}", cure)
    if place.status is None:
        message = f"A link leads to {names.shown(place.relative)}, where nothing is."
        return Finding(entry.path, message, "Remove it.", "note")
    message = f"A link to {names.shown(place.relative)} is skipped in lists and snapshots."
    return Finding(entry.path, message, "None is needed.", "note")
