"""CSV files and JSON lines as tables of bounded size; damaged rows are named."""

import csv
import io
import json
from dataclasses import dataclass

from jenny.agent.messages import clean

ROWS = 500
COLUMNS = 60
CELL_CHARS = 500
LINE_CHARS = 20_000
# Lists and objects of a line that is shown with indentation.
INDENTED = 200


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and columns of a table. *left_out* counts the rows that are not shown; *is_cut*:
    columns were cut."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class JsonLine:
    """A line of a JSON lines file: its number and its text, or why it cannot be read."""

    number: int
    text: str
    problem: str = ""


def csv_table(text: str, *, tabs: bool = False) -> Table:
    rows = list(_csv_rows(text, tabs=tabs))
    width = max((len(row) for row in rows[: ROWS + 1]), default=0)
    shown = min(width, COLUMNS)
    squared = [
        tuple(_short(cell) for cell in row[:shown]) + ("",) * (shown - len(row))
        for row in rows[: ROWS + 1]
    ]
    head = squared[0] if squared else ()
    return Table(head, tuple(squared[1:]), max(0, len(rows) - 1 - ROWS), width > COLUMNS)


def json_lines(text: str) -> tuple[list[JsonLine], int]:
    """Return the last lines and how many before them are not shown."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    shown = lines[-ROWS:]
    return [_json_line(number, line) for number, line in shown], len(lines) - len(shown)


def _csv_rows(text: str, *, tabs: bool) -> list[list[str]]:
    plain = text.replace("\0", "\ufffd").removeprefix("\ufeff")
    delimiter = "\t" if tabs else _delimiter(plain)
    try:
        return [row for row in csv.reader(io.StringIO(plain), delimiter=delimiter) if row]
    except csv.Error:
        return [line.split(delimiter) for line in plain.splitlines() if line]


def _delimiter(text: str) -> str:
    """Guess the delimiter: the usual one that the first line has most of."""
    first = text.partition("\n")[0]
    return max(",;\t|", key=first.count)


def _json_line(number: int, line: str) -> JsonLine:
    try:
        value = json.loads(line)
        # Deeply nested values would be mostly indentation.
        indent = 2 if line.count("[") + line.count("{") <= INDENTED else None
        shown = clean(json.dumps(value, ensure_ascii=False, indent=indent))
        return JsonLine(number, shown[:LINE_CHARS])
    except ValueError:
        return JsonLine(number, line[:2_000], "This line is not JSON.")
    except RecursionError:
        return JsonLine(number, line[:2_000], "This line is nested too deeply to be shown whole.")


def _short(cell: str) -> str:
    return cell if len(cell) <= CELL_CHARS else cell[:CELL_CHARS] + "…"
