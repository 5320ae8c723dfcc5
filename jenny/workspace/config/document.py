"""The text of ``config.json``: reading it into an object, and writing it back.

camelCase is written; snake_case is read. Keys that are not ours stay as they are.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from jenny.workspace.config.fields import FIELDS

VERSION_KEY = "configVersion"
CURRENT_VERSION = 1
MAX_BYTES = 1_000_000
# Any preset's name.
ANY_NAME = "*"

type Raw = dict[str, Any]

# From the version named to the next one. Each changes the object in place.
MIGRATIONS: dict[int, Callable[[Raw], None]] = {}


class Unreadable(ValueError):
    """The text is no object; the message says why, as the end of "it cannot be read: …"."""


def parse(data: bytes) -> Raw:
    """The object in the file, with known keys in camelCase.

    Raises:
        Unreadable: it is empty, cut off, not UTF-8, or not one JSON object.
    """
    if len(data) > MAX_BYTES:
        message = f"it has {len(data):,} bytes, more than {MAX_BYTES:,}"
        raise Unreadable(message)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"byte {error.start + 1} is not UTF-8"
        raise Unreadable(message) from error
    if not text.strip("\0 \t\r\n"):
        message = "it is empty"
        raise Unreadable(message)
    try:
        raw = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        message = f"line {error.lineno}, column {error.colno}: {_in_words(error, text)}"
        raise Unreadable(message) from error
    except (ValueError, RecursionError) as error:
        own = isinstance(error, Unreadable)
        message = str(error) if own else "it is nested too deep or has absurd numbers"
        raise Unreadable(message) from error
    if not isinstance(raw, dict):
        message = "it holds no object (nothing in curly brackets)"
        raise Unreadable(message)
    return to_camel(raw)


def render(raw: Raw) -> bytes:
    """The text that is written."""
    try:
        return (json.dumps(raw, indent=2, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # half a character, written as \\ud800 in the file
        return (json.dumps(raw, indent=2) + "\n").encode()


def same(one: Raw, other: Raw) -> bool:
    """Whether both say the same: ``true`` is not ``1``; the order of keys does not count."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def version(raw: Raw) -> int:
    """The version it was written for; 0 when it says none (or nonsense, which is a problem)."""
    value = raw.get(VERSION_KEY, 0)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def migrate(raw: Raw) -> None:
    """Bring an older object to the current version, in place; one that says none is the oldest."""
    if version(raw) == 0 and VERSION_KEY in raw:
        return  # nonsense, which is a problem to be told; 0 is written by nobody
    for step in range(version(raw), CURRENT_VERSION):
        MIGRATIONS.get(step, _nothing)(raw)
    if version(raw) < CURRENT_VERSION:
        raw[VERSION_KEY] = CURRENT_VERSION


def to_camel(raw: Raw, tree: dict[str, Any] | None = None) -> Raw:
    """The object with our keys in camelCase; where both spellings are there, camelCase counts."""
    branch = TREE if tree is None else tree
    result: Raw = {}
    for key, value in raw.items():
        name = _camel(key, branch)
        if name != key and name in raw:
            name = key
        inner = branch.get(name, branch.get(ANY_NAME))
        result[name] = to_camel(value, inner) if isinstance(value, dict) and inner else value
    return result


def unknown(raw: Raw, tree: dict[str, Any] | None = None, path: str = "") -> Iterator[str]:
    """The dotted paths of keys that are not ours."""
    branch = TREE if tree is None else tree
    for key, value in raw.items():
        inner = branch.get(key, branch.get(ANY_NAME))
        if inner is None:
            yield f"{path}{key}"
        elif inner and isinstance(value, dict):
            yield from unknown(value, inner, f"{path}{key}.")


def lookup(raw: object, path: tuple[str, ...]) -> tuple[bool, Any]:
    """Whether something is at *path*, and what."""
    for part in path:
        if not isinstance(raw, dict) or part not in raw:
            return False, None
        raw = raw[part]
    return True, raw


def _tree() -> dict[str, Any]:
    """The known keys as a tree; a leaf is an empty branch."""
    tree: dict[str, Any] = {VERSION_KEY: {}}
    for field in FIELDS:
        branch = tree
        for part in field.key.split("."):
            branch = branch.setdefault(part, {})
    return tree


TREE = _tree()


def _camel(key: str, branch: dict[str, Any]) -> str:
    """The known spelling of a key written in snake_case."""
    if key in branch or "_" not in key:
        return key
    camel = re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), key)
    return camel if camel in branch else key


def _no_constant(name: str) -> None:
    message = f"it holds {name}, which is no number"
    raise Unreadable(message)


def _nothing(_raw: Raw) -> None:
    """A version whose files need no change."""


def _in_words(error: json.JSONDecodeError, text: str) -> str:
    """The decoder's complaint for somebody who does not know it."""
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
        return "the file ends in the middle"
    if text[error.pos] in "}]" or "trailing comma" in error.msg:
        return "a comma too many before a closing bracket"
    return error.msg[:1].lower() + error.msg[1:]
