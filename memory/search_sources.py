"""Gives the search the files of a workspace: history, archive, memory files, skills, wiki pages
and other text files; for the person's own search also what is forgotten, and old versions."""

import datetime as dt
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from hashlib import blake2b
from itertools import batched, islice
from pathlib import Path

from jenny.markdown.comments import blank_comments
from jenny.search import Document, IndexBusy, Key, Passage
from jenny.workspace import diffs, line_files, names, paths
from jenny.workspace.content import MAX_TEXT_BYTES, read_text
from jenny.workspace.errors import PathRefused, WorkspaceError
from jenny.workspace.files import Entry, entry_at, is_hidden, walk_folder
from jenny.workspace.stat_signature import StatSignature, is_racy
from jenny.workspace.versions import tracked_files
from jenny.workspace.versions.history import open_history
from memory import archive, files
from memory.archive import Archived
from memory.facts import units
from memory.history import file_tail, log
from memory.history.entries import parse_entry
from memory.suppression import tombstones

HISTORY, ARCHIVED, MEMORY = "history", "archive", "memory"
SKILL, WIKI, FILE = "skill", "wiki", "file"
CHAT, PROJECT_CHAT = "chat", "project_chat"
# For people alone: no tool of a model names these kinds.
FORGOTTEN, VERSION, CHAT_VERSION = "forgotten", "version", "chat_version"
TITLE = "title"
# What is in files.
KINDS = (HISTORY, ARCHIVED, MEMORY, SKILL, WIKI, FILE)
_FILE_KINDS = (MEMORY, SKILL, WIKI, FILE)
PASSAGE_CHARS = 3_000
# A longer line becomes several.
_LINE_CHARS = 1_000
_MOST_FILES = 50_000
# The newest ones are searched.
MOST_VERSIONS = 2_000
_VERSION_LINES = 20
_PDF = "%PDF-"
# Results of tools are copies of what is searched anyway.
_SKIPPED = ("output/tool-results/", "memory/archive/")


class HistorySource:
    """Each entry of the history and of its archive is a passage, named by its number."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def documents(self, only: Collection[Key] | None = None) -> Iterator[Document]:
        root = paths.real_root(self._root)
        for path in (log.PATH, *log.list_segments(root)):
            if only is not None and (HISTORY, path) not in only:
                continue
            try:
                with line_files.open_lines(root, path) as file:
                    if file is not None:
                        yield Document(HISTORY, path, _settled(file.signature))
            except PathRefused:
                continue

    def passages(self, document: Document) -> Iterator[Passage]:
        try:
            with line_files.open_lines(paths.real_root(self._root), document.place) as file:
                for line in file_tail.lines_back(file) if file else ():
                    if (entry := parse_entry(line.data)) and entry.content.strip():
                        lines = ((entry.cursor, one) for one in entry.content.split("\n"))
                        yield from passages_of(lines, "", entry.timestamp[:10])
        except PathRefused:
            return


class ArchiveSource:
    """Each archived fact is a passage of its own."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def documents(self, only: Collection[Key] | None = None) -> Iterator[Document]:
        root = paths.real_root(self._root)
        rows: Iterable[Archived | None] = (
            archive.listing(root)
            if only is None
            else (archive.get(root, path) for kind, path in only if kind == ARCHIVED)
        )
        for row in filter(None, rows):
            digest = text_digest(f"{row.heading}\0{row.under}\0{row.text}")
            yield Document(ARCHIVED, row.path, f"{row.date} {row.id} {digest}")

    def passages(self, document: Document) -> Iterator[Passage]:
        row = archive.get(paths.real_root(self._root), document.place)
        if row is not None:
            title = " ".join(part for part in (row.heading, row.under) if part)
            yield from passages_of(((1, line) for line in row.text.split("\n")), title, row.date)


class FileSource:
    """Text files in parts of about a page, by their lines; without those whose paths *left_out*
    returns."""

    def __init__(self, root: Path, left_out: Callable[[], Collection[str]] = tuple) -> None:
        self._root = root
        self._left_out = left_out

    def documents(self, only: Collection[Key] | None = None) -> Iterator[Document]:
        count = 0
        left_out = self._left_out()
        for entry in self._entries(only):
            kind = _kind_of(entry.path)
            if kind is None or entry.kind != "file" or entry.size > MAX_TEXT_BYTES:
                continue
            if entry.path in left_out:
                continue
            # Nothing can read a file whose name is no text.
            if names.unusable(entry.path):
                continue
            count += 1
            if count > _MOST_FILES:
                return
            yield Document(kind, entry.path, _settled(entry.stamp))

    def _entries(self, only: Collection[Key] | None) -> Iterator[Entry]:
        root = paths.real_root(self._root)
        if only is None:
            yield from walk_folder(paths.locate(root, ""))
            return
        for kind, path in only:
            if kind in _FILE_KINDS and (entry := entry_at(root, path)) is not None:
                yield entry

    def passages(self, document: Document) -> Iterator[Passage]:
        reading = read_text(self._root, document.place)
        if reading.problem or reading.is_missing or "\0" in reading.text:
            return
        # It may be made of characters alone.
        if reading.text.startswith(_PDF):
            return
        text = reading.text
        if document.kind == WIKI and document.place.lower().endswith((".md", ".markdown")):
            # What a page hides from its readers is not found in it; lines keep their numbers.
            text = blank_comments(text, is_page=True)
        yield from text_passages(text, document.place)


class ForgottenSource:
    """Each forgotten text is a document, named by the id of its tombstone."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def documents(self, only: Collection[Key] | None = None) -> Iterator[Document]:
        for row in tombstones.list_tombstones(paths.real_root(self._root)):
            if only is None or (FORGOTTEN, row.id) in only:
                yield Document(FORGOTTEN, row.id, row.at)

    def passages(self, document: Document) -> Iterator[Passage]:
        for row in tombstones.list_tombstones(paths.real_root(self._root)):
            if row.id == document.place:
                lines = ((1, line) for line in row.text.split("\n"))
                yield from passages_of(lines, f"{row.path} {row.heading}", row.at[:10])


class VersionSource:
    """The lines that left a file with each version: a document for each version, named by its id,
    and a passage for each of its files, whose title is the path."""

    def __init__(self, root: Path, zone: dt.tzinfo) -> None:
        self._root = root
        self._zone = zone

    def documents(self, only: Collection[Key] | None = None) -> Iterator[Document]:
        if only is not None:
            # A version never changes.
            yield from (Document(kind, sha, "") for kind, sha in only if kind == VERSION)
            return
        try:
            with open_history(self._root) as history:
                for version in islice(history.walk(), MOST_VERSIONS):
                    yield Document(VERSION, version.sha, "")
        except WorkspaceError as error:
            # The versions are not gone: what the index has of them stays.
            raise IndexBusy from error

    def passages(self, document: Document) -> Iterator[Passage]:
        # An error is the index's to handle: a version without passages would count as read.
        with open_history(self._root) as history:
            version = history.version(document.place)
            day = dt.datetime.fromtimestamp(version.when, self._zone).date().isoformat()
            for change in history.changes(version):
                if change.path == tracked_files.CURSOR:
                    continue
                stays = {line.rstrip("\n") for line in diffs.lines_of(change.new) or ()}
                left = [
                    (number, plain)
                    for number, line in enumerate(diffs.lines_of(change.old) or (), 1)
                    if (plain := line.rstrip("\n")) not in stays
                ]
                for some in batched(left, _VERSION_LINES):
                    yield from passages_of(some, change.path, day)


def sources(
    root: Path, left_out: Callable[[], Collection[str]] = tuple
) -> tuple[HistorySource, ArchiveSource, FileSource]:
    """Return what is in files, but for those whose paths *left_out* returns."""
    return HistorySource(root), ArchiveSource(root), FileSource(root, left_out)


def text_passages(text: str, path: str) -> Iterator[Passage]:
    """Cut a text at its headings, and where a part becomes too long."""
    name = _spaced(path)
    heading = ""
    section: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            yield from passages_of(section, f"{name} {heading}".strip())
            heading = line.lstrip("# ").strip()
            section = []
        section.append((number, line))
    yield from passages_of(section, f"{name} {heading}".strip())
    if not text.strip():
        # An empty file is found by its name.
        yield Passage(("",), (1,), name)


def passages_of(
    lines: Iterable[tuple[int, str]], title: str = "", day: str = ""
) -> Iterator[Passage]:
    """Divide lines, each with its anchor, into passages of about a page; lines without words are
    left out, and long ones are cut into pieces."""
    texts: list[str] = []
    anchors: list[int] = []
    size = 0
    for anchor, line in lines:
        for piece in pieces_of(line) if line.strip() else ():
            if texts and size + len(piece) > PASSAGE_CHARS:
                yield Passage(tuple(texts), tuple(anchors), title, day)
                texts, anchors, size = [], [], 0
            texts.append(piece)
            anchors.append(anchor)
            size += len(piece)
    if texts:
        yield Passage(tuple(texts), tuple(anchors), title, day)


def heading_of(title: str, path: str) -> str:
    """Return the heading in the title of a passage of a file."""
    return title.removeprefix(_spaced(path)).strip()


def _spaced(path: str) -> str:
    return path.removesuffix(".md").replace("/", " ")


def pieces_of(line: str) -> Iterator[str]:
    """Cut a long line between sentences, since whether one is forgotten is judged by its words."""
    if len(line) <= _LINE_CHARS:
        yield line
        return
    piece = ""
    for unit in units(line):
        if piece and len(piece) + len(unit) >= _LINE_CHARS:
            yield piece
            piece = ""
        piece = f"{piece} {unit}" if piece else unit
        parts = [piece[at : at + _LINE_CHARS] for at in range(0, len(piece), _LINE_CHARS)]
        yield from parts[:-1]
        piece = parts[-1]
    yield piece


def _kind_of(path: str) -> str | None:
    """Return the kind of a file; None when it is not searched."""
    if is_hidden(path) or path == log.PATH or path.startswith(_SKIPPED):
        return None
    if path in files.BY_PATH:
        return MEMORY
    if path.startswith("skills/"):
        return SKILL
    return WIKI if path.startswith("wikis/") else FILE


def text_digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _settled(signature: StatSignature) -> str:
    """Write a signature as text; one that is too young to be relied on differs each time."""
    now = time.time_ns()
    young = f" {now}" if is_racy(signature, now) else ""
    return " ".join(map(str, signature)) + young
