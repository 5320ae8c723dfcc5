"""Text somebody typed and sent with a session that had run out: kept in the new session
until the page it belongs to shows it again (``09-traps``: AUT1)."""

from collections.abc import MutableMapping
from typing import Any

KEY = "kept_text"
# All kept texts together, in characters; more than anybody types, less than hurts a session row.
LIMIT = 200_000


def keep(session: MutableMapping[str, Any], path: str, text: str) -> None:
    """Keep *text* for the page at *path*, the newest first; what exceeds the limit goes."""
    if not text.strip():
        return
    texts = [item for item in session.get(KEY, []) if item["path"] != path]
    texts.insert(0, {"path": path, "text": text[:LIMIT]})
    room = LIMIT
    kept = []
    for item in texts:
        room -= len(item["text"])
        if room < 0:
            break
        kept.append(item)
    session[KEY] = kept


def take(session: MutableMapping[str, Any], path: str) -> str:
    """The text kept for the page at *path*, handed out once; empty when there is none."""
    texts = session.get(KEY, [])
    found = next((item["text"] for item in texts if item["path"] == path), "")
    if found:
        session[KEY] = [item for item in texts if item["path"] != path]
    return str(found)


def newest(session: MutableMapping[str, Any]) -> str:
    """The text kept last, for the login page to show; empty when there is none."""
    texts = session.get(KEY, [])
    return str(texts[0]["text"]) if texts else ""
