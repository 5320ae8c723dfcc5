"""Looking at a backup as a whole, and at what taking it in would change."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jenny.accounts.models import Workspace
from jenny.chat.backup import fields, talks
from jenny.chat.backup.talks import Talk
from jenny.chat.models import placing
from jenny.chat.models.placing import Counts
from jenny.workspace import paths
from jenny.workspace.backup import checking, joining
from jenny.workspace.backup.checking import Backup, Histories
from jenny.workspace.backup.opening import Opened, header_of, is_sealed
from jenny.workspace.backup.rows import Row
from jenny.workspace.backup.sealing import Header
from jenny.workspace.backup.values import Manifest
from jenny.workspace.errors import BackupUnreadable, WorkspaceError
from jenny.workspace.snapshots.restoring.sources import Source
from jenny.workspace.snapshots.values import counted, sized
from memory.backup import fields as ledgers
from memory.history import reading
from memory.management.snapshots import store_of
from memory.restore import telling
from memory.restore.preparing import prepare
from memory.restore.values import Prepared
from settings_ui.management.backups import along, pace

TABLES = frozenset({fields.NAME, *ledgers.KINDS.values()})
_NAMED = 200

type Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Checked:
    """A backup that was looked at whole: it may be used."""

    backup: Backup
    history: Histories

    @property
    def manifest(self) -> Manifest:
        """What it says of itself."""
        return self.backup.manifest

    def talks(self) -> Iterator[Talk]:
        """Its conversations."""
        return talks.talks(self.backup.lines(fields.NAME))

    def ledgers(self) -> Iterator[tuple[str, Row]]:
        """The rows of its ledgers, those of one kind after another."""
        for name in ledgers.KINDS.values():
            for row in self.backup.lines(name):
                yield ledgers.TABLE.read(row)


@dataclass(frozen=True)
class Preview:
    """What taking a backup in would change. *token*: what changes when it would be something
    else; *lists*: titles, and names of files or sentences."""

    manifest: Manifest
    token: str
    files: str
    counts: Counts
    new_snapshots: int
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sentences: tuple[str, ...] = field(default=())

    @property
    def conversations(self) -> str:
        """What becomes of the conversations, in words."""
        counts = self.counts
        parts = [
            f"{counted(number, 'conversation')} {verb}"
            for number, verb in (
                (counts.new, "added"),
                (counts.longer, "continued"),
                (counts.same, "there already"),
            )
            if number
        ]
        return f"{', '.join(parts)}." if parts else "No conversations are in it."

    @property
    def history(self) -> str:
        """What becomes of the history, in words."""
        made = self.manifest
        if not made.snapshots and not made.versions:
            return "No earlier states are in it; those that are here stay."
        if not self.new_snapshots:
            shots = f"{counted(made.snapshots, 'snapshot')}, here already"
        elif self.new_snapshots == made.snapshots:
            shots = f"{counted(made.snapshots, 'snapshot')} added"
        else:
            shots = f"{counted(made.snapshots, 'snapshot')}, {self.new_snapshots:,} of them added"
        return (
            f"{shots}; {counted(made.versions, 'version')} of the memory files, joined with yours."
        )

    @property
    def facts(self) -> dict[str, Any]:
        """For JSON."""
        counts = self.counts
        return {
            "made": self.manifest.made,
            "name": self.manifest.name,
            "token": self.token,
            "files": self.files,
            "conversations": self.conversations,
            "history": self.history,
            "new_conversations": counts.new,
            "continued_conversations": counts.longer,
            "same_conversations": counts.same,
            "new_messages": counts.messages,
            "new_snapshots": self.new_snapshots,
            "lists": [{"title": title, "rows": list(rows)} for title, rows in self.lists],
            "sentences": list(self.sentences),
        }


def key_for(path: Path, passphrase: str) -> bytes | None:
    """The key of a backup; ``None``: it is a plain zip. It takes a fifth of a second.

    Raises:
        BackupUnreadable: the passphrase is another one, or the file is none.
        BackupRefused: it asks for absurd work, or is of a newer format; nothing was derived.
    """
    if not is_sealed(path):
        with path.open("rb") as file:
            if file.read(2) != b"PK":
                raise BackupUnreadable
        return None
    header: Header = header_of(path)
    if not passphrase:
        raise BackupUnreadable
    key = header.derive(passphrase)
    with Opened(path, key):
        return key


def check(backup: Backup, folder: Path, progress: Progress) -> Checked:
    """Look at everything in a backup; its history is fetched into *folder*.

    Raises:
        BackupRefused: it cannot be used; says why.
        OSError: the disk refused.
    """
    checking.check_space(checking.free_bytes(folder), backup.unpacked + backup.history_size)
    backup.check_all_bytes(pace.part(progress, 0, 300))
    backup.check_files(pace.part(progress, 300, 700))
    progress(700, pace.WHOLE, "Conversations and ledgers are checked.")
    found = Checked(backup, Histories())
    for _ in found.talks():
        pass
    for _ in found.ledgers():
        pass
    progress(800, pace.WHOLE, "Earlier states are checked.")
    return Checked(backup, backup.fetch_history(folder))


def preview(workspace: Workspace | None, found: Checked) -> Preview:
    """What taking it in would change. ``None``: into a new workspace.

    Raises:
        WorkspaceError: the workspace cannot be read.
    """
    counts = placing.look(workspace, found.talks())
    fetched = found.history.snapshots
    if workspace is None:
        made = found.manifest
        files = f"{counted(made.files, 'file')} ({sized(made.size)}) come into a new workspace."
        new = len(fetched.refs) if fetched else 0
        told = (*along.sentences(found.backup), *made.left_out)
        return Preview(made, "", files, counts, new, (), told)
    prepared = prepared_for(workspace, found)
    store = store_of(workspace)
    plan = prepared.plan
    lists = [
        (title, tuple(row.path for row in rows[:_NAMED]) + _more(len(rows)))
        for title, rows in (
            ("Changed", plan.changed),
            ("Added", plan.added),
            ("Removed", plan.removed),
        )
        if rows
    ]
    lists += _told(prepared)
    sentences = (
        telling.ledger_sentence(prepared),
        telling.entries_sentence(prepared.reoffer, done=False),
        *(() if is_same(workspace, found) else along.sentences(found.backup)),
        *found.manifest.left_out,
    )
    return Preview(
        found.manifest,
        plan.token,
        files_sentence(prepared),
        counts,
        joining.new_snapshots(store, fetched) if fetched else 0,
        tuple(lists),
        tuple(filter(None, sentences)),
    )


def prepared_for(workspace: Workspace, found: Checked, source: Source | None = None) -> Prepared:
    """What becomes of each file."""
    store = store_of(workspace)
    root = paths.real_root(workspace.root)
    if not store.exists:
        with store.write():
            pass
    same = is_same(workspace, found)
    with store.open() as repo:
        return prepare(root, store, repo, source or found.backup, is_same=same)


def is_same(workspace: Workspace, found: Checked) -> bool:
    """Whether the backup was made of this very workspace."""
    return found.manifest.source == str(workspace.pk)


def has_same_entries(workspace: Workspace, found: Checked) -> bool:
    """Whether a number of the history means the same entry in both."""
    if is_same(workspace, found):
        return True
    try:
        return not reading.newest(workspace.root, 1)
    except WorkspaceError:
        return False


def files_sentence(prepared: Prepared) -> str:
    """What becomes of the files, in words."""
    plan = prepared.plan
    parts = [
        f"{counted(len(rows), 'file')} {verb}"
        for rows, verb in (
            (plan.changed, "changed"),
            (plan.added, "added"),
            (plan.removed, "removed"),
        )
        if rows
    ]
    if not parts:
        return "Every file is as it is in the backup."
    return f"{', '.join(parts)}; {counted(plan.same, 'file')} stay as they are."


def _more(count: int) -> tuple[str, ...]:
    return (f"… and {count - _NAMED:,} more",) if count > _NAMED else ()


def _told(prepared: Prepared) -> Iterator[tuple[str, tuple[str, ...]]]:
    if rows := telling.left_out(prepared):
        told = tuple(f"{path}: {text}" for path, text, _ in rows[:_NAMED])
        yield ("Stays away, as you had it forgotten", told)
    if prepared.plan.left:
        yield ("Left as it is", tuple(row.sentence for row in prepared.plan.left[:_NAMED]))
