"""What a text should not hold that a model will read as instructions: characters nobody sees, and
orders that somebody slipped in.

Skills are looked at when Dream writes one and whenever they are loaded; memory files when Dream
writes them. What is found is said, never repaired in silence: a person decides.
"""

import re
import unicodedata
from collections.abc import Iterator

# Joiners belong to words (Persian, Hindi) and to emoji; direction marks to Arabic and Hebrew.
_ALLOWED = frozenset("\u200c\u200d\u200e\u200f\n\r\t")
_KINDS = frozenset({"Cf", "Cc", "Co", "Zl", "Zp"})
_NAMED = 3
# Beyond so many characters nothing is looked for: no skill is that long.
_LOOKED_AT = 200_000

_IGNORING = (
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}"
    r"\b(?:previous|prior|earlier|above|all|any|other|system)\b[^.\n]{0,30}"
    r"\b(?:instruction|rule|prompt|order|direction)s?\b"
)
_HIDING = (
    r"\b(?:do not|don['\u2019]t|never|without)\s+"
    r"(?:tell|inform|mention|alert|notify|show)(?:ing)?\b[^.\n]{0,40}\b(?:user|person|owner)\b"
)
_POSING = r"\b(?:you are now|from now on,? you are|act as if you (?:were|are)|pretend to be)\b"
_SENDING = (
    r"\b(?:send|post|upload|forward|exfiltrate|leak|transmit)\b[^.\n]{0,80}"
    r"\b(?:password|api[ _-]?key|secret|token|credential|memory file|MEMORY\.md|USER\.md"
    r"|history\.jsonl|conversation)s?\b[^\n]{0,80}(?:https?://|@|\bto\b)"
)
_RUNNING = (
    r"\b(?:curl|wget)\b[^\n|]{0,200}\|\s*(?:ba|z|da)?sh\b"
    r"|\bbase64\s+(?:-d|--decode)\b[^\n]{0,80}\|"
)
_SPEAKERS = r"<\|(?:im_start|im_end|system|endoftext)\|>|\[/?INST\]|<</?SYS>>"
_ORDERS = tuple(
    (re.compile(pattern, re.IGNORECASE), what)
    for pattern, what in (
        (_IGNORING, "it tells its reader to ignore instructions"),
        (_HIDING, "it tells its reader to hide something from the user"),
        (_POSING, "it tells its reader to be somebody else"),
        (_SENDING, "it tells its reader to send private things somewhere"),
        (_RUNNING, "it runs a program straight from the network"),
        (_SPEAKERS, "it holds marks by which models tell speakers apart"),
    )
)


def invisible(text: str) -> str:
    """Which invisible characters *text* holds, as words for a sentence; empty: none.

    A byte order mark at the very beginning is none.
    """
    if text.isascii() and text.isprintable():
        return ""
    found = dict.fromkeys(
        f"U+{ord(char):04X}" for char in text[:_LOOKED_AT].removeprefix("\ufeff") if _hides(char)
    )
    return ", ".join([*list(found)[:_NAMED], *(["…"] if len(found) > _NAMED else [])])


def orders(text: str) -> str:
    """What in *text* reads like an order slipped in for a model; empty: nothing.

    Rules of thumb: an honest text may trip one, and a clever one none. For showing to a person.
    """
    plain = unicodedata.normalize("NFKC", text[:_LOOKED_AT])
    plain = "".join(char for char in plain if not _hides(char))
    return next((what for pattern, what in _ORDERS if pattern.search(plain)), "")


def findings(text: str) -> Iterator[str]:
    """What is wrong with a text, each as words for a sentence."""
    if found := invisible(text):
        yield f"it holds invisible characters ({found})"
    if found := orders(text):
        yield found


def _hides(char: str) -> bool:
    return not char.isprintable() and char not in _ALLOWED and unicodedata.category(char) in _KINDS
