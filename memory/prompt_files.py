"""The memory files in a prompt: whole, as they are on disk now.

A file without content (blank, or an untouched template) is left out; an unreadable one is named
with the reason, so that it does not pass for empty. Forgotten lines are left out.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from jenny.agent.prompt import Block, framed
from jenny.markdown.comments import OPENING, without_comments
from jenny.workspace import seed
from jenny.workspace.content import Reading
from jenny.workspace.file_cache import Kept, StampedFile
from memory.approvals import overlay
from memory.suppression import tombstones
from memory.suppression.hide import filtered
from memory.suppression.tombstones import State

_ABOUT = "# The workspace's own files\n\nThey stand here whole, as they are on disk now."
_MEMORY = "# Memory"
_ABOUT_USER = (
    "What is known about the person you talk with. How they like to be answered goes before "
    "SOUL.md."
)
_LISTED = re.compile(r"- (?P<name>[^:]+): (?P<about>.*) — (?P<path>\S+)")


@dataclass(frozen=True, slots=True)
class _Part:
    """One file's part of the prompt. *unmodified* is the note for an untouched template; without
    it, such a file is left out."""

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
    _Part(
        "user",
        "USER.md",
        _MEMORY,
        "USER.md",
        _ABOUT_USER,
    ),
    _Part(
        "memory",
        "memory/MEMORY.md",
        _MEMORY,
        "Long-term Memory",
        "What holds true beyond this conversation, from memory/MEMORY.md.",
    ),
)


def block(name: str, root: Path, *, can_be_opened: bool = True) -> Block | None:
    """Return the block ``agents``, ``soul``, ``user`` or ``memory`` of the workspace; ``None``
    for a file without content. A file that the run's tools cannot open is not named."""
    reading, state = _FILES[name].read(root), tombstones.state(root)
    part = (_BY_NAME if can_be_opened else _UNOPENED)[name]
    key = f"{root}\0{name}\0{part.title}"
    if not reading.problem and (waits := overlay.overlaid(root, part.path, reading, state)):
        return _made(part, waits, State(), overlay.ABOUT)
    kept = _BLOCKS.get(key)
    if kept is None or kept[0] is not reading or kept[1] is not state:
        kept = reading, state, _made(part, reading, state)
        _BLOCKS.put(key, kept)
    return kept[2]


def screened(root: Path, block: Block) -> Block:
    """Return a block of skills without forgotten lines; the list of skills includes those that
    wait for approval."""
    found = _without_forgotten(root, block)
    rows = list(overlay.skill_rows(root)) if block.name == "skills" else []
    if not rows:
        return found
    text = found.text or "# Skills\n"
    return replace(found, text="\n".join([text, *rows]))


def _without_forgotten(root: Path, block: Block) -> Block:
    state = tombstones.state(root)
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
    """Return a line without forgotten text; a skill in the list keeps its name and path."""
    if row := _LISTED.fullmatch(line):
        return line if state.match(row["about"]) is None else f"- {row['name']} — {row['path']}"
    return line if not line.strip() or state.match(line) is None else None


def _made(part: _Part, reading: Reading, state: State, note: str = "") -> Block | None:
    if reading.problem:
        text = f"## {part.title}\n\nNot shown: {reading.problem}"
        return Block(part.name, text, part.heading, part.path, reading.problem)
    shown = seed.strip_template_comments(filtered(state, reading.text).text)
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
_UNOPENED = {
    name: replace(_BY_NAME[name], title=title, about=about)
    for name, title, about in (
        ("soul", "You", "Who you are and how you speak."),
        (
            "user",
            "The person",
            _ABOUT_USER.replace("SOUL.md", "what is said about you"),
        ),
        ("memory", "Long-term Memory", "What holds true beyond this conversation."),
    )
}
_FILES = {part.name: StampedFile(part.path, _as_read) for part in _PARTS}
_BLOCKS: Kept[tuple[Reading, State, Block | None]] = Kept(1024)
_SCREENED: Kept[tuple[Block, State, Block]] = Kept(512)


def says_something(text: str) -> bool:
    """True when a file has more than white space and comments."""
    text = text.strip("\ufeff \t\r\n")
    if not text.startswith(OPENING):
        return bool(text)
    return bool(without_comments(text).strip())
