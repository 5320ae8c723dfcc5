"""A login that is half done: the password was right, and the second step is to come.

It is noted in the visitor's session, which is nobody's until then, and holds what they typed.
"""

import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

KEY = "halfway"
# To open an app and type six digits; after that the password is asked for again.
SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Halfway:
    """Whose login it is; *proof* changes with the password."""

    account: int
    proof: str


def begin(session: MutableMapping[str, Any], account: int, proof: str) -> None:
    """Note that the password was right."""
    session[KEY] = {"account": account, "proof": proof, "at": time.time()}


def read(session: MutableMapping[str, Any]) -> Halfway | None:
    """The login that is half done, unless it is too long ago."""
    found = session.get(KEY)
    if not isinstance(found, dict) or not 0 <= time.time() - found["at"] < SECONDS:
        return None
    return Halfway(int(found["account"]), str(found["proof"]))


def forget(session: MutableMapping[str, Any]) -> None:
    """It is done, or begun anew."""
    session.pop(KEY, None)
