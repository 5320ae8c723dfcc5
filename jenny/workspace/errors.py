"""What can go wrong with a workspace's files.

WorkspaceError
├── PathRefused       the path may not be used; says why
├── FileMissing       there is no such file or workspace
├── FileTooLarge      more bytes than the caller or the workspace takes
├── NotText           the bytes are not UTF-8
├── VersionMismatch   the file is not the one the write was based on
├── WriteRefused      a write rule said no
├── WriteFailed       the disk said no (full, read-only, no permission)
├── LockTimeout       another process holds the workspace for too long
├── LockOrderError    locks were asked for against the published order (a fault of ours)
├── VersionsOff       the store of versions cannot be used; everything else goes on
│   ├── StoreBroken       … since something in it is damaged
│   └── StoreBusy         … since another program keeps its lock
├── VersionUnknown    no version has this id, or it is no id
├── VersionAmbiguous  several versions' ids begin like this
├── UndoRefused       a version may not or cannot be undone
├── SnapshotFailed    no snapshot was taken, or none could be deleted; says why
├── RestoreRefused    a restore may not or cannot be done; nothing was changed
├── BackupRefused     a backup may not be used, or none could be made; nothing was changed
│   └── BackupUnreadable  … its passphrase is another one, or it is damaged
├── SnapshotUnknown   no snapshot is meant by this, or several are, or it has no such file
└── ConfigRefused     a change of config.json that may not be made
    └── ConfirmationNeeded   … without a yes

Every error carries a sentence for a person or a model: what happened, what was kept, what to do.
"""

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jenny.workspace.files import FileVersion
    from jenny.workspace.rules import Change


class WorkspaceError(Exception):
    """Something about a workspace's files; ``sentence`` may be shown as it is."""

    def __init__(self, sentence: str) -> None:
        """Keep the sentence."""
        super().__init__(sentence)
        self.sentence = sentence


class PathRefused(WorkspaceError):
    """The path may not be used (outside the workspace, a link out, a bad name, …)."""


class FileMissing(WorkspaceError):
    """There is no such file."""


class FileTooLarge(WorkspaceError):
    """The file has more bytes than may be read or written at once."""


class NotText(WorkspaceError):
    """The file's bytes are not UTF-8 text."""


class VersionMismatch(WorkspaceError):
    """The file changed since it was read; ``current`` is what is there now, ``None`` when gone."""

    def __init__(self, sentence: str, current: "FileVersion | None") -> None:
        """Keep what is there now, so that both texts can be shown."""
        super().__init__(sentence)
        self.current = current


class WriteRefused(WorkspaceError):
    """A write rule refused the change; nothing was written.

    ``rule`` is a short word (``protected``, ``consent``, ``budget``, …) that code may compare.
    ``change``: what would have been written, where somebody may still agree to it.
    """

    def __init__(self, reason: str, rule: str, change: "Change | None" = None) -> None:
        """Keep which rule it was."""
        super().__init__(reason)
        self.reason = reason
        self.rule = rule
        self.change = change


class WriteFailed(WorkspaceError):
    """The operating system refused the write."""


class LockTimeout(WorkspaceError):
    """The lock stayed with another process for longer than the caller waits."""


class LockOrderError(WorkspaceError):
    """Locks were asked for against the published order; a fault in the program."""


class VersionsOff(WorkspaceError):
    """The store of versions cannot be used; the sentence says why. Everything else goes on."""


class StoreBroken(VersionsOff):
    """Something in a store of versions or snapshots is damaged or missing."""


class StoreBusy(VersionsOff):
    """Another program holds a lock file of the store for longer than the caller waits."""


class VersionUnknown(WorkspaceError):
    """No version has this id, or it cannot be one."""


class VersionAmbiguous(WorkspaceError):
    """Several versions' ids begin like this; ``candidates`` are their full ids, newest first."""

    def __init__(self, sentence: str, candidates: tuple[str, ...]) -> None:
        """Keep the ids to choose from."""
        super().__init__(sentence)
        self.candidates = candidates


class UndoRefused(WorkspaceError):
    """A version may not or cannot be undone; nothing was written."""


class SnapshotFailed(WorkspaceError):
    """A snapshot was not taken, or snapshots were not deleted; everything is as it was."""


class BackupRefused(WorkspaceError):
    """A backup may not be used, or none could be made; nothing was changed."""


class BackupUnreadable(BackupRefused):
    """A backup cannot be opened. One sentence for all causes: what is wrong with a file that
    somebody tries passphrases on is nobody's business."""

    def __init__(self) -> None:
        """The sentence is always the same."""
        super().__init__(
            "This backup cannot be opened: the passphrase is another one, or the file is damaged "
            "or no backup of Jenny. Nothing was changed. Try the passphrase again, or a copy of "
            "the file."
        )


class SnapshotUnknown(WorkspaceError):
    """No snapshot is meant by this, or several are, or it holds no such file."""


class RestoreRefused(WorkspaceError):
    """A restore may not or cannot be done now; nothing was changed."""


class ConfigRefused(WorkspaceError):
    """The change of ``config.json`` was not made. ``problems`` maps a key to its sentence."""

    def __init__(self, sentence: str, problems: dict[str, str] | None = None) -> None:
        """Keep the sentence of each key, for the form's fields."""
        super().__init__(sentence)
        self.problems = problems or {}


class ConfirmationNeeded(ConfigRefused):
    """The change needs a yes from the person; ``problems`` names the keys."""


_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "Jenny has no permission there",
    errno.EPERM: "Jenny has no permission there",
    errno.EFBIG: "the file would be larger than this system allows",
    errno.EIO: "the disk reports an error",
}


def reason_of(error: OSError) -> str:
    """The operating system's refusal in plain words."""
    return _REASONS.get(error.errno or 0, (error.strerror or str(error)).lower())
