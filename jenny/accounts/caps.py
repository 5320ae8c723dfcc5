"""What all runs of an account may use in a day, and what is said when that is used up."""

from dataclasses import dataclass
from decimal import Decimal

WHERE = "Settings → Usage"


@dataclass(frozen=True, slots=True)
class Caps:
    """A day's limits; ``None``: none."""

    tokens: int | None = None
    cost: Decimal | None = None

    @property
    def are_set(self) -> bool:
        """Whether there is one."""
        return self.tokens is not None or self.cost is not None


def spent(caps: Caps, tokens: int, cost: Decimal) -> str:
    """Which limit the day's use has reached, in a sentence; empty: none."""
    if caps.tokens is not None and tokens >= caps.tokens:
        noun = "token" if caps.tokens == 1 else "tokens"
        return f"Today's limit of {caps.tokens:,} {noun} is used up ({tokens:,} were used)."
    if caps.cost is not None and cost >= caps.cost:
        return f"Today's limit of ${caps.cost:,.2f} is used up (${cost:,.2f} were spent)."
    return ""


def until(zone: str) -> str:
    """What follows such a sentence: when it goes on."""
    return (
        f"No model is asked any more until midnight ({zone}), or until you raise the limit in "
        f"{WHERE}."
    )
