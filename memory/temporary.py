"""The rule for chats that leave no memory: what they write never reaches a file that Jenny
remembers by, whatever tool asks.
"""

from jenny.workspace import names
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Change
from memory import files

ACTOR = "temporary"
_FOLDERS = ("memory", files.SKILLS, "prompts")


def guard(change: Change) -> None:
    """Refuse a temporary chat's change of a memory file. A write rule (``jenny.workspace.rules``).

    Raises:
        WriteRefused: with rule ``protected``.
    """
    if change.actor.kind != ACTOR:
        return
    plain = "/".join(names.disguised(part) for part in change.path.split("/"))
    known = {names.disguised(path) for path in (*files.BY_PATH, files.INSTRUCTIONS)}
    if plain in known or plain.split("/")[0] in _FOLDERS:
        message = (
            f"{names.shown(change.path)} was not written: this is a temporary chat, which leaves "
            "no memory. Other files can be written. The user can keep this chat, and then it can."
        )
        raise WriteRefused(message, "protected")
