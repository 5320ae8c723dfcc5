"""Register and apply write rules, which decide before a write who may write what.

The apps whose files they guard register them; every opened workspace applies all of them.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from jenny.workspace.errors import WriteRefused

log = logging.getLogger(__name__)

MODEL_ACTORS = frozenset({"chat", "temporary", "project", "gardener", "dream", "review"})
# Actors that change memory files while nobody watches; stricter rules apply to them.
UNATTENDED_ACTORS = frozenset({"dream", "review"})


@dataclass(frozen=True)
class Actor:
    """The author of a write.

    ``kind``: ``chat`` (the assistant's tools), ``dream``, ``review``, ``gardener``, ``browser`` (a
    person in the pages), ``setup``, ``command`` (a person's command), ``restore``, ``outside``, or
    ``pipeline`` (the memory pipeline's own bookkeeping). ``run`` names the run it happened in, e.g.
    ``turn:12``; ``sources`` the history entries that the write is based on, by their cursors;
    ``reason`` the reason for it, in a few words.
    """

    kind: str
    account: int | None = None
    run: str = ""
    sources: tuple[int, ...] = ()
    reason: str = ""

    @property
    def is_model(self) -> bool:
        return self.kind in MODEL_ACTORS

    @property
    def is_unattended(self) -> bool:
        return self.kind in UNATTENDED_ACTORS


@dataclass(frozen=True)
class Change:
    """One file's change, before it is written. ``None``: there is no file before, or after."""

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
    """Call *rule* with every transaction right before it is written; no rule has refused it."""
    _acting_on_acts[_name(rule)] = rule


def register_companion(rule: Companion) -> None:
    """Let *rule* add changes that must be written before a transaction: both happen, or neither.

    It gets all changes of the transaction and returns further ones, to which no rule is applied. It
    may refuse when something that must be saved first cannot be.
    """
    _companions[_name(rule)] = rule


def companions(changes: Sequence[Change]) -> list[Change]:
    """Return the changes that must be written before these *changes*.

    Raises:
        WriteRefused: a rule could not save what must be saved first.
    """
    rules = list(_companions.values()) if changes else []
    try:
        return [extra for rule in rules for extra in rule(changes)]
    except WriteRefused as refused:
        log_refusal(changes[0].actor, refused)
        raise


def apply_rules(changes: Sequence[Change]) -> None:
    """Apply every rule to every change; those that act come last.

    Raises:
        WriteRefused: a rule refused.
    """
    check_write(changes)
    act(changes)


def check_write(changes: Sequence[Change]) -> None:
    """Apply the rules that only check.

    Raises:
        WriteRefused: a rule refused.
    """
    _apply(_checking, changes)


def act(changes: Sequence[Change]) -> None:
    """Run the rules that act; no rule has refused any part of the transaction.

    Raises:
        WriteRefused: a rule could not do what must be done first.
    """
    _apply(_acting, changes)
    for rule in list(_acting_on_acts.values()) if changes else ():
        rule(changes)


def _name(rule: Callable[..., object]) -> str:
    return f"{rule.__module__}.{rule.__qualname__}"


def _apply(rules: dict[str, WriteRule], changes: Sequence[Change]) -> None:
    for rule in list(rules.values()):
        for change in changes:
            try:
                rule(change)
            except WriteRefused as refused:
                log_refusal(change.actor, refused)
                raise


class Refused(Protocol):
    rule: str
    is_logged: bool


def log_refusal(actor: Actor, refused: Refused) -> None:
    """Log once that a write was refused, without its content or path."""
    if refused.is_logged:
        return
    refused.is_logged = True
    fields = {"rule": refused.rule, "actor": actor.kind, "run": actor.run}
    log.info("write.refused", extra=fields)
