"""A key that was typed and did not work, until somebody says to save it all the same.

A page never shows a typed key again, so its field comes back empty. Until then the key waits in
the session: encrypted, bound to its address, and for an hour at most.
"""

import time
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from jenny.accounts.vault import Unreadable, Vault

KEY = "untried_key"
_SECONDS = 3600.0


@dataclass(frozen=True)
class Waiting:
    """The key, and the origin that it was typed for."""

    origin: str
    key: str = field(repr=False)


def keep(session: MutableMapping[str, Any], vault: Vault, waiting: Waiting) -> None:
    """Let the key wait, in place of an earlier one."""
    sealed = vault.encrypt(waiting.key, waiting.origin).decode()
    session[KEY] = {"origin": waiting.origin, "sealed": sealed, "at": time.time()}


def read(session: MutableMapping[str, Any], vault: Vault) -> Waiting | None:
    """The key that waits, if there is one."""
    kept = session.get(KEY)
    if kept is None or not 0 <= time.time() - kept["at"] < _SECONDS:
        return None
    try:
        return Waiting(kept["origin"], vault.decrypt(kept["sealed"].encode(), kept["origin"]))
    except Unreadable:
        return None


def forget(session: MutableMapping[str, Any]) -> None:
    """No key waits any more."""
    session.pop(KEY, None)
