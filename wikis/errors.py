"""Define the errors of wikis.

WorkspaceError
└── WikiError
    ├── NameRefused    the name or the scope of a new wiki is invalid
    ├── WikiMissing    there is no such wiki
    ├── PageRefused    the path leads out of the wiki, or no page can be there
    └── PlanChanged    files changed after the preview was shown
"""

from jenny.workspace.errors import WorkspaceError


class WikiError(WorkspaceError):
    """An error about a wiki; ``message`` may be shown as it is."""


class NameRefused(WikiError):
    """The name or the scope of a new wiki is invalid; ``field`` is ``name`` or ``scope``."""

    def __init__(self, message: str, field: str = "name") -> None:
        super().__init__(message)
        self.field = field


class WikiMissing(WikiError):
    """There is no wiki of this name."""


class PageRefused(WikiError):
    """The path leads out of the wiki, or no page can be there."""


class PlanChanged(WikiError):
    """Files changed after the preview was shown; nothing was written."""
