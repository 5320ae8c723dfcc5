"""Define the errors of a workspace's files.

WorkspaceError
├── PathRefused       the path may not be used; the sentence says why
├── FileMissing       there is no such file or workspace
├── FileTooLarge      more bytes than the caller or the workspace accepts
├── NotText           the bytes are not UTF-8
├── VersionMismatch   the file is not the one the write was based on
├── WriteRefused      a write rule refused
├── WriteFailed       the disk refused (full, read-only, no permission)
├── LockTimeout       another process held the workspace for too long
├── LockOrderError    locks were requested against the published order (a fault in the program)
├── VersionsOff       the store of versions cannot be used; everything else works
│   ├── StoreBroken       … because something in it is damaged
│   └── StoreBusy         … because another program holds its lock
├── VersionUnknown    no version has this id, or it is not an id
├── VersionAmbiguous  several versions' ids begin like this
├── UndoRefused       a version may not or cannot be undone
├── SnapshotFailed    no snapshot was taken or deleted; the sentence says why
├── RestoreRefused    a restore may not or cannot be done; nothing was changed
├── BackupRefused     a backup may not be used, or none could be made; nothing was changed
│   └── BackupUnreadable  … its passphrase is wrong, or it is damaged
├── SnapshotUnknown   the name matches no snapshot or several, or it has no such file
└── ConfigRefused     a change of config.json was refused
    └── ConfirmationNeeded   … because it was not confirmed

Every error has a sentence for a person or a model: what happened, what was kept, what to do.
"""

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jenny.workspace.files import FileVersion
    from jenny.workspace.write_rules import Change


class WorkspaceError(Exception):
    """An error about a workspace's files; ``message`` may be shown as it is."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class PathRefused(WorkspaceError):
    """The path may not be used (outside the workspace, a link out, a bad name, …)."""


class HardLinkRefused(PathRefused):
    """The file has another hard link, which may be outside the workspace."""


class FileMissing(WorkspaceError):
    pass


class FileTooLarge(WorkspaceError):
    """The file has more bytes than may be read or written at once."""


class NotText(WorkspaceError):
    """The file's bytes are not UTF-8 text."""


class VersionMismatch(WorkspaceError):
    """The file changed since it was read; ``current`` is its content, ``None`` when it is gone."""

    def __init__(self, message: str, current: "FileVersion | None") -> None:
        super().__init__(message)
        self.current = current


class WriteRefused(WorkspaceError):
    """A write rule refused the change; nothing was written.

    ``rule`` is a short word (``protected``, ``consent``, ``budget``, …) that code may compare.
    ``change``: the refused write, where a person may still approve it.
    """

    is_logged = False

    def __init__(self, reason: str, rule: str, change: "Change | None" = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.rule = rule
        self.change = change


class WriteFailed(WorkspaceError):
    """The operating system refused the write."""


class LockTimeout(WorkspaceError):
    """Another process held the lock for longer than the caller waits."""


class LockOrderError(WorkspaceError):
    """Locks were requested against the published order; a fault in the program."""


class VersionsOff(WorkspaceError):
    """The store of versions cannot be used; the sentence says why. Everything else works."""


class StoreBroken(VersionsOff):
    """Something in a store of versions or snapshots is damaged or missing."""


class StoreBusy(VersionsOff):
    """Another program holds a lock file of the store for longer than the caller waits."""


class VersionUnknown(WorkspaceError):
    """No version has this id, or it cannot be one."""


class VersionAmbiguous(WorkspaceError):
    """Several versions' ids begin like this; ``candidates`` are their full ids, newest first."""

    def __init__(self, message: str, candidates: tuple[str, ...]) -> None:
        super().__init__(message)
        self.candidates = candidates


class UndoRefused(WorkspaceError):
    """A version may not or cannot be undone; nothing was written."""


class SnapshotFailed(WorkspaceError):
    """A snapshot was not taken, or snapshots were not deleted; everything is as it was."""


class BackupRefused(WorkspaceError):
    """A backup may not be used, or none could be made; nothing was changed."""


class BackupUnreadable(BackupRefused):
    """A backup cannot be opened.

    One sentence for all causes: a more precise one would help somebody who guesses passphrases.
    """

    def __init__(self) -> None:
        super().__init__(
            "This backup cannot be opened: the passphrase is another one, or the file is damaged "
            "or no backup of Jenny. Nothing was changed. Try the passphrase again, or a copy of "
            "the file."
        )


class SnapshotUnknown(WorkspaceError):
    """The name matches no snapshot or several, or the snapshot has no such file."""


class RestoreRefused(WorkspaceError):
    """A restore may not or cannot be done now; nothing was changed."""


class ConfigRefused(WorkspaceError):
    """The change of ``config.json`` was not made. ``problems`` maps a key to its sentence."""

    def __init__(self, message: str, problems: dict[str, str] | None = None) -> None:
        super().__init__(message)
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
    """Put the operating system's error in plain words."""
    return _REASONS.get(error.errno or 0, (error.strerror or str(error)).lower())
