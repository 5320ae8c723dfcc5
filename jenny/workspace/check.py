"""What is broken, skipped or left over in a workspace, in words, with the cure.

Other floors add what they know of their own files (``register_check``).
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from jenny.workspace import acts, atomic, config, journal, listing, names, paths, seed
from jenny.workspace.config import stored, values
from jenny.workspace.errors import FileMissing, PathRefused, WorkspaceError, reason_of
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.listing import Entry

# Left beside its target by an act that could not be finished (``jenny.workspace.acts``).
_UNFINISHED = ".unfinished-"
WAIT_SECONDS = 10.0


@dataclass(frozen=True)
class Finding:
    """One thing found. A ``note`` is worth knowing; a ``problem`` wants the ``cure``.

    ``repaired``: it was put right just now.
    """

    path: str
    sentence: str
    cure: str
    level: Literal["problem", "note"] = "problem"
    repaired: bool = False

    @property
    def is_open(self) -> bool:
        """Whether something is still wrong."""
        return self.level == "problem" and not self.repaired


class Check(Protocol):
    """A look at the workspace in the folder *root*; with *repair* it may put things right."""

    def __call__(self, root: Path, *, repair: bool) -> Iterable[Finding]:
        """What it found."""


_checks: list[Check] = []


def register_check(check: Check) -> None:
    """Let ``check_workspace`` ask *check* too; registering it again changes nothing."""
    if check not in _checks:
        _checks.append(check)


def check_workspace(root: Path, *, repair: bool = False) -> list[Finding]:
    """Look through the workspace at *root*; with *repair* put right what can be without loss."""
    try:
        real = paths.real_root(root)
    except FileMissing as error:
        return [Finding(".", error.sentence, "Restore it from a backup, or remove the workspace.")]
    findings: list[Finding] = []
    for check in (_leftovers, _templates, _settings, _tree, *_checks):
        try:
            findings += check(real, repair=repair)
        except (WorkspaceError, OSError) as error:
            told = error.sentence if isinstance(error, WorkspaceError) else reason_of(error)
            sentence = f"A part of the check could not be made: {told}"
            findings.append(Finding(".", sentence, "Look into it, then check again."))
    return sorted(findings, key=lambda found: (found.level != "problem", found.path))


def _leftovers(root: Path, *, repair: bool) -> Iterator[Finding]:
    """Acts cut short by a crash, and temporary files that nobody will need any more."""
    waiting = journal.pending(root)
    # From here on nobody writes, and what was waiting is settled.
    with acts.locked(root, timeout=WAIT_SECONDS):
        for name in sorted(set(waiting) - {path.stem for path in journal.broken(root)}):
            sentence = "An act on several files had been cut short. It is settled now."
            path = "/".join((*journal.FOLDER, name))
            yield Finding(path, sentence, "Nothing is left to do.", repaired=True)
        for journal_file in journal.broken(root):
            yield _broken_journal(root, journal_file, repair=repair)
        for temp in _stray_temps(root):
            sentence = "A temporary file was left by a process that was stopped in the middle."
            if repair:
                temp.unlink(missing_ok=True)
            cure = "Removed." if repair else "Repair removes it; the file it was for is whole."
            yield Finding(str(temp.relative_to(root)), sentence, cure, repaired=repair)


def _broken_journal(root: Path, path: Path, *, repair: bool) -> Finding:
    """A journal by which nothing could be done; it is kept, and not spoken of again."""
    if repair:
        path.rename(path.with_suffix(".kept"))
    sentence = (
        "An act on several files was cut short and could not be settled; it may be half done."
    )
    cure = "Compare the files changed last with a snapshot. Repair takes this note away."
    return Finding(str(path.relative_to(root)), sentence, cure, repaired=repair)


def _stray_temps(root: Path) -> list[Path]:
    """Our temporary files that no act needs; the lock is held, so none is being written."""
    needed = journal.named_temps(root)
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not names.is_git(name)]
        found += [Path(folder, name) for name in files if atomic.is_temp(name)]
    return sorted(path for path in found if path.name not in needed)


def _templates(root: Path, *, repair: bool) -> Iterator[Finding]:
    """Files that a workspace begins with and that are gone."""
    workspace = open_workspace(root, Actor("command"))
    made = seed.seed(workspace) if repair else []
    for path in seed.SHIPPED:
        with contextlib.suppress(PathRefused):
            if path in made or not workspace.exists(path):
                sentence = f"{path} is missing; Jenny goes without it."
                cure = "Made anew from its template." if path in made else "Repair makes it anew."
                yield Finding(path, sentence, cure, repaired=path in made)


def _settings(root: Path, *, repair: bool) -> Iterator[Finding]:  # noqa: ARG001  (a Check)
    """What is wrong in ``config.json``."""
    state, current = stored.look(root), config.load(root)
    for sentence in current.notices:
        yield Finding(stored.NAME, sentence, "Open Settings, or correct the file.")
    for sentence in current.problems.values():
        yield Finding(stored.NAME, sentence, "Correct it in Settings or in the file.")
    for key in values.secrets_in(state.raw):
        sentence = f"{key} looks like a secret, which this file should not hold."
        cure = "Enter it under Settings → Models, where it is stored encrypted, and remove it here."
        yield Finding(stored.NAME, sentence, cure)
    for key in current.unknown:
        sentence = f"{key} is not a setting that this version knows. It is kept and not used."
        yield Finding(stored.NAME, sentence, "Remove it if it is a slip.", "note")
    for name in stored.quarantined(root):
        sentence = "A settings file that could not be read was copied here."
        yield Finding(name, sentence, "Delete it when nothing in it is needed.", "note")


def _tree(root: Path, *, repair: bool) -> Iterator[Finding]:  # noqa: ARG001  (a Check)
    """What in the folders is skipped, cannot be read, or will not survive a move elsewhere."""
    seen: dict[str, str] = {}
    for entry in listing.walk(paths.locate(root, "")):
        yield from _entry(root, entry)
        twin = seen.setdefault(names.folded(entry.path), entry.path)
        if twin != entry.path:
            sentence = f"Its name differs only in case or accents from {names.shown(twin)}."
            cure = "Rename one of them: on other systems one would replace the other."
            yield Finding(entry.path, sentence, cure, "note")


def _entry(root: Path, entry: Entry) -> Iterator[Finding]:
    """What is worth saying of one entry."""
    if entry.kind == "link":
        yield _link(root, entry)
    elif entry.kind == "other":
        sentence = "It is a device, pipe or socket, which is skipped everywhere."
        yield Finding(entry.path, sentence, "Remove it if nothing needs it.", "note")
    elif not os.access(root / entry.path, os.R_OK | (os.X_OK if entry.kind == "folder" else 0)):
        yield Finding(entry.path, "It may not be read.", "Give Jenny's user permission to read it.")
    elif entry.kind == "file" and root.joinpath(entry.path).lstat().st_nlink > 1:
        sentence = "It is a hard link: the same file has another name, so it is read-only here."
        yield Finding(entry.path, sentence, "Replace it with a copy to edit it.", "note")
    if why := names.unusable(entry.path) or names.unfit(entry.name):
        cure = "Rename it before the workspace moves to another system."
        yield Finding(entry.path, f"Its name {why}.", cure, "note")
    if _UNFINISHED in entry.name:
        sentence = "It is what an act cut short was to write where somebody else had written."
        yield Finding(entry.path, sentence, "Take over what you need, then delete it.", "note")


def _link(root: Path, entry: Entry) -> Finding:
    """What becomes of a link."""
    try:
        place = paths.locate(root, entry.path)
    except PathRefused as error:
        cure = "Put a copy in its place if it is to be read, searched and saved in snapshots."
        return Finding(entry.path, f"A link is skipped: {error.sentence}", cure)
    if place.status is None:
        sentence = f"A link leads to {names.shown(place.relative)}, where nothing is."
        return Finding(entry.path, sentence, "Remove it.", "note")
    sentence = f"A link to {names.shown(place.relative)} is skipped in lists and snapshots."
    return Finding(entry.path, sentence, "None is needed.", "note")
