"""From tokens to HTML: every tag that reaches a page is written here."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from markdown_it.token import Token

from jenny.markdown import limits
from jenny.markdown.addresses import host, is_picture, leads_outside, safe_address
from jenny.markdown.around import Around, Led, Outline
from jenny.markdown.highlight import code, highlight, label
from jenny.markdown.maths import typeset

TAIL = '<span class="tail"></span>'
"""Stands where the text of an open block goes on."""

_FIRST_HEADING = 3
_LAST_HEADING = 6
_LONGEST_SHOWN_TARGET = 200
_UNSAFE_IN_ID = re.compile(r"[^A-Za-z0-9_-]")
_ALIGNED = re.compile(r"text-align:(left|center|right)")


@dataclass(frozen=True)
class Carry:
    """What one block leaves for the next: the open headings, and room for link targets."""

    headings: tuple[int, ...] = ()
    targets: int = limits.REFERENCE_TARGETS


@dataclass(frozen=True)
class _Link:
    """A link that is open: its target, and where its text begins in the output."""

    target: str
    address: str | None
    start: int


@dataclass
class _Page:
    """The block that is being written."""

    targets: int
    prefix: str
    around: Around | None = None
    out: list[str] = field(default_factory=list)
    links: list[_Link] = field(default_factory=list)

    def write(self, tokens: list[Token]) -> None:
        for token in tokens:
            if token.type == "inline":
                self.write(token.children or [])
            else:
                self.out.append(_RULES.get(token.type, _tag)(self, token))

    def affords(self, address: str) -> bool:
        """Whether there is room for one more *address* (``limits.REFERENCE_TARGETS``)."""
        self.targets -= len(address)
        return self.targets >= 0


def to_html(
    tokens: list[Token],
    carry: Carry,
    *,
    prefix: str,
    around: Around | None = None,
    outline: Outline | None = None,
) -> tuple[str, Carry]:
    """One block's HTML, not yet sanitised, and what the next block has to know.

    *prefix* makes the ids of footnotes unique on a page; *outline* names the headings.
    """
    if outline is not None:
        outline.name(tokens)
    headings = _demote(tokens, carry.headings)
    page = _Page(carry.targets, _UNSAFE_IN_ID.sub("", prefix), around)
    page.write(tokens)
    return "".join(page.out), Carry(headings, page.targets)


def _demote(tokens: list[Token], headings: tuple[int, ...]) -> tuple[int, ...]:
    """Put headings below the page's own, without gaps: a reader's outline stays whole."""
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            headings = (*(above for above in headings if above < level), level)
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(_FIRST_HEADING + len(headings) - 1, _LAST_HEADING)}"
    return headings


def _tag(_page: _Page, token: Token) -> str:
    """Any other token: its tag, with the one attribute that may come from the source."""
    if token.hidden:
        return ""
    if token.nesting < 0:
        line_end = "\n" if token.block and token.tag not in {"td", "th"} else ""
        return f"</{token.tag}>{line_end}"
    start = token.attrs.get("start")
    attribute = f' start="{start}"' if isinstance(start, int) else ""
    if token.meta.get("task"):
        attribute = ' class="task"'
    if "id" in token.meta:
        attribute = f' id="{escape(token.meta["id"])}"'
    return f"<{token.tag}{attribute}>"


def _text(_page: _Page, token: Token) -> str:
    return escape(token.content, quote=False)


def _plain(_page: _Page, token: Token) -> str:
    tail = TAIL if token.meta.get("tail") else ""
    return (
        f'<pre class="unformatted" tabindex="0">{escape(token.content, quote=False)}{tail}</pre>\n'
    )


def _code_inline(_page: _Page, token: Token) -> str:
    return f"<code>{code(token.content)}</code>"


def _code_block(page: _Page, token: Token) -> str:
    words = token.info.split(maxsplit=1)
    language = words[0] if words else ""
    frame = page.around.diagram(token.content) if page.around and language == "mermaid" else None
    if frame is not None:
        return (
            f'<iframe class="diagram" src="{escape(frame)}" sandbox="allow-scripts"'
            ' loading="lazy" title="Diagram"></iframe>\n'
        )
    tail = TAIL if token.meta.get("tail") else ""
    return (
        '<div class="code"><div class="code-head">'
        f'<span class="code-language">{escape(label(language))}</span>'
        '<button type="button" class="copy" data-copy="" aria-label="Copy code">Copy</button></div>'
        f'<pre tabindex="0"><code>{highlight(token.content, language)}{tail}</code></pre></div>\n'
    )


def _maths(_page: _Page, token: Token) -> str:
    display = token.block or bool(token.meta.get("display"))
    html = typeset(token.content, display=display)
    html = html or f'<code class="formula">{code(token.markup)}</code>'
    return f'<div class="formula" tabindex="0">{html}</div>\n' if token.block else html


def _cell_open(_page: _Page, token: Token) -> str:
    scope = ' scope="col"' if token.tag == "th" else ""
    found = _ALIGNED.search(str(token.attrs.get("style", "")))
    aligned = f' class="{found[1]}"' if found else ""
    return f"<{token.tag}{scope}{aligned}>"


def _task_box(_page: _Page, token: Token) -> str:
    state = 'checked="" aria-label="Done"' if token.meta["done"] else 'aria-label="Not done"'
    return f'<input type="checkbox" class="task-box" disabled="" {state}>'


def _link_open(page: _Page, token: Token) -> str:
    target = str(token.attrs.get("href", ""))
    address = safe_address(target)
    if address is None and page.around is not None:
        address = page.around.near(target)
    if address is not None and not page.affords(address):
        address = None
    page.links.append(_Link(target, address, len(page.out) + 1))
    if address is None:
        return ""
    title = token.attrs.get("title")
    described = f' title="{escape(str(title))}"' if title else ""
    outside = ' target="_blank"' if leads_outside(address) else ""
    return f'<a href="{escape(address)}"{described}{outside} rel="noopener nofollow">'


def _link_close(page: _Page, _token: Token) -> str:
    link = page.links.pop()
    if link.address is not None:
        return "</a>"
    # A place that no link leads to is still said, as text.
    shown = code(link.target[:_LONGEST_SHOWN_TARGET])
    if not link.target or shown in "".join(page.out[link.start :]) or page.targets < 0:
        return ""
    return f" <code>{shown}</code>"


def _image(page: _Page, token: Token) -> str:
    source = str(token.attrs.get("src", ""))
    description = _words(token.children or [])
    if is_picture(source):
        return f'<img src="{escape(source)}" alt="{escape(description)}">'
    near = page.around.picture(source) if page.around is not None else None
    if near is not None and page.affords(near):
        return f'<img src="{escape(near)}" alt="{escape(description)}">'
    name = "Image"
    if description.strip():
        name += f" \u201c{escape(description, quote=False)}\u201d"
    address = safe_address(source)
    if address is None or not host(address):
        return f'<span class="remote-image">{name}</span>'
    name += f" from {escape(host(address))}"
    inside_link = any(link.address is not None for link in page.links)
    if inside_link or not page.affords(address):
        return f'<span class="remote-image">{name}</span>'
    return (
        f'<a class="remote-image" href="{escape(address)}" target="_blank"'
        f' rel="noopener nofollow">{name} \u2014 open</a>'
    )


def _wiki_link(page: _Page, token: Token) -> str:
    led: Led = token.meta["led"]
    if token.meta["is_shown"] and led.kind == "there" and page.around is not None:
        near = page.around.picture(led.address)
        if near is not None and page.affords(near):
            return f'<img src="{escape(near)}" alt="{escape(led.text)}">'
    text = escape(led.text, quote=False)
    if not page.affords(led.address):
        return text
    hint = f' title="{escape(led.hint)}"' if led.hint else ""
    kind = "" if led.kind == "there" else f" {led.kind}"
    return f'<a class="wiki-link{kind}" href="{escape(led.address)}"{hint}>{text}</a>'


def _words(tokens: list[Token]) -> str:
    """The text of inline tokens, without marks."""
    return "".join(
        _words(token.children) if token.children else token.content or " " * bool(token.tag == "br")
        for token in tokens
    )


def _footnote_reference(page: _Page, token: Token) -> str:
    number, use = token.meta["id"] + 1, token.meta["subId"]
    again = f"-{use}" if use else ""
    return (
        f'<sup class="footnote"><a href="#fn-{page.prefix}{number}"'
        f' id="fnref-{page.prefix}{number}{again}">{number}</a></sup>'
    )


def _footnote_open(page: _Page, token: Token) -> str:
    return f'<li id="fn-{page.prefix}{token.meta["id"] + 1}">'


def _footnote_back(page: _Page, token: Token) -> str:
    number, use = token.meta["id"] + 1, token.meta["subId"]
    again = f"-{use}" if use else ""
    return (
        f' <a class="footnote-back" href="#fnref-{page.prefix}{number}{again}"'
        ' aria-label="Back to the text">\u21a9\ufe0e</a>'
    )


def _constant(html: str) -> Callable[[_Page, Token], str]:
    return lambda _page, _token: html


_RULES: dict[str, Callable[[_Page, Token], str]] = {
    "code_block": _code_block,
    "code_inline": _code_inline,
    "fence": _code_block,
    "footnote_anchor": _footnote_back,
    "footnote_block_close": _constant("</ol></section>\n"),
    "footnote_block_open": _constant(
        '<section class="footnotes" role="doc-endnotes" aria-label="Footnotes">'
        '<ol class="footnotes-list">'
    ),
    "footnote_close": _constant("</li>\n"),
    "footnote_open": _footnote_open,
    "footnote_ref": _footnote_reference,
    "footnote_reference_close": _constant(""),
    "footnote_reference_open": _constant(""),
    "hardbreak": _constant("<br>\n"),
    "image": _image,
    "link_close": _link_close,
    "link_open": _link_open,
    "math_block": _maths,
    "math_inline": _maths,
    "plain": _plain,
    "softbreak": _constant("\n"),
    "table_close": _constant("</table></div>\n"),
    "table_open": _constant(
        '<div class="table" tabindex="0" role="group" aria-label="Table"><table>'
    ),
    "tail": _constant(TAIL),
    "task_box": _task_box,
    "td_open": _cell_open,
    "text": _text,
    "th_open": _cell_open,
    "wiki_link": _wiki_link,
}
