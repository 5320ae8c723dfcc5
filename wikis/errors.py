"""What can go wrong with a wiki, beyond what can go wrong with any file.

WorkspaceError
└── WikiError
    ├── NameRefused    no wiki can be made under this name, or not with this scope
    ├── WikiMissing    there is no such wiki
    ├── PageRefused    the path is no place for a page of this wiki
    └── PlanChanged    what was previewed is not what would be done now
"""

from jenny.workspace.errors import WorkspaceError


class WikiError(WorkspaceError):
    """Something about a wiki; ``sentence`` may be shown as it is."""


class NameRefused(WikiError):
    """No wiki can be made like this; ``field`` is ``name`` or ``scope``."""

    def __init__(self, sentence: str, field: str = "name") -> None:
        """Keep which of the two it was."""
        super().__init__(sentence)
        self.field = field


class WikiMissing(WikiError):
    """There is no wiki of this name."""


class PageRefused(WikiError):
    """The path leads out of the wiki, or no page can be there."""


class PlanChanged(WikiError):
    """Files changed after the preview was shown; nothing was written."""
