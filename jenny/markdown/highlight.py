"""Highlights code, and names the languages of fences and the endings of their files."""

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

LABEL_LENGTH = 30
# Lexers that are fast on any code of `limits.HIGHLIGHT` characters, also malicious code. Pygments
# has hundreds, and some take minutes for a page.
_COLOURED = frozenset(
    """
    applescript awk bash bat c clojure cmake common-lisp console cpp css dart diff
    django docker elixir erlang fish fsharp go graphql haskell html http ini javascript jinja
    json jsx julia kotlin latex lua make markdown matlab nasm nginx nix objective-c ocaml
    perl php powershell prolog properties protobuf pycon python r rst ruby rust scala
    scheme scss sql swift tcl toml tsx typescript vim vb.net vue xml yaml zig
    """.split()  # noqa: SIM905 - a table of words reads best as words
)
# Endings of files by language. No other word of a text becomes one: it may name a program.
_ENDINGS = dict(
    pair.split("=")
    for pair in """
    applescript=applescript awk=awk bash=sh c=c clojure=clj cmake=cmake common-lisp=lisp cpp=cpp
    csharp=cs css=css csv=csv dart=dart diff=diff django=html docker=dockerfile elixir=ex
    erlang=erl fish=fish fsharp=fs geojson=geojson go=go graphql=graphql groovy=groovy haskell=hs
    html=html htm=html xhtml=xhtml ini=ini java=java javascript=js jinja=j2 json=json json5=json5
    jsonc=jsonc jsx=jsx julia=jl kotlin=kt latex=tex lua=lua make=mk markdown=md matlab=m
    mermaid=mmd nasm=asm nginx=conf nix=nix objective-c=m ocaml=ml perl=pl php=php
    powershell=ps1 prolog=pl properties=properties protobuf=proto python=py r=r rst=rst ruby=rb
    rust=rs scala=scala scheme=scm scss=scss sql=sql svg=svg swift=swift tcl=tcl toml=toml
    tsv=tsv tsx=tsx typescript=ts vb.net=vb vim=vim vue=vue xml=xml yaml=yaml zig=zig
    """.split()  # noqa: SIM905 - a table of words reads best as words
)
# Languages of fences that Pygments does not know.
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
# Their own lexers are too slow: a page of single letters is enough.
_STAND_INS = {"java": "typescript", "csharp": "typescript", "groovy": "typescript", "json5": "json"}
# The remaining lexers are slow on long lines, and on long runs without a letter.
_SLOW = re.compile(r"[^\n]{1001}|[\W_]{401}")
# Errors of a lexer, which must not break an answer.
_FAULTS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
# Characters that reorder the visible code without changing what runs ("Trojan Source",
# CVE-2021-42574).
_DIRECTION_MARK = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def code(text: str) -> str:
    """Escape *text* and show each invisible direction mark as its code point."""
    return _DIRECTION_MARK.sub(_shown_mark, escape(text))


def highlight(text: str, language: str) -> str:
    """Return *text* as spans with Pygments' short classes, plain where that would take too long.

    *language* is a fence's first word, in any case.
    """
    lexer = _lexer(_colours_of(language.lower()))
    if lexer is None or len(text) > limits.HIGHLIGHT or _SLOW.search(text):
        return code(text)
    try:
        # Without the lexer's preparation, which would drop a byte order mark.
        pieces = [(kind, value) for _, kind, value in lexer.get_tokens_unprocessed(text)]
    except _FAULTS:
        return code(text)
    if "".join(value for _, value in pieces) != text:
        # A few lexers lose characters that they do not expect.
        return code(text)
    return "".join(_spans(pieces))


def label(language: str) -> str:
    """Return the language's display name; "Code" when the fence names none."""
    if not language:
        return "Code"
    lexer = _lexer(language.lower())
    if lexer is None:
        return language[:LABEL_LENGTH]
    return "Text" if lexer.name == "Text only" else str(lexer.name)


def file_ending(language: str) -> str:
    """Return the ending of a file for code in *language*, a fence's first word; "txt" for most."""
    lexer = _lexer(language.lower())
    names = (language.lower(), *(lexer.aliases if lexer else ()))
    return next((_ENDINGS[name] for name in names if name in _ENDINGS), "txt")


@lru_cache(maxsize=256)
def _colours_of(language: str) -> str:
    """Return the lexer's name for *language*, "" for none."""
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
    # White space has no colour; spans for line ends would double their number.
    return "" if css_class == "w" else css_class


def _spans(pieces: Iterable[tuple[_TokenType, str]]) -> Iterator[str]:
    """Yield one span for each run of the same class."""
    for css_class, run in groupby(pieces, key=lambda piece: _css_class(piece[0])):
        text = code("".join(value for _, value in run))
        yield f'<span class="{css_class}">{text}</span>' if css_class else text


def _shown_mark(found: re.Match[str]) -> str:
    return f'<span class="direction-mark">U+{ord(found[0]):04X}</span>'
