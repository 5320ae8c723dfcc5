"""Write rules: what may be written by whom is decided before anything lands.

The apps whose files they guard register them; every opened workspace applies all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Actor:
    """Who writes.

    ``kind``: ``chat`` (the assistant's tools), ``dream``, ``review``, ``gardener``, ``browser`` (a
    person in the pages), ``setup``, ``command`` (a person's command), ``restore``, ``outside``, or
    ``pipeline`` (the memory pipeline's own bookkeeping). ``run`` names what it happened in, e.g.
    ``turn:12``; ``sources`` the entries of the history that the write rests on, by their cursors;
    ``reason`` why it is made, in a few words.
    """

    kind: str
    account: int | None = None
    run: str = ""
    sources: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Change:
    """One file's change, before it lands. ``None``: there is no file before, or after."""

    path: str
    old: bytes | None
    new: bytes | None
    actor: Actor
    workspace: Path


WriteRule = Callable[[Change], None]
ActRule = Callable[[Sequence[Change]], None]
Companion = Callable[[Sequence[Change]], Sequence[Change]]
_checking: dict[str, WriteRule] = {}
_acting: dict[str, WriteRule] = {}
_acting_on_acts: dict[str, ActRule] = {}
_companions: dict[str, Companion] = {}


def register_rule(rule: WriteRule, *, acts: bool = False) -> None:
    """Apply *rule* to every write of every workspace from now on.

    It raises ``WriteRefused`` to stop the write. Rules that do something first (``acts``) run when
    no other rule has refused, so that a refused write leaves nothing behind. Registering the same
    function again replaces it.
    """
    (_acting if acts else _checking)[_name(rule)] = rule


def register_act_rule(rule: ActRule) -> None:
    """Let *rule* see every act as a whole, right before it lands; nobody has refused it."""
    _acting_on_acts[_name(rule)] = rule


def register_companion(rule: Companion) -> None:
    """Let *rule* say what else must land with an act, before it: both happen, or neither.

    It sees all changes of the act and returns further ones, which no rule is asked about. It may
    refuse, when what must be kept first cannot be.
    """
    _companions[_name(rule)] = rule


def companions(changes: Sequence[Change]) -> list[Change]:
    """What must land before the act of these *changes*.

    Raises:
        WriteRefused: what must be kept first cannot be.
    """
    rules = list(_companions.values()) if changes else []
    return [extra for rule in rules for extra in rule(changes)]


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
    for rule in list(_acting_on_acts.values()) if changes else ():
        rule(changes)


def _name(rule: Callable[..., object]) -> str:
    return f"{rule.__module__}.{rule.__qualname__}"


def _apply(rules: dict[str, WriteRule], changes: Sequence[Change]) -> None:
    for rule in list(rules.values()):
        for change in changes:
            rule(change)
