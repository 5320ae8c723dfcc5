"""What the memory files give to a prompt: whole, as they are on disk now.

A file that says nothing (blank, or a template nobody touched) is left out; one that cannot be
read is named with the reason, so that neither the model nor the person takes it for empty.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jenny.agent.prompt import Block, framed
from jenny.workspace import seed
from jenny.workspace.reading import Reading
from jenny.workspace.stamped import StampedFile

_ABOUT = "# The workspace's own files\n\nThey stand here whole, as they are on disk now."
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Part:
    """How one file stands in the prompt. *unmodified*: what is said of an untouched template
    that goes in all the same; without it, such a file is left out."""

    name: str
    path: str
    heading: str
    title: str
    about: str
    unmodified: str = ""


_PARTS = (
    _Part(
        "agents",
        "AGENTS.md",
        _ABOUT,
        "AGENTS.md",
        "How the owner wants you to work in this workspace. Follow it.",
    ),
    _Part(
        "soul",
        "SOUL.md",
        _ABOUT,
        "SOUL.md",
        "Who you are and how you speak.",
        unmodified="Who you are and how you speak. This is the unmodified default.",
    ),
    _Part("user", "USER.md", _ABOUT, "USER.md", "What is known about the person you talk with."),
    _Part(
        "memory",
        "memory/MEMORY.md",
        "# Memory",
        "Long-term Memory",
        "What holds true beyond this conversation, from memory/MEMORY.md.",
    ),
)


def _derive(part: _Part) -> Callable[[Reading], Block | None]:
    def block(reading: Reading) -> Block | None:
        if reading.problem:
            text = f"## {part.title}\n\nNot shown: {reading.problem}"
            return Block(part.name, text, part.heading, part.path, reading.problem)
        if not says_something(reading.text):
            return None
        about = part.about
        if seed.is_untouched(part.path, reading.data):
            if not part.unmodified:
                return None
            about = part.unmodified
        text = f"## {part.title}\n\n{about}\n\n{framed(reading.text)}"
        return Block(part.name, text, part.heading, part.path)

    return block


_FILES = {part.name: StampedFile(part.path, _derive(part)) for part in _PARTS}


def block(name: str, root: Path) -> Block | None:
    """The block ``agents``, ``soul``, ``user`` or ``memory`` of the workspace at *root*;
    ``None`` when the file says nothing."""
    return _FILES[name].read(root)


def says_something(text: str) -> bool:
    """Whether a file has more in it than white space and comments."""
    return bool(_COMMENT.sub("", text).strip("\ufeff \t\r\n"))
