"""What a person should know of a backup before they let it in, beside the names of its files: it
may say which servers are asked from then on, and what needs no consent any more."""

import json
from collections.abc import Iterator
from typing import Any

from jenny.accounts.addresses import origin
from jenny.accounts.errors import ConnectionProblem
from jenny.workspace.backup.checking import Backup
from memory import approved, consents

_SETTINGS = "config.json"
_MOST_BYTES = 1_000_000
_NAMED = 10


def sentences(backup: Backup) -> tuple[str, ...]:
    """Told of a backup of whoever it is, once all of it was looked at."""
    sizes = {row.path: row.size for row in backup.rows() if not row.is_folder}
    told = []
    if 0 < sizes.get(_SETTINGS, 0) <= _MOST_BYTES and (hosts := _hosts(backup)):
        more = f" and {len(hosts) - _NAMED} more" if len(hosts) > _NAMED else ""
        told.append(
            f"Its settings come along: models may be asked at {', '.join(hosts[:_NAMED])}{more}. "
            "Go on only if you know these servers: conversations and the memory are sent there."
        )
    if any(sizes.get(path) for path in (consents.PATH, approved.PATH)):
        told.append(
            "What Jenny may change by herself, and which skills are read in every conversation, "
            "comes along, too. Settings → Skills shows it and takes it back."
        )
    return tuple(told)


def _hosts(backup: Backup) -> list[str]:
    """The servers that its presets name."""
    try:
        found = json.loads(backup.read(_SETTINGS))
    except (ValueError, RecursionError):
        return []
    presets = found.get("modelPresets") if isinstance(found, dict) else None
    return sorted(set(_origins(presets))) if isinstance(presets, dict) else []


def _origins(presets: dict[str, Any]) -> Iterator[str]:
    for row in presets.values():
        address = row.get("baseUrl") if isinstance(row, dict) else None
        if isinstance(address, str) and address:
            try:
                yield origin(address)
            except ConnectionProblem:
                continue
