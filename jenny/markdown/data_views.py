"""Show code blocks of CSV and JSON also as a table and as a tree, in bounds."""

import csv
import json
import re
from collections.abc import Iterator
from html import escape
from io import StringIO
from itertools import islice
from typing import Any

from jenny.markdown import limits

MOST_ROWS = 200
MOST_COLUMNS = 40
MOST_NODES = 1_000
DEEPEST = 20
CELL_CHARS = 500
# A table or tree may have so much HTML for each character of its source, and for itself.
HTML_PER_CHAR = 25
OWN_HTML = 300

# What scrolls by itself can be reached by keyboard.
_REGION = 'tabindex="0" role="group"'
_CELL = '<td dir="auto"></td>'
# JSON may name halves of characters, which no page can hold.
_SURROGATE = re.compile("[\ud800-\udfff]")
_DELIMITERS = {"csv": ",", "tsv": "\t"}


def data_view(text: str, language: str, spare: int) -> tuple[str, int]:
    """Return the table or tree of a block in *language*, "" when it is none, or too large.

    Empty cells and nesting need more HTML than their source has characters: *spare* is how much
    more it may be. The second value is what is left of that.
    """
    if len(text) > limits.DATA:
        return "", spare
    most = HTML_PER_CHAR * len(text) + OWN_HTML
    html = ""
    if language in _DELIMITERS:
        html = _table(text, _DELIMITERS[language], most + spare)
    elif language in {"json", "jsonc", "geojson"}:
        html = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", _tree(text))
    more = max(0, len(html) - most)
    return (html, spare - more) if more <= spare else ("", spare)


def _table(text: str, delimiter: str, most: int) -> str:
    if delimiter == "," and text.count(";") > text.count(","):
        delimiter = ";"
    try:
        reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = [row[:MOST_COLUMNS] for row in islice(filter(None, reader), MOST_ROWS + 2)]
    except csv.Error:
        return ""
    if len(rows) < 2 or len(rows[0]) < 2:  # noqa: PLR2004 - one row or one column is no table
        return ""
    head, *body = rows
    if len(_CELL) * len(head) * min(len(body), MOST_ROWS) > most:
        return ""
    lines = "".join(_row(row, len(head)) for row in body[:MOST_ROWS])
    note = _note("rows", MOST_ROWS) if len(body) > MOST_ROWS else ""
    cells = "".join(f'<th scope="col" dir="auto">{_cell(cell)}</th>' for cell in head)
    return _folded(
        "Table",
        f'<div class="table" {_REGION} aria-label="Table"><table>'
        f"<thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table></div>{note}",
    )


def _row(row: list[str], columns: int) -> str:
    cells = [*row, *[""] * (columns - len(row))]
    return f"<tr>{''.join(f'<td dir="auto">{_cell(cell)}</td>' for cell in cells)}</tr>"


def _cell(text: str) -> str:
    return escape(text[:CELL_CHARS] + "…" * (len(text) > CELL_CHARS), quote=False)


def _tree(text: str) -> str:
    try:
        # Numbers stay as they were written; of equal names, each is shown.
        value = json.loads(text, parse_int=_Number, parse_float=_Number, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return ""
    if not value or not isinstance(value, list):
        return ""
    nodes = list(islice(_nodes(value, 1), MOST_NODES + 1))
    note = _note("values", MOST_NODES) if len(nodes) > MOST_NODES else ""
    return _folded(
        "Tree",
        f'<div class="tree" {_REGION} aria-label="Tree">{_closed(nodes[:MOST_NODES])}</div>{note}',
    )


class _Pairs(list[tuple[str, Any]]):
    """The names and values of a JSON object."""


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


def _nodes(value: list[Any], depth: int) -> Iterator[tuple[int, str, str]]:
    """Yield the lines of a tree: depth, name, and the value as HTML ("" for one with lines)."""
    pairs = value if isinstance(value, _Pairs) else enumerate(value)
    for name, one in pairs:
        if isinstance(one, list) and one and depth < DEEPEST:
            yield depth, str(name), ""
            yield from _nodes(one, depth + 1)
        else:
            yield depth, str(name), f"<code>{_cell(_written(one))}</code>"


def _written(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, _Pairs):
        return "{…}" if value else "{}"
    if isinstance(value, list):
        return "[…]" if value else "[]"
    return json.dumps(value, ensure_ascii=False)


def _closed(nodes: list[tuple[int, str, str]]) -> str:
    out = ["<ul>"]
    level = 1
    for depth, name, value in nodes:
        out += ["</ul></details></li>"] * (level - depth)
        level = depth
        if value:
            out.append(f"<li>{_cell(name)}: {value}</li>")
        else:
            level += 1
            out.append(f'<li><details open=""><summary>{_cell(name)}</summary><ul>')
    return "".join([*out, "</ul></details></li>" * (level - 1), "</ul>"])


def _note(what: str, most: int) -> str:
    return f'<p class="hint">Only the first {most:,} {what} are shown.</p>'


def _folded(name: str, html: str) -> str:
    return f'<details class="data-view"><summary>{name}</summary>{html}</details>'
