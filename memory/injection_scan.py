"""Scans texts that models read for invisible characters and injected instructions.

Skills are scanned when Dream writes them and whenever they are loaded; memory files when Dream
writes them. Findings are reported and never repaired silently: a person decides.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

# Joiners are part of words (Persian, Hindi) and emoji; direction marks of Arabic and Hebrew.
_ALLOWED = frozenset("\u200c\u200d\u200e\u200f\n\r\t")
_KINDS = frozenset({"Cf", "Cc", "Co", "Zl", "Zp"})
_NAMED = 3
# Only so many characters are scanned: no skill is that long.
_LOOKED_AT = 200_000


@dataclass(frozen=True, slots=True)
class _Order:
    """A pattern, and *what* a text with it does.

    Every match contains one word of each group in *words*, so most texts are cleared without the
    pattern.
    """

    what: str
    words: tuple[tuple[str, ...], ...]
    pattern: re.Pattern[str]

    def stands_in(self, text: str, lower: str) -> bool:
        """*lower* is the text in lower case; empty when lower case is ambiguous."""
        may_be = not lower or all(any(word in lower for word in group) for group in self.words)
        return may_be and self.pattern.search(text) is not None


def _order(what: str, pattern: str, *words: str) -> _Order:
    """Build an order. Every match has one of the *words*, which the pattern may contain at {0},
    {1}."""
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
        "it tells its reader to ignore instructions",
        r"\b(?:{0})\w*\b[^.\n]{{0,40}}\b(?:all|vor|bisher|oben|prec|préc|anter|prev|tod|tout"
        r"|tutt|eerder|wszys|poprz|wcze|všech|předch|все|пред)\w*[^.\n]{{0,30}}(?:{1})",
        "ignorier|vergiss|missacht|ignorez|ignore les|ignore toutes|ignore todas|oublie|ignora"
        "|olvida|ignorar|esqueça|dimentica|negeer|zignoruj|ignoruj|zapomnij|zapomeň|игнорируй|забудь",
        "anweisung|instruk|instruc|istruzion|instructies|instrukcj|pokyn|instrukt|инструкц|указани",
    ),
    _order(
        "it tells its reader to ignore instructions",
        r"(?:{1})[^。.\n]{{0,20}}(?:{0})|(?:{0})[^。.\n]{{0,20}}(?:{1})",
        "無視|忽略|忽视|무시|تجاهل|अनदेखा|नज़रअंदाज़|yok say|görmezden gel|unut",
        "指示|命令|指令|지시|명령|التعليمات|تعليمات|निर्देश|talimat",
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
    """Name the invisible characters of *text*; empty without any.

    A byte order mark at the very beginning is none.
    """
    looked_at = text[:_LOOKED_AT].removeprefix("\ufeff")
    hidden = _hidden(looked_at)
    if not hidden:
        return ""
    found = dict.fromkeys(f"U+{ord(char):04X}" for char in looked_at if char in hidden)
    return ", ".join([*list(found)[:_NAMED], *(["…"] if len(found) > _NAMED else [])])


def orders(text: str) -> str:
    """Name what in *text* reads like an injected instruction; empty without any.

    These are rules of thumb: an honest text may match and a clever one may not. The result is for
    a person.
    """
    # Letters in mathematical and other styles are a disguise here, and keep their meaning elsewhere
    # (``jenny.text_normalisation``).
    plain = unicodedata.normalize("NFKC", text[:_LOOKED_AT])
    plain = plain.translate(dict.fromkeys(map(ord, _hidden(plain))))
    # Letters of other alphabets may lower to one of these.
    lower = plain.lower() if plain.isascii() else ""
    return next((row.what for row in _ORDERS if row.stands_in(plain, lower)), "")


def findings(text: str) -> Iterator[str]:
    if found := invisible(text):
        yield f"it holds invisible characters ({found})"
    if found := orders(text):
        yield found


def _hidden(text: str) -> set[str]:
    return {
        char
        for char in set(text)
        if not char.isprintable() and char not in _ALLOWED and unicodedata.category(char) in _KINDS
    }
