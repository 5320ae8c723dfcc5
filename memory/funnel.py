"""The rules that every write of a memory file passes, in the order in which they are asked.

First who may write at all, then what is final (protected, pinned, forgotten), then what can be
made room for (budgets). Nobody having refused, what leaves is archived and what a person took out
is noted as forgotten, in one act with the write.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from jenny.workspace.errors import WriteRefused
from jenny.workspace.rules import (
    Actor,
    Change,
    register_act_rule,
    register_companion,
    register_rule,
)
from jenny.workspace.versions import observer
from jenny.workspace.versions.outside import register_listener
from jenny.workspace.versions.sieve import register_sieve
from memory import budgets, forgotten, outside, pins, protected
from memory.archive import keep
from memory.forgotten import restoring

UNATTENDED = frozenset({"dream", "review"})

Fence = Callable[[Path, Actor], bool]
Sink = Callable[[Sequence[Change]], None]
_fences: dict[str, Fence] = {}
_sinks: dict[str, Sink] = {}


def install() -> None:
    """Register every rule. Again: changes nothing."""
    register_rule(epoch)
    for rule in (protected.guard, pins.guard, forgotten.guard, budgets.guard):
        register_rule(rule)
    register_companion(keep.keep)
    register_companion(forgotten.remember_removals)
    register_rule(observer.observe, acts=True)
    register_act_rule(tell)
    register_listener(outside.note_outside)
    register_sieve(restoring.sift)


def register_fence(fence: Fence) -> None:
    """Let *fence* say of every unattended write whether its run may still write; it is asked
    under the workspace's lock, with the workspace's folder and the actor."""
    _fences[f"{fence.__module__}.{fence.__qualname__}"] = fence


def register_sink(sink: Sink) -> None:
    """Let *sink* know of every act right before it lands."""
    _sinks[f"{sink.__module__}.{sink.__qualname__}"] = sink


def epoch(change: Change) -> None:
    """Refuse a run that was taken over. A write rule.

    Raises:
        WriteRefused: with rule ``epoch``.
    """
    if change.actor.kind not in UNATTENDED:
        return
    if not all(fence(change.workspace, change.actor) for fence in list(_fences.values())):
        message = "This run was taken over or has ended, so it writes no more. Nothing was written."
        raise WriteRefused(message, "epoch")


def tell(changes: Sequence[Change]) -> None:
    """Tell every sink of an act. A rule about whole acts."""
    for sink in list(_sinks.values()):
        sink(changes)
