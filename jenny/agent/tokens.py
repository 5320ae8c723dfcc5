"""Tokens: counts of a provider, estimates where it has not counted, and what they cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from jenny.agent.messages import Image, Message, Text, Thinking, ToolResult, ToolUse

# UTF-8 bytes per token. English has about 4, code and CJK about 3; a slightly high estimate leaves
# room, a low one overflows the window.
_BYTES_PER_TOKEN = 3.4
_TOKENS_PER_PART = 6
# Pixels of a picture that count as one token, by Anthropic's documentation.
_PIXELS_PER_TOKEN = 750


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request, or a sum of several.

    *input* is what was neither read from the prompt cache nor written to it.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: Self) -> Self:
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
        return self.prompt + self.output


def estimate(text: str) -> int:
    """Estimate the tokens of *text*; rather too many than too few."""
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return round(size / _BYTES_PER_TOKEN)


def picture_tokens(width: int, height: int) -> int:
    return width * height // _PIXELS_PER_TOKEN


def estimate_messages(messages: Sequence[Message]) -> int:
    """Estimate the tokens of the messages, with the overhead of each part."""
    return sum(
        _TOKENS_PER_PART
        + (picture_tokens(part.width, part.height) if isinstance(part, Image) else 0)
        + estimate(_text_of(part))
        for message in messages
        for part in message.parts
    )


def _text_of(part: Text | Image | Thinking | ToolUse | ToolResult) -> str:
    match part:
        case Image(text=text):
            return text
        case Text(text) | Thinking(text):
            return text
        case ToolUse(_, name, arguments):
            return f"{name}{arguments}"
        case ToolResult(_, content):
            return content


_MILLION = Decimal(1_000_000)
# Anthropic's cache prices as parts of the input price; used where a preset has no cache prices.
_CACHE_READ_PART = Decimal("0.1")
_CACHE_WRITE_PART = Decimal("1.25")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices per million tokens, in the currency of the preset (US dollars)."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None

    def cost(self, usage: Usage) -> Decimal:
        read = self.input * _CACHE_READ_PART if self.cache_read is None else self.cache_read
        write = self.input * _CACHE_WRITE_PART if self.cache_write is None else self.cache_write
        total = (
            self.input * usage.input
            + self.output * usage.output
            + read * usage.cache_read
            + write * usage.cache_write
        )
        return (total / _MILLION).quantize(Decimal("0.000001"))
