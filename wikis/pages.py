"""Read wikis and their pages from disk: the list of wikis, page paths, headers and metadata.

A path here is relative to the wiki's folder: ``wiki/concepts/hive.md``, ``log/20260401.md``. This
module caches nothing; ``wikis.page_index`` does.
"""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jenny.markdown import front_matter
from jenny.markdown.comments import blank_comments
from jenny.workspace import names as file_names
from jenny.workspace import paths
from jenny.workspace.content import version_of
from jenny.workspace.errors import FileMissing, PathRefused
from jenny.workspace.paths import Place
from wikis.errors import PageRefused, WikiMissing

TITLE_CHARS = 200
MOST_NAMES = 50
_DATES = ("date", "created", "updated")
_DATE_CHARS = 40


@dataclass(frozen=True, slots=True)
class PageMetadata:
    """The shown values of a page's header, or the ``problem`` of an invalid one."""

    title: str = ""
    type: str = ""
    tags: tuple[str, ...] = ()
    dates: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    aliases: tuple[str, ...] = ()


def page_metadata(header: front_matter.FrontMatter) -> PageMetadata:
    values = header.values
    dates = tuple(
        (name, shown)
        for name in _DATES
        if (shown := one_line(values.get(name))) and len(shown) < _DATE_CHARS
    )
    return PageMetadata(
        one_line(values.get("title")),
        one_line(values.get("type")),
        tuple(tag.lstrip("#") for tag in _names(values.get("tags"))),
        dates,
        header.problem,
        _names(values.get("aliases") or values.get("alias")),
    )


def one_line(value: Any) -> str:
    """Return a header's value as one line; empty for anything but a plain value."""
    if value is None or isinstance(value, dict | list):
        return ""
    return " ".join(str(value).split())[:TITLE_CHARS]


def _names(value: Any) -> tuple[str, ...]:
    """Return tags or aliases from a list, or from one line with commas."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        return ()
    found = map(one_line, value)
    return tuple(dict.fromkeys(name for name in found if name))[:MOST_NAMES]


WIKIS = "wikis"
PAGES = "wiki"
GUIDE = "AGENTS.md"
INDEX = f"{PAGES}/index.md"
LOG = "log"
RAW = "raw"
AUDIT = "audit"
ENDINGS = (".md", ".markdown")
# Of a longer page only the beginning is shown, and it cannot be edited in the browser.
PAGE_BYTES = 1_000_000

_HEADING = re.compile(r"^ {0,3}#[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_MARKS = re.compile(r"[*`]|\[\[|\]\]")
_FENCE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)


@dataclass(frozen=True)
class Wiki:
    """A wiki's folder. ``root``: the workspace's real folder; ``base``: the wiki's folder."""

    root: Path
    name: str
    base: Place

    def path(self, inside: str) -> str:
        """Return the path from the workspace of *inside* in this wiki."""
        return f"{WIKIS}/{self.name}/{inside}"

    def locate(self, inside: str) -> Place:
        """Resolve a path in this wiki, including links.

        Raises:
            PageRefused: it leads out of the wiki's folder.
            PathRefused: no file may have this name.
        """
        place = paths.locate(self.root, self.path(inside))
        if place.parts[: len(self.base.parts)] != self.base.parts:
            message = (
                f"{file_names.shown(inside)} leads out of the wiki {file_names.shown(self.name)}. "
                "Nothing was read or written."
            )
            raise PageRefused(message)
        return place

    def inside(self, place: Place) -> str:
        """Return the path from this wiki's folder."""
        return "/".join(place.parts[len(self.base.parts) :])


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was read.

    ``body`` is the text below the header; ``version`` the SHA-256 of the file's bytes, empty when
    only its beginning was read (``is_cut``); ``problem`` a sentence about bytes that are not UTF-8.
    """

    path: str
    head: PageMetadata
    body: str
    text: str
    version: str
    size: int
    modified: float
    is_cut: bool = False
    problem: str = ""

    @property
    def title(self) -> str:
        return self.head.title or title_of(self.path, self.body)


def wiki_names(root: Path) -> tuple[str, ...]:
    """Return the sorted names of the folders below ``wikis/``; each of them is a wiki."""
    try:
        place = paths.locate(Path(os.path.realpath(root)), WIKIS)
    except PathRefused:
        return ()
    if not place.is_folder:
        return ()
    with os.scandir(place.path) as entries:
        found = [
            entry.name
            for entry in entries
            if not entry.name.startswith(".")
            and (entry.is_dir(follow_symlinks=False) or entry.is_symlink())
            and not file_names.unusable(entry.name)
        ]
    return tuple(sorted(found, key=lambda name: (file_names.folded(name), name)))


def open_wiki(root: Path, name: str) -> Wiki:
    """Return the wiki of this name; its folder may be empty.

    Raises:
        WikiMissing: there is none.
        PathRefused: its folder is a link that leads out of the workspace.
    """
    real = paths.real_root(root)
    if not name or "/" in name or name.startswith(".") or file_names.unusable(name):
        raise WikiMissing(f"There is no wiki {file_names.shown(name)}.")
    base = paths.locate(real, f"{WIKIS}/{name}")
    if not base.is_folder:
        raise WikiMissing(f"There is no wiki {file_names.shown(name)}.")
    return Wiki(real, name, base)


def read_page(wiki: Wiki, path: str, *, limit: int = PAGE_BYTES) -> Page:
    """Read the page at *path*; at most its first *limit* bytes.

    Bytes that are not UTF-8 become replacement characters.

    Raises:
        FileMissing: there is no such file.
        PageRefused, PathRefused: see ``Wiki.locate``.
    """
    place = wiki.locate(path)
    with os.fdopen(paths.open_file(place), "rb") as file:
        data = file.read(limit + 1)
        status = os.fstat(file.fileno())
    is_cut = len(data) > limit
    page = parsed(wiki.inside(place), data[:limit], is_cut=is_cut)
    return replace(page, size=status.st_size, modified=status.st_mtime)


def parsed(path: str, data: bytes, *, is_cut: bool = False) -> Page:
    text, problem = decoded(data, is_cut=is_cut)
    header = front_matter.read_front_matter(text)
    version = "" if is_cut else version_of(data)
    return Page(
        path,
        page_metadata(header),
        header.body,
        text,
        version,
        len(data),
        0.0,
        is_cut=is_cut,
        problem=problem,
    )


def decoded(data: bytes, *, is_cut: bool = False) -> tuple[str, str]:
    """Decode a page's bytes, with a sentence when they are not UTF-8.

    A character that is cut off at the end is dropped.
    """
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        if is_cut and error.start >= len(data) - 3:
            return data[: error.start].decode("utf-8"), ""
        problem = (
            f"Byte {error.start + 1:,} of this file is no UTF-8 text; what cannot be read is shown "
            "as �. Save it as UTF-8 to edit it here."
        )
        return data.decode("utf-8", "replace"), problem


def title_of(path: str, body: str) -> str:
    """Return a title from the text: its first heading that is no comment, else the file's name in
    words."""
    body = blank_comments(body, is_page=True)
    fence = _FENCE.search(body)
    found = _HEADING.search(body, 0, fence.start() if fence else len(body))
    if found:
        return one_line(_MARKS.sub("", found[1]))
    name = path.rpartition("/")[2]
    stem = without_ending(name)
    if stem == "index" and "/" in path:
        folder = path.rpartition("/")[0].rpartition("/")[2]
        stem = folder if folder != PAGES else stem
    return stem.replace("-", " ").replace("_", " ").strip() or name


def is_page(path: str) -> bool:
    """True when a file of this name is a page, that is, Markdown."""
    return path.lower().endswith(ENDINGS)


def without_ending(path: str) -> str:
    lower = path.lower()
    return next((path[: -len(end)] for end in ENDINGS if lower.endswith(end)), path)


def new_path(text: str) -> str:
    """Return the path of a new page named *text*: below ``wiki/``, with ``.md``.

    Raises:
        PageRefused: the name is invalid.
    """
    plain = text.strip().strip("/")
    if plain.startswith(f"{PAGES}/"):
        plain = plain[len(PAGES) + 1 :]
    parts = [part.strip() for part in plain.split("/")]
    if not plain or any(part in ("", ".", "..") for part in parts):
        raise PageRefused(f"{file_names.shown(text)} names no page. Nothing was made.")
    plain = "/".join(parts)
    if not is_page(plain):
        plain += ".md"
    for part in plain.split("/"):
        why = file_names.unusable(part) or file_names.unfit(part)
        if not why and part.startswith("."):
            why = "begins with a dot, which hides it"
        if why:
            raise PageRefused(f"{file_names.shown(text)} {why}. Nothing was made.")
    return f"{PAGES}/{plain}"


def index_of(wiki: Wiki, folder: str) -> str:
    """Return the index page of a folder, or "" when it has none."""
    path = f"{folder.strip('/')}/index.md"
    try:
        place = wiki.locate(path)
    except (PathRefused, PageRefused, FileMissing):
        return ""
    return path if place.status is not None and not place.is_folder else ""
