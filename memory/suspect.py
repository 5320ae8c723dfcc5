"""What a text should not hold that a model will read as instructions: characters nobody sees, and
orders that somebody slipped in.

Skills are looked at when Dream writes one and whenever they are loaded; memory files when Dream
writes them. What is found is said, never repaired in silence: a person decides.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

# Joiners belong to words (Persian, Hindi) and to emoji; direction marks to Arabic and Hebrew.
_ALLOWED = frozenset("\u200c\u200d\u200e\u200f\n\r\t")
_KINDS = frozenset({"Cf", "Cc", "Co", "Zl", "Zp"})
_NAMED = 3
# Beyond so many characters nothing is looked for: no skill is that long.
_LOOKED_AT = 200_000


@dataclass(frozen=True, slots=True)
class _Order:
    """A pattern, and *what* a text does in which it stands. Of each group in *words*, one is in
    every such text: nearly all texts are known to be honest by that, without the pattern."""

    what: str
    words: tuple[tuple[str, ...], ...]
    pattern: re.Pattern[str]

    def stands_in(self, text: str, lower: str) -> bool:
        """*lower*: the text in lower case; empty where that is not so simple."""
        may_be = not lower or all(any(word in lower for word in group) for group in self.words)
        return may_be and self.pattern.search(text) is not None


def _order(what: str, pattern: str, *words: str) -> _Order:
    """*words*: alternatives of which every match has one; the pattern may have them at {0}, {1}."""
    found = re.compile(pattern.format(*words), re.IGNORECASE)
    return _Order(what, tuple(tuple(group.split("|")) for group in words), found)


_ORDERS = (
    _order(
        "it tells its reader to ignore instructions",
        r"\b(?:{0})\b[^.\n]{{0,40}}"
        r"\b(?:previous|prior|earlier|above|all|any|other|system)\b[^.\n]{{0,30}}\b(?:{1})s?\b",
        "ignore|disregard|forget|override",
        "instruction|rule|prompt|order|direction",
    ),
    _order(
        "it tells its reader to hide something from the user",
        r"\b(?:do not|don['\u2019]t|never|without)\s+(?:{0})(?:ing)?\b[^.\n]{{0,40}}\b(?:{1})\b",
        "tell|inform|mention|alert|notify|show",
        "user|person|owner",
    ),
    _order(
        "it tells its reader to be somebody else",
        r"\b(?:you are now|from now on,? you are|act as if you (?:were|are)|pretend to be)\b",
        "you are|act as if|pretend to be",
    ),
    _order(
        "it tells its reader to send private things somewhere",
        r"\b(?:{0})\b[^.\n]{{0,80}}"
        r"\b(?:password|api[ _-]?key|secret|token|credential|memory file|MEMORY\.md|USER\.md"
        r"|history\.jsonl|conversation)s?\b[^\n]{{0,80}}(?:https?://|@|\bto\b)",
        "send|post|upload|forward|exfiltrate|leak|transmit",
    ),
    _order(
        "it runs a program straight from the network",
        r"\b(?:curl|wget)\b[^\n|]{{0,200}}\|\s*(?:ba|z|da)?sh\b"
        r"|\bbase64\s+(?:-d|--decode)\b[^\n]{{0,80}}\|",
        "curl|wget|base64",
    ),
    _order(
        "it holds marks by which models tell speakers apart",
        r"<\|(?:im_start|im_end|system|endoftext)\|>|\[/?INST\]|<</?SYS>>",
        "<|[",
    ),
)


def invisible(text: str) -> str:
    """Which invisible characters *text* holds, as words for a sentence; empty: none.

    A byte order mark at the very beginning is none.
    """
    looked_at = text[:_LOOKED_AT].removeprefix("\ufeff")
    hidden = _hidden(looked_at)
    if not hidden:
        return ""
    found = dict.fromkeys(f"U+{ord(char):04X}" for char in looked_at if char in hidden)
    return ", ".join([*list(found)[:_NAMED], *(["…"] if len(found) > _NAMED else [])])


def orders(text: str) -> str:
    """What in *text* reads like an order slipped in for a model; empty: nothing.

    Rules of thumb: an honest text may trip one, and a clever one none. For showing to a person.
    """
    plain = unicodedata.normalize("NFKC", text[:_LOOKED_AT])
    plain = plain.translate(dict.fromkeys(map(ord, _hidden(plain))))
    # Letters of other alphabets may count as one of these, whatever lower() says.
    lower = plain.lower() if plain.isascii() else ""
    return next((row.what for row in _ORDERS if row.stands_in(plain, lower)), "")


def findings(text: str) -> Iterator[str]:
    """What is wrong with a text, each as words for a sentence."""
    if found := invisible(text):
        yield f"it holds invisible characters ({found})"
    if found := orders(text):
        yield found


def _hidden(text: str) -> set[str]:
    """The characters of the text that nobody sees."""
    return {
        char
        for char in set(text)
        if not char.isprintable() and char not in _ALLOWED and unicodedata.category(char) in _KINDS
    }
