"""Rename pages, files and folders, and rewrite the links so that every link keeps its target.

The planned changes of one page are shown first; then all of them are written, or none. The file
browser moves whatever a person names, and rewrites the links in the same act (`move`).
"""

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from urllib.parse import quote

from jenny.workspace import move_copy, transactions
from jenny.workspace import names as file_names
from jenny.workspace.content import WRITE_BYTES
from jenny.workspace.errors import FileMissing, NotText, WorkspaceError
from jenny.workspace.files import FileVersion, Workspace
from wikis import feedback, pages
from wikis.errors import PageRefused, PlanChanged
from wikis.links import Link, Resolver, find_links
from wikis.page_index import SEARCH_SECONDS, Index, WikiIndex
from wikis.pages import Wiki

MOST_FILES = 2_000
_SUFFIX = re.compile(r"[?#].*")
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_ENTITY = re.compile(r"&(?=#?\w+;)")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file whose links change.

    ``path`` from the workspace; ``lines``: the changed lines, before and after.
    """

    path: str
    version: str
    data: bytes
    count: int
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Plan:
    """A planned renaming.

    Paths from the wiki's folder; ``skipped``: files with such links that are not text and stay as
    they are.
    """

    old: str
    new: str
    version: str
    data: bytes
    files: tuple[Rewritten, ...]
    skipped: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A digest of the plan; the preview carries it, so that exactly this plan is
        carried out.
        """
        parts = [
            self.old,
            self.new,
            self.version,
            *(f"{row.path}:{row.version}" for row in self.files),
        ]
        return sha256("\n".join(parts).encode()).hexdigest()[:32]

    @property
    def links(self) -> int:
        return sum(row.count for row in self.files)


def plan(index: Index, workspace: Workspace, wiki: Wiki, old: str, new: str) -> Plan:
    """Plan how to rename the page *old* to *new* (paths from the wiki's folder).

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
    moved = _Move(known, {old: new}, pages.wiki_names(index.root))
    current = workspace.read(wiki.path(old), limit=WRITE_BYTES)
    own = _rewritten(moved, current, wiki.name, old)
    files, skipped = _linking(index, workspace, moved)
    files += _feedback(workspace, wiki, moved)
    _refuse_many(files)
    return Plan(old, new, current.version, own.data, tuple(files), tuple(skipped))


def _linking(
    index: Index, workspace: Workspace, moved: "_Move", *, with_own: bool = False
) -> tuple[list[Rewritten], list[str]]:
    """Return the files whose links change, rewritten, and those that cannot be. *with_own*: with
    the pages that move."""
    files: list[Rewritten] = []
    skipped: list[str] = []
    for name, other in _concerned(index, moved.known):
        own = moved.own if name == moved.wiki and with_own else ()
        for path in (*moved.concerned(name, other), *own):
            try:
                found = workspace.read(f"{pages.WIKIS}/{name}/{path}", limit=WRITE_BYTES)
                row = _rewritten(moved, found, name, path)
            except WorkspaceError:
                skipped.append(f"{name}/{path}")
                continue
            if row.count:
                files.append(row)
    return files, skipped


def _refuse_many(files: list[Rewritten]) -> None:
    if len(files) > MOST_FILES:
        message = (
            f"{len(files):,} files link to it, more than the {MOST_FILES:,} that are changed in "
            "one go. Nothing was changed."
        )
        raise PageRefused(message)


def apply_rename(workspace: Workspace, wiki: Wiki, made: Plan, digest: str) -> int:
    """Write all of the plan, or nothing; return how many links changed.

    Raises:
        PlanChanged: its digest differs: files changed after it was shown.
        WorkspaceError: nothing was written; the sentence says why.
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


@dataclass(frozen=True, slots=True)
class Moved:
    """``path``: the new path from the workspace; ``links``: how many links changed with it."""

    path: str
    links: int = 0


def move(index: Index, workspace: Workspace, old: str, new: str) -> Moved:
    """Move (or rename) a file or folder, and rewrite the links to all pages and files in it.

    *old* and *new* are paths from the workspace. Links are rewritten when it stays in its wiki, or
    is a whole wiki; otherwise the move leaves them as they are.

    Raises:
        PageRefused: too much would change. Nothing was changed, as in every other case.
        WorkspaceError: as ``move_copy.move``, or a file with links could not be written.
    """
    root = workspace.root
    with transactions.lock_workspace(root):
        here = move_copy.locate_itself(root, old)
        there = move_copy.free_place(root, new, here)
        files = _affected(index, workspace, here.relative, there.relative)
        _refuse_many(files)
        moved = move_copy.move(workspace, here.relative, there.relative)
        if files:
            try:
                workspace.write_many(
                    {row.path: row.data for row in files},
                    expect={row.path: row.version for row in files},
                )
            except WorkspaceError:
                move_copy.move(workspace, moved, here.relative)
                raise
    return Moved(moved, sum(row.count for row in files))


def _affected(index: Index, workspace: Workspace, old: str, new: str) -> list[Rewritten]:
    """Return the rewritten files, each with its path after the move."""
    was, becomes = old.split("/"), new.split("/")
    is_in_wiki = was[0] == becomes[0] == pages.WIKIS and len(was) > 1
    if not is_in_wiki or was[1] not in pages.wiki_names(index.root):
        return []
    known = index.known(was[1])
    if len(was) == len(becomes) == 2:  # noqa: PLR2004 - wikis/<name>
        move = _Move(known, {}, pages.wiki_names(index.root), name=becomes[1])
    elif len(was) > 2 and len(becomes) > 2 and was[1] == becomes[1]:  # noqa: PLR2004 - as above
        here, there = "/".join(was[2:]), "/".join(becomes[2:])
        paths = {
            path: there + path[len(here) :]
            for path in known.resolver.paths
            if path == here or path.startswith(f"{here}/")
        }
        move = _Move(known, paths, pages.wiki_names(index.root))
    else:
        return []
    found, _ = _linking(index, workspace, move, with_own=True)
    found += _feedback(workspace, pages.open_wiki(index.root, was[1]), move)
    return [replace(row, path=_moved_path(row.path, old, new)) for row in found]


def _moved_path(path: str, old: str, new: str) -> str:
    is_inside = path == old or path.startswith(f"{old}/")
    return new + path[len(old) :] if is_inside else path


class _Move:
    """A move of pages and files within a wiki, or the renaming of a wiki (*name*): it finds and
    rewrites the affected links."""

    def __init__(
        self, known: WikiIndex, moves: Mapping[str, str], wikis: Iterable[str], name: str = ""
    ) -> None:
        """*moves*: the new path of each old one, from the wiki's folder."""
        self.known, self.wiki, self.moves = known, known.name, moves
        self.name = name or known.name
        self.wikis = frozenset(wikis)
        self.before = known.resolver
        self.after = Resolver(
            (self.before.paths - moves.keys()) | set(moves.values()),
            {moves.get(path, path): names for path, names in self.before.aliases.items()},
        )

    @property
    def own(self) -> list[str]:
        """The pages that move and whose links may change; a source keeps its exact text."""
        here = self.known.entries
        return [path for path in self.moves if path in here and not _is_source(path)]

    def concerned(self, name: str, known: WikiIndex) -> Iterable[str]:
        """Yield the files (other than the page itself) with a link whose target would change."""
        for path, entry in known.entries.items():
            is_own = name == self.wiki
            # A source keeps its exact text.
            if (is_own and path in self.moves) or _is_source(path):
                continue
            if any(
                self.words(self.meant(link), name, path, path) is not None for link in entry.links
            ):
                yield path

    def meant(self, link: Link) -> Link:
        """Return the link; a name before a colon that is no wiki is part of the page's name."""
        if not link.wiki or link.wiki in self.wikis:
            return link
        return replace(link, wiki="", target=f"{link.wiki}:{link.target}")

    def words(self, link: Link, wiki: str, source: str, source_after: str) -> str | None:
        """Return the new words of the link to keep its target; ``None``: it may stay as it is."""
        if (link.wiki or wiki) != self.wiki:
            return None
        if self.name != self.wiki:
            return link.target if link.wiki else None
        if not link.target:
            return None
        before, after = self.before.resolve(link, source), self.after.resolve(link, source_after)
        path = before.path
        wanted = self.moves.get(path, path)
        is_newly_unclear = after.candidates and not before.candidates
        if not path or (after.path == wanted and not is_newly_unclear):
            return None
        if link.kind == "near":
            relative = posixpath.relpath(wanted, posixpath.dirname(source_after) or ".")
            return (
                relative
                if pages.is_page(link.target)
                else self._short(relative, wanted, source_after)
            )
        return self.after.shortest(wanted)

    def _short(self, relative: str, wanted: str, source: str) -> str:
        """Return an address without its extension, as it was written, if it has the same target."""
        short = pages.without_ending(relative)
        link = Link("near", 0, 0, short)
        return short if self.after.resolve(link, source).path == wanted else relative


def _is_source(path: str) -> bool:
    return path.startswith(f"{pages.RAW}/")


def _rewritten(moved: _Move, found: FileVersion, wiki: str, path: str) -> Rewritten:
    """Return the file with rewritten links.

    Raises:
        NotText: it is not UTF-8.
    """
    is_itself = wiki == moved.wiki and path in moved.moves
    try:
        text = found.data.decode("utf-8")
    except UnicodeDecodeError as error:
        if is_itself:
            return Rewritten(found.path, found.version, found.data, 0, ())
        raise NotText(f"{file_names.shown(path)} is no text.") from error
    pieces: list[str] = []
    at = count = 0
    for link in map(moved.meant, find_links(text)):
        words = moved.words(link, wiki, path, moved.moves[path] if is_itself else path)
        if words is None:
            continue
        written = text[link.start : link.end]
        named = _named if link.kind == "wiki" else _addressed
        if link.wiki == moved.wiki:
            link = replace(link, wiki=moved.name)  # noqa: PLW2901
        pieces += [text[at : link.start], named(link, written, words)]
        at = link.end
        count += 1
    pieces.append(text[at:])
    new = "".join(pieces)
    return Rewritten(found.path, found.version, new.encode(), count, tuple(_lines(text, new)))


def _named(link: Link, written: str, words: str) -> str:
    """Replace the words of a link's target: wiki, anchor and spaces around it stay."""
    _, sign, anchor = written.partition("#")
    start = written[: len(written) - len(written.lstrip())]
    prefix = f"{link.wiki}:" if link.wiki else ""
    return f"{start}{prefix}{words}{sign}{anchor}"


def _addressed(_link: Link, written: str, path: str) -> str:
    """Replace the path in the address of a Markdown link.

    It is encoded as the old one was, and the part behind the path stays.
    """
    is_bracketed = written.startswith("<")
    inner = written[1:-1] if is_bracketed else written
    suffix = _SUFFIX.search(inner)
    is_encoded = _ENCODED.search(inner) is not None
    # A letter of another script is encoded if others were; a character that would end the address,
    # always.
    needed = "%#?\\<>|" + ("" if is_bracketed else " ")
    if not is_bracketed and not _is_balanced(path):
        needed += "()"
    has_dot = inner.startswith("./") or ":" in path.partition("/")[0]
    start = "./" if has_dot and not path.startswith("../") else ""
    new = "".join(
        quote(char, safe="")
        if char in needed or (is_encoded and char not in "()" and not char.isascii()) or char < " "
        else char
        for char in path
    )
    new = start + _ENTITY.sub("%26", new) + (suffix[0] if suffix else "")
    return f"<{new}>" if is_bracketed else new


def _is_balanced(path: str) -> bool:
    depth = 0
    for char in path:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return depth == 0


def _lines(old: str, new: str) -> Iterable[tuple[str, str]]:
    """Yield the lines that differ; renaming adds and removes none."""
    for before, after in zip(old.split("\n"), new.split("\n"), strict=True):
        if before != after:
            yield before.strip()[:300], after.strip()[:300]


def _concerned(index: Index, known: WikiIndex) -> Iterable[tuple[str, WikiIndex]]:
    """Yield the wiki, and others that name it."""
    yield known.name, known
    for name, other in index.every(within=SEARCH_SECONDS).items():
        if name != known.name and known.name in other.mentions:
            yield name, other


def _feedback(workspace: Workspace, wiki: Wiki, moved: _Move) -> list[Rewritten]:
    """Return the feedback files of the pages that move, with their new paths."""
    rows = []
    pages_moved = [path for path in moved.moves if pages.is_page(path)]
    every = feedback.kept(workspace, wiki, pages_moved[0] if len(pages_moved) == 1 else "")
    for one in (*every.open, *every.resolved) if pages_moved else ():
        if one.page not in moved.moves:
            continue
        found = workspace.read(wiki.path(one.path))
        data = feedback.as_file(replace(one, page=moved.moves[one.page]))
        rows.append(Rewritten(found.path, found.version, data, 0, ()))
    return rows
