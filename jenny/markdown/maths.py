r"""Formulas: ``$…$``, ``$$…$$``, ``\(…\)`` and ``\[…\]`` become MathML.

Dollars are money more often than maths, so what stands between two of them must
look like a formula. A formula that cannot be typeset is shown as it was written.
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
_DOUBLE_DOLLARS = re.compile(r"\$\$((?:\\.|[^\\$]){1,1000}?)\$\$")
_PARENTHESES = re.compile(r"\\\(((?:(?!\\[()])[\s\S]){1,1000}?)\\\)")
_BRACKETS = re.compile(r"\\\[((?:(?!\\[\[\]])[\s\S]){1,1000}?)\\\]")

_MARKS = re.compile(r"[\\^_={}<>+*/|]")
_SHORT = re.compile(r"(?!.*[^\W\d_]{4})[\w\s(),.!'%-]{1,24}\Z")
_PROSE = re.compile(r"[^\W\d_]{2,}[\s,.;:]+[^\W\d_]{2,}")
_UNENDED = ("/", ":", ",", ";", "&", "=")

# Environments that the converter does not know, as the array that looks the same.
_ENVIRONMENT = re.compile(
    r"\\(begin|end)\{(aligned|align\*?|split|gathered|gather\*?|equation\*?)\}"
)
_ARRAYS = {"gathered": "{c}", "gather": "{c}", "gather*": "{c}"}

# Faults of the formula; the others are what the converter trips over in strange ones.
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
    """Teach *md* formulas; it makes ``math_inline`` and ``math_block`` tokens."""
    md.inline.ruler.before("escape", "maths", _inline_rule)
    md.block.ruler.before(
        "fence",
        "maths",
        _block_rule,
        {"alt": ["paragraph", "reference", "blockquote", "list"]},
    )


@lru_cache(maxsize=1024)
def typeset(formula: str, *, display: bool) -> str | None:
    """*formula* (LaTeX) as MathML, or None when it cannot be converted."""
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
    """Whether *formula*, found between two dollars, is one.

    It is not when it reads like the words between two prices or like half of a path
    of variables ("$HOME/$USER").
    """
    if formula.endswith(_UNENDED):
        return False
    if "\\" in formula or "^" in formula:
        return True
    if _PROSE.search(formula):
        return False
    return _MARKS.search(formula) is not None or _SHORT.match(formula) is not None


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
    # The converter writes characters as entities inside of text nodes.
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
    """The formula that begins at *start*: (text, end, whether it is set on a line of its own)."""
    mark = source[start : start + 2]
    if mark == "$$":
        found, display = _DOUBLE_DOLLARS.match(source, start, stop), True
    elif mark[:1] == "$":
        found, display = _DOLLARS.match(source, start, stop), False
        if found and not (looks_like_maths(found[1]) and _stands_alone(source, start)):
            return None
    elif mark == "\\(":
        found, display = _PARENTHESES.match(source, start, stop), False
    elif mark == "\\[":
        found, display = _BRACKETS.match(source, start, stop), True
        if found and not _MARKS.search(found[1]):
            return None
    else:
        return None
    if found is None or not found[1].strip():
        return None
    return found[1].strip(), found.end(), display


def _stands_alone(source: str, start: int) -> bool:
    """No word or dollar ends right before the opening dollar ("US$5")."""
    return start == 0 or not (source[start - 1].isalnum() or source[start - 1] in "$\\")


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
    """Whether a line that begins with an opening mark and goes on with *rest* is a formula."""
    if rest.endswith(closing):
        content = rest[: -len(closing)].strip()
        if not content:
            return False
    elif closing in rest or rest.startswith("$"):
        return False
    else:
        content = rest
    # "\\[" is also how a bracket is written that is to be no link.
    is_formula = closing == "$$" or not content or _MARKS.search(content) is not None
    return closing not in content and is_formula


def _push_block(state: StateBlock, start: int, end: int, *, closing: str, one_line: bool) -> None:
    """Take the lines to the closing mark, or, when a blank line comes first, as a paragraph.

    Where the block ends does not depend on whether it is closed, so that a stream
    may decide on it line by line.
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
    if closed:
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
