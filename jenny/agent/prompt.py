"""The system prompt as a value: named blocks in a fixed order.

Equal blocks give equal bytes, so that a provider's prompt cache holds from turn to turn; text that
changes with every turn (clock, zone, channel) belongs at the end of the user's message.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jenny.agent.messages import clean
from jenny.agent.tokens import estimate

_RULE = "\n\n---\n\n"


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the prompt.

    *heading* is written above the first of several blocks that share it. *source* is the file of
    the text, *problem* a sentence about it for the person.
    """

    name: str
    text: str
    heading: str = ""
    source: str = ""
    problem: str = ""


@dataclass(frozen=True)
class SystemPrompt:
    """The blocks of one prompt, and the places after which a provider may cache."""

    blocks: tuple[Block, ...]
    # Names of blocks that end a seldom changing part; the end of the prompt is always one.
    breakpoints: frozenset[str] = frozenset()

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """Return the text, split at the breakpoints."""
        pieces: list[str] = []
        current: list[str] = []
        heading = ""
        for block in self.blocks:
            if current or pieces:
                same = block.heading and block.heading == heading
                current.append("\n\n" if same else _RULE)
            if block.heading and block.heading != heading:
                current.append(f"{block.heading}\n\n")
            heading = block.heading
            current.append(block.text)
            if block.name in self.breakpoints:
                pieces.append("".join(current))
                current = []
        return (*pieces, "".join(current)) if current else tuple(pieces)

    @cached_property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the sentences for the person about the files of the prompt."""
        return tuple(block.problem for block in self.blocks if block.problem)

    def wire(self) -> list[dict[str, Any]]:
        """Return the prompt for the Messages API, with a cache breakpoint after each piece."""
        return [
            {"type": "text", "text": piece, "cache_control": {"type": "ephemeral"}}
            for piece in self.pieces
        ]


def assemble(blocks: Iterable[Block], *, breakpoints: Iterable[str] = ()) -> SystemPrompt:
    """Build the prompt of the blocks that are not empty, in their order."""
    return SystemPrompt(
        tuple(block for block in blocks if block.text), breakpoints=frozenset(breakpoints)
    )


def framed(text: str, kind: str = "markdown") -> str:
    """Return a file's text in a fence that the text cannot close."""
    text = clean(text).strip("\n")
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}{kind}\n{text}\n{fence}"


def one_line(text: str, limit: int = 500) -> str:
    """Return a file's text for a line of a list.

    White space is collapsed, invisible characters are removed, and it is cut at *limit* characters.
    """
    text = clean(text)
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


@dataclass(frozen=True, slots=True)
class Cost:
    name: str
    source: str
    tokens: int


def costs(prompt: SystemPrompt) -> list[Cost]:
    """Return the costs of the prompt's blocks, the largest first."""
    found = [
        Cost(block.name, block.source, estimate(block.text) + estimate(block.heading))
        for block in prompt.blocks
    ]
    return sorted(found, key=lambda cost: -cost.tokens)
