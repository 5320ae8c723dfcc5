"""A project is a wiki with conversations inside it: its AGENTS.md, prompt blocks and log.

The header of AGENTS.md may have ``memory: profile`` beside its ``summary:``. Then a
conversation in it gets SOUL.md and USER.md, but nothing of MEMORY.md and of the pending history
entries.

The log holds notes from conversations and facts from their summaries, until the gardener (or a
person) turns them into pages.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from jenny.agent.prompt import Block, framed, one_line
from jenny.markdown import front_matter
from jenny.markdown.comments import without_comments
from jenny.text_normalisation import fold
from jenny.workspace import names, paths
from jenny.workspace import names as file_names
from jenny.workspace.content import read_text
from jenny.workspace.errors import FileMissing, PathRefused, WorkspaceError, WriteRefused
from jenny.workspace.file_cache import Kept
from jenny.workspace.files import Change, Workspace
from jenny.workspace.stat_signature import StatSignature, signature_of
from wikis import pages, wikis_block
from wikis.errors import PageRefused
from wikis.pages import Wiki

PROFILE = "profile"
# The limit of a prompt for pages, in characters; a page is shown whole or not at all.
SHOWN_CHARS = 6_000
# Actors that write for a model, not for a person.
_MODELS = frozenset({"chat", "temporary", "project", "gardener"})
_GUIDE_PARTS = 3  # wikis/<name>/AGENTS.md
# The most files counted as pages that are not shown.
_COUNTED = 5_000


@dataclass(frozen=True, slots=True)
class Project:
    """A project as its AGENTS.md describes it.

    *scope* is one line, empty when none is set; *instructions* the text below the header; *problem*
    a sentence for the person.
    """

    name: str
    scope: str = ""
    knows_memory: bool = True
    instructions: str = ""
    problem: str = ""

    @property
    def folder(self) -> str:
        return folder_of(self.name)


def folder_of(name: str) -> str:
    """Return the folder of the project *name*, from the workspace."""
    return f"{pages.WIKIS}/{name}"


def read_project(root: Path, name: str) -> Project:
    """Read the project *name*.

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
    found = wikis_block.parse(name, guide.text)
    header = front_matter.read_front_matter(guide.text)
    problem = guide.problem or found.problem
    return Project(name, found.scope, not _keeps_out(header), header.body.strip(), problem)


def guard_instructions(change: Change) -> None:
    """Refuse that a model lets the memory into a project whose owner keeps it out. A write rule.

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
    return _keeps_out(
        front_matter.read_front_matter(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    )


def _keeps_out(header: front_matter.FrontMatter) -> bool:
    """True when the header keeps the memory out, or cannot be read and might."""
    return bool(header.problem) or _plain(header.values.get("memory")) == PROFILE


def project_block(root: Path, found: Project) -> Block:
    """Return the prompt block about the project: its name, scope, rules and pages."""
    wiki = pages.open_wiki(root, found.name)
    scope = f"Its scope: {found.scope}" if found.scope else "No scope is set for it."
    rules = _RULES.format(name=one_line(found.name), scope=scope)
    text = "\n\n".join([f"# Project: {one_line(found.name)}", rules, _listed(wiki)])
    return Block("project", text, source=f"{found.folder}/wiki/", problem=found.problem)


def gardener_block(root: Path, found: Project) -> Block:
    """Return the gardener's block about the project: its name, scope and pages."""
    wiki = pages.open_wiki(root, found.name)
    scope = found.scope or wikis_block.NO_SCOPE
    text = f"# The project: {one_line(found.name)}\n\nIts scope: {scope}\n\n{_listed(wiki)}"
    return Block("garden", text, source=f"{found.folder}/wiki/", problem=found.problem)


def instructions_block(found: Project) -> Block | None:
    """Return the project's own AGENTS.md; None when it has no text."""
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
    signature: StatSignature


def _listed(wiki: Wiki) -> str:
    return "\n\n".join(["## Its pages", *_pages(wiki)])


def _pages(wiki: Wiki) -> list[str]:
    """Return the index and as many other whole pages as fit, and how many are left out."""
    files = list(_files(wiki))
    if not files:
        return ["There are none yet."]
    stamp = tuple((file.path, file.signature) for file in files)
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
        # A character has at most four bytes, so a larger file does not fit.
        text = _text(wiki, file.path) if file.size <= room * 4 else None
        # What a page hides from its readers is not said to the model either.
        text = text and without_comments(text, is_page=True)
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
    """Yield the pages below ``wiki/``: the index first, then by path; links are not followed."""
    found = [file for file in _walk(wiki) if pages.is_page(file.path)]
    found.sort(key=lambda file: (file_names.folded(file.path) != pages.INDEX, file.path))
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
                yield _File(path, status.st_size, signature_of(status))
                count += 1
                if count >= _COUNTED:
                    return


def _text(wiki: Wiki, path: str) -> str | None:
    """Return a page's whole text; ``None``: it cannot be read as text."""
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
    """Return the project's AGENTS.md if it is inside its folder."""
    try:
        place = wiki.locate(pages.GUIDE)
    except WorkspaceError as error:
        return _Guide("", error.message)
    reading = read_text(wiki.root, place.relative)
    return None if reading.is_missing else _Guide(reading.text, reading.problem)


def _plain(value: object) -> str:
    return fold(value.strip()) if isinstance(value, str) else ""


_KEPT: Kept[tuple[tuple[tuple[str, StatSignature], ...], list[str]]] = Kept(64)


# Characters of one line; a note is a fact, not a page.
LINE_CHARS = 1_000
_SPACE = re.compile(r"\s+")
_BULLET = re.compile(r"^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+")
_MARK = re.compile(r"^\[\w+\][:]?\s*")


def log_path(day: datetime) -> str:
    """Return the path of a day's log, from the wiki's folder. *day*: in the person's zone."""
    return f"{pages.LOG}/{day:%Y%m%d}.md"


def log_line(fact: str, now: datetime) -> str:
    """Format a fact as a line of the log, with the time of day; empty when there is no text."""
    text = _MARK.sub("", _SPACE.sub(" ", _BULLET.sub("", fact)).strip()).strip()
    if not text:
        return ""
    if len(text) > LINE_CHARS:
        text = text[: LINE_CHARS - 1].rstrip() + "…"
    return f"- {now:%H:%M} — {text}"


def add_to_log(workspace: Workspace, facts: Sequence[str], now: datetime, *, mark: str = "") -> str:
    """Add facts to the log of the day *now*; return its path, empty when nothing was added.

    *workspace* is opened within the project's folder. *mark*: the source of the lines. Lines with a
    mark that the log's last days already have are not added again.

    Raises:
        WorkspaceError: nothing was added.
    """
    lines = [made for fact in facts if (made := log_line(fact, now))]
    if not lines:
        return ""
    note = f"<!-- {mark} -->" if mark else ""
    path = log_path(now)
    if note and any(note in text for text in _newest_day(workspace)):
        return ""

    def added(old: bytes | None) -> bytes:
        before = old or f"# {now:%Y-%m-%d}\n\n".encode()
        if not before.endswith(b"\n"):
            before += b"\n"
        return before + "".join(f"{one}\n" for one in (*lines, *([note] if note else []))).encode()

    written = workspace.edit(path, added)
    return written.path if written is not None else ""


def log_days(workspace: Workspace) -> list[str]:
    """Return the files of the log, from the workspace, oldest first."""
    if not workspace.exists(pages.LOG):
        return []
    found = [entry for entry in workspace.list(pages.LOG) if entry.kind == "file"]
    return sorted(entry.path for entry in found if Path(entry.path).suffix == ".md")


def unread_log(workspace: Workspace) -> list[str]:
    """Return a sentence for each entry that is named like a log file but is not one."""
    if not workspace.exists(pages.LOG):
        return []
    found = [
        entry
        for entry in workspace.list(pages.LOG)
        if Path(entry.path).suffix == ".md" and entry.kind != "file"
    ]
    return [
        f"{names.shown(entry.path)} is a {entry.kind} and no file, so nothing in it was read."
        for entry in sorted(found, key=lambda entry: entry.path)
    ]


def _newest_day(workspace: Workspace, count: int = 3) -> list[str]:
    newest = (workspace.read(path).data for path in log_days(workspace)[-count:])
    return [data.decode("utf-8", "replace") for data in newest]
