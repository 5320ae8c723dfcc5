"""The write rules of the memory files, in the order in which they are asked.

First who may write at all, then final refusals (protected, pinned, forgotten), then those that
can be answered by making space (budgets). When nothing refuses, removed texts are archived and
suppressed in the same write.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from jenny.workspace.errors import WriteRefused
from jenny.workspace.versions import commits
from jenny.workspace.versions.commits import register_external_edit_listener
from jenny.workspace.versions.undo import register_restore_filter
from jenny.workspace.write_rules import (
    Actor,
    Change,
    register_companion,
    register_rule,
)
from memory import budgets, ledgers, pins, suppression, write_guards
from memory.archive import store, write_rule
from memory.suppression.write_rule import filter_forgotten

Fence = Callable[[Path, Actor], bool]
_fences: dict[str, Fence] = {}


def install() -> None:
    """Register every rule; repeating it changes nothing."""
    register_rule(epoch)
    for rule in (write_guards.guard, pins.guard, suppression.guard, budgets.guard):
        register_rule(rule)
    register_companion(write_rule.archive_removed)
    register_companion(suppression.remember_removals)
    register_rule(commits.log_write, acts=True)
    register_external_edit_listener(note_outside)
    register_restore_filter(filter_forgotten)


def register_fence(fence: Fence) -> None:
    """Register the check that an unattended writer's run still holds its lease. It is asked under
    the workspace's lock with the workspace's folder and the actor."""
    _fences[f"{fence.__module__}.{fence.__qualname__}"] = fence


def epoch(change: Change) -> None:
    """Refuse a run that was taken over. A write rule.

    Raises:
        WriteRefused: with rule ``epoch``.
    """
    if not change.actor.is_unattended:
        return
    if not all(fence(change.workspace, change.actor) for fence in list(_fences.values())):
        message = "This run was taken over or has ended, so it writes no more. Nothing was written."
        raise WriteRefused(message, "epoch")


def note_outside(changes: Sequence[Change]) -> None:
    """Archive what was removed and update the tombstones. It may be called twice for the same
    edits; the second call adds nothing.

    Raises:
        WriteFailed: the disk refused.
    """
    root = changes[0].workspace
    leaving = [
        item
        for item in write_rule.leaving(changes)
        if not any(
            row.text == item.text and row.events[-1:] == item.events
            for row in store.find(root, write_rule.id_of(item))
        )
    ]
    found = [*write_rule.archived(root, leaving), *suppression.remember_removals(changes)]
    if found:
        ledgers.land(root, found)
