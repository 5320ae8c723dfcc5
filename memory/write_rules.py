"""The write rules of the memory files, in the order in which they are asked.

First who may write at all, then final refusals (protected, pinned, forgotten), then those that
can be answered by making space (budgets). When nothing refuses, removed texts are archived and
suppressed in the same write.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from jenny.markdown import front_matter
from jenny.workspace import diffs, names
from jenny.workspace.errors import WriteRefused
from jenny.workspace.redact import redact
from jenny.workspace.versions import commits
from jenny.workspace.versions.commits import register_external_edit_listener
from jenny.workspace.versions.undo import register_restore_filter
from jenny.workspace.write_rules import (
    Actor,
    Change,
    register_companion,
    register_rule,
)
from memory import budgets, consents, files, ledgers, pins, suppression
from memory.archive import store, write_rule
from memory.suppression.write_rule import filter_forgotten

Fence = Callable[[Path, Actor], bool]
_fences: dict[str, Fence] = {}


def install() -> None:
    """Register every rule; repeating it changes nothing."""
    register_rule(epoch)
    for rule in (guard_protected_files, pins.guard, suppression.guard, budgets.guard):
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


# The write rule of protected files, whatever tool or page writes.
#
# * The pipeline's own files (history, cursors, tombstones, pins) are written by the pipeline alone;
#   people see them on their pages.
# * The archive is not written by the assistant or by Dream either.
# * The assistant writes a password or key into a memory file or a skill only with the person's
#   consent: these files reach the prompts.
# * Files that instruct a model (``memory.consents``: AGENTS.md, a project's own, the guide,
#   always-on skills) are changed by the assistant only with the person's consent.
#
# Paths are resolved, links followed; spellings that some disk takes for the same count as the same.
# An unknown actor may write none of these files.

KEEPERS = frozenset({"pipeline", "restore"})
PEOPLE = KEEPERS | {"browser", "command", "setup"}

ARCHIVE = "memory/archive"


def guard_protected_files(change: Change) -> None:
    """Refuse the change of a protected file. A write rule (``jenny.workspace.write_rules``).

    Raises:
        WriteRefused: with rule ``spelling``, ``protected`` or ``consent``.
    """
    kind = change.actor.kind
    _refuse_spelling(change.path)
    if kind in KEEPERS:
        return
    plain = "/".join(names.disguised(part) for part in change.path.split("/"))
    if files.is_managed_file(plain):
        _refuse(change.path, "is kept by the memory pipeline, which alone writes it", "protected")
    if f"{plain}/".startswith(f"{ARCHIVE}/") and kind not in PEOPLE:
        _refuse(change.path, "belongs to the archive, which is only added to", "protected")
    if kind in _ASKERS and (what := _new_secret(change)):
        _ask(change, f"would hold what looks like a secret ({what})")
    if (
        kind in PEOPLE
        or (row := consents.instruction_in_file(change.workspace, change.path)) is None
    ):
        return
    if row.only_always:
        # Dream's changes are read only after an approval (``memory.skills``).
        is_free = change.actor.is_unattended
        asks = asks_for_every_prompt(change.old) or asks_for_every_prompt(change.new)
        if is_free or not asks:
            return
    _ask(change, row.why)


def asks_for_every_prompt(skill: bytes | None) -> bool:
    """True when a ``SKILL.md`` says ``always: true``, or may be read as saying so."""
    text = (skill or b"").decode("utf-8", "replace")
    header = front_matter.read_front_matter(text)
    if header.problem:
        return "always" in names.disguised(text)
    return any(
        names.disguised(key) == "always" and front_matter.parse_flag(value) is not False
        for key, value in header.values.items()
    )


def _new_secret(change: Change) -> str:
    """The kind of secret that comes into a memory file or a skill; empty: none does."""
    if change.path not in files.BY_PATH and files.skill_of(change.path) is None:
        return ""
    hits = redact("\n".join(diffs.added_lines(change.old, change.new))).hits
    return hits[0].kind if hits else ""


def _refuse_spelling(path: str) -> None:
    """Refuse a second file whose name some disk takes for one of the product's own."""
    right = files.canonical(path)
    if (skill := files.skill_of(path)) is not None:
        right = f"{files.SKILLS}/{skill}/{files.SKILL_FILE}"
    if path != right:
        message = f"{names.shown(path)} was not written: the file is {names.shown(right)}."
        raise WriteRefused(message, "spelling")


def _ask(change: Change, why: str) -> None:
    """Allow it with a standing consent; otherwise ask the person, where a chat's page can do
    that."""
    if change.actor.kind not in _ASKERS:
        _refuse(change.path, why, "consent")
    if change.actor.run.startswith(consents.RUN) or change.path in consents.given(change.workspace):
        return
    message = (
        f"{names.shown(change.path)} {why}, so it takes the user's consent. Nothing was written "
        "yet: the change stands in the page now, and is made as soon as they allow it. Do not "
        "repeat the call. Tell them in a sentence what it would change."
    )
    raise WriteRefused(message, "consent", change)


# Actors whose conversation shows the change to the person, who allows it there.
_ASKERS = frozenset({"chat", "project"})

_CURES = {
    "protected": "Reading and searching it is allowed.",
    "consent": (
        "That takes the user's consent: tell them the change you would make, and let them make it."
    ),
}


def _refuse(path: str, why: str, rule: str) -> None:
    message = f"{names.shown(path)} {why}. Nothing was written. {_CURES[rule]}"
    raise WriteRefused(message, rule)


TEMPORARY = "temporary"
_PROJECTS = frozenset({"project", "gardener"})
_MEMORY_FOLDERS = ("memory", files.SKILLS, "prompts")


def guard_unremembered(change: Change) -> None:
    """Refuse a temporary chat's or a project's change of a memory file.

    A write rule (``jenny.workspace.write_rules``).

    Raises:
        WriteRefused: with rule ``protected``.
    """
    if change.actor.kind not in {TEMPORARY, *_PROJECTS}:
        return
    plain = "/".join(names.disguised(part) for part in change.path.split("/"))
    known = {names.disguised(path) for path in (*files.BY_PATH, files.INSTRUCTIONS)}
    if plain in known or plain.split("/")[0] in _MEMORY_FOLDERS:
        if change.actor.kind in _PROJECTS:
            message = (
                f"{names.shown(change.path)} was not written: nothing of a project reaches the "
                "memory. What the project should know goes into its pages or its log."
            )
            raise WriteRefused(message, "protected")
        message = (
            f"{names.shown(change.path)} was not written: this is a temporary chat, which leaves "
            "no memory. Other files can be written. The user can keep this chat, and then it can."
        )
        raise WriteRefused(message, "protected")
