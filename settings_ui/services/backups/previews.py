"""Checks a whole backup and previews its import."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jenny.accounts.endpoints import origin_of
from jenny.accounts.errors import ConnectionProblem
from jenny.accounts.models import Workspace
from jenny.chat.backup import NAME, ConversationRows, talks
from jenny.chat.services import conversation_backup
from jenny.chat.services.conversation_backup import Counts
from jenny.workspace import paths
from jenny.workspace.backup import histories, validation
from jenny.workspace.backup.encryption import (
    DecryptedFile,
    Header,
    is_encrypted,
    read_header,
)
from jenny.workspace.backup.format import Manifest
from jenny.workspace.backup.rows import Row
from jenny.workspace.backup.validation import Backup, Histories
from jenny.workspace.errors import BackupUnreadable, WorkspaceError
from jenny.workspace.snapshots.restore_plan import Source
from jenny.workspace.snapshots.values import counted, sized
from memory import consents, skills
from memory.history import reader
from memory.restore.plan import Prepared, entries_sentence, ledger_sentence, left_out, prepare
from memory.services import backup_tables
from memory.services.snapshots import store_of
from settings_ui.services.backups import storage
from settings_ui.services.backups.storage import lock_key_derivation

TABLES = frozenset({NAME, *backup_tables.KINDS.values()})
_NAMED = 200

type Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Checked:
    backup: Backup
    history: Histories

    @property
    def manifest(self) -> Manifest:
        return self.backup.manifest

    def talks(self) -> Iterator[ConversationRows]:
        return talks(self.backup.lines(NAME))

    def ledgers(self) -> Iterator[tuple[str, Row]]:
        for name in backup_tables.KINDS.values():
            for row in self.backup.lines(name):
                yield backup_tables.TABLE.read(row)


@dataclass(frozen=True)
class Preview:
    """The changes that an import would make.

    *token* changes with the preview; *lists* holds titles, names of files, or sentences.
    """

    manifest: Manifest
    token: str
    files: str
    counts: Counts
    new_snapshots: int
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sentences: tuple[str, ...] = field(default=())

    @property
    def conversations(self) -> str:
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


def header_for(path: Path, passphrase: str) -> Header | None:
    """Return the header of an encrypted backup; ``None`` for a plain zip.

    Raises:
        BackupUnreadable: no passphrase was given, or the file is no backup.
        BackupRefused: it asks for too much work, or is encrypted for a key.
    """
    if not is_encrypted(path):
        with path.open("rb") as file:
            if file.read(2) != b"PK":
                raise BackupUnreadable
        return None
    header = read_header(path)
    if not passphrase:
        raise BackupUnreadable
    return header


def key_for(path: Path, passphrase: str) -> bytes | None:
    """Return the key of a backup; ``None`` for a plain zip.

    Raises:
        BackupUnreadable: the passphrase is wrong, or the file is no backup.
        BackupRefused: as ``header_for``; no key was derived.
    """
    header = header_for(path, passphrase)
    if header is None:
        return None
    with lock_key_derivation():
        key = header.derive(passphrase)
    with DecryptedFile(path, key):
        return key


def check_backup(backup: Backup, folder: Path, progress: Progress) -> Checked:
    """Check every part of a backup and extract its history into *folder*.

    Raises:
        BackupRefused: it cannot be used.
        OSError: the disk refused.
    """
    validation.check_space(validation.free_bytes(folder), backup.unpacked + backup.history_size)
    backup.check_all_bytes(storage.part(progress, 0, 300))
    backup.check_files(storage.part(progress, 300, 700))
    progress(700, storage.WHOLE, "Conversations and ledgers are checked.")
    found = Checked(backup, Histories())
    for _ in found.talks():
        pass
    for _ in found.ledgers():
        pass
    progress(800, storage.WHOLE, "Earlier states are checked.")
    return Checked(backup, backup.fetch_history(folder))


def preview(workspace: Workspace | None, found: Checked) -> Preview:
    """Preview the import into *workspace*, or into a new one (``None``).

    Raises:
        WorkspaceError: the workspace cannot be read.
    """
    counts = conversation_backup.match_conversations(workspace, found.talks())
    fetched = found.history.snapshots
    if workspace is None:
        made = found.manifest
        files = f"{counted(made.files, 'file')} ({sized(made.size)}) come into a new workspace."
        new = len(fetched.refs) if fetched else 0
        warnings = (*list_warnings(found.backup), *made.left_out)
        return Preview(made, "", files, counts, new, (), warnings)
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
        ledger_sentence(prepared),
        entries_sentence(prepared.reoffer, done=False),
        *(() if is_same(workspace, found) else list_warnings(found.backup)),
        *found.manifest.left_out,
    )
    return Preview(
        found.manifest,
        plan.token,
        files_sentence(prepared),
        counts,
        histories.new_snapshots(store, fetched) if fetched else 0,
        tuple(lists),
        tuple(filter(None, sentences)),
    )


def prepared_for(workspace: Workspace, found: Checked, source: Source | None = None) -> Prepared:
    store = store_of(workspace)
    root = paths.real_root(workspace.root)
    if not store.exists:
        with store.write():
            pass
    same = is_same(workspace, found)
    with store.open() as repo:
        return prepare(root, store, repo, source or found.backup, is_same=same)


def is_same(workspace: Workspace, found: Checked) -> bool:
    return found.manifest.source == str(workspace.pk)


def has_same_entries(workspace: Workspace, found: Checked) -> bool:
    """True when a number of the history means the same entry in both."""
    if is_same(workspace, found):
        return True
    try:
        return not reader.newest(workspace.root, 1)
    except WorkspaceError:
        return False


def files_sentence(prepared: Prepared) -> str:
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
    if rows := left_out(prepared):
        warnings = tuple(f"{path}: {text}" for path, text, _ in rows[:_NAMED])
        yield ("Stays away, as you had it forgotten", warnings)
    if prepared.plan.left:
        yield ("Left as it is", tuple(row.message for row in prepared.plan.left[:_NAMED]))


_SETTINGS = "config.json"
_MOST_BYTES = 1_000_000
_NAMED_HOSTS = 10


def list_warnings(backup: Backup) -> tuple[str, ...]:
    """Return the warnings about a checked backup, whoever made it."""
    sizes = {row.path: row.size for row in backup.rows() if not row.is_folder}
    warnings = []
    if 0 < sizes.get(_SETTINGS, 0) <= _MOST_BYTES and (hosts := _hosts(backup)):
        more = f" and {len(hosts) - _NAMED_HOSTS} more" if len(hosts) > _NAMED_HOSTS else ""
        named = ", ".join(hosts[:_NAMED_HOSTS]) + more
        warnings.append(
            f"Its settings come along: models may be asked at {named}. "
            "Continue only if you know these servers: conversations and the memory are sent there."
        )
    if any(sizes.get(path) for path in (consents.PATH, skills.APPROVALS_PATH)):
        warnings.append(
            "What Jenny may change by herself, and which skills are read in every conversation, "
            "comes along, too. Settings → Skills shows it and takes it back."
        )
    return tuple(warnings)


def _hosts(backup: Backup) -> list[str]:
    """List the servers that the backup's presets name."""
    try:
        found = json.loads(backup.read(_SETTINGS))
    except (ValueError, RecursionError):
        return []
    presets = found.get("modelPresets") if isinstance(found, dict) else None
    return sorted(set(_origins(presets))) if isinstance(presets, dict) else []


def _origins(presets: dict[str, Any]) -> Iterator[str]:
    for row in presets.values():
        address = row.get("baseUrl") if isinstance(row, dict) else None
        if isinstance(address, str) and address:
            try:
                yield origin_of(address)
            except ConnectionProblem:
                continue
