"""Which messages an entry of the history is about: kept right where they have other numbers."""

import json
from collections.abc import Mapping

from jenny.chat.backup.talks import Numbers


def rewritten(data: bytes, chats: Mapping[str, str], numbers: Mapping[str, Numbers]) -> bytes:
    """The lines of a history file, with conversations and messages by our numbers.

    *chats*: the id here of each conversation by its id there; *numbers*: of its messages. Lines
    that speak of none of them stay as they are, to the byte.
    """
    return b"".join(_line(line, chats, numbers) for line in data.splitlines(keepends=True))


def _line(line: bytes, chats: Mapping[str, str], numbers: Mapping[str, Numbers]) -> bytes:
    if b'"conversation"' not in line:
        return line
    try:
        row = json.loads(line)
        theirs = row["conversation"]
        own, known = chats[theirs], numbers[theirs]
    except (ValueError, RecursionError, KeyError, TypeError):
        return line
    changed = row | {"conversation": own}
    match row.get("messages"):
        case [int(first), int(last)]:
            changed["messages"] = [known.since(first), known.through(last)]
    if changed == row:
        return line
    end = line[len(line.rstrip(b"\r\n")) :]
    try:
        return json.dumps(changed, ensure_ascii=False).encode() + end
    except UnicodeEncodeError:  # half of a character, which JSON can only tell of
        return json.dumps(changed).encode() + end
