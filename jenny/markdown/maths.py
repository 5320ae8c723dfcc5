r"""Convert formulas (``$…$``, ``$$…$$``, ``\(…\)`` and ``\[…\]``) to MathML.

Dollars are money more often than maths, so the text between two of them must look like a formula. A
formula that cannot be converted is shown as it was written.
"""

import re
from functools import lru_cache
from html import escape, unescape
from xml.etree.ElementTree import Element

from latex2mathml import exceptions
from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from jenny.markdown import limits
from jenny.markdown.sanitise import MATH_ATTRIBUTES, MATH_TAGS

# Formulas in running text have at most 1,000 characters. Between dollars there is no
# white space at either end, and no digit follows (as in "$5 and $6").
_DOLLARS = re.compile(r"\$(?!\s)((?:\\.|[^\\$\n]|\n(?!\n)){1,1000}?)(?<!\s)\$(?!\d)")
_DOUBLE_DOLLARS = re.compile(r"\$\$((?:\\.|[^\\$]){1,1000}?)\$\$(?!\$)")
_PARENTHESES = re.compile(r"\\\(((?:(?!\\[()])[\s\S]){1,1000}?)\\\)")
_BRACKETS = re.compile(r"\\\[((?:(?!\\[\[\]])[\s\S]){1,1000}?)\\\]")
_NOTATIONS = {
    "$$": (_DOUBLE_DOLLARS, True),
    "$": (_DOLLARS, False),
    "\\(": (_PARENTHESES, False),
    "\\[": (_BRACKETS, True),
}

_MARKS = re.compile(r"[\\^_={}<>+*/|]")
# Text without such a mark: letters of formulas, no words between spaces.
_SHORT = re.compile(
    r"(?!.*[a-zA-Z]{4})(?!.*\s.*[a-zA-Z]{2}|.*[a-zA-Z]{2}.*\s)[\w\s(),.!'%-]{1,24}\Z"
)
_FORMULA_LETTERS = re.compile(r"[a-zA-Z\u0370-\u03ff]|[\W\d_]")
_BARE_WORD = re.compile(r"\s+[^\W\d_]{2,}\s+")
_PROSE = re.compile(r"[^\W\d_]{2}[\s,.;:]+[^\W\d_]{2}")
_WORD = re.compile(
    r"(?<![\w\\{^])(?!(?:sin|cos|tan|cot|log|ln|exp|lim|max|min|mod|gcd|det)\b)[^\W\d_]{2,}"
)
_ESCAPED_LINK = re.compile(r"\][(:\[]")
_UNENDED = ("/", ":", ",", ";", "&", "=")

# Environments that the converter does not know; they become arrays that look the same.
_ENVIRONMENT = re.compile(
    r"\\(begin|end)\{(aligned|align\*?|split|gathered|gather\*?|equation\*?)\}"
)
_ARRAYS = {"gathered": "{c}", "gather": "{c}", "gather*": "{c}"}

# Errors of the formula, and those that the converter raises on unusual ones.
_FAULTS: tuple[type[Exception], ...] = (
    exceptions.DenominatorNotFoundError,
    exceptions.DoubleSubscriptsError,
    exceptions.DoubleSuperscriptsError,
    exceptions.ExtraLeftOrMissingRightError,
    exceptions.InvalidAlignmentError,
    exceptions.InvalidStyleForGenfracError,
    exceptions.InvalidWidthError,
    exceptions.LimitsMustFollowMathOperatorError,
    exceptions.MissingEndError,
    exceptions.MissingSuperScriptOrSubscriptError,
    exceptions.NoAvailableTokensError,
    exceptions.NumeratorNotFoundError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    StopIteration,
    TypeError,
    ValueError,
)


def maths_plugin(md: MarkdownIt) -> None:
    """Add formulas to *md*, as ``math_inline`` and ``math_block`` tokens."""
    md.inline.ruler.before("escape", "maths", _inline_rule)
    md.block.ruler.before(
        "fence",
        "maths",
        _block_rule,
        {"alt": ["paragraph", "reference", "blockquote", "list"]},
    )


@lru_cache(maxsize=1024)
def typeset(formula: str, *, display: bool) -> str | None:
    """Convert *formula* (LaTeX) to MathML; None when it cannot be converted."""
    if len(formula) > limits.FORMULA:
        return None
    try:
        root = convert_to_element(
            _known_environments(formula), display="block" if display else "inline"
        )
        return _serialise(root)
    except _FAULTS:
        return None


def looks_like_maths(formula: str) -> bool:
    """True when *formula*, found between two dollars, is one.

    It is not when it reads like the words between two prices ("5/day, or 6") or like half of a path
    of variables ("$HOME/$USER").
    """
    if formula.endswith(_UNENDED) or not any(char.isalnum() or char == "\\" for char in formula):
        return False
    if "\\" in formula:
        return True
    is_money = formula[0].isdecimal() and any(not word.isupper() for word in _WORD.findall(formula))
    if is_money or "^" in formula:
        return not is_money
    if _PROSE.search(formula):
        return False
    is_short = _SHORT.match(formula) and all(map(_FORMULA_LETTERS.match, formula))
    return _MARKS.search(formula) is not None or bool(is_short)


def _known_environments(formula: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        end, name = found.groups()
        if name.startswith("equation"):
            return ""
        columns = _ARRAYS.get(name, "{rlrlrl}") if end == "begin" else ""
        return f"\\{end}{{array}}{columns}"

    return _ENVIRONMENT.sub(replaced, formula)


def _serialise(element: Element) -> str:
    if element.tag not in MATH_TAGS:
        message = f"MathML element {element.tag} is not on the list"
        raise ValueError(message)
    # The converter writes characters as entities in text nodes.
    text = unescape(element.text or "")
    if text.startswith("\\") and len(text) > 1:
        message = f"{text} is no command that the converter knows"
        raise ValueError(message)
    attributes = "".join(
        f' {name}="{escape(value)}"'
        for name, value in element.items()
        if name in MATH_ATTRIBUTES or (element.tag == "math" and name == "display")
    )
    inner = "".join(map(_serialise, element))
    tail = escape(unescape(element.tail or ""))
    return f"<{element.tag}{attributes}>{escape(text)}{inner}</{element.tag}>{tail}"


def _inline_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    found = _formula_at(state.src, state.pos, state.posMax)
    if found is None:
        return False
    formula, end, display = found
    if not silent:
        token = state.push("math_inline", "math", 0)
        token.content = formula
        token.markup = state.src[state.pos : end]
        token.meta = {"display": display}
    state.pos = end
    return True


def _formula_at(source: str, start: int, stop: int) -> tuple[str, int, bool] | None:
    """Return the formula that begins at *start*: text, end, and True for a display formula."""
    mark = source[start : start + 2]
    mark = mark if mark in _NOTATIONS else mark[:1]
    if mark not in _NOTATIONS:
        return None
    pattern, display = _NOTATIONS[mark]
    found = pattern.match(source, start, stop)
    if found is None or not (formula := found[1].strip()):
        return None
    if mark[0] == "$":
        is_formula = looks_like_maths(formula) and _stands_alone(source, start)
        is_formula = is_formula and not _BARE_WORD.fullmatch(found[1])
    else:
        # Escaped brackets may also contain words.
        has_marks = _MARKS.search(formula) is not None
        has_words = any(map(str.isalnum, formula))
        is_formula = has_words and (has_marks or not (display or _PROSE.search(formula)))
    return (formula, found.end(), display) if is_formula else None


def _stands_alone(source: str, start: int) -> bool:
    """True when no word or dollar ends right before the opening dollar ("US$5")."""
    before = source[start - 1] if start else " "
    return not ((before.isascii() and before.isalnum()) or before in "$\\")


def _block_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    if state.is_code_block(start):
        return False
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]].strip()
    closing = {"$$": "$$", "\\[": "\\]"}.get(first[:2])
    if closing is None or not _opens_block(first[2:], closing):
        return False
    if not silent:
        _push_block(state, start, end, closing=closing, one_line=first[2:].endswith(closing))
    return True


def _opens_block(rest: str, closing: str) -> bool:
    """True when a line with an opening mark followed by *rest* begins a formula."""
    if rest.endswith(closing):
        content = rest[: -len(closing)].strip()
        if not content:
            return False
    elif closing in rest or rest.startswith("$"):
        return False
    else:
        content = rest.strip()
    if not content:
        return True
    # "\\[" may also be an escaped bracket, and "$$" a price range.
    # "\\[words](/address)" is an escaped link, "\\[words]: /address" an escaped definition.
    is_formula = (
        looks_like_maths(content)
        if closing == "$$"
        else _MARKS.search(content) is not None and _ESCAPED_LINK.search(content) is None
    )
    return is_formula and closing not in content


def _push_block(state: StateBlock, start: int, end: int, *, closing: str, one_line: bool) -> None:
    """Take the lines to the closing mark or, when a blank line comes first, as a paragraph.

    The end of the block does not depend on whether it is closed, so that a stream can decide on it
    line by line.
    """
    line = start + 1
    closed = one_line
    while not closed and line < end and not state.isEmpty(line):
        if state.sCount[line] < state.blkIndent:
            break
        closed = state.src[state.bMarks[line] : state.eMarks[line]].rstrip().endswith(closing)
        line += 1
    source = state.getLines(start, line, state.blkIndent, keepLastLF=False).strip()
    state.line = line
    if closed and source[2:-2].strip():
        token = state.push("math_block", "math", 0)
        token.content = source[2:-2].strip()
        token.markup = source
        token.map = [start, line]
        token.block = True
        return
    token = state.push("paragraph_open", "p", 1)
    token.map = [start, line]
    token = state.push("inline", "", 0)
    token.content = source
    token.map = [start, line]
    token.children = []
    state.push("paragraph_close", "p", -1)
