"""What is sent to a model: the one place where a request takes its form on the wire."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from jenny.agent.faults import Refusal
from jenny.agent.messages import Message, to_wire
from jenny.agent.preset import Preset

# What may be left out when a model refuses it, and how that is said.
OPTIONAL = {
    "temperature": "“{model}” takes no temperature; it was asked without one.",
    "cache_control": "{host} knows no prompt cache; it was asked without it.",
    "thinking": "“{model}” does not take the thinking setting; it was asked without it.",
    "tools": "“{model}” cannot use tools; it was asked without them.",
}
_SHORTER = "“{model}” writes at most {tokens} tokens at once; the limit was lowered to that."


@dataclass(frozen=True, slots=True)
class Without:
    """What a model is known to refuse."""

    parameters: frozenset[str] = frozenset()
    most_tokens: int | None = None

    def after(self, refusal: Refusal, body: dict[str, Any]) -> Self | None:
        """What to leave out now, or ``None`` when the refusal is about nothing optional."""
        most = refusal.most_tokens
        if most is not None and 0 < most < body["max_tokens"]:
            return replace(self, most_tokens=most)
        for parameter in OPTIONAL:
            sent = parameter not in self.parameters and _has(body, parameter)
            if sent and refusal.refuses(parameter):
                return replace(self, parameters=self.parameters | {parameter})
        return None

    def said(self, before: Self, *, host: str, model: str) -> str:
        """The sentence on what this leaves out that *before* did not."""
        for parameter in self.parameters - before.parameters:
            return OPTIONAL[parameter].format(host=host, model=model)
        return _SHORTER.format(model=model, tokens=self.most_tokens)


def build(
    preset: Preset,
    *,
    system: list[dict[str, Any]],
    messages: Sequence[Message],
    tools: list[dict[str, Any]],
    max_tokens: int,
    without: Without,
) -> dict[str, Any]:
    """The request's fields, for a reply of at most *max_tokens*."""
    most = min(max_tokens, without.most_tokens or max_tokens)
    body: dict[str, Any] = {
        "model": preset.model,
        "max_tokens": most,
        "system": system,
        "messages": to_wire(messages, thinking="thinking" not in without.parameters),
    }
    if tools and "tools" not in without.parameters:
        body["tools"] = tools
    thinking = _thinking(preset.thinking, most)
    if thinking and "thinking" not in without.parameters:
        body["thinking"] = thinking
    if preset.temperature is not None and "temperature" not in without.parameters:
        # The SDK has no parameter for it any more; local servers have.
        body["extra_body"] = {"temperature": preset.temperature}
    if "cache_control" in without.parameters:
        for name in ("system", "tools"):
            if name in body:
                body[name] = [_without_mark(block) for block in body[name]]
        for message in body["messages"]:
            message["content"] = [_without_mark(block) for block in message["content"]]
    if not system:
        del body["system"]
    return body


def _thinking(setting: str, max_tokens: int) -> dict[str, Any] | None:
    if not setting:
        return None
    if setting == "off":
        return {"type": "disabled"}
    if setting.isdecimal():
        # A budget that leaves nothing for the reply is refused.
        budget = int(setting)
        return {"type": "enabled", "budget_tokens": budget} if budget < max_tokens else None
    return {"type": "adaptive"}


def _without_mark(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != "cache_control"}


def _has(body: dict[str, Any], parameter: str) -> bool:
    if parameter == "temperature":
        return "extra_body" in body
    if parameter == "thinking":
        # A provider also refuses the thinking of another model in the history.
        return parameter in body or any(
            "thinking" in block["type"]
            for message in body["messages"]
            for block in message["content"]
        )
    return parameter == "cache_control" or parameter in body
