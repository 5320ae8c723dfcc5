"""What a person should know, in one place: on every page, until its cause is gone.

Whoever knows of a cause registers a source. A source looks at the cause itself each time it is
asked, so that a notice is never older than what it speaks of, and nobody has to take it away. Only
a notice of something that has happened and is over may be dismissed; its source then says no more.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from django.db import DatabaseError

from jenny.accounts.models import Workspace
from jenny.workspace.errors import WorkspaceError

log = logging.getLogger(__name__)

_ORDER = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One sentence or two for a person: what happened, what was kept, what to do.

    *key*: what it is about; the same for as long as its cause lasts. *href* leads to where it is
    seen to, in the words of *link*. *dismiss*: an address that a POST dismisses it at; only where
    its cause is over.
    """

    key: str
    kind: Literal["error", "warning", "info"]
    text: str
    href: str = ""
    link: str = "Show"
    dismiss: str = ""


type Source = Callable[[Workspace], Iterable[Notice]]

_SOURCES: dict[str, Source] = {}


def register(name: str, source: Source) -> None:
    """Let *source* say what it knows of a workspace. It is asked for every page, so one or two
    queries by an index, or one small file, are the most that it may take."""
    _SOURCES[name] = source


def of(workspace: Workspace) -> list[Notice]:
    """The notices of a workspace, what matters most first; one about each thing."""
    found: dict[str, Notice] = {}
    for name, source in list(_SOURCES.items()):
        try:
            for notice in source(workspace):
                found.setdefault(notice.key, notice)
        except (DatabaseError, OSError, WorkspaceError) as error:
            # A page never fails because of what stands above it.
            log.warning("notices.not_known", extra={"of": name, "cause": type(error).__name__})
    return sorted(found.values(), key=lambda notice: _ORDER[notice.kind])
