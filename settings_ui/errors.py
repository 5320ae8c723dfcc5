"""What can go wrong on the settings pages.

::

    SettingsError           for the person: ``sentence`` says what happened and what to do
      WorkspaceRefused      a workspace may not be made, named or deleted like that
      AccountRefused        an account may not be deleted like that
"""


class SettingsError(Exception):
    """Something about the settings; ``sentence`` is for the person."""

    def __init__(self, sentence: str) -> None:
        """Keep the sentence."""
        super().__init__(sentence)
        self.sentence = sentence


class WorkspaceRefused(SettingsError):
    """A workspace may not be made, named or deleted like that; nothing was changed."""


class AccountRefused(SettingsError):
    """An account may not be deleted like that; nothing was changed."""
