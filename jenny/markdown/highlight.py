"""Code as HTML: coloured by Pygments' short class names, hidden direction marks made visible."""

import re
from functools import lru_cache
from html import escape

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES, _TokenType
from pygments.util import ClassNotFound

from jenny.markdown import limits

_LABEL_LENGTH = 30
# Marks that reorder what is seen without changing what runs ("Trojan Source", CVE-2021-42574).
_DIRECTION_MARK = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def code(text: str) -> str:
    """*text* escaped, each invisible direction mark shown as its code point."""
    return _DIRECTION_MARK.sub(_shown_mark, escape(text))


def highlight(text: str, language: str) -> str:
    """*text* as spans with Pygments' short classes; plain when the language is not known.

    *language* is a fence's first word, in any case.
    """
    lexer = _lexer(language.lower())
    if lexer is None or len(text) > limits.HIGHLIGHT:
        return code(text)
    html: list[str] = []
    run: list[str] = []
    run_class = ""
    for kind, value in lexer.get_tokens(text):
        css_class = _css_class(kind)
        if css_class != run_class:
            _flush(html, run, run_class)
            run_class = css_class
        run.append(value)
    _flush(html, run, run_class)
    return "".join(html)


def label(language: str) -> str:
    """The language's name for people; "Code" when the fence names none."""
    if not language:
        return "Code"
    lexer = _lexer(language.lower())
    if lexer is None:
        return language[:_LABEL_LENGTH]
    return "Text" if lexer.name == "Text only" else str(lexer.name)


@lru_cache(maxsize=256)
def _lexer(language: str) -> Lexer | None:
    if not language:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
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


def _flush(html: list[str], run: list[str], css_class: str) -> None:
    if not run:
        return
    text = code("".join(run))
    html.append(f'<span class="{css_class}">{text}</span>' if css_class else text)
    run.clear()


def _shown_mark(found: re.Match[str]) -> str:
    return f'<span class="direction-mark">U+{ord(found[0]):04X}</span>'
