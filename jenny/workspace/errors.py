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
└── ConfigRefused     a change of config.json that may not be made
    └── ConfirmationNeeded   … without a yes

Every error carries a sentence for a person or a model: what happened, what was kept, what to do.
"""

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jenny.workspace.files import FileVersion


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
    """

    def __init__(self, reason: str, rule: str) -> None:
        """Keep which rule it was."""
        super().__init__(reason)
        self.reason = reason
        self.rule = rule


class WriteFailed(WorkspaceError):
    """The operating system refused the write."""


class LockTimeout(WorkspaceError):
    """The lock stayed with another process for longer than the caller waits."""


class LockOrderError(WorkspaceError):
    """Locks were asked for against the published order; a fault in the program."""


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
