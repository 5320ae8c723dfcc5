"""What the memory files give to a prompt: whole, as they are on disk now.

A file that says nothing (blank, or a template nobody touched) is left out; one that cannot be
read is named with the reason, so that neither the model nor the person takes it for empty. What
the user asked to be forgotten is left out, wherever it still stands.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from jenny.agent.prompt import Block, framed
from jenny.workspace import seed
from jenny.workspace.reading import Reading
from jenny.workspace.stamped import Kept, StampedFile
from memory.approval import overlay
from memory.forgotten import stones
from memory.forgotten.leaving_out import filtered
from memory.forgotten.stones import State

_ABOUT = "# The workspace's own files\n\nThey stand here whole, as they are on disk now."
_LISTED = re.compile(r"- (?P<name>[^:]+): (?P<about>.*) — (?P<path>\S+)")
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


def block(name: str, root: Path) -> Block | None:
    """The block ``agents``, ``soul``, ``user`` or ``memory`` of the workspace at *root*;
    ``None`` when the file says nothing."""
    reading, state = _FILES[name].read(root), stones.state(root)
    part = _BY_NAME[name]
    if not reading.problem and (waits := overlay.overlaid(root, part.path, reading, state)):
        return _made(part, waits, State(), overlay.ABOUT)
    kept = _BLOCKS.get(f"{root}\0{name}")
    if kept is None or kept[0] is not reading or kept[1] is not state:
        kept = reading, state, _made(part, reading, state)
        _BLOCKS.put(f"{root}\0{name}", kept)
    return kept[2]


def screened(root: Path, block: Block) -> Block:
    """A block of skills without the lines that say what is forgotten; the list of them with those
    that wait for approval."""
    found = _without_forgotten(root, block)
    rows = list(overlay.skill_rows(root)) if block.name == "skills" else []
    if not rows:
        return found
    text = found.text or "# Skills\n"
    return replace(found, text="\n".join([text, *rows]))


def _without_forgotten(root: Path, block: Block) -> Block:
    state = stones.state(root)
    if not state.active or not block.text:
        return block
    kept = _SCREENED.get(f"{root}\0{block.name}")
    if kept is None or kept[0] is not block or kept[1] is not state:
        lines = [_screened(line, state) for line in block.text.split("\n")]
        text = "\n".join(line for line in lines if line is not None)
        kept = block, state, replace(block, text=text)
        _SCREENED.put(f"{root}\0{block.name}", kept)
    return kept[2]


def _screened(line: str, state: State) -> str | None:
    """A line as it may be shown; of a skill in the list only its name and path are left."""
    if row := _LISTED.fullmatch(line):
        return line if state.match(row["about"]) is None else f"- {row['name']} — {row['path']}"
    return line if not line.strip() or state.match(line) is None else None


def _made(part: _Part, reading: Reading, state: State, note: str = "") -> Block | None:
    if reading.problem:
        text = f"## {part.title}\n\nNot shown: {reading.problem}"
        return Block(part.name, text, part.heading, part.path, reading.problem)
    shown = filtered(state, reading.text).text
    if not says_something(shown):
        return None
    about = part.about
    if seed.is_untouched(part.path, reading.data):
        if not part.unmodified:
            return None
        about = part.unmodified
    about = f"{about} {note}".strip()
    text = f"## {part.title}\n\n{about}\n\n{framed(shown)}"
    return Block(part.name, text, part.heading, part.path)


def _as_read(reading: Reading) -> Reading:
    return reading


_BY_NAME = {part.name: part for part in _PARTS}
_FILES = {part.name: StampedFile(part.path, _as_read) for part in _PARTS}
_BLOCKS: Kept[tuple[Reading, State, Block | None]] = Kept(1024)
_SCREENED: Kept[tuple[Block, State, Block]] = Kept(512)


def says_something(text: str) -> bool:
    """Whether a file has more in it than white space and comments."""
    return bool(_COMMENT.sub("", text).strip("\ufeff \t\r\n"))
