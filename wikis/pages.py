"""Wikis and their pages on disk: which there are, where a page lies, and what its header shows.

A path here is written from the wiki's folder: ``wiki/concepts/hive.md``, ``log/20260401.md``.
Nothing in this module keeps anything in memory; ``wikis.index`` does.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from jenny.markdown import front_matter
from jenny.workspace import names as file_names
from jenny.workspace import paths
from jenny.workspace.content import version_of
from jenny.workspace.errors import FileMissing, PathRefused
from jenny.workspace.paths import Place
from wikis.errors import PageRefused, WikiMissing
from wikis.heads import Head, head, one_line

WIKIS = "wikis"
PAGES = "wiki"
GUIDE = "AGENTS.md"
INDEX = f"{PAGES}/index.md"
LOG = "log"
RAW = "raw"
AUDIT = "audit"
ENDINGS = (".md", ".markdown")
# Of a longer page the beginning is shown, and it is not edited in the browser.
PAGE_BYTES = 1_000_000

_HEADING = re.compile(r"^ {0,3}#[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_ANY_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$")
_FENCED = re.compile(r" {0,3}(`{3,}|~{3,})")
_MARKS = re.compile(r"[*`]|\[\[|\]\]")
_FENCE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)


@dataclass(frozen=True)
class Wiki:
    """A wiki's folder. ``root``: the workspace's real folder; ``base``: where the wiki lies."""

    root: Path
    name: str
    base: Place

    def path(self, inside: str) -> str:
        """The path from the workspace of something at *inside* this wiki."""
        return f"{WIKIS}/{self.name}/{inside}"

    def locate(self, inside: str) -> Place:
        """The place of something in this wiki, links resolved.

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
        """The path from this wiki's folder of a place in it."""
        return "/".join(place.parts[len(self.base.parts) :])


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was read. ``body`` is the text below the header; ``version`` the SHA-256 of the
    file's bytes, empty when only its beginning was read (``is_cut``); ``problem`` a sentence about
    bytes that are no UTF-8."""

    path: str
    head: Head
    body: str
    text: str
    version: str
    size: int
    modified: float
    is_cut: bool = False
    problem: str = ""

    @property
    def title(self) -> str:
        """What the page is called."""
        return self.head.title or title_of(self.path, self.body)


def wiki_names(root: Path) -> tuple[str, ...]:
    """The names of the folders below ``wikis/``, in order; each of them is a wiki."""
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
    return tuple(sorted(found, key=lambda name: (name.casefold(), name)))


def open_wiki(root: Path, name: str) -> Wiki:
    """The wiki of this name; nothing need be in its folder.

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


def read(wiki: Wiki, path: str, *, limit: int = PAGE_BYTES) -> Page:
    """The page at *path*; of a larger file the first *limit* bytes, and bytes that are no UTF-8
    as replacement characters.

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
    """The page that these bytes are."""
    text, problem = decoded(data, is_cut=is_cut)
    header = front_matter.read(text)
    version = "" if is_cut else version_of(data)
    return Page(
        path,
        head(header),
        header.body,
        text,
        version,
        len(data),
        0.0,
        is_cut=is_cut,
        problem=problem,
    )


def decoded(data: bytes, *, is_cut: bool = False) -> tuple[str, str]:
    """The text of a page's bytes, and a sentence when they are no UTF-8. A character that was cut
    in two at the end is left out."""
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
    """A page's title without a header: its first heading, else its file's name in words."""
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


def headings(body: str) -> Iterator[str]:
    """The headings of a page's text, in order, without marks; code holds none."""
    if "#" not in body:
        return
    fence = ""
    for line in body.split("\n"):
        found = _FENCED.match(line)
        if found and (not fence or found[1].startswith(fence)):
            fence = "" if fence else found[1]
        elif not fence and (heading := _ANY_HEADING.match(line)):
            yield one_line(_MARKS.sub("", heading[1]))


def is_page(path: str) -> bool:
    """Whether a file of this name is a page, that is, Markdown."""
    return path.lower().endswith(ENDINGS)


def without_ending(path: str) -> str:
    """*path* without ``.md``."""
    lower = path.lower()
    return next((path[: -len(end)] for end in ENDINGS if lower.endswith(end)), path)


def new_path(text: str) -> str:
    """Where a new page goes that a person or a link calls *text*: below ``wiki/``, with ``.md``.

    Raises:
        PageRefused: no page can be called so.
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
    """The page that stands for a folder, or "" when it has none."""
    path = f"{folder.strip('/')}/index.md"
    try:
        place = wiki.locate(path)
    except (PathRefused, PageRefused, FileMissing):
        return ""
    return path if place.status is not None and not place.is_folder else ""
