"""Write rules: what may be written by whom is decided before anything lands.

The apps whose files they guard register them; every opened workspace applies all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Actor:
    """Who writes.

    ``kind``: ``chat`` (the assistant's tools), ``dream``, ``browser`` (a person in the pages),
    ``setup``, ``command`` (a person's command), ``restore``, ``outside``, or ``pipeline`` (the
    memory pipeline's own bookkeeping). ``run`` names what it happened in, e.g. ``turn:12``.
    """

    kind: str
    account: int | None = None
    run: str = ""


@dataclass(frozen=True)
class Change:
    """One file's change, before it lands. ``None``: there is no file before, or after."""

    path: str
    old: bytes | None
    new: bytes | None
    actor: Actor
    workspace: Path


WriteRule = Callable[[Change], None]
_checking: dict[str, WriteRule] = {}
_acting: dict[str, WriteRule] = {}


def register_rule(rule: WriteRule, *, acts: bool = False) -> None:
    """Apply *rule* to every write of every workspace from now on.

    It raises ``WriteRefused`` to stop the write. Rules that do something first (``acts``) run when
    no other rule has refused, so that a refused write leaves nothing behind. Registering the same
    function again replaces it.
    """
    (_acting if acts else _checking)[f"{rule.__module__}.{rule.__qualname__}"] = rule


def apply_rules(changes: Sequence[Change]) -> None:
    """Ask every rule about every change; those that act come last.

    Raises:
        WriteRefused: a rule said no.
    """
    ask(changes)
    act(changes)


def ask(changes: Sequence[Change]) -> None:
    """Ask the rules that only check.

    Raises:
        WriteRefused: a rule said no.
    """
    _apply(_checking, changes)


def act(changes: Sequence[Change]) -> None:
    """Let the rules that do something first do it; nobody has refused any part of the act.

    Raises:
        WriteRefused: what was to be done first cannot be.
    """
    _apply(_acting, changes)


def _apply(rules: dict[str, WriteRule], changes: Sequence[Change]) -> None:
    for rule in list(rules.values()):
        for change in changes:
            rule(change)
