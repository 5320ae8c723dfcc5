"""Renaming a page: every link that led to it leads to it afterwards, and no other link changes
where it leads. What would be written is a plan, shown first; then all of it is written, or nothing.
"""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from urllib.parse import quote

from jenny.workspace import names as file_names
from jenny.workspace.content import WRITE_BYTES
from jenny.workspace.errors import FileMissing, NotText, WorkspaceError
from jenny.workspace.files import FileVersion, Workspace
from wikis import feedback, pages
from wikis.errors import PageRefused, PlanChanged
from wikis.index.known import SEARCH_SECONDS, Index, Known
from wikis.links.finding import Link, find
from wikis.links.resolving import Resolver
from wikis.pages import Wiki

MOST_FILES = 2_000


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file whose links change. ``path`` from the workspace; ``lines``: those that change, as they
    were and as they will be."""

    path: str
    version: str
    data: bytes
    count: int
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Plan:
    """What renaming would write. Paths from the wiki's folder; ``skipped``: files with such links
    that are no text and stay as they are."""

    old: str
    new: str
    version: str
    data: bytes
    files: tuple[Rewritten, ...]
    skipped: tuple[str, ...]

    @property
    def digest(self) -> str:
        """What tells two plans apart: the preview carries it, so that nothing else is done."""
        parts = [
            self.old,
            self.new,
            self.version,
            *(f"{row.path}:{row.version}" for row in self.files),
        ]
        return sha256("\n".join(parts).encode()).hexdigest()[:32]

    @property
    def links(self) -> int:
        """How many links change."""
        return sum(row.count for row in self.files)


def plan(index: Index, workspace: Workspace, wiki: Wiki, old: str, new: str) -> Plan:
    """What renaming the page *old* to *new* (paths from the wiki's folder) takes.

    Raises:
        FileMissing: there is no such page.
        PageRefused: something is at *new* already, no page can be there, or too much would change.
    """
    known = index.known(wiki.name)
    place, target = wiki.locate(old), wiki.locate(new)
    if place.status is None or place.is_folder or old not in known.entries:
        raise FileMissing(f"There is no page {file_names.shown(old)}. Nothing was changed.")
    if target.status is not None:
        raise PageRefused(f"{file_names.shown(new)} exists already. Nothing was changed.")
    moved = _Move(known, old, new)
    current = workspace.read(wiki.path(old), limit=WRITE_BYTES)
    own = _rewritten(moved, current, wiki.name, old)
    files: list[Rewritten] = []
    skipped: list[str] = []
    for name, other in _concerned(index, known):
        for path in moved.concerned(name, other):
            try:
                found = workspace.read(f"{pages.WIKIS}/{name}/{path}", limit=WRITE_BYTES)
                row = _rewritten(moved, found, name, path)
            except WorkspaceError:
                skipped.append(f"{name}/{path}")
                continue
            if row.count:
                files.append(row)
    files += _feedback(workspace, wiki, old, new)
    if len(files) > MOST_FILES:
        message = (
            f"{len(files):,} files link to this page, more than the {MOST_FILES:,} that are "
            "changed in one go. Nothing was changed."
        )
        raise PageRefused(message)
    return Plan(old, new, current.version, own.data, tuple(files), tuple(skipped))


def carry_out(workspace: Workspace, wiki: Wiki, made: Plan, digest: str) -> int:
    """Write all of the plan, or nothing; how many links changed.

    Raises:
        PlanChanged: it is not the plan of that digest: files changed after it was shown.
        WorkspaceError: nothing was written, and why.
    """
    if made.digest != digest:
        message = "Pages changed after this was shown. Nothing was written; look at it once more."
        raise PlanChanged(message)
    files: dict[str, bytes | None] = {wiki.path(made.new): made.data}
    files |= {row.path: row.data for row in made.files}
    files[wiki.path(made.old)] = None
    expect: dict[str, str | None] = {row.path: row.version for row in made.files}
    expect[wiki.path(made.old)] = made.version
    workspace.write_many(files, expect=expect)
    return made.links


class _Move:
    """One page going from *old* to *new*; which links have to be written anew, and how."""

    def __init__(self, known: Known, old: str, new: str) -> None:
        self.wiki, self.old, self.new = known.name, old, new
        self.before = known.resolver
        paths = (self.before.paths - {old}) | {new}
        self.after = Resolver(paths)

    def concerned(self, name: str, known: Known) -> Iterable[str]:
        """The files (not the page itself) that hold a link which would lead elsewhere."""
        for path, entry in known.entries.items():
            is_own = name == self.wiki
            # A source stays word for word as it came.
            if (is_own and path == self.old) or path.startswith(f"{pages.RAW}/"):
                continue
            if any(self.words(link, name, path, path) is not None for link in entry.links):
                yield path

    def words(self, link: Link, wiki: str, source: str, source_after: str) -> str | None:
        """What the link must name to lead where it led; ``None``: it may stay as it is."""
        if (link.wiki or wiki) != self.wiki or not link.target:
            return None
        path = self.before.resolve(link, source).path
        wanted = self.new if path == self.old else path
        if not path or self.after.resolve(link, source_after).path == wanted:
            return None
        if link.kind == "near":
            relative = posixpath.relpath(wanted, posixpath.dirname(source_after) or ".")
            return quote(relative)
        return self.after.shortest(wanted)


def _rewritten(moved: _Move, found: FileVersion, wiki: str, path: str) -> Rewritten:
    """The file with its links as they have to be.

    Raises:
        NotText: it is no UTF-8.
    """
    is_itself = wiki == moved.wiki and path == moved.old
    try:
        text = found.data.decode("utf-8")
    except UnicodeDecodeError as error:
        if is_itself:
            return Rewritten(found.path, found.version, found.data, 0, ())
        raise NotText(f"{file_names.shown(path)} is no text.") from error
    pieces: list[str] = []
    at = count = 0
    for link in find(text):
        words = moved.words(link, wiki, path, moved.new if is_itself else path)
        if words is None:
            continue
        written = text[link.start : link.end]
        pieces += [text[at : link.start], _named(link, written, words)]
        at = link.end
        count += 1
    pieces.append(text[at:])
    new = "".join(pieces)
    return Rewritten(found.path, found.version, new.encode(), count, tuple(_lines(text, new)))


def _named(link: Link, written: str, words: str) -> str:
    """The link's target with other words: wiki, anchor and spaces around it stay."""
    _, sign, anchor = written.partition("#")
    start = written[: len(written) - len(written.lstrip())]
    prefix = f"{link.wiki}:" if link.wiki else ""
    return f"{start}{prefix}{words}{sign}{anchor}"


def _lines(old: str, new: str) -> Iterable[tuple[str, str]]:
    """The lines that differ; renaming adds and removes none."""
    for before, after in zip(old.split("\n"), new.split("\n"), strict=True):
        if before != after:
            yield before.strip()[:300], after.strip()[:300]


def _concerned(index: Index, known: Known) -> Iterable[tuple[str, Known]]:
    """The wiki, and others that name it."""
    yield known.name, known
    for name, other in index.every(within=SEARCH_SECONDS).items():
        if name != known.name and known.name in other.mentions:
            yield name, other


def _feedback(workspace: Workspace, wiki: Wiki, old: str, new: str) -> list[Rewritten]:
    """Feedback on the page goes with it."""
    rows = []
    every = feedback.kept(workspace, wiki, old)
    for one in (*every.open, *every.resolved):
        found = workspace.read(wiki.path(one.path))
        data = feedback.as_file(replace(one, page=new))
        rows.append(Rewritten(found.path, found.version, data, 0, ()))
    return rows
