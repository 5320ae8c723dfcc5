"""Merges ledgers of lines: each line of either side, once."""

import json
from collections.abc import Iterable


def split(data: bytes) -> list[bytes]:
    """Split into lines without their ends; an unterminated line counts."""
    return [line for line in data.split(b"\n") if line.strip()]


def joined(rows: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in rows)


def union(current: bytes, other: bytes) -> bytes:
    """Return the current ledger followed by the lines that only the other one has. Rows hold by
    their own time, in any order (``memory.ledgers``)."""
    mine = split(current)
    known = set(mine)
    missing = [line for line in dict.fromkeys(split(other)) if line not in known]
    return joined([*mine, *missing]) if missing else current


def removed_entries(ledger: bytes) -> frozenset[int]:
    """Return the entries that a person removed from the history (``memory.history.removal`` notes
    them beside the tombstones)."""
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
