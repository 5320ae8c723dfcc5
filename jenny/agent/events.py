"""What a provider tells while a reply comes in, in the order in which it comes."""

from dataclasses import dataclass

from jenny.agent.messages import Part
from jenny.agent.tokens import Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the reply's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of what the model thinks."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something about the request that the person should know; a whole sentence."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Counted:
    """The reply's tokens so far, as the provider counts them: they cost, however it ends."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class StepEnd:
    """The reply is whole. *stop_reason* is the API's own word (``end_turn``, ``tool_use``, …)."""

    parts: tuple[Part, ...]
    stop_reason: str
    usage: Usage


type Event = TextDelta | ThinkingDelta | Note | Counted | StepEnd
