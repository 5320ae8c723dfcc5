"""Lay out the graph of pages and their links, and prepare it as values for an SVG template.

The layout is the tree of shortest paths from the best-linked page, drawn as nested bubbles:
children are placed around their parent. It takes a fraction of a second for thousands of pages,
where a force-directed layout would take minutes.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from jenny.workspace.file_cache import Kept
from wikis import names
from wikis.index_entries import Entry
from wikis.page_index import OTHERS_SECONDS, Index, Relations, WikiIndex, read_relations

type Point = tuple[float, float]

NODE = 10.0
# Few pages are placed far apart, so that their names fit between them: (up to so many, gap).
_GAPS = ((12, 64.0), (60, 40.0), (300, 16.0))
_CLOSE = 6.0
# Nested bubbles double in size with each level; deeper pages are placed around the last one.
_DEEPEST = 4


@dataclass
class _Bubble:
    """A page with its children.

    ``radius`` of the whole; ``places`` of its children from its own centre.
    """

    name: str
    children: list["_Bubble"] = field(default_factory=list)
    radius: float = NODE
    places: list[Point] = field(default_factory=list)


@dataclass(frozen=True)
class Layout:
    """Positions by name, and the radius of the circle that contains them all."""

    places: Mapping[str, Point]
    radius: float


def lay_out(nodes: Sequence[str], edges: Iterable[tuple[str, str]], first: str = "") -> Layout:
    """Lay out *nodes*; *first* is the centre of its connected component."""
    neighbours: dict[str, list[str]] = {node: [] for node in nodes}
    for one, other in edges:
        neighbours[one].append(other)
        neighbours[other].append(one)
    order = sorted(nodes, key=lambda node: (node != first, -len(neighbours[node]), node))
    seen: set[str] = set()
    roots = [_tree(node, neighbours, seen) for node in order if node not in seen]
    whole = _Bubble("", roots)
    gap = next((apart for most, apart in _GAPS if len(nodes) <= most), _CLOSE)
    for root in roots:
        _pack(root, gap)
    _ring(whole, 0.0, gap)
    places: dict[str, Point] = {}
    pending: list[tuple[_Bubble, float, float]] = [(whole, 0.0, 0.0)]
    while pending:
        bubble, x, y = pending.pop()
        if bubble.name:
            places[bubble.name] = (x, y)
        for child, (dx, dy) in zip(bubble.children, bubble.places, strict=True):
            pending.append((child, x + dx, y + dy))
    return Layout(places, max(whole.radius, NODE * 4))


def place_circles(radii: Mapping[str, float]) -> Layout:
    """Place circles of these sizes beside each other, the largest in the middle."""
    whole = _Bubble("", [_Bubble(name, radius=radius) for name, radius in radii.items()])
    _ring(whole, 0.0, _GAPS[0][1])
    places = dict(zip((one.name for one in whole.children), whole.places, strict=True))
    return Layout(places, whole.radius)


def _tree(root: str, neighbours: Mapping[str, list[str]], seen: set[str]) -> _Bubble:
    """Return the tree of shortest paths from *root*; of several parents the best-linked
    is taken.
    """
    top = _Bubble(root)
    seen.add(root)
    pending = deque([(root, top, 0)])
    while pending:
        node, bubble, depth = pending.popleft()
        for name in sorted(neighbours[node], key=lambda one: (-len(neighbours[one]), one)):
            if name in seen:
                continue
            seen.add(name)
            child = _Bubble(name)
            bubble.children.append(child)
            is_last = depth + 1 >= _DEEPEST
            pending.append((name, bubble if is_last else child, depth + (not is_last)))
    return top


def _pack(root: _Bubble, gap: float) -> None:
    """Compute every bubble's size and its children's positions, innermost first."""
    order: list[_Bubble] = []
    pending = [root]
    while pending:
        bubble = pending.pop()
        order.append(bubble)
        pending += bubble.children
    for bubble in reversed(order):
        if bubble.children:
            _ring(bubble, NODE, gap)


def _ring(bubble: _Bubble, middle: float, gap: float) -> None:
    """Place the children in rings, the large ones first.

    Equal ones stay in order, so that a chain of pages stays a chain.
    """
    bubble.children.sort(key=lambda child: -child.radius)
    bubble.places = []
    children = bubble.children
    at, inner, number = 0, middle, 0
    if middle == 0.0 and children:
        bubble.places.append((0.0, 0.0))
        at, inner = 1, children[0].radius
    while at < len(children):
        widest = children[at].radius
        distance = inner + gap + widest
        taken, end = 0.0, at
        while end < len(children):
            share = 2 * math.asin(min(1.0, (children[end].radius + gap / 2) / distance))
            if taken + share > 2 * math.pi and end > at:
                break
            taken += share
            end += 1
        slack = max(0.0, 2 * math.pi - taken) / (end - at)
        # Each ring begins a little further round, so that no two rings align.
        angle = number * 2.399963
        for child in children[at:end]:
            half = math.asin(min(1.0, (child.radius + gap / 2) / distance))
            angle += half + slack / 2
            bubble.places.append((distance * math.cos(angle), distance * math.sin(angle)))
            angle += half + slack / 2
        inner = distance + widest
        at = end
        number += 1
    bubble.radius = max(inner, NODE)


MOST_LABELS = 60
MOST_TRIED = 300
_ABOVE = 4


def place_labels(rows: Mapping[str, tuple[int, int, int, int]], font: int) -> dict[str, int]:
    """Return the pages whose names are shown, each with the line of its name.

    The best-linked ones are labelled first, above the dot or else below it, as long as no names
    overlap. *rows*: position, size and length of the name, the most important first.
    """
    taken: list[tuple[int, int, float]] = []
    found: dict[str, int] = {}
    for path, (x, y, size, length) in islice(rows.items(), MOST_TRIED):
        half = length * font * 0.28
        for line in (y - size - _ABOVE, y + size + font):
            if all(
                abs(x - other_x) > half + other_half or abs(line - other_line) > font
                for other_x, other_line, other_half in taken
            ):
                taken.append((x, line, half))
                found[path] = line
                break
        if len(found) >= MOST_LABELS:
            break
    return found


MOST_NODES = 5_000
MOST_EDGES = 30_000
# The font size in a picture of this reach (from its centre); others are scaled.
FONT = 13
FONT_REACH = 300
LEAST_REACH = {"large": 200, "small": 110}
NEAR_NODES = 60
LABEL_CHARS = 28


@dataclass(frozen=True, slots=True)
class Node:
    """A page in the picture.

    ``size`` is its radius, ``degree`` the number of pages it is linked with, ``wiki`` and
    ``folder`` its location. ``label_y``: the line of its title, if it is shown.
    """

    title: str
    href: str
    x: int
    y: int
    size: int
    degree: int
    wiki: str
    folder: str
    label_y: int | None
    is_here: bool = False

    @property
    def label(self) -> str:
        return self.title if len(self.title) <= LABEL_CHARS else f"{self.title[:LABEL_CHARS]}…"


@dataclass(frozen=True, slots=True)
class Circle:
    """The circle around a wiki's pages, in the graph of all wikis."""

    name: str
    href: str
    x: int
    y: int
    radius: int

    @property
    def label_y(self) -> int:
        return self.y - self.radius - 8


@dataclass(frozen=True)
class Picture:
    """A graph.

    ``box`` is the SVG's view box; ``lines`` the data of the path of all links; ``pages`` and
    ``links`` their numbers, ``left_out`` the number of pages not drawn; ``font`` the font size.
    """

    nodes: tuple[Node, ...]
    circles: tuple[Circle, ...]
    lines: str
    box: str
    pages: int
    links: int
    left_out: int
    folders: tuple[str, ...]
    font: int = FONT

    @property
    def is_dense(self) -> bool:
        """True when its dots would be invisible at scale."""
        return self.font > 4 * FONT


_KEPT: Kept[tuple[object, Picture]] = Kept(8)


def of_wiki(index: Index, known: WikiIndex) -> Picture:
    found = read_relations(index, known)
    return _kept(f"{index.root}\0wiki\0{known.name}", found, lambda: _wiki(found))


def near(index: Index, known: WikiIndex, path: str) -> Picture:
    """Draw a page, the pages it is linked with, and the links between these."""
    found = read_relations(index, known)
    neighbours = found.neighbours
    close = sorted(neighbours.get(path, ()), key=lambda one: (-len(neighbours[one]), one))
    shown = [path, *close[: NEAR_NODES - 1]]
    inside = set(shown)
    edges = [
        (one, other)
        for one in shown
        for other in neighbours.get(one, ())
        if one < other and other in inside
    ]
    places = lay_out(shown, edges, first=path)
    entries = {name: known.entries[name] for name in shown if name in known.entries}
    return _picture(found, entries, edges, places, here=path, total=len(close) + 1)


def of_all(index: Index) -> Picture:
    """Draw all wikis, each a circle of its pages; of many pages the best-linked ones."""
    every = index.every(within=OTHERS_SECONDS)
    numbers = tuple(known.number for known in every.values())
    return _kept(f"{index.root}\0all", numbers, lambda: _all(index, every))


def _kept(key: str, stands_for: object, draw: Callable[[], Picture]) -> Picture:
    kept = _KEPT.get(key)
    same = kept is not None and (
        kept[0] is stands_for or (isinstance(stands_for, tuple) and kept[0] == stands_for)
    )
    if kept is None or not same:
        kept = stands_for, draw()
        _KEPT.put(key, kept)
    return kept[1]


def _wiki(found: Relations) -> Picture:
    shown, edges, places = _laid_out(found, MOST_NODES)
    return _picture(found, shown, edges, places, total=len(found.known.pages))


def _laid_out(
    found: Relations, most: int
) -> tuple[dict[str, Entry], Sequence[tuple[str, str]], Layout]:
    """Return the best-linked pages of a wiki, the links between them, and their positions."""
    pages = found.known.pages
    if len(pages) > most:
        neighbours = found.neighbours
        pages = tuple(
            sorted(pages, key=lambda entry: (-len(neighbours.get(entry.path, ())), entry.path))
        )[:most]
    shown = {entry.path: entry for entry in sorted(pages, key=lambda entry: entry.path)}
    edges = [edge for edge in found.edges if edge[0] in shown and edge[1] in shown][:MOST_EDGES]
    return shown, edges, lay_out(list(shown), edges)


def _picture(
    found: Relations,
    shown: Mapping[str, Entry],
    edges: Sequence[tuple[str, str]],
    places: Layout,
    *,
    here: str = "",
    total: int,
) -> Picture:
    at = {path: (round(x), round(y)) for path, (x, y) in places.places.items()}
    degrees = {path: len(rows) for path, rows in found.neighbours.items()}
    box, font = _box(at.values(), LEAST_REACH["small" if here else "large"])
    nodes = _nodes(found.known.name, shown, at, degrees, here, font=font)
    lines = "".join(_line(at[one], at[other]) for one, other in edges)
    return Picture(
        nodes,
        (),
        lines,
        box,
        total,
        len(found.edges),
        total - len(nodes),
        tuple(sorted({node.folder for node in nodes if node.folder})),
        font,
    )


def _nodes(
    wiki: str,
    shown: Mapping[str, Entry],
    at: Mapping[str, tuple[int, int]],
    degrees: Mapping[str, int],
    here: str = "",
    *,
    font: int,
) -> tuple[Node, ...]:
    sizes = {path: min(14, 5 + math.isqrt(degrees.get(path, 0)) * 2) for path in shown}
    labelled = place_labels(
        {
            path: (*at[path], sizes[path], len(shown[path].title[:LABEL_CHARS]))
            for path in sorted(shown, key=lambda one: (one != here, -degrees.get(one, 0), one))
        },
        font,
    )
    return tuple(
        Node(
            entry.title,
            names.page_url(wiki, path),
            *at[path],
            sizes[path],
            degrees.get(path, 0),
            wiki,
            entry.folder.partition("/")[0],
            labelled.get(path),
            path == here,
        )
        for path, entry in shown.items()
    )


def _all(index: Index, every: Mapping[str, WikiIndex]) -> Picture:
    """Lay out each wiki, then all of them beside each other."""
    total = sum(len(known.pages) for known in every.values())
    share = max(10, MOST_NODES // max(1, len(every)))
    found = {name: read_relations(index, known) for name, known in every.items()}
    parts = {name: _laid_out(rows, MOST_NODES if total <= MOST_NODES else share)
             for name, rows in found.items()}  # fmt: skip
    whole = place_circles({name: part[2].radius + 30 for name, part in sorted(parts.items())})
    edges_of_all = [
        (x + side * part[2].radius, y + side * part[2].radius)
        for (x, y), part in ((whole.places[name], part) for name, part in parts.items())
        for side in (-1, 1)
    ]
    box, font = _box(edges_of_all, LEAST_REACH["large"])
    nodes: list[Node] = []
    circles: list[Circle] = []
    lines: list[str] = []
    at: dict[tuple[str, str], tuple[int, int]] = {}
    for name, (shown, edges, places) in parts.items():
        x, y = whole.places[name]
        here = {path: (round(x + dx), round(y + dy)) for path, (dx, dy) in places.places.items()}
        at |= {(name, path): place for path, place in here.items()}
        degrees = {path: len(rows) for path, rows in found[name].neighbours.items()}
        nodes += _nodes(name, shown, here, degrees, font=font)
        lines += [_line(here[one], here[other]) for one, other in edges]
        radius = round(places.radius) + 16
        circles.append(Circle(name, names.action_url(name, "graph"), round(x), round(y), radius))
    between = [
        (at[name, source], at[address])
        for name, rows in found.items()
        for address, sources in rows.outside.items()
        for source in sources
        if (name, source) in at and address in at
    ]
    lines += [_line(one, other) for one, other in between[:MOST_EDGES]]
    return Picture(
        tuple(nodes),
        tuple(circles),
        "".join(lines[: 2 * MOST_EDGES]),
        box,
        total,
        sum(len(rows.edges) for rows in found.values()) + len(between),
        total - len(nodes),
        tuple(parts),
        font,
    )


def _box(points: Iterable[tuple[float, float]], least: int) -> tuple[str, int]:
    """Return the view box around all the points, with space for names, and the font size."""
    rows = list(points) or [(0.0, 0.0)]
    left, right = min(x for x, _ in rows), max(x for x, _ in rows)
    top, bottom = min(y for _, y in rows), max(y for _, y in rows)
    half_width = max((right - left) / 2, least)
    font = max(FONT, int(FONT * max(half_width, (bottom - top) / 2) / FONT_REACH))
    half_width += 4 * font
    half_height = max((bottom - top) / 2 + 3 * font, least / 2)
    x, y = round((left + right) / 2 - half_width), round((top + bottom) / 2 - half_height)
    return f"{x} {y} {round(2 * half_width)} {round(2 * half_height)}", font


def _line(one: tuple[int, int], other: tuple[int, int]) -> str:
    return f"M{one[0]} {one[1]}L{other[0]} {other[1]}"
