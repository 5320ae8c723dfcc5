"""Tokens: what a provider counted, and estimates where it has not counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from jenny.agent.messages import Message, Text, Thinking, ToolResult, ToolUse

# UTF-8 bytes to a token. English runs at about 4, code and CJK at about 3; an estimate that is
# a little high leaves room, one that is low overflows the window.
_BYTES_PER_TOKEN = 3.4
_TOKENS_PER_PART = 6


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request, or of several added up.

    *input* is what was neither read from the prompt cache nor written to it.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: Self) -> Self:
        """The sum, field by field."""
        return type(self)(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )

    @property
    def prompt(self) -> int:
        """All tokens that went in, cached or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        """All tokens, in and out."""
        return self.prompt + self.output


def estimate(text: str) -> int:
    """About how many tokens *text* is; rather too many than too few."""
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return round(size / _BYTES_PER_TOKEN)


def estimate_messages(messages: Sequence[Message]) -> int:
    """About how many tokens the messages are, with what each part costs beside its text."""
    return sum(
        _TOKENS_PER_PART + estimate(_text_of(part))
        for message in messages
        for part in message.parts
    )


def _text_of(part: Text | Thinking | ToolUse | ToolResult) -> str:
    match part:
        case Text(text) | Thinking(text):
            return text
        case ToolUse(_, name, arguments):
            return f"{name}{arguments}"
        case ToolResult(_, content):
            return content
