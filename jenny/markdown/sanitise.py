"""Remove every tag, attribute, class and address that is not on an allowlist.

The renderer escapes all text and writes every tag itself, so normally nothing is removed here; this
is the second line of defence against a fault in it.
"""

import binascii
import re
from base64 import b64decode
from urllib.parse import urlsplit

import nh3
from pygments.token import STANDARD_TYPES

from jenny.markdown import limits
from jenny.markdown.extensions import BLOCK_PREFIX, CALLOUTS

SCHEMES = frozenset({"http", "https", "mailto", "tel"})

_PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,([A-Za-z0-9+/]+={0,2})\Z")
_FIRST_BYTES = {"png": b"\x89PNG\r\n", "jpeg": b"\xff\xd8\xff", "gif": b"GIF8", "webp": b"RIFF"}
# Browsers drop these characters from an address before they read its scheme ("java\tscript:").
_INVISIBLE = re.compile(
    "[\x00-\x20\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]"
)


def safe_address(address: str) -> str | None:
    """Return *address* if a link may lead there: an allowed scheme, or a page of this app."""
    if _INVISIBLE.search(address):
        return None
    if address.startswith("/") and not address.startswith(("//", "/\\")):
        return address
    scheme, colon, rest = address.partition(":")
    return address if colon and rest and scheme.lower() in SCHEMES else None


def leads_outside(address: str) -> bool:
    return address[:8].lower().startswith(("http://", "https://"))


def host(address: str) -> str:
    """Return the host in *address*, "" when there is none."""
    if not leads_outside(address):
        return ""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def is_picture(address: str) -> bool:
    """True for a ``data:`` address of a picture: a format without script, of bounded size."""
    if len(address) > limits.IMAGE:
        return False
    found = _PICTURE.match(address)
    if found is None:
        return False
    try:
        start = b64decode(found[2][:16])
    except (binascii.Error, ValueError):
        return False
    return start.startswith(_FIRST_BYTES[found[1]])


_SIZE_DIGITS = 4

FILES = "/files/raw/"
"""The address under which this site serves files of the workspace, checked and sandboxed."""

MATH_TAGS = frozenset(
    (
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "mtext",
        "mspace",
        "msup",
        "msub",
        "msubsup",
        "munder",
        "mover",
        "munderover",
        "mfrac",
        "msqrt",
        "mroot",
        "mtable",
        "mtr",
        "mtd",
        "mstyle",
        "mpadded",
        "mphantom",
        "menclose",
        "mprescripts",
        "mmultiscripts",
    )
)
# No href (a formula is not a link), no colours or style (the page sets those).
MATH_ATTRIBUTES = frozenset(
    (
        "accent",
        "accentunder",
        "columnalign",
        "columnlines",
        "columnspacing",
        "depth",
        "displaystyle",
        "fence",
        "form",
        "height",
        "largeop",
        "linebreak",
        "linethickness",
        "lspace",
        "mathvariant",
        "maxsize",
        "minsize",
        "movablelimits",
        "notation",
        "rowlines",
        "rowspacing",
        "rspace",
        "scriptlevel",
        "separator",
        "stretchy",
        "symmetric",
        "voffset",
        "width",
    )
)

_TEXT_TAGS = frozenset(
    (
        "a",
        "b",
        "blockquote",
        "br",
        "code",
        "dd",
        "del",
        "details",
        "div",
        "dl",
        "dt",
        "em",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "i",
        "ins",
        "input",
        "kbd",
        "li",
        "mark",
        "ol",
        "p",
        "pre",
        "q",
        "s",
        "section",
        "small",
        "span",
        "strong",
        "sub",
        "summary",
        "sup",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "u",
        "ul",
        "button",
    )
)
_CLASSES = {
    "a": {"footnote-back", "remote-image"},
    "button": {"copy"},
    "code": {"formula"},
    "details": {"callout", "data-view", "preview", *CALLOUTS},
    "div": {"callout", "code", "code-head", "footnotes", "formula", "table", "tree", *CALLOUTS},
    "input": {"task-box"},
    "li": {"task"},
    "ol": {"footnotes-list"},
    "p": {"callout-title", "hint"},
    "pre": {"unformatted"},
    "span": {"callout-kind", "code-language", "direction-mark", "remote-image", "tail"}
    | {name for name in STANDARD_TYPES.values() if name},
    "summary": {"callout-title"},
    "sup": {"footnote"},
    "td": {"center", "left", "right"},
    "th": {"center", "left", "right"},
}
# The frame of a diagram or a preview in a conversation, and anything that may be a frame.
_FRAME_ADDRESS = re.compile(r"/chat/[0-9a-f-]{36}/frame/[0-9a-f]{16}/")
_FRAME = re.compile(rf'<iframe class="(?:diagram|preview)" src="{_FRAME_ADDRESS.pattern}"')
_ANY_FRAME = re.compile(r"<\s*iframe", re.IGNORECASE)
_ATTRIBUTES: dict[str, set[str]] = {
    "a": {"href", "id", "title"},
    "button": {"data-copy", "data-save", "data-wrap"},
    "details": {"open"},
    "li": {"id"},
    "ol": {"start"},
    "div": {"tabindex"},
    "pre": {"tabindex"},
}
_VALUES: dict[str, dict[str, set[str]]] = {
    "a": {"aria-label": {"Back to the text"}, "target": {"_blank"}},
    "button": {
        "aria-label": {"Copy code", "Save code in the workspace", "Wrap lines"},
        "type": {"button"},
    },
    "div": {"aria-label": {"Footnotes", "Table", "Tree"}, "role": {"group"}},
    "input": {
        "aria-label": {"Done", "Not done"},
        "checked": {""},
        "disabled": {""},
        "type": {"checkbox"},
    },
    "math": {"display": {"block", "inline"}},
    "th": {"scope": {"col"}},
}
for _tag in ("p", "li", "blockquote", "dt", "dd", "h3", "h4", "h5", "h6", "summary", "td", "th"):
    _VALUES.setdefault(_tag, {})["dir"] = {"auto"}


def _cleaner(*, images: bool = False, frames: bool = False, page: bool = False) -> nh3.Cleaner:
    attributes = _ATTRIBUTES | {tag: set(MATH_ATTRIBUTES) for tag in MATH_TAGS}
    values, classes, tags = dict(_VALUES), dict(_CLASSES), _TEXT_TAGS | MATH_TAGS
    if images or page:
        attributes["img"] = {"src", "alt", "width", "height"}
        values["img"] = {"loading": {"lazy"}}
        tags = tags | {"img"}
    if page:
        # A page's headings have anchors, its links a kind.
        attributes |= {heading: {"id"} for heading in ("h3", "h4", "h5", "h6")}
        attributes["span"] = {"id"}
        classes["a"] = classes["a"] | {"missing", "tag", "unclear", "wiki-link"}
        classes["div"] = classes["div"] | {"embed"}
        classes["p"] = classes["p"] | {"embed-title"}
        classes["span"] = classes["span"] | {"block-anchor"}
    if frames or page:
        # Diagrams and previews have a sandboxed frame.
        attributes["iframe"] = {"src"}
        values["iframe"] = {
            "sandbox": {"", "allow-scripts"},
            "loading": {"lazy"},
            "title": {"Diagram", "Page", "Picture"},
        }
        classes["iframe"] = {"diagram", "preview"}
        tags = tags | {"iframe"}
    attribute_filter = _only_near if page else _only_own_images if images else None
    return nh3.Cleaner(
        tags=tags,
        attributes=attributes,
        attribute_filter=attribute_filter,
        tag_attribute_values=values,
        allowed_classes=classes,
        url_schemes=SCHEMES | ({"data"} if images or page else set()),
        link_rel="noopener nofollow",
    )


def _only_own_images(tag: str, attribute: str, value: str) -> str | None:
    if tag == "iframe" and attribute == "src":
        return value if _FRAME_ADDRESS.fullmatch(value) else None
    if tag == "img" and attribute == "src":
        return value if is_picture(value) or value.startswith(FILES) else None
    if attribute in {"width", "height"} and tag == "img":
        return value if value.isdecimal() and len(value) <= _SIZE_DIGITS else None
    if attribute == "href" and value.lstrip().lower().startswith("data:"):
        return None
    return value


def _only_near(tag: str, attribute: str, value: str) -> str | None:
    """Allow, on a page, also addresses of this site."""
    if attribute == "src" and value.startswith("/") and not value.startswith(("//", "/\\")):
        return value if tag in {"img", "iframe"} else None
    if tag == "iframe" and attribute == "src":
        return None
    if tag == "span" and attribute == "id":
        return value if value.startswith(BLOCK_PREFIX) else None
    return _only_own_images(tag, attribute, value)


_PLAIN = _cleaner()
_WITH_IMAGES = _cleaner(images=True)
_WITH_FRAMES = _cleaner(images=True, frames=True)
_PAGE = _cleaner(page=True)


def sanitise(html: str, *, is_page: bool = False) -> str:
    """Return *html* with only allowed tags, attributes, classes and addresses.

    A page (*is_page*) may have more of them than a message.
    """
    if is_page:
        return _PAGE.clean(html)
    # The cleaners that allow pictures and diagrams call Python for every attribute, so they are
    # used only for those. One frame that is no diagram, and none is allowed.
    frames = _FRAME.findall(html) if "<iframe " in html else []
    if frames and len(frames) == len(_ANY_FRAME.findall(html)):
        return _WITH_FRAMES.clean(html)
    return (_WITH_IMAGES if "<img " in html else _PLAIN).clean(html)
