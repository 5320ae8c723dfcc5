"""The events that a page gets: one table of kinds, and a function for each.

A page applies each of them by the id of the element it names, so that getting one
twice changes nothing.
"""

from typing import Any

from jenny.markdown.streaming import Done, Op, Open

Event = dict[str, Any]

# kind → what the page does with it. static/js/stream.js has one branch for each.
KINDS = {
    "item": "put an element of the thread in place, at the end when it is new",
    "block": "put a block of an answer in place, at the end of the answer when it is new",
    "done": "append a finished chunk of text before the open one",
    "open": "replace the open chunk",
    "tail": "append plain text to the open chunk",
    "final": "put the stored rendering of a block in place, where it differs",
    "drop": "take an element away",
    "state": "show whether a turn waits, runs or is over",
    "title": "show the conversation's title",
    "meter": "show how full the context is",
    "reset": "render the thread anew",
    "expired": "go to the login",
    "alive": "know that the connection stands",
}


def item(element: str, html: str) -> Event:
    """A message of the thread, whole."""
    return {"kind": "item", "id": element, "html": html}


def block(message: str, element: str, html: str) -> Event:
    """A block of an answer, whole."""
    return {"kind": "block", "message": message, "id": element, "html": html}


def text_op(element: str, op: Op) -> Event:
    """What a piece of text changes in its block."""
    if isinstance(op, Done):
        return {"kind": "done", "block": element, "at": op.at, "html": op.html}
    if isinstance(op, Open):
        return {"kind": "open", "block": element, "at": op.at, "html": op.html}
    return {"kind": "tail", "block": element, "at": op.at, "text": op.text}


def final(element: str, html: str) -> Event:
    """The stored rendering of a block of text."""
    return {"kind": "final", "block": element, "html": html}


def drop(element: str) -> Event:
    """An element that is no longer there."""
    return {"kind": "drop", "id": element}


def state(name: str, turn: int, sentence: str = "") -> Event:
    """``queued``, ``running`` or ``idle``."""
    return {
        "kind": "state",
        "state": name,
        "turn": turn,
        "sentence": sentence,
    }


def title(text: str) -> Event:
    """The conversation's title."""
    return {"kind": "title", "title": text}


def meter(sentence: str, percent: int, note: str | None = None) -> Event:
    """How full the context is. *note*: what is too big for it; ``None`` leaves what is there."""
    told: Event = {"kind": "meter", "text": sentence, "percent": percent}
    return told if note is None else {**told, "note": note}


RESET: Event = {"kind": "reset"}
# An event and not a comment: a browser tells no script of a comment.
ALIVE: Event = {"kind": "alive"}


def expired(login: str) -> Event:
    """The session is over; *login* is the way back."""
    return {"kind": "expired", "login": login}
