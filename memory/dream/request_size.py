"""Whether a request of Dream fits its model, measured before it is sent."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jenny.agent.messages import Message
from jenny.agent.prompt import SystemPrompt
from jenny.agent.provider import Provider
from jenny.agent.tokens import estimate, estimate_messages
from jenny.workspace.config import Config
from memory import budgets

# Tokens that a reply must have room for.
_LEAST_REPLY = 512
# Characters of a text that is summarised at once, for each token of the window.
_CHARS_A_TOKEN = 2
_LEAST_CHARS = 2_000
# A file with fewer characters makes no request too long.
_WORTH_NAMING = 4_000


def window_of(config: Config, provider: Provider | None = None) -> int:
    """How many tokens the model reads at once: the setting, or what its server said lately."""
    window: int = config.get("agents.defaults.contextWindowTokens")
    known = provider.window if provider else None
    return min(window, known) if known else window


def chunk_chars(config: Config, most: int) -> int:
    """Characters of a raw text that the model is asked about at once; *most* at most."""
    return max(_LEAST_CHARS, min(most, window_of(config) * _CHARS_A_TOKEN))


def tokens_of(system: SystemPrompt, first: Message, schemas: Sequence[dict[str, Any]]) -> int:
    """About how many tokens a request takes."""
    schemas_text = json.dumps(list(schemas))
    return estimate(system.text) + estimate(schemas_text) + estimate_messages([first])


def why_too_long(root: Path, config: Config, provider: Provider, needs: int) -> str:
    """Why a request of so many tokens cannot be sent, naming the file that is too big and what to
    do; empty when it fits."""
    window = window_of(config, provider)
    if needs + _LEAST_REPLY <= window:
        return ""
    file = largest(root)
    return (
        f"A request takes about {needs:,} tokens, and this model reads {window:,} at once. {file} "
        "Nothing was asked, nothing is lost, and no note has used up a try."
    )


def largest(root: Path) -> str:
    """Which memory file takes most, and what to do about it."""
    row = max(budgets.gauge(root), key=lambda row: row.chars or 0)
    cure = "choose a model that reads more in Settings → Memory updates"
    if (row.chars or 0) < _WORTH_NAMING:
        return f"To go on, {cure}."
    return (
        f"{row.file.path} has {row.chars:,} characters: shorten it in the file browser, or {cure}."
    )
