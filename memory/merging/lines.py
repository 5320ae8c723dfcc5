"""Ledgers of lines: what either side has, each line once."""

import json
from collections.abc import Iterable


def split(data: bytes) -> list[bytes]:
    """The lines, without their ends; a line that was cut short counts as one."""
    return [line for line in data.split(b"\n") if line.strip()]


def joined(rows: Iterable[bytes]) -> bytes:
    """The file of these lines."""
    return b"".join(line + b"\n" for line in rows)


def union(current: bytes, other: bytes) -> bytes:
    """The current ledger, and behind it the lines that only the other one has. What a line says
    holds by its own time, wherever it stands (``memory.ledger``)."""
    mine = split(current)
    known = set(mine)
    missing = [line for line in dict.fromkeys(split(other)) if line not in known]
    return joined([*mine, *missing]) if missing else current


def removed_entries(ledger: bytes) -> frozenset[int]:
    """Numbers of the entries that a person had taken out of the history (``memory.history.removal``
    notes them beside what was forgotten)."""
    found: set[int] = set()
    for line in split(ledger):
        if b'"entries"' not in line:
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        named = row.get("entries") if isinstance(row, dict) else None
        found |= {one for one in named if type(one) is int} if isinstance(named, list) else set()
    return frozenset(found)
