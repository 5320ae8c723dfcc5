"""What a run costs, by the prices in the model's preset."""

from dataclasses import dataclass
from decimal import Decimal

from jenny.agent.tokens import Usage

_MILLION = Decimal(1_000_000)
# What Anthropic takes for its prompt cache, as parts of the input price; used where a preset
# names no prices of its own for the cache.
_CACHE_READ_PART = Decimal("0.1")
_CACHE_WRITE_PART = Decimal("1.25")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices for a million tokens, in whatever money the preset is written in (US dollars)."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None

    def cost(self, usage: Usage) -> Decimal:
        """What *usage* costs, to a millionth."""
        read = self.input * _CACHE_READ_PART if self.cache_read is None else self.cache_read
        write = self.input * _CACHE_WRITE_PART if self.cache_write is None else self.cache_write
        total = (
            self.input * usage.input
            + self.output * usage.output
            + read * usage.cache_read
            + write * usage.cache_write
        )
        return (total / _MILLION).quantize(Decimal("0.000001"))
