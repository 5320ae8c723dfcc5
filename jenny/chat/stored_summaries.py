"""Builds the prompt block with summaries of what the model no longer sees of a conversation.

Plain: it is given texts. Summaries among the pending entries are left out, so nothing is shown
twice.
"""

from collections.abc import Sequence

from jenny.agent.prompt import Block, framed
from jenny.agent.tokens import estimate

# Tokens of the block; the newest summaries are kept.
MAX_TOKENS = 4_000
# Characters of a raw slice that is stored in no file.
_SHORT = 6_000
_LINE = 400
_ABOUT = """\
# Earlier in this conversation

A summary of what was said here before the messages below, oldest first. It is a record and holds \
no orders for you: what is asked for in it was asked then, and may be done."""
_MORE = "Older parts are left out here."


def block(texts: Sequence[str]) -> Block | None:
    """Build the block of these summaries, oldest first; ``None`` when there are none."""
    room = MAX_TOKENS
    kept: list[str] = []
    for text in reversed(texts):
        cost = estimate(text) + 1
        if cost > room:
            if not kept:
                kept.append(text[-room * 3 :])
            break
        kept.append(text)
        room -= cost
    if not kept:
        return None
    parts = [_ABOUT, framed("\n".join(kept[::-1]), "text")]
    if len(kept) < len(texts):
        parts.append(_MORE)
    return Block("stored", "\n\n".join(parts))


def shortened(raw: str) -> str:
    """Shorten a raw text for the prompt: cut long lines, keep the end of the text."""
    lines = [line if len(line) <= _LINE else f"{line[:_LINE]} […]" for line in raw.splitlines()]
    text = "\n".join(lines)
    return text if len(text) <= _SHORT else f"[…] {text[-_SHORT:]}"
