"""The client of an endpoint that speaks the Messages API."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jenny.agent.events import Event
from jenny.agent.limits import Limits
from jenny.agent.messages import Message
from jenny.agent.pricing import Prices
from jenny.agent.watch import Watch


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked. *key* belongs to the origin of *base_url* and goes nowhere else."""

    base_url: str
    key: str = ""
    is_demo: bool = False

    def __repr__(self) -> str:
        """Without the key."""
        return f"Endpoint({self.base_url!r})"


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


class Provider:
    """A model at an endpoint."""

    def __init__(self, endpoint: Endpoint, preset: Preset) -> None:
        self.endpoint = endpoint
        self.preset = preset

    def stream(
        self,
        *,
        system: list[dict[str, Any]],
        messages: Sequence[Message],
        tools: list[dict[str, Any]],
        watch: Watch,
        limits: Limits,
    ) -> Iterator[Event]:
        """Ask for one reply and tell it as it comes in; ``StepEnd`` comes last.

        Raises ``ProviderFault``, or ``Cancelled`` when the watch says so.
        """
        raise NotImplementedError
