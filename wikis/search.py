"""Search titles, paths, headings, tags and bodies for all words, the last one by its prefix.

Titles come first. Accents and case do not count.
"""

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jenny.markdown.comments import blank_comments
from jenny.text_normalisation import search_tokens
from jenny.workspace import paths
from jenny.workspace.errors import WorkspaceError
from wikis import pages
from wikis.index_entries import Entry
from wikis.page_index import Index

MOST_HITS = 20
MOST_WORDS = 12
QUERY_CHARS = 200
SNIPPET_CHARS = 220
SNIPPET_BYTES = 100_000
# A shorter prefix is searched only in titles and paths.
_PREFIX_CHARS = 2

# Links in the form in which they are read, not written.
_BRACKETS = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]")
_HEADER = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
# Weights of title, path, headings, tags, body.
_RANK = "bm25(words, 8.0, 3.0, 2.0, 3.0, 1.0)"


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found. ``snippet``: a line of it as (text, True for a searched word)."""

    wiki: str
    entry: Entry
    snippet: tuple[tuple[str, bool], ...]

    @property
    def place(self) -> str:
        return pages.without_ending(self.entry.path.removeprefix(f"{pages.PAGES}/"))


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search. ``words``: the searched words; ``more``: there are further hits."""

    hits: tuple[Hit, ...]
    words: tuple[str, ...]
    more: bool = False


def search(
    index: Index, query: str, wikis: Iterable[str] | None = None, *, most: int = MOST_HITS
) -> Found:
    """Return the pages that contain every word of *query*, best first; *wikis*: only in these."""
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
    """Return the words of a query in their form for the search.

    A word of a script without spaces becomes a phrase of its characters.
    """
    found: list[str] = []
    last = -1
    for start, end, form in search_tokens(query[:QUERY_CHARS].replace("\0", " ")):
        if start == last:
            found[-1] += f" {form}"
        else:
            found.append(form)
        last = end
    return tuple(dict.fromkeys(found[:MOST_WORDS]))


def _rows(
    connection: sqlite3.Connection, words: tuple[str, ...], only: tuple[str, ...] | None, most: int
) -> list[tuple[str, str]]:
    """Return wiki and entry of the best pages, first those with all words in the title."""
    *whole, last = (f'"{word}"' for word in words)
    terms = " AND ".join([*whole, f"{last}*"])
    is_sign = len(words[-1]) < _PREFIX_CHARS and words[-1].isascii()
    anywhere = _short(whole, last) if is_sign else terms
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
    """Return the query for one character: as a word anywhere, as a prefix in titles and paths."""
    ending = f"({last} OR {{title path}} : {last}*)"
    return " AND ".join([*whole, ending])


def _snippet(
    wiki: pages.Wiki, entry: Entry, words: tuple[str, ...]
) -> tuple[tuple[str, bool], ...]:
    """Return the first line of the page that has most of the words, with them marked."""
    try:
        with os.fdopen(paths.open_file(wiki.locate(entry.path)), "rb") as file:
            text = file.read(SNIPPET_BYTES).decode("utf-8", "replace")
    except (WorkspaceError, OSError):
        return ()
    body = _HEADER.sub("", text.removeprefix("\ufeff").replace("\r\n", "\n"), count=1)
    body = blank_comments(body, is_page=True)
    best, most = "", 0
    for line in body.split("\n"):
        text = _BRACKETS.sub(r"\1", line).strip().lstrip("-*+> ")
        if not text or text.startswith(("#", "```", "---", "|--", "|:-", "| -", "| :-")):
            continue
        if text.startswith("|"):
            # Of a table's row the words, without its bars.
            text = " · ".join(cell.strip() for cell in text.strip("|").split("|") if cell.strip())
        count = len({word for _, _, word in _places(text, words)})
        if count > most or not best:
            best, most = text, count
        if count == len(words):
            break
    return tuple(_marked(_cut(best, words), words))


def _cut(line: str, words: tuple[str, ...]) -> str:
    """Return the part of a long line around the first of the words."""
    if len(line) <= SNIPPET_CHARS:
        return line
    first = next((place[0] for place in _places(line, words)), 0)
    start = max(0, first - SNIPPET_CHARS // 3)
    end = start + SNIPPET_CHARS
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def _marked(line: str, words: tuple[str, ...]) -> Iterable[tuple[str, bool]]:
    """Split the line into pieces and mark those that begin like one of the words."""
    at = 0
    for start, end, _ in _places(line, words):
        if at < start:
            yield line[at:start], False
        yield line[start:end], True
        at = end
    if at < len(line):
        yield line[at:], False


def _places(line: str, words: tuple[str, ...]) -> Iterator[tuple[int, int, str]]:
    """Yield the words in the line: start, end, and the word. They do not overlap."""
    tokens = list(search_tokens(line))
    phrases = [(word, word.split(" ")) for word in words]
    number = 0
    while number < len(tokens):
        for word, parts in phrases:
            there = [form for _, _, form in tokens[number : number + len(parts)]]
            if there[:-1] == parts[:-1] and there[-1].startswith(parts[-1]):
                number += len(parts) - 1
                yield tokens[number - len(parts) + 1][0], tokens[number][1], word
                break
        number += 1
