"""Search over titles, paths, headings, tags and bodies: every word, the last one by its beginning.

Titles come first. Accents and case do not count.
"""

import os
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from jenny.workspace import paths
from jenny.workspace.errors import WorkspaceError
from wikis import pages
from wikis.index.entries import Entry
from wikis.index.known import Index
from wikis.index.store import searched

MOST_HITS = 20
MOST_WORDS = 12
QUERY_CHARS = 200
SNIPPET_CHARS = 220
SNIPPET_BYTES = 100_000
# A shorter beginning of a word is looked for in titles and paths alone.
_PREFIX_CHARS = 2

# Links as they are read, not as they are written.
_BRACKETS = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]")
_HEADER = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"[^\W_]+")
# Weights of title, path, headings, tags, body.
_RANK = "bm25(words, 8.0, 3.0, 2.0, 3.0, 1.0)"


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found. ``snippet``: a line of it as (text, whether it is one of the
    words)."""

    wiki: str
    entry: Entry
    snippet: tuple[tuple[str, bool], ...]

    @property
    def place(self) -> str:
        """Where it lies, for people: without ``wiki/`` and ``.md``."""
        return pages.without_ending(self.entry.path.removeprefix(f"{pages.PAGES}/"))


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found. ``words``: what was looked for; ``more``: there are others."""

    hits: tuple[Hit, ...]
    words: tuple[str, ...]
    more: bool = False


def search(
    index: Index, query: str, wikis: Iterable[str] | None = None, *, most: int = MOST_HITS
) -> Found:
    """The pages that hold every word of *query*, best first; *wikis*: only in these."""
    words = _words(query)
    if not words:
        return Found((), ())
    only = None if wikis is None else tuple(wikis)
    rows = index.search(lambda connection: _rows(connection, words, only, most + 1), only)
    hits = []
    opened: dict[str, pages.Wiki] = {}
    for name, text in rows[:most]:
        entry = Entry.from_json(text)
        if name not in opened:
            opened[name] = pages.open_wiki(index.root, name)
        hits.append(Hit(name, entry, _snippet(opened[name], entry, words)))
    return Found(tuple(hits), words, len(rows) > most)


def _words(query: str) -> tuple[str, ...]:
    found = _WORD.findall(searched(query[:QUERY_CHARS].replace("\0", " ")))
    return tuple(dict.fromkeys(found[:MOST_WORDS]))


def _rows(
    connection: sqlite3.Connection, words: tuple[str, ...], only: tuple[str, ...] | None, most: int
) -> list[tuple[str, str]]:
    """Wiki and entry of the best pages: those whose title holds all the words, then the rest."""
    *whole, last = (f'"{word}"' for word in words)
    terms = " AND ".join([*whole, f"{last}*"])
    anywhere = terms if len(words[-1]) >= _PREFIX_CHARS else _short(whole, last)
    there = f"and file.wiki in ({', '.join('?' * len(only))})" if only is not None else ""
    found: dict[int, tuple[str, str]] = {}
    for expression in (f"title : ({terms})", anywhere):
        statement = (
            "select file.id, file.wiki, file.entry from words join file on file.id = words.rowid"  # noqa: S608 - only marks
            f" where words match ? {there} order by {_RANK} limit ?"
        )
        for number, wiki, entry in connection.execute(statement, [expression, *(only or ()), most]):
            found.setdefault(number, (wiki, entry))
        if len(found) >= most:
            break
    return list(found.values())[:most]


def _short(whole: list[str], last: str) -> str:
    """One sign: as a word anywhere, as a beginning in titles and paths."""
    ending = f"({last} OR {{title path}} : {last}*)"
    return " AND ".join([*whole, ending])


def _snippet(
    wiki: pages.Wiki, entry: Entry, words: tuple[str, ...]
) -> tuple[tuple[str, bool], ...]:
    """The first line of the page that holds most of the words, with them marked."""
    try:
        with os.fdopen(paths.open_file(wiki.locate(entry.path)), "rb") as file:
            text = file.read(SNIPPET_BYTES).decode("utf-8", "replace")
    except (WorkspaceError, OSError):
        return ()
    body = _HEADER.sub("", text.removeprefix("\ufeff").replace("\r\n", "\n"), count=1)
    best, most = "", 0
    for line in body.split("\n"):
        text = _BRACKETS.sub(r"\1", line).strip().lstrip("-*+> ")
        if not text or text.startswith(("#", "```", "---", "|--")):
            continue
        folded = searched(text)
        count = sum(word in folded for word in words)
        if count > most or not best:
            best, most = text, count
        if count == len(words):
            break
    return tuple(_marked(_cut(best, words), words))


def _cut(line: str, words: tuple[str, ...]) -> str:
    """The part of a long line around the first of the words."""
    if len(line) <= SNIPPET_CHARS:
        return line
    places = [at for word in words if (at := searched(line).find(word)) >= 0]
    start = max(0, min(places, default=0) - SNIPPET_CHARS // 3)
    end = start + SNIPPET_CHARS
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def _marked(line: str, words: tuple[str, ...]) -> Iterable[tuple[str, bool]]:
    """The line in pieces; a piece that begins like one of the words is marked."""
    at = 0
    for match in _WORD.finditer(line):
        folded = searched(match[0]).strip()
        if any(folded.startswith(word) for word in words):
            if at < match.start():
                yield line[at : match.start()], False
            yield match[0], True
            at = match.end()
    if at < len(line):
        yield line[at:], False
