"""Notices for a person, shown on every page until their cause is fixed.

An app registers a source for each cause. A source checks the cause each time it is called, so a
notice is never outdated and nobody has to remove it. A person may hide one that is no error, until
its cause changes. A notice about a past event is dismissed instead: its source no longer returns
it.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from django import conf
from django.contrib.sessions.backends.base import SessionBase
from django.db import DatabaseError
from django.urls import reverse

from jenny import env
from jenny.accounts.models import Workspace
from jenny.accounts.services import first_run
from jenny.workspace.config import load_config
from jenny.workspace.config.fields import BY_KEY, GROUPS
from jenny.workspace.errors import VersionsOff, WorkspaceError
from jenny.workspace.versions import commits

log = logging.getLogger(__name__)

_HIDDEN = "hidden_notices"
_MOST_HIDDEN = 50
_ORDER = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One or two sentences for a person: what happened, what was kept, what to do.

    *key*: identifies the cause, as long as it lasts. *href* leads to the page for fixing it, with
    the text *link*. *dismiss*: the address that dismisses it by POST; only for past events.
    """

    key: str
    kind: Literal["error", "warning", "info"]
    text: str
    href: str = ""
    link: str = "Show"
    dismiss: str = ""

    @property
    def state(self) -> str:
        """A value that changes with what the notice says."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    @property
    def can_be_hidden(self) -> bool:
        return self.kind != "error" and not self.dismiss


type Source = Callable[[Workspace], Iterable[Notice]]

_SOURCES: dict[str, Source] = {}


def register_notices(name: str, source: Source) -> None:
    """Register a source of notices about a workspace.

    Every page calls it, so it may take one or two indexed queries, or read one small file.
    """
    _SOURCES[name] = source


def shown_notices(workspace: Workspace, session: SessionBase) -> list[Notice]:
    """Return those that the person of this session did not hide, or that changed since."""
    hidden = session.get(_HIDDEN, {})
    return [row for row in all_notices(workspace) if hidden.get(row.key) != row.state]


def hide(workspace: Workspace, session: SessionBase, key: str) -> None:
    """Hide the notice *key* in this session until it says something else."""
    for row in all_notices(workspace):
        if row.key == key and row.can_be_hidden:
            kept = list(session.get(_HIDDEN, {}).items())[-_MOST_HIDDEN:]
            session[_HIDDEN] = dict(kept) | {key: row.state}


def all_notices(workspace: Workspace) -> list[Notice]:
    """Return the notices of a workspace, the most important first; one for each key."""
    found: dict[str, Notice] = {}
    for name, source in list(_SOURCES.items()):
        try:
            for notice in source(workspace):
                found.setdefault(notice.key, notice)
        except (DatabaseError, OSError, WorkspaceError) as error:
            # A page never fails because of its notices.
            log.warning("notices.not_known", extra={"of": name, "cause": type(error).__name__})
    return sorted(found.values(), key=lambda notice: _ORDER[notice.kind])


# The page for fixing a setting, by its group.
_PAGES = {
    "conversation": "/settings/conversation/",
    "memory": "/settings/memory/",
    "models": "/settings/models/",
    "system": "/settings/system/",
}


def settings_notices(workspace: Workspace) -> Iterator[Notice]:
    try:
        config = load_config(workspace.root)
    except WorkspaceError as error:
        yield Notice(key="settings", kind="error", text=error.message)
        return
    for number, text in enumerate(config.notices):
        yield Notice(key=f"settings:{number}", kind="warning", text=text)
    if config.kept_defaults:
        rows = [BY_KEY[key] for key in config.kept_defaults]
        kept = "; ".join(
            f"{row.label}: {config.values[row.key]} here, {row.default} in new workspaces"
            for row in rows
        )
        yield Notice(
            key="settings:defaults",
            kind="info",
            text=f"An update changed what a new workspace begins with. This one stays as it was: "
            f"{kept}. Dismiss this to leave it so, or change it in Settings.",
            href=_PAGES.get(rows[0].group, ""),
            link=f"Settings → {GROUPS[rows[0].group]}",
            dismiss=reverse("settings_keep_defaults"),
        )
    for name, text in config.problems.items():
        field = BY_KEY.get(name)
        page = _PAGES.get(field.group, "") if field else ""
        yield Notice(
            key=f"settings:{name}",
            kind="warning",
            text=text,
            href=page,
            link=f"Settings → {GROUPS[field.group]}" if field and page else "Show",
        )


def data_folder_notices(workspace: Workspace) -> Iterator[Notice]:
    """Tell the owner when other users of the machine can read the data."""
    found = env.open_paths(conf.settings.JENNY_DATA)
    if found and workspace.owner.is_superuser:
        yield Notice(key="data folder", kind="warning", text=env.warning(found[0]))


def found_folder_notices(workspace: Workspace) -> Iterator[Notice]:
    """Tell the owner that the workspace was begun beside a folder of its name."""
    text = first_run.describe_beside(workspace) if workspace.owner.is_superuser else ""
    if text:
        page = reverse("settings_workspaces")
        yield Notice(key="found folder", kind="warning", text=text, href=page, link="Workspaces")


def version_notices(workspace: Workspace) -> Iterator[Notice]:
    try:
        with commits.reading(workspace.root):
            return
    except VersionsOff as error:
        what = error.message.replace(f"{workspace.root}/", "")
        text = (
            f"Versions are off: {what} What is written is kept, but no change of the "
            "memory files can be shown or undone until memory/.git is Jenny's own again; move away "
            "what stands in its place, and a new one is made."
        )
        yield Notice(key="versions", kind="warning", text=text)
    except WorkspaceError:
        return  # the folder itself is broken, and the notice about settings says so
