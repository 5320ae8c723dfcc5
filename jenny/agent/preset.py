"""The choice of a model: its endpoint and its parameters."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, Self
from urllib.parse import urlsplit

from jenny.agent import addresses
from jenny.agent.errors import CancelReason, NoAddress
from jenny.agent.tokens import Prices, Usage


class Meter(Protocol):
    """The provider asks it before each request and reports to it afterwards."""

    def is_spent(self) -> bool: ...

    def count(self, preset: "Preset", usage: Usage) -> None:
        """Count a request that was answered in whole or in part. Never raises."""

    def of(self, kind: str) -> Self:
        """Return the meter for another kind of run."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a model. *key* is sent to the origin of *base_url* and nowhere else.

    *stops* is called before and during each request; a reason that it returns ends the run. *meter*
    counts usage.
    """

    base_url: str
    key: str = field(default="", repr=False)
    is_demo: bool = False
    stops: Callable[[], CancelReason | None] | None = field(default=None, repr=False, compare=False)
    meter: Meter | None = field(default=None, repr=False, compare=False)

    @property
    def url(self) -> str:
        """Return the cleaned address; empty when it is invalid."""
        try:
            return addresses.clean(self.base_url)
        except NoAddress:
            return ""

    @property
    def host(self) -> str:
        """Return host and port for people; empty when there is no address."""
        return urlsplit(self.url).netloc


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named choice of a model with its parameters (``modelPresets`` of config.json)."""

    name: str
    model: str
    base_url: str = ""
    max_tokens: int = 8192
    # Sent only when set: most models refuse it.
    temperature: float | None = None
    # "" leaves it to the model; "off", "adaptive", or a number: the budget in tokens.
    thinking: str = ""
    prices: Prices | None = None
    # False: the model gets the name and path of a picture in its place.
    takes_pictures: bool = True
