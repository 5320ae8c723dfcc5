"""Write tokens as HTML; every tag that reaches a page is written here or in ``highlight``."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from markdown_it.token import Token

from jenny.markdown import limits
from jenny.markdown.data_views import data_view
from jenny.markdown.extensions import BLOCK_PREFIX
from jenny.markdown.highlight import LABEL_LENGTH, code, highlight, label
from jenny.markdown.link_context import NOT_THERE, LinkContext, Outline, ResolvedLink
from jenny.markdown.maths import typeset
from jenny.markdown.sanitise import host, is_picture, leads_outside, safe_address

TAIL = '<span class="tail"></span>'
"""The position where the text of an open block continues."""

_DIR = ' dir="auto"'
_DIRECTED = frozenset(("p", "li", "blockquote", "dt", "dd", "h3", "h4", "h5", "h6"))
_FIRST_HEADING = 3
_LAST_HEADING = 6
_LONGEST_SHOWN_TARGET = 200
_UNSAFE_IN_ID = re.compile(r"[^A-Za-z0-9_-]")
_ALIGNED = re.compile(r"text-align:(left|center|right)")
# The width, or width and height, that Obsidian has behind a picture's description.
_SIZE = re.compile(r"(?:^|\|)[ \t]*(\d{1,4})(?:x(\d{1,4}))?[ \t]*\Z")
_SAVE = (
    '<button type="button" class="copy" data-save="{}" aria-label="Save code in the workspace">'
    "Save</button>"
)
_FRAMED = {"html": "Page", "htm": "Page", "xhtml": "Page", "svg": "Picture"}
"""Languages of code blocks that have a preview, and what it shows."""


@dataclass(frozen=True)
class Carry:
    """The state from one block to the next: open headings, and the space left for link targets and
    for tables and trees of data."""

    headings: tuple[int, ...] = ()
    targets: int = limits.REFERENCE_TARGETS
    views: int = limits.VIEW_SLACK


@dataclass(frozen=True)
class _Link:
    """An open link: its target, and the offset of its text in the output."""

    target: str
    address: str | None
    start: int


@dataclass
class _Page:
    targets: int
    views: int
    prefix: str
    around: LinkContext | None = None
    out: list[str] = field(default_factory=list)
    links: list[_Link] = field(default_factory=list)

    def write(self, tokens: list[Token]) -> None:
        for token in tokens:
            if token.type == "inline":
                if "block" in token.meta:
                    self.out.append(_block_anchor(self, token))
                self.write(token.children or [])
            else:
                self.out.append(_RULES.get(token.type, _tag)(self, token))

    def affords(self, address: str) -> bool:
        self.targets -= len(address)
        return self.targets >= 0


def to_html(
    tokens: list[Token],
    carry: Carry,
    *,
    prefix: str,
    around: LinkContext | None = None,
    outline: Outline | None = None,
) -> tuple[str, Carry]:
    """Return one block's HTML, not yet sanitised, and the state for the next block.

    *prefix* makes the ids of footnotes unique on a page; *outline* names the headings.
    """
    if outline is not None:
        outline.name(tokens)
    headings = _demote(tokens, carry.headings)
    page = _Page(carry.targets, carry.views, _UNSAFE_IN_ID.sub("", prefix), around)
    page.write(tokens)
    return "".join(page.out), Carry(headings, page.targets, page.views)


def _demote(tokens: list[Token], headings: tuple[int, ...]) -> tuple[int, ...]:
    """Put headings below the page's own level, without gaps, for the outline of screen readers."""
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            headings = (*(above for above in headings if above < level), level)
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(_FIRST_HEADING + len(headings) - 1, _LAST_HEADING)}"
    return headings


def _tag(_page: _Page, token: Token) -> str:
    """Write any other token: its tag, with the one attribute that may come from the source."""
    if token.hidden:
        return ""
    if token.nesting < 0:
        line_end = "\n" if token.block and token.tag not in {"td", "th"} else ""
        return f"</{token.tag}>{line_end}"
    start = token.attrs.get("start")
    attribute = f' start="{start}"' if isinstance(start, int) else ""
    if "checked" in token.meta:
        return f'<li class="task"{_DIR}>{_task_box(is_done=token.meta["checked"])}'
    if "id" in token.meta:
        attribute = f' id="{escape(token.meta["id"])}"'
    return f"<{token.tag}{attribute}{_direction(token)}>"


def _direction(token: Token) -> str:
    """Return the attribute for a block's text direction, which follows its first letter.

    A paragraph inside an item or a quote gets none: browsers ignore descendants with their own
    ``dir`` when they compute the direction of the parent.
    """
    is_inner = token.tag == "p" and token.level > 0
    return _DIR if token.tag in _DIRECTED and not is_inner else ""


def _text(_page: _Page, token: Token) -> str:
    return escape(token.content, quote=False)


def _plain(_page: _Page, token: Token) -> str:
    tail = TAIL if token.meta.get("tail") else ""
    return (
        f'<pre class="unformatted" tabindex="0">{escape(token.content, quote=False)}{tail}</pre>\n'
    )


def _code_inline(_page: _Page, token: Token) -> str:
    return f"<code>{code(token.content)}</code>"


def framed_language(token: Token) -> str:
    """Return the language of a block of code that a frame may show; "" for every other token."""
    words = token.info.split(maxsplit=1) if token.type in {"fence", "code_block"} else ()
    kind = words[0].lower() if words else ""
    return kind if kind == "mermaid" or kind in _FRAMED else ""


def _code_block(page: _Page, token: Token) -> str:
    words = token.info.split(maxsplit=1)
    language = words[0] if words else ""
    kind = language.lower()
    is_framed = page.around is not None and bool(framed_language(token))
    frame = page.around.frame(kind, token.content) if page.around and is_framed else None
    if frame is not None and kind == "mermaid":
        return (
            f'<iframe class="diagram" src="{escape(frame)}" sandbox="allow-scripts"'
            ' loading="lazy" title="Diagram"></iframe>\n'
        )
    # A block that still grows in a stream gets its table or tree with the final rendering.
    is_growing = bool(token.meta.get("tail"))
    tail = TAIL if is_growing else ""
    more = ""
    if not is_growing:
        more, page.views = data_view(token.content, kind, page.views)
    if frame is not None:
        more = (
            '<details class="preview"><summary>Preview</summary>'
            f'<iframe class="preview" src="{escape(frame)}" sandbox="" loading="lazy"'
            f' title="{_FRAMED[kind]}"></iframe></details>'
        )
    text = highlight(token.content, language)
    # Half a block is not saved.
    save = "" if is_growing else _SAVE.format(escape(kind[:LABEL_LENGTH]))
    return (
        '<div class="code"><div class="code-head">'
        f'<span class="code-language">{escape(label(language))}</span>'
        '<button type="button" class="copy" data-wrap="" aria-label="Wrap lines">Wrap</button>'
        f"{save}"
        '<button type="button" class="copy" data-copy="" aria-label="Copy code">Copy</button></div>'
        f'<pre tabindex="0"><code>{text}{tail}</code></pre>{more}</div>\n'
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
    return f"<{token.tag}{scope}{aligned}{_DIR}>"


def _task_box(*, is_done: bool) -> str:
    state = 'checked="" aria-label="Done"' if is_done else 'aria-label="Not done"'
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
    # A target that is not linked is shown as text.
    shown = code(link.target[:_LONGEST_SHOWN_TARGET])
    is_missing = page.around is not None and page.around.missing(link.target)
    note = f" ({NOT_THERE})" if is_missing else ""
    if not link.target or shown in "".join(page.out[link.start :]) or page.targets < 0:
        return note
    return f" <code>{shown}</code>{note}"


def _image(page: _Page, token: Token) -> str:
    source = str(token.attrs.get("src", ""))
    description = _words(token.children or [])
    if is_picture(source):
        return f'<img src="{escape(source)}" alt="{escape(description)}" loading="lazy">'
    near = page.around.picture(source) if page.around is not None else None
    if near is not None and page.affords(near):
        return _picture(near, description, "")
    name = "Image"
    if description.strip():
        name += f" \u201c{escape(description, quote=False)}\u201d"
    address = safe_address(source)
    if address is None or not host(address):
        if page.around is not None and page.around.missing(source):
            name += f" <code>{code(source[:_LONGEST_SHOWN_TARGET])}</code> ({NOT_THERE})"
        return f'<span class="remote-image">{name}</span>'
    name += f" from {escape(host(address))}"
    inside_link = any(link.address is not None for link in page.links)
    if inside_link or not page.affords(address):
        return f'<span class="remote-image">{name}</span>'
    return (
        f'<a class="remote-image" href="{escape(address)}" target="_blank"'
        f' rel="noopener nofollow">{name} \u2014 open</a>'
    )


def _picture(address: str, description: str, name: str) -> str:
    """Return a picture in the size that its description ends with; *name* stands in for a missing
    description."""
    size = _SIZE.search(description)
    width = height = ""
    if size:
        description = description[: size.start()]
        width = f' width="{size[1]}"'
        height = f' height="{size[2]}"' if size[2] else ""
    alt = escape(description or name)
    return f'<img src="{escape(address)}" alt="{alt}"{width}{height} loading="lazy">'


def _wiki_link(page: _Page, token: Token) -> str:
    led: ResolvedLink = token.meta["led"]
    if token.meta["is_shown"] and led.kind != "missing" and page.around is not None:
        near = page.around.picture(led.address)
        if near is not None and page.affords(near):
            name = token.meta["inner"].partition("|")[0].rpartition("/")[2]
            return _picture(near, led.text, name.partition("#")[0].rpartition(".")[0])
        if token.meta.get("alone") and (embed := page.around.embed(token.meta["inner"])):
            return embed
    text = escape(led.text, quote=False)
    if not page.affords(led.address):
        return text
    hint = f' title="{escape(led.hint)}"' if led.hint else ""
    kind = "" if led.kind == "there" else f" {led.kind}"
    return f'<a class="wiki-link{kind}" href="{escape(led.address)}"{hint}>{text}</a>'


def _callout_open(_page: _Page, token: Token) -> str:
    attribute = ' open=""' if token.meta["is_open"] else ""
    return f'<{token.tag} class="callout {token.meta["look"]}"{attribute}>'


def _callout_title_open(_page: _Page, token: Token) -> str:
    """Write the beginning of a title; the callout's kind is said in words, too."""
    kind = escape(token.meta["kind"])
    said = f'<span class="callout-kind">{kind}</span> ' if token.meta["has_title"] else kind
    return f'<{token.tag} class="callout-title"{_DIR}>{said}'


def _block_anchor(_page: _Page, token: Token) -> str:
    return f'<span class="block-anchor" id="{BLOCK_PREFIX}{escape(token.meta["block"])}"></span>'


def _tag_name(page: _Page, token: Token) -> str:
    text, address = escape(token.content, quote=False), token.meta["address"]
    if not address or any(link.address is not None for link in page.links):
        return text
    return f'<a class="tag" href="{escape(address)}">{text}</a>' if page.affords(address) else text


def _words(tokens: list[Token]) -> str:
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
    return f'<li id="fn-{page.prefix}{token.meta["id"] + 1}"{_DIR}>'


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
    "block_anchor": _block_anchor,
    "callout_open": _callout_open,
    "callout_title_open": _callout_title_open,
    "code_block": _code_block,
    "code_inline": _code_inline,
    "fence": _code_block,
    "footnote_anchor": _footnote_back,
    "footnote_block_close": _constant("</ol></div>\n"),
    "footnote_block_open": _constant(
        '<div class="footnotes" role="group" aria-label="Footnotes"><ol class="footnotes-list">'
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
    "tag_name": _tag_name,
    "table_close": _constant("</table></div>\n"),
    "table_open": _constant(
        '<div class="table" tabindex="0" role="group" aria-label="Table"><table>'
    ),
    "tail": _constant(TAIL),
    "td_open": _cell_open,
    "text": _text,
    "th_open": _cell_open,
    "wiki_link": _wiki_link,
}
