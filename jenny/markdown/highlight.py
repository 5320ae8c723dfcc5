"""Code as HTML: coloured by Pygments' short class names, hidden direction marks made visible."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape
from itertools import groupby

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES, _TokenType
from pygments.util import ClassNotFound

from jenny.markdown import limits

_LABEL_LENGTH = 30
# Lexers that no code of `limits.HIGHLIGHT` characters keeps busy for long, also none that is
# made to. Pygments has hundreds, and some take minutes for a page.
_COLOURED = frozenset(
    """
    applescript awk bash bat c clojure cmake common-lisp console cpp css dart diff
    django docker elixir erlang fish fsharp go graphql haskell html http ini javascript jinja
    json jsx julia kotlin latex lua make markdown matlab nasm nginx nix objective-c ocaml
    perl php powershell prolog properties protobuf pycon python r rst ruby rust scala
    scheme scss sql swift tcl toml tsx typescript vim vb.net vue xml yaml zig
    """.split()  # noqa: SIM905 - a table of words reads best as words
)
# Words on fences that Pygments does not know.
_ALSO = {
    "jsonc": "json",
    "kt": "kotlin",
    "mjs": "javascript",
    "patch": "diff",
    "plain": "text",
    "plaintext": "text",
    "sqlite": "sql",
    "txt": "text",
}
# Their own lexers are such: a page of single letters is enough.
_STAND_INS = {"java": "typescript", "csharp": "typescript", "groovy": "typescript", "json5": "json"}
# Long lines, and long runs without a letter, are what the others are slow at.
_SLOW = re.compile(r"[^\n]{1001}|[\W_]{401}")
# What a lexer may trip over; colours are not worth an answer.
_FAULTS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
# Marks that reorder what is seen without changing what runs ("Trojan Source", CVE-2021-42574).
_DIRECTION_MARK = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def code(text: str) -> str:
    """*text* escaped, each invisible direction mark shown as its code point."""
    return _DIRECTION_MARK.sub(_shown_mark, escape(text))


def highlight(text: str, language: str) -> str:
    """*text* as spans with Pygments' short classes; plain where colours would cost too much.

    *language* is a fence's first word, in any case.
    """
    lexer = _lexer(_colours_of(language.lower()))
    if lexer is None or len(text) > limits.HIGHLIGHT or _SLOW.search(text):
        return code(text)
    try:
        # Asked without its preparation, which would drop a byte order mark.
        pieces = [(kind, value) for _, kind, value in lexer.get_tokens_unprocessed(text)]
    except _FAULTS:
        return code(text)
    if "".join(value for _, value in pieces) != text:
        # A few lexers lose characters that they do not expect.
        return code(text)
    return "".join(_spans(pieces))


def label(language: str) -> str:
    """The language's name for people; "Code" when the fence names none."""
    if not language:
        return "Code"
    lexer = _lexer(language.lower())
    if lexer is None:
        return language[:_LABEL_LENGTH]
    return "Text" if lexer.name == "Text only" else str(lexer.name)


@lru_cache(maxsize=256)
def _colours_of(language: str) -> str:
    """The lexer that colours *language*, "" for none."""
    lexer = _lexer(language)
    names = set(lexer.aliases) if lexer else set()
    stand_in = next((_STAND_INS[name] for name in names if name in _STAND_INS), "")
    return stand_in or next(iter(sorted(names & _COLOURED)), "")


@lru_cache(maxsize=256)
def _lexer(language: str) -> Lexer | None:
    if not language:
        return None
    try:
        return get_lexer_by_name(_ALSO.get(language, language), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _css_class(kind: _TokenType) -> str:
    known: _TokenType | None = kind
    while known is not None and known not in STANDARD_TYPES:
        known = known.parent
    css_class = STANDARD_TYPES[known] if known is not None else ""
    # White space has no colour, and lines end in it: naming it would double the spans.
    return "" if css_class == "w" else css_class


def _spans(pieces: Iterable[tuple[_TokenType, str]]) -> Iterator[str]:
    """One span for each run of the same class."""
    for css_class, run in groupby(pieces, key=lambda piece: _css_class(piece[0])):
        text = code("".join(value for _, value in run))
        yield f'<span class="{css_class}">{text}</span>' if css_class else text


def _shown_mark(found: re.Match[str]) -> str:
    return f'<span class="direction-mark">U+{ord(found[0]):04X}</span>'
