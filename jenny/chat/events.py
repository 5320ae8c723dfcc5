"""The events that are sent to a page: a table of kinds, and a function for each.

A page applies an event by the id of the element it names, so a repeated event changes nothing.
"""

from typing import Any

from jenny.markdown.streaming import Done, Items, Op, Open

Event = dict[str, Any]

# kind → the page's action. static/js/stream.js has one branch for each.
KINDS = {
    "item": "put an element of the thread in place, at the end when it is new",
    "block": "put a block of an answer in place, at the end of the answer when it is new",
    "done": "append a finished chunk of text before the open one",
    "open": "replace the open chunk",
    "items": "put items in the place of the last one of the open chunk's list",
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
    return {"kind": "item", "id": element, "html": html}


def block(message: str, element: str, html: str) -> Event:
    return {"kind": "block", "message": message, "id": element, "html": html}


def text_op(element: str, op: Op) -> Event:
    if isinstance(op, Done):
        return {"kind": "done", "block": element, "at": op.at, "html": op.html}
    if isinstance(op, Open):
        return {"kind": "open", "block": element, "at": op.at, "html": op.html}
    if isinstance(op, Items):
        return {"kind": "items", "block": element, "at": op.at, "html": op.html}
    return {"kind": "tail", "block": element, "at": op.at, "text": op.text}


def final(element: str, html: str) -> Event:
    """Build the event with the stored rendering of a text block."""
    return {"kind": "final", "block": element, "html": html}


def drop(element: str) -> Event:
    return {"kind": "drop", "id": element}


def state(name: str, turn: int, message: str = "") -> Event:
    return {
        "kind": "state",
        "state": name,
        "turn": turn,
        "message": message,
    }


def title(text: str) -> Event:
    return {"kind": "title", "title": text}


def meter(message: str, percent: int, note: str | None = None) -> Event:
    """Build the event with the context's fill level.

    *note* names what is too big for the context; ``None`` leaves the present note.
    """
    told: Event = {"kind": "meter", "text": message, "percent": percent}
    return told if note is None else {**told, "note": note}


RESET: Event = {"kind": "reset"}
# An event, since browsers do not pass SSE comments to scripts.
ALIVE: Event = {"kind": "alive"}


def expired(login: str) -> Event:
    """Build the event for an expired session; *login* is the address of the login page."""
    return {"kind": "expired", "login": login}
