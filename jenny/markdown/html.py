"""From tokens to HTML: every tag that reaches a page is written here."""

import binascii
import re
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any
from urllib.parse import urlsplit

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from jenny.markdown import highlight, limits
from jenny.markdown.blocks import PARSER
from jenny.markdown.maths import typeset
from jenny.markdown.sanitise import SCHEMES, is_embedded_image

TAIL = '<span class="tail"></span>'
"""Stands where the text of an open block goes on."""

_FIRST_HEADING = 3
_LAST_HEADING = 6
_SAFE_PREFIX = re.compile(r"[^A-Za-z0-9_-]")
_ALIGNED = re.compile(r"text-align:(left|center|right)")
# What browsers drop from addresses before they read the scheme ("java\tscript:").
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060\ufeff]")
_IMAGE_MAGIC = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"RIFF")


@dataclass(frozen=True)
class Carry:
    """What one block leaves for the next: the open headings, and room for link targets."""

    headings: tuple[int, ...] = ()
    targets: int = limits.REFERENCE_TARGETS


class _Renderer(RendererHTML):
    """Rules by token type; ``env`` holds what is open (links) and the footnotes' prefix."""

    def tail(self, *_: object) -> str:
        return TAIL

    def plain(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f'<pre class="plain" tabindex="0">{escape(tokens[idx].content)}</pre>\n'

    # -- code ----------------------------------------------------------------------------

    def code_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return f"<code>{highlight.code(tokens[idx].content)}</code>"

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return _code(tokens[idx], "")

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        words = tokens[idx].info.split(maxsplit=1)
        return _code(tokens[idx], words[0] if words else "")

    # -- formulas ------------------------------------------------------------------------

    def math_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        token = tokens[idx]
        html = typeset(token.content, display=token.meta["display"])
        return html or f'<code class="formula">{highlight.code(token.markup)}</code>'

    def math_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        token = tokens[idx]
        html = typeset(token.content, display=True)
        html = html or f'<code class="formula">{highlight.code(token.markup)}</code>'
        return f'<div class="formula" tabindex="0">{html}</div>\n'

    # -- tables and lists ----------------------------------------------------------------

    def table_open(self, *_: object) -> str:
        return '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n'

    def table_close(self, *_: object) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f'<th scope="col"{_alignment(tokens[idx])}>'

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<td{_alignment(tokens[idx])}>"

    def task_box(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        done = tokens[idx].meta["done"]
        state = 'checked="" aria-label="Done"' if done else 'aria-label="Not done"'
        return f'<input type="checkbox" class="task-box" disabled="" {state}>'

    # -- links and images ----------------------------------------------------------------

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        token = tokens[idx]
        address = _safe_address(str(token.attrs.get("href", "")))
        if address is not None:
            env["targets"] -= len(address)
        opened = address is not None and env["targets"] >= 0
        env["links"].append((opened, address, token))
        if address is None or not opened:
            return ""
        title = token.attrs.get("title")
        described = f' title="{escape(str(title))}"' if title else ""
        outside = ' target="_blank"' if address.startswith(("http:", "https:")) else ""
        return f'<a href="{escape(address)}"{described}{outside} rel="noopener nofollow">'

    def link_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        opened, address, token = env["links"].pop()
        if opened:
            return "</a>"
        target = str(token.attrs.get("href", ""))
        shown = tokens[idx - 1].content if idx else ""
        if address is not None or not target or target == shown:
            return ""
        # A place that no link may lead to is still said, as text.
        return f" <code>{highlight.code(target[:200])}</code>"

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        address = str(token.attrs.get("src", ""))
        description = self.renderInlineAsText(token.children or [], options, env)
        if _is_picture(address):
            return f'<img src="{escape(address)}" alt="{escape(description)}">'
        named = f"Image \N{LEFT DOUBLE QUOTATION MARK}{escape(description)}\N{RIGHT DOUBLE QUOTATION MARK}"
        name = named if description.strip() else "Image"
        target = _safe_address(address)
        host = (_host(target) if target else "") or ""
        if not host or target is None:
            return f'<span class="remote-image">{name}</span>'
        name += f" from {escape(host)}"
        env["targets"] -= len(target)
        if any(opened for opened, *_ in env["links"]) or env["targets"] < 0:
            return f'<span class="remote-image">{name}</span>'
        return (
            f'<a class="remote-image" href="{escape(target)}" target="_blank"'
            f' rel="noopener nofollow">{name} \N{EM DASH} open</a>'
        )

    # -- footnotes -----------------------------------------------------------------------

    def footnote_ref(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        number, use = tokens[idx].meta["id"] + 1, tokens[idx].meta["subId"]
        prefix = env["prefix"]
        again = f"-{use}" if use else ""
        return (
            f'<sup class="footnote"><a href="#fn-{prefix}{number}"'
            f' id="fnref-{prefix}{number}{again}">{number}</a></sup>'
        )

    def footnote_block_open(self, *_: object) -> str:
        return (
            '<section class="footnotes" role="doc-endnotes" aria-label="Footnotes">'
            '<ol class="footnotes-list">\n'
        )

    def footnote_block_close(self, *_: object) -> str:
        return "</ol></section>\n"

    def footnote_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return f'<li id="fn-{env["prefix"]}{tokens[idx].meta["id"] + 1}">'

    def footnote_close(self, *_: object) -> str:
        return "</li>\n"

    def footnote_anchor(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        number, use = tokens[idx].meta["id"] + 1, tokens[idx].meta["subId"]
        again = f"-{use}" if use else ""
        return (
            f' <a class="footnote-back" href="#fnref-{env["prefix"]}{number}{again}"'
            ' aria-label="Back to the text">\u21a9\ufe0e</a>'
        )

    def footnote_reference_open(self, *_: object) -> str:
        return ""

    def footnote_reference_close(self, *_: object) -> str:
        return ""


_RENDERER = _Renderer()


def to_html(tokens: list[Token], carry: Carry, *, prefix: str) -> tuple[str, Carry]:
    """One block's HTML, not yet sanitised, and what the next block has to know.

    *prefix* makes the ids of footnotes unique on a page.
    """
    headings = _demote(tokens, carry.headings)
    environment: dict[str, Any] = {
        "links": [],
        "targets": carry.targets,
        "prefix": _prefix(prefix),
    }
    html = _RENDERER.render(tokens, PARSER.options, environment)
    return html, replace(carry, headings=headings, targets=environment["targets"])


def _prefix(prefix: str) -> str:
    return _SAFE_PREFIX.sub("", prefix) + "-" if prefix else ""


def _demote(tokens: list[Token], headings: tuple[int, ...]) -> tuple[int, ...]:
    """Put headings below the page's own, without gaps: a reader's outline stays whole."""
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            headings = (*(above for above in headings if above < level), level)
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(_FIRST_HEADING + len(headings) - 1, _LAST_HEADING)}"
    return headings


def _code(token: Token, language: str) -> str:
    return (
        '<div class="code"><div class="code-head">'
        f'<span class="code-language">{escape(highlight.label(language))}</span>'
        '<button type="button" class="copy" data-copy="" aria-label="Copy code">Copy</button></div>'
        f'<pre tabindex="0"><code>{highlight.highlight(token.content, language)}'
        f"{TAIL if token.meta.get('tail') else ''}</code></pre></div>\n"
    )


def _alignment(token: Token) -> str:
    found = _ALIGNED.search(str(token.attrs.get("style", "")))
    return f' class="{found[1]}"' if found else ""


def _safe_address(address: str) -> str | None:
    """*address* when a link may lead there: a scheme on the list, or a page of this app."""
    bare = _INVISIBLE.sub("", address)
    if bare != address.strip():
        return None
    if bare.startswith("/") and not bare.startswith(("//", "/\\")):
        return bare
    scheme, colon, rest = bare.partition(":")
    return bare if colon and rest and scheme.lower() in SCHEMES else None


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _is_picture(address: str) -> bool:
    """Whether *address* is an embedded picture of a known format and bounded size."""
    if not is_embedded_image(address) or len(address) > limits.IMAGE:
        return False
    try:
        start = b64decode(address.partition(",")[2][:16], validate=True)
    except (binascii.Error, ValueError):
        return False
    return start.startswith(_IMAGE_MAGIC)
