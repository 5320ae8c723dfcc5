"""Which model is asked, where, and how."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, Self
from urllib.parse import urlsplit

from jenny.agent import addresses
from jenny.agent.errors import CancelReason, NoAddress
from jenny.agent.pricing import Prices
from jenny.agent.tokens import Usage


class Meter(Protocol):
    """Asked before each request and told after it, by the provider."""

    def is_spent(self) -> bool:
        """Whether no further request may be made today."""

    def count(self, preset: "Preset", usage: Usage) -> None:
        """A request was answered, whole or in part. Never raises."""

    def of(self, kind: str) -> Self:
        """The same, for another kind of run."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked. *key* belongs to the origin of *base_url* and goes nowhere else.

    *stops* is asked before each request and while one is under way; what it answers ends the run.
    *meter* counts what is used.
    """

    base_url: str
    key: str = field(default="", repr=False)
    is_demo: bool = False
    stops: Callable[[], CancelReason | None] | None = field(default=None, repr=False, compare=False)
    meter: Meter | None = field(default=None, repr=False, compare=False)

    @property
    def url(self) -> str:
        """The address as it is asked; empty when it is none."""
        try:
            return addresses.clean(self.base_url)
        except NoAddress:
            return ""

    @property
    def host(self) -> str:
        """Host and port, as shown to people; empty when there is no address."""
        return urlsplit(self.url).netloc


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named choice of a model and how to ask it (``modelPresets`` of config.json)."""

    name: str
    model: str
    base_url: str = ""
    max_tokens: int = 8192
    # Sent only when set: most models refuse it.
    temperature: float | None = None
    # "" leaves it to the model; "off", "adaptive", or a number: the budget in tokens.
    thinking: str = ""
    prices: Prices | None = None
