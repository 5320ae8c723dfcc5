"""What is taken out of a page or picture before its preview is shown."""

import re
from math import inf

from lxml import etree

# They make a browser look up or connect to a host, which no policy covers. The other element may
# stand at the same places, has no end either, and does nothing.
_HEADER_TAG = re.compile(r"<(?:link|meta)(?=[\s/>])", re.IGNORECASE)
_WITHOUT_EFFECT = "<basefont"

# ``<use>`` draws a part of a picture once more. Parts that use parts grow without bound: ten parts
# that use the next one ten times each are ten thousand million.
_USE = re.compile(r"(</?)use(?=[\s/>])", re.IGNORECASE)
_MOST_DRAWN = 100_000
_SVG = "{http://www.w3.org/2000/svg}"
# Names that HTML takes in capitals, too.
_NAMES = frozenset({"use", "id", "href"})
# An animation may give a ``<use>`` another address.
_CHANGING = frozenset(f"{_SVG}{name}" for name in ("set", "animate", "animateMotion"))
# HTML reads them in another way than XML.
_NO_XML = re.compile(r"<!(?!--)|<!--?->|<\?(?!xml\s)")


def safe_preview(source: str) -> str:
    """Return *source* without what connects to a host, and without what draws too much."""
    if drawn(source) > _MOST_DRAWN:
        source = _USE.sub(r"\1unused", source)
    return _HEADER_TAG.sub(_WITHOUT_EFFECT, source)


def drawn(source: str) -> float:
    """Return how many elements a browser draws at most for *source*."""
    uses = len(_USE.findall(source))
    if not uses:
        return 0
    if (root := _parsed(source)) is not None:
        return _counted(root)
    # With few of them, not even the worst order grows much: three in each of uses / 3 steps.
    return float(source.count("<") * 3 ** (min(uses, 1_000) / 3))


def _parsed(source: str) -> "etree._Element | None":
    """Return the picture that HTML and XML read in the same way; ``None``: it is none."""
    if _NO_XML.search(source):
        return None
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        root = etree.fromstring(source.strip().encode(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    tags = {element.tag for element in root.iter(etree.Element)}
    is_plain = (
        not tags & _CHANGING
        and f"{_SVG}foreignObject" not in tags
        and all(tag.startswith(_SVG) for tag in tags)
    )
    names = {name.rpartition("}")[2] for one in root.iter() for name in one.attrib}
    names |= {tag.rpartition("}")[2] for tag in tags}
    is_plain = is_plain and not any(name.lower() in _NAMES - {name} for name in names)
    return root if is_plain else None


def _counted(root: "etree._Element") -> float:
    named: dict[str, etree._Element] = {}
    for element in root.iter(etree.Element):
        named.setdefault(element.get("id", ""), element)
    sizes: dict[etree._Element, float] = {}

    def size(element: "etree._Element") -> float:
        if element not in sizes:
            # One that uses itself is never done.
            sizes[element] = inf
            targets = _targets(element, named)
            sizes[element] = 1 + sum(
                size(part) for part in (*element.iterchildren(etree.Element), *targets)
            )
        return sizes[element]

    try:
        return size(root)
    except RecursionError:
        return inf


def _targets(
    element: "etree._Element", named: dict[str, "etree._Element"]
) -> "list[etree._Element]":
    """Return what a ``<use>`` may draw: whichever of its addresses a browser takes."""
    if element.tag != f"{_SVG}use":
        return []
    return [
        named[target[1:]]
        for name, target in element.attrib.items()
        if name.rpartition("}")[2] == "href" and target.startswith("#") and target[1:] in named
    ]
