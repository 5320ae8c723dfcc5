"""The line of the prompt that says that there is an archive."""

from pathlib import Path

from jenny.agent.prompt import Block
from memory.archive import store
from memory.archive.form import FOLDER


def block(root: Path) -> Block | None:
    """How many archived facts there are and how to get at them; ``None`` when there are none."""
    number = store.count(root)
    if not number:
        return None
    facts = "1 archived fact lies" if number == 1 else f"{number:,} archived facts lie"
    text = (
        f"## Archive\n\n{facts} under {FOLDER}/: what once stood in the memory files. Look there, "
        "by its id or by words, before you say that you do not know."
    )
    return Block("archive", text, "# Memory", FOLDER)
