"""The prompt block that mentions the archive."""

from pathlib import Path

from jenny.agent.prompt import Block
from memory.archive import store
from memory.archive.file_format import FOLDER


def block(root: Path) -> Block | None:
    """Say how many archived facts there are and how to reach them; ``None`` without any."""
    number = store.count(root)
    if not number:
        return None
    facts = "1 archived fact is" if number == 1 else f"{number:,} archived facts are"
    text = (
        f"## Archive\n\n{facts} kept: what once stood in the memory files. Look it up with recall, "
        "by words or by its id, before you say that you do not know."
    )
    return Block("archive", text, "# Memory", FOLDER)
