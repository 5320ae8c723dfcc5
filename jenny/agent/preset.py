"""Which model is asked, where, and how."""

import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, Self

from jenny.agent.errors import CancelReason
from jenny.agent.pricing import Prices
from jenny.agent.tokens import Usage

_ENDS = ("/v1/messages", "/v1")


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
        """The address without what the client adds itself (``/v1``), and without a name and
        password, which would be sent in place of the key; empty when it is no address."""
        parts = self._parts
        path = parts.path.rstrip("/")
        for end in _ENDS:
            path = path.removesuffix(end)
        if parts.scheme not in {"http", "https"} or not self.host:
            return ""
        return urllib.parse.urlunsplit((parts.scheme, self.host, path, "", ""))

    @property
    def host(self) -> str:
        """Host and port, as shown to people; empty when it is no address."""
        return self._parts.netloc.rpartition("@")[2]

    @property
    def _parts(self) -> urllib.parse.SplitResult:
        try:
            parts = urllib.parse.urlsplit(self.base_url.strip())
            _ = parts.port  # looked at only now by the library
        except ValueError:
            return urllib.parse.urlsplit("")
        return parts


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
