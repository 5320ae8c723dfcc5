"""List the files of a wiki's folder, parse them into entries, and cache these in SQLite.

The cache holds nothing that is not in the files, so it may be deleted at any time; a damaged one is
deleted and rebuilt. Several processes share it: each writes the changes it saw.
"""

import json
import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from jenny.markdown import front_matter
from jenny.markdown.comments import blank_comments
from jenny.markdown.link_context import Heading
from jenny.text_normalisation import search_tokens
from jenny.workspace import names as file_names
from jenny.workspace.sqlite_cache import SqliteCache, transaction
from jenny.workspace.stat_signature import StatSignature, is_racy, signature_of
from wikis import pages
from wikis.links import Link, read_links
from wikis.pages import Wiki

# Most headings, and characters of text, that are kept of one page.
HEADINGS = 500
BODY_CHARS = 1_000_000


@dataclass(frozen=True)
class Entry:
    """The index entry of a Markdown file of a wiki.

    ``path`` from the wiki's folder; ``digest`` and number of ``words`` of the text below its
    header, for finding duplicates; ``problem``: the reason why it cannot be read normally.
    """

    path: str
    title: str
    type: str
    tags: tuple[str, ...]
    headings: tuple[Heading, ...]
    links: tuple[Link, ...]
    size: int
    modified: float
    digest: str
    words: int = 0
    problem: str = ""
    header_problem: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def is_page(self) -> bool:
        """True for the wiki's own pages (not a source, log or guide)."""
        return self.path.startswith(f"{pages.PAGES}/")

    @cached_property
    def folder(self) -> str:
        """The path of its folder, from ``wiki/``."""
        return self.path.rpartition("/")[0].removeprefix(pages.PAGES).strip("/")

    def as_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Entry":
        """Load an entry from the cache. Raises ``ValueError`` or ``TypeError`` for invalid data."""
        row: dict[str, Any] = json.loads(text)
        row["links"] = tuple(Link(**link) for link in row["links"])
        row["tags"] = tuple(row["tags"])
        row["aliases"] = tuple(row["aliases"])
        row["headings"] = tuple(Heading(**heading) for heading in row["headings"])
        return cls(**row)


@dataclass(frozen=True)
class Parsed:
    """An entry, and the text for the search."""

    entry: Entry
    body: str


def parse_page(path: str, data: bytes, size: int, modified: float) -> Parsed:
    """Parse the bytes of the file at *path*; *size* in bytes is that of the whole file."""
    is_cut = len(data) > pages.PAGE_BYTES
    text, problem = pages.decoded(data[: pages.PAGE_BYTES], is_cut=is_cut)
    if is_cut:
        problem = (
            f"It has {size:,} bytes, more than the {pages.PAGE_BYTES:,} that are read of a page. "
            "Make it smaller, or part it."
        )
    header = front_matter.read_front_matter(text)
    head = pages.page_metadata(header)
    words = header.body.split()
    found = read_links(text)
    entry = Entry(
        path,
        head.title or pages.title_of(path, header.body),
        head.type,
        head.tags,
        found.headings[:HEADINGS],
        found.links,
        size,
        modified,
        blake2b(" ".join(words).encode(), digest_size=12).hexdigest(),
        len(words),
        problem,
        head.problem,
        head.aliases,
    )
    # What a page hides from its readers is not found in it.
    return Parsed(entry, blank_comments(header.body, is_page=True)[:BODY_CHARS])


def read_entry(path: str, descriptor: int) -> Parsed:
    """Read the open file *descriptor* and close it. Raises ``OSError``."""
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(pages.PAGE_BYTES + 1)
        status = os.fstat(file.fileno())
    return parse_page(path, data, status.st_size, status.st_mtime)


# The scanned folders: pages, sources and log. ``wikis.feedback`` reads ``audit/``.
FOLDERS = (pages.PAGES, pages.RAW, pages.LOG)
MOST_FILES = 50_000
DEEPEST = 24


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of a scan.

    Markdown files with their signatures (``None``: changed too recently to rely on it), other
    files, and a list of omissions: invalid names, unreadable folders, too many files.
    """

    pages: dict[str, StatSignature | None]
    files: frozenset[str]
    left_out: tuple[str, ...]


def scan_wiki(wiki: Wiki) -> Scan:
    found: dict[str, StatSignature | None] = {}
    files: list[str] = []
    left_out: list[str] = []
    started = time.time_ns()
    for folder in FOLDERS:
        for path, status in _below(wiki.base.path, folder, left_out):
            if len(found) + len(files) >= MOST_FILES:
                left_out.append(f"There are more than {MOST_FILES:,} files; the rest is left out.")
                return Scan(found, frozenset(files), tuple(left_out))
            if not pages.is_page(path):
                files.append(path)
                continue
            signature = signature_of(status)
            found[path] = None if is_racy(signature, started) else signature
    return Scan(found, frozenset(files), tuple(left_out))


def _below(base: Path, top: str, left_out: list[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the plain files below a folder, each with its status."""
    pending = [top]
    while pending:
        folder = pending.pop()
        for entry in _folder_entries(base, folder, left_out):
            path = f"{folder}/{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                if (status := _plain(entry)) is not None:
                    yield path, status
            elif path.count("/") < DEEPEST:
                pending.append(path)
            else:
                left_out.append(f"{file_names.shown(path)} lies too deep.")


def _folder_entries(base: Path, folder: str, left_out: list[str]) -> list[os.DirEntry[str]]:
    """List a folder, without hidden and invalid names."""
    try:
        with os.scandir(base / folder) as entries:
            rows = [entry for entry in entries if not entry.name.startswith(".")]
    except FileNotFoundError:
        return []
    except OSError as error:
        left_out.append(f"{file_names.shown(folder)} cannot be read: {error.strerror}.")
        return []
    odd = {
        entry.name: why
        for entry in rows
        if not entry.name.isascii() and (why := file_names.unusable(entry.name))
    }
    left_out += [f"{file_names.shown(f'{folder}/{name}')} {why}." for name, why in odd.items()]
    return [entry for entry in rows if entry.name not in odd]


def _plain(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Return the status of a plain file; ``None`` for anything else or a vanished file."""
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


VERSION = 6
_SCHEMA = (
    (
        "create table file (id integer primary key, wiki text not null, path text not null,"
        " stamp text not null, entry text not null, unique (wiki, path))"
    ),
    (
        "create virtual table words using fts5(title, path, headings, tags, body,"
        " tokenize = \"unicode61 remove_diacritics 0 categories 'L* M* N* Co'\", prefix = '2 3')"
    ),
)


class Store(SqliteCache):
    """The cache at *path* or, where that cannot be written, one in memory."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, _SCHEMA, VERSION)

    def rows(self, connection: sqlite3.Connection, wiki: str) -> dict[str, tuple[str, str]]:
        """Return the wiki's files: path → signature and entry."""
        query = "select path, stamp, entry from file where wiki = ?"
        return {
            path: (signature, entry) for path, signature, entry in connection.execute(query, [wiki])
        }

    def put(
        self,
        connection: sqlite3.Connection,
        wiki: str,
        rows: Iterable[tuple[StatSignature | None, Parsed]],
    ) -> None:
        with transaction(connection):
            for signature, parsed in rows:
                entry = parsed.entry
                _remove(connection, wiki, [entry.path])
                cursor = connection.execute(
                    "insert into file (wiki, path, stamp, entry) values (?, ?, ?, ?)",
                    [wiki, entry.path, coded(signature), entry.as_json()],
                )
                connection.execute(
                    "insert into words (rowid, title, path, headings, tags, body)"
                    " values (?, ?, ?, ?, ?, ?)",
                    [cursor.lastrowid, *_searched(entry, parsed.body)],
                )

    def remove(self, connection: sqlite3.Connection, wiki: str, paths: Sequence[str]) -> None:
        with transaction(connection):
            _remove(connection, wiki, paths)

    def keep_only(self, connection: sqlite3.Connection, wikis: Iterable[str]) -> None:
        known = {row[0] for row in connection.execute("select distinct wiki from file")}
        for wiki in known - set(wikis):
            paths = connection.execute("select path from file where wiki = ?", [wiki]).fetchall()
            self.remove(connection, wiki, [row[0] for row in paths])


def coded(signature: StatSignature | None) -> str:
    """Encode a signature; one that cannot be relied on equals no other."""
    return "" if signature is None else " ".join(map(str, signature))


def searched(text: str) -> str:
    """Return *text* in its form for the search.

    Words are normalised; characters of scripts without spaces and Korean syllables become separate
    words.
    """
    return " ".join(form for _, _, form in search_tokens(text))


def _remove(connection: sqlite3.Connection, wiki: str, paths: Sequence[str]) -> None:
    for path in paths:
        row = connection.execute(
            "select id from file where wiki = ? and path = ?", [wiki, path]
        ).fetchone()
        if row:
            connection.execute("delete from words where rowid = ?", row)
            connection.execute("delete from file where id = ?", row)


def _searched(entry: Entry, body: str) -> list[str]:
    return [
        searched(part)
        for part in (
            entry.title,
            entry.path,
            "\n".join((*entry.aliases, *(heading.text for heading in entry.headings))),
            " ".join(entry.tags),
            body,
        )
    ]
