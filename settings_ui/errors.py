"""Errors of the settings pages.

Each has a ``message`` for the person: what happened and what to do.
"""


class SettingsError(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class WorkspaceRefused(SettingsError):
    """A workspace cannot be created, renamed or deleted as asked; nothing was changed."""


class FolderFound(WorkspaceRefused):
    """A folder without a workspace has the wanted name, and nobody chose yet what becomes of it."""


class AccountRefused(SettingsError):
    """An account may not be deleted like that; nothing was changed."""
