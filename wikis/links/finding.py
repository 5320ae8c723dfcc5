"""Links as they are written in a page's text: where each stands and what it names.

Code is skipped: fenced, indented and between backticks. This looks at five thousand pages in a
second, so it is a scanner and no parser; what the page shows is the parser's business
(``wikis.render``).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import unquote

# Longer ones are text that happens to stand in brackets.
LINK_CHARS = 400
MOST_LINKS = 5_000

_WIKI = re.compile(r"\[\[([^\[\]\n]{1,400})\]\]")
# A Markdown link or image to something near: no scheme, no anchor of this page, no rooted address.
_NEAR = re.compile(
    r"\]\((?P<lt><)?(?P<to>(?![a-zA-Z][a-zA-Z0-9+.-]*:|/|#|\?)(?(lt)[^<>\n]{1,400}|[^\s()<>]{1,400}))"
    r"(?(lt)>)(?=[)\s])"
)
_FENCE = re.compile(r"^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(`{3,}|~{3,})(.*)$")
_TICKS = re.compile(r"`+")
_LIST = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


@dataclass(frozen=True, slots=True)
class Link:
    """A link in a text. ``start`` and ``end``: of what names the target, in characters; ``wiki``:
    the name of another wiki before a colon. A ``near`` one is Markdown's own, relative to the
    page; the others begin at the wiki's ``wiki/``."""

    kind: Literal["wiki", "near"]
    start: int
    end: int
    target: str
    anchor: str = ""
    label: str = ""
    wiki: str = ""


def parse(inner: str) -> Link:
    """What ``[[inner]]`` says. A bar may be escaped, as it must be in a table."""
    named, _, label = inner.replace("\\|", "|").partition("|")
    target, _, anchor = named.partition("#")
    wiki = ""
    if ":" in target:
        wiki, _, target = target.partition(":")
    return Link("wiki", 0, 0, target.strip(), anchor.strip(), label.strip(), wiki.strip())


def find(text: str) -> tuple[Link, ...]:
    """The links of *text*, in order; line ends are LF."""
    if "[[" not in text and "](" not in text:
        return ()
    found: list[Link] = []
    for start, piece in _prose(text):
        if "[" in piece:
            found += _links(start, piece)
        if len(found) > MOST_LINKS:
            break
    return tuple(found[:MOST_LINKS])


def _links(start: int, piece: str) -> Iterator[Link]:
    """The links in a piece of prose that begins at *start*."""
    rows = []
    for match in _WIKI.finditer(piece):
        if _is_escaped(piece, match.start()):
            continue
        link = parse(match[1])
        end = match.start(1) + len(match[1].replace("\\|", "|").partition("|")[0])
        if link.target or link.anchor or link.wiki:
            rows.append(replace(link, start=start + match.start(1), end=start + end))
    for match in _NEAR.finditer(piece):
        target, _, anchor = unquote(match["to"]).partition("#")
        target = target.partition("?")[0]
        if target:
            span = start + match.start("to"), start + match.end("to")
            rows.append(Link("near", *span, target, anchor))
    return iter(sorted(rows, key=lambda link: link.start))


def _is_escaped(piece: str, at: int) -> bool:
    first = at
    while first and piece[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """The pieces of *text* that are no code, each with its position."""
    if "`" not in text and "~~~" not in text and "\n    " not in text and "\n\t" not in text:
        yield 0, text
        return
    for start, block in _blocks(text):
        yield from _outside_ticks(start, block)


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs that stand in no fence and are not indented as code."""
    fence = ""
    in_list, after_blank = False, True
    start = at = 0
    for line in text.split("\n"):
        end = at + len(line) + 1
        match = _FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
            start = end
        elif match and not ("`" in match[2] and match[1][0] == "`"):
            yield start, text[start:at]
            fence, start = match[1], end
        elif not line.strip():
            yield start, text[start:at]
            start, after_blank = end, True
        elif line.startswith(("    ", "\t")) and after_blank and not in_list:
            start = end
        else:
            after_blank = False
            if _LIST.match(line):
                in_list = True
            elif not line.startswith((" ", "\t")):
                in_list = False
        at = end
    if not fence:
        yield start, text[start:]


def _outside_ticks(start: int, block: str) -> Iterator[tuple[int, str]]:
    """The parts of a paragraph that stand between no backticks of the same number."""
    if "`" not in block:
        if block:
            yield start, block
        return
    runs = [match for match in _TICKS.finditer(block) if not _is_escaped(block, match.start())]
    at = number = 0
    while number < len(runs):
        run = runs[number]
        closing = next(
            (at for at in range(number + 1, len(runs)) if len(runs[at][0]) == len(run[0])), None
        )
        if closing is None:
            number += 1
            continue
        yield start + at, block[at : run.start()]
        at = runs[closing].end()
        number = closing + 1
    yield start + at, block[at:]
