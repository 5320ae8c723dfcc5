"""The second wall: what is not on these lists does not reach a page.

The renderer escapes all text and makes every tag itself, so that nothing here
should ever have to be removed; it stands for the day when that is not so.
"""

import nh3
from pygments.token import STANDARD_TYPES

from jenny.markdown.addresses import SCHEMES, is_picture

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
# No href (a formula is no link), no colours or style (they are the page's own business).
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
        "del",
        "div",
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
    "div": {"code", "code-head", "formula", "table"},
    "input": {"task-box"},
    "li": {"task"},
    "ol": {"footnotes-list"},
    "pre": {"unformatted"},
    "section": {"footnotes"},
    "span": {"code-language", "direction-mark", "remote-image", "tail"}
    | {name for name in STANDARD_TYPES.values() if name},
    "sup": {"footnote"},
    "td": {"center", "left", "right"},
    "th": {"center", "left", "right"},
}
_ATTRIBUTES: dict[str, set[str]] = {
    "a": {"href", "id", "title"},
    "button": {"data-copy"},
    "li": {"id"},
    "ol": {"start"},
    "div": {"tabindex"},
    "pre": {"tabindex"},
}
_VALUES: dict[str, dict[str, set[str]]] = {
    "a": {"aria-label": {"Back to the text"}, "target": {"_blank"}},
    "button": {"aria-label": {"Copy code"}, "type": {"button"}},
    "div": {"aria-label": {"Table"}, "role": {"group"}},
    "input": {
        "aria-label": {"Done", "Not done"},
        "checked": {""},
        "disabled": {""},
        "type": {"checkbox"},
    },
    "math": {"display": {"block", "inline"}},
    "section": {"aria-label": {"Footnotes"}, "role": {"doc-endnotes"}},
    "th": {"scope": {"col"}},
}


def _cleaner(*, images: bool = False, page: bool = False) -> nh3.Cleaner:
    attributes = _ATTRIBUTES | {tag: set(MATH_ATTRIBUTES) for tag in MATH_TAGS}
    values, classes, tags = dict(_VALUES), dict(_CLASSES), _TEXT_TAGS | MATH_TAGS
    if images or page:
        attributes["img"] = {"src", "alt"}
        tags = tags | {"img"}
    if page:
        # A page's headings have anchors, its links a kind, its diagrams a frame that is shut in.
        attributes |= {heading: {"id"} for heading in ("h3", "h4", "h5", "h6")}
        attributes["iframe"] = {"src"}
        values["iframe"] = {
            "sandbox": {"allow-scripts"},
            "loading": {"lazy"},
            "title": {"Diagram"},
        }
        classes["a"] = classes["a"] | {"wiki-link", "missing", "unclear"}
        classes["iframe"] = {"diagram"}
        tags = tags | {"iframe"}
    judge = _only_near if page else _only_own_images if images else None
    return nh3.Cleaner(
        tags=tags,
        attributes=attributes,
        attribute_filter=judge,
        tag_attribute_values=values,
        allowed_classes=classes,
        url_schemes=SCHEMES | ({"data"} if images or page else set()),
        link_rel="noopener nofollow",
    )


def _only_own_images(tag: str, attribute: str, value: str) -> str | None:
    if tag == "img" and attribute == "src":
        return value if is_picture(value) else None
    if attribute == "href" and value.lstrip().lower().startswith("data:"):
        return None
    return value


def _only_near(tag: str, attribute: str, value: str) -> str | None:
    """On a page also what lies on this site."""
    if attribute == "src" and value.startswith("/") and not value.startswith(("//", "/\\")):
        return value if tag in {"img", "iframe"} else None
    if tag == "iframe" and attribute == "src":
        return None
    return _only_own_images(tag, attribute, value)


_PLAIN = _cleaner()
_WITH_IMAGES = _cleaner(images=True)
_PAGE = _cleaner(page=True)


def sanitise(html: str, *, is_page: bool = False) -> str:
    """*html* without any tag, attribute, class or address that is not on the lists; what a page of
    its own may have besides (*is_page*) is more than what a message may."""
    if is_page:
        return _PAGE.clean(html)
    # The cleaner that knows pictures asks Python about every attribute, hence is kept for those.
    return (_WITH_IMAGES if "<img " in html else _PLAIN).clean(html)
