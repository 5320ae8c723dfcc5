"""The rule for files that not everybody may write, whatever tool or page asks.

* The pipeline's own books (history, cursors, what was forgotten and pinned) are written by the
  pipeline alone; people see them in the pages that are about them.
* The archive is not written by the assistant or by Dream either.
* What reaches every prompt (AGENTS.md, the guide, always-on skills) is changed by the assistant
  only with the person's consent.

Paths arrive resolved, links followed; spellings that some disk would hold to be the same count as
the same. Who is not known here may write none of these files.
"""

from jenny.markdown import front_matter
from jenny.workspace import names
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Change
from memory import consents, files

KEEPERS = frozenset({"pipeline", "restore"})
PEOPLE = KEEPERS | {"browser", "command", "setup"}

ARCHIVE = "memory/archive"


def guard(change: Change) -> None:
    """Refuse the change of a protected file. A write rule (``jenny.workspace.rules``).

    Raises:
        WriteRefused: with rule ``spelling``, ``protected`` or ``consent``.
    """
    kind = change.actor.kind
    _refuse_spelling(change.path)
    if kind in KEEPERS:
        return
    plain = "/".join(names.disguised(part) for part in change.path.split("/"))
    if files.is_book(plain):
        _refuse(change.path, "is kept by the memory pipeline, which alone writes it", "protected")
    if f"{plain}/".startswith(f"{ARCHIVE}/") and kind not in PEOPLE:
        _refuse(change.path, "belongs to the archive, which is only added to", "protected")
    if change.path in (files.INSTRUCTIONS, files.GUIDE) and kind not in PEOPLE:
        _ask(change, "changes how Jenny works")
    if kind in PEOPLE | {"dream", "review"} or files.skill_of(change.path) is None:
        return
    if asks_for_every_prompt(change.old) or asks_for_every_prompt(change.new):
        _ask(change, "is a skill that is read in every conversation")


def asks_for_every_prompt(skill: bytes | None) -> bool:
    """Whether a ``SKILL.md`` says ``always: true``, or may be read as saying so."""
    text = (skill or b"").decode("utf-8", "replace")
    header = front_matter.read(text)
    if header.problem:
        return "always" in names.disguised(text)
    return any(names.disguised(key) == "always" and value for key, value in header.values.items())


def _refuse_spelling(path: str) -> None:
    """Refuse a second file that would pass for one of the product's own."""
    right = files.canonical(path)
    if (skill := files.skill_of(path)) is not None:
        right = f"{files.SKILLS}/{skill}/{files.SKILL_FILE}"
    if path != right:
        message = f"{names.shown(path)} was not written: the file is {names.shown(right)}."
        raise WriteRefused(message, "spelling")


def _ask(change: Change, why: str) -> None:
    """Let it pass where the person has consented to it once for all; else it is put before them,
    where a chat's page can do that."""
    if change.actor.kind != "chat":
        _refuse(change.path, why, "consent")
    if change.actor.run.startswith(consents.RUN) or change.path in consents.given(change.workspace):
        return
    message = (
        f"{names.shown(change.path)} {why}, so it takes the user's consent. Nothing was written "
        "yet: the change stands in the page now, and is made as soon as they allow it. Do not "
        "repeat the call. Tell them in a sentence what it would change."
    )
    raise WriteRefused(message, "consent", change)


_CURES = {
    "protected": "Reading and searching it is allowed.",
    "consent": (
        "That takes the user's consent: tell them the change you would make, and let them make it."
    ),
}


def _refuse(path: str, why: str, rule: str) -> None:
    message = f"{names.shown(path)} {why}. Nothing was written. {_CURES[rule]}"
    raise WriteRefused(message, rule)
