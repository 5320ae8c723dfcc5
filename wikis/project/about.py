"""What a project says of itself in the header of its AGENTS.md, and what it tells the model.

A project is a wiki; the header may say ``memory: profile`` beside its ``summary:``. Then a
conversation in it knows who the person is (SOUL.md, USER.md), and nothing of MEMORY.md and of what
waits for Dream.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jenny.agent.prompt import Block, framed, one_line
from jenny.markdown import front_matter
from jenny.workspace import names as file_names
from jenny.workspace import paths
from jenny.workspace.errors import FileMissing, PathRefused, WorkspaceError, WriteRefused
from jenny.workspace.files import Change
from jenny.workspace.reading import read_text
from jenny.workspace.stamped import Kept
from wikis import listing, pages
from wikis.errors import PageRefused
from wikis.pages import Wiki

PROFILE = "profile"
# Characters of pages that a prompt has room for; a page is shown whole or not at all.
SHOWN_CHARS = 6_000
# Who writes for a model, and not for a person.
_MODELS = frozenset({"chat", "temporary", "project", "gardener"})
_GUIDE_PARTS = 3  # wikis/<name>/AGENTS.md
# Files that are looked at for the count of pages that are not shown.
_COUNTED = 5_000

type _Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Project:
    """A project as its AGENTS.md describes it. *scope* is one line, empty when none is set;
    *instructions* what stands below the header; *problem* what the person should know."""

    name: str
    scope: str = ""
    knows_memory: bool = True
    instructions: str = ""
    problem: str = ""

    @property
    def folder(self) -> str:
        """Its folder, from the workspace."""
        return folder_of(self.name)


def folder_of(name: str) -> str:
    """The folder of the project *name*, from the workspace."""
    return f"{pages.WIKIS}/{name}"


def project(root: Path, name: str) -> Project:
    """The project *name* as its folder says now.

    Raises:
        WikiMissing: there is no such folder.
        PathRefused: it leads out of the workspace.
        PageRefused: it is a link to another folder.
    """
    wiki = pages.open_wiki(root, name)
    if wiki.base.relative != folder_of(name):
        shown = file_names.shown(name)
        raise PageRefused(
            f"The folder of {shown} is a link to another one, so it is no project: nothing beside "
            "its own folder may be reached from one."
        )
    guide = _guide(wiki)
    if guide is None:
        return Project(name)
    found = listing.parse(name, guide.text)
    header = front_matter.read(guide.text)
    problem = guide.problem or found.problem
    return Project(name, found.scope, not _keeps_out(header), header.body.strip(), problem)


def guard(change: Change) -> None:
    """Refuse that a model lets the memory into a project which its owner keeps it out of. A write
    rule.

    Raises:
        WriteRefused: with rule ``protected``.
    """
    parts = change.path.split("/")
    is_guide = len(parts) == _GUIDE_PARTS and (parts[0], parts[2]) == (pages.WIKIS, pages.GUIDE)
    if not is_guide or change.actor.kind not in _MODELS:
        return
    if _says_out(change.old) and not _says_out(change.new):
        message = (
            f"{file_names.shown(change.path)} was not written: it keeps the memory out of the "
            f"project (memory: {PROFILE}), and only the owner lets it in again. Leave that line as "
            "it is."
        )
        raise WriteRefused(message, "protected")


def _says_out(data: bytes | None) -> bool:
    if data is None:
        return False
    return _keeps_out(front_matter.read(data.decode("utf-8", "replace").removeprefix("\ufeff")))


def _keeps_out(header: front_matter.FrontMatter) -> bool:
    """A header that cannot be read keeps the memory out: that is what it may say."""
    return bool(header.problem) or _plain(header.values.get("memory")) == PROFILE


def block(root: Path, found: Project) -> Block:
    """What the conversation is about: the project's name, scope, rules and pages."""
    wiki = pages.open_wiki(root, found.name)
    scope = f"Its scope: {found.scope}" if found.scope else "No scope is set for it."
    rules = _RULES.format(name=one_line(found.name), scope=scope)
    text = "\n\n".join([f"# Project: {one_line(found.name)}", rules, _listed(wiki)])
    return Block("project", text, source=f"{found.folder}/wiki/", problem=found.problem)


def garden(root: Path, found: Project) -> Block:
    """What the gardener works on: the project's name, scope and pages."""
    wiki = pages.open_wiki(root, found.name)
    scope = found.scope or listing.NO_SCOPE
    text = f"# The project: {one_line(found.name)}\n\nIts scope: {scope}\n\n{_listed(wiki)}"
    return Block("garden", text, source=f"{found.folder}/wiki/", problem=found.problem)


def instructions(found: Project) -> Block | None:
    """The project's own AGENTS.md; nothing takes its place where it says nothing."""
    if not found.instructions:
        return None
    about = "How the owner wants you to work in this project. Follow it."
    text = f"## AGENTS.md of this project\n\n{about}\n\n{framed(found.instructions)}"
    return Block("project_agents", text, source=f"{found.folder}/{pages.GUIDE}")


_RULES = """\
This conversation takes place inside the project “{name}”. {scope}

Its folder is wikis/{name}/. Paths here are written from that folder, and nothing outside of it \
can be read or written. Nothing said here reaches the memory or any other conversation: what the \
project should know next time goes into one of its pages, or as a line into its log with `note`. \
Sources that were collected are in raw/. Open a page before you answer on its subject."""


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    size: int
    stamp: _Stamp


def _listed(wiki: Wiki) -> str:
    return "\n\n".join(["## Its pages", *_pages(wiki)])


def _pages(wiki: Wiki) -> list[str]:
    """The index and as many other pages as there is room for, each whole, and how many are left."""
    files = list(_files(wiki))
    if not files:
        return ["There are none yet."]
    stamp = tuple((file.path, file.stamp) for file in files)
    key = f"{wiki.root}\0{wiki.name}"
    kept = _KEPT.get(key)
    if kept is None or kept[0] != stamp:
        kept = stamp, _shown(wiki, files)
        _KEPT.put(key, kept)
    return kept[1]


def _shown(wiki: Wiki, files: list[_File]) -> list[str]:
    room = SHOWN_CHARS
    parts: list[str] = []
    left: list[_File] = []
    for file in files:
        # A character takes a byte at least, so what has more bytes may still fit.
        text = _text(wiki, file.path) if file.size <= room * 4 else None
        if text is None or len(text) > room:
            left.append(file)
            continue
        room -= len(text)
        if text.strip():
            parts.append(f"### {one_line(file.path)}\n\n{framed(text)}")
    if left:
        many = len(left) >= _COUNTED
        count = f"{'More than ' if many else ''}{len(left):,}"
        noun = "page is" if len(left) == 1 else "pages are"
        size = sum(file.size for file in left)
        parts.append(
            f"{count} more {noun} not shown here ({size:,} bytes). `list_pages` names them, `grep` "
            "searches them."
        )
    return parts


def _files(wiki: Wiki) -> Iterator[_File]:
    """The pages below ``wiki/``: the index first, then by path; no link is followed."""
    found = [file for file in _walk(wiki) if pages.is_page(file.path)]
    found.sort(key=lambda file: (file.path.casefold() != pages.INDEX, file.path))
    yield from found


def _walk(wiki: Wiki) -> Iterator[_File]:
    try:
        top = wiki.locate(pages.PAGES)
    except WorkspaceError:
        return
    pending = [(pages.PAGES, top.path)] if top.is_folder else []
    count = 0
    while pending:
        inside, folder = pending.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith(".") or file_names.unusable(entry.name):
                continue
            path = f"{inside}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                pending.append((path, folder / entry.name))
            elif entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
                yield _File(path, status.st_size, stamp)
                count += 1
                if count >= _COUNTED:
                    return


def _text(wiki: Wiki, path: str) -> str | None:
    """A page's text as it stands; ``None``: it cannot be read as text."""
    try:
        place = wiki.locate(path)
        with os.fdopen(paths.open_file(place), "rb") as file:
            return file.read().decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except (PathRefused, FileMissing, OSError, UnicodeDecodeError):
        return None


@dataclass(frozen=True, slots=True)
class _Guide:
    text: str
    problem: str


def _guide(wiki: Wiki) -> _Guide | None:
    """The project's AGENTS.md, when there is one inside its folder."""
    try:
        place = wiki.locate(pages.GUIDE)
    except WorkspaceError as error:
        return _Guide("", error.sentence)
    reading = read_text(wiki.root, place.relative)
    return None if reading.is_missing else _Guide(reading.text, reading.problem)


def _plain(value: object) -> str:
    return value.strip().casefold() if isinstance(value, str) else ""


_KEPT: Kept[tuple[tuple[tuple[str, _Stamp], ...], list[str]]] = Kept(64)
