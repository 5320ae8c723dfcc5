"""The rule for chats that leave no memory, and for what happens inside a project: what they write
never reaches a file that Jenny remembers by, whatever tool asks.
"""

from jenny.workspace import names
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Change
from memory import files

ACTOR = "temporary"
PROJECTS = frozenset({"project", "gardener"})
_FOLDERS = ("memory", files.SKILLS, "prompts")


def guard(change: Change) -> None:
    """Refuse a temporary chat's or a project's change of a memory file.

    A write rule (``jenny.workspace.rules``).

    Raises:
        WriteRefused: with rule ``protected``.
    """
    if change.actor.kind not in {ACTOR, *PROJECTS}:
        return
    plain = "/".join(names.disguised(part) for part in change.path.split("/"))
    known = {names.disguised(path) for path in (*files.BY_PATH, files.INSTRUCTIONS)}
    if plain in known or plain.split("/")[0] in _FOLDERS:
        if change.actor.kind in PROJECTS:
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
