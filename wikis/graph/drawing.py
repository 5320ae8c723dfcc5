"""A graph as values that a template draws as SVG: whole numbers, one path for all lines."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from jenny.workspace.stamped import Kept
from wikis import addresses
from wikis.graph import layout, naming
from wikis.graph.layout import Layout
from wikis.index.entries import Entry
from wikis.index.known import Index, Known
from wikis.index.relations import OTHERS_SECONDS, Relations, relations

MOST_NODES = 5_000
MOST_EDGES = 30_000
# Names are written this large in a picture of this reach (from its middle), and in proportion.
FONT = 13
FONT_REACH = 300
LEAST_REACH = {"large": 200, "small": 110}
NEAR_NODES = 60
LABEL_CHARS = 28


@dataclass(frozen=True, slots=True)
class Node:
    """A page in the picture. ``size`` is its radius, ``degree`` how many pages it is linked with,
    ``wiki`` and ``folder`` where it lies. ``label_y``: the line that its title stands on, if it
    is written."""

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
        """Its title, short."""
        return self.title if len(self.title) <= LABEL_CHARS else f"{self.title[:LABEL_CHARS]}…"


@dataclass(frozen=True, slots=True)
class Circle:
    """A wiki among others: a circle around its pages."""

    name: str
    href: str
    x: int
    y: int
    radius: int

    @property
    def label_y(self) -> int:
        """Where its name stands."""
        return self.y - self.radius - 8


@dataclass(frozen=True)
class Picture:
    """A graph. ``box`` is the SVG's view box; ``lines`` the data of the path of all
    links; ``pages`` and ``links`` how many there are, ``left_out`` how many pages are not drawn;
    ``font`` the size of names."""

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
        """Whether its dots would vanish if they were drawn to scale."""
        return self.font > 4 * FONT


_KEPT: Kept[tuple[object, Picture]] = Kept(8)


def of_wiki(index: Index, known: Known) -> Picture:
    """All pages of one wiki."""
    found = relations(index, known)
    return _kept(f"{index.root}\0wiki\0{known.name}", found, lambda: _wiki(found))


def near(index: Index, known: Known, path: str) -> Picture:
    """A page and those that it is linked with, and how these are linked among each other."""
    found = relations(index, known)
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
    places = layout.lay_out(shown, edges, first=path)
    entries = {name: known.entries[name] for name in shown if name in known.entries}
    return _picture(found, entries, edges, places, here=path, total=len(close) + 1)


def of_all(index: Index) -> Picture:
    """All wikis, each a circle of its pages; of many pages the best-linked ones."""
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
    """The best-linked pages of a wiki, the links between them, and their places."""
    pages = found.known.pages
    if len(pages) > most:
        neighbours = found.neighbours
        pages = tuple(
            sorted(pages, key=lambda entry: (-len(neighbours.get(entry.path, ())), entry.path))
        )[:most]
    shown = {entry.path: entry for entry in sorted(pages, key=lambda entry: entry.path)}
    edges = [edge for edge in found.edges if edge[0] in shown and edge[1] in shown][:MOST_EDGES]
    return shown, edges, layout.lay_out(list(shown), edges)


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
    named = naming.named(
        {
            path: (*at[path], sizes[path], len(shown[path].title[:LABEL_CHARS]))
            for path in sorted(shown, key=lambda one: (one != here, -degrees.get(one, 0), one))
        },
        font,
    )
    return tuple(
        Node(
            entry.title,
            addresses.page(wiki, path),
            *at[path],
            sizes[path],
            degrees.get(path, 0),
            wiki,
            entry.folder.partition("/")[0],
            named.get(path),
            path == here,
        )
        for path, entry in shown.items()
    )


def _all(index: Index, every: Mapping[str, Known]) -> Picture:
    """Each wiki laid out by itself, then all of them beside each other."""
    total = sum(len(known.pages) for known in every.values())
    share = max(10, MOST_NODES // max(1, len(every)))
    found = {name: relations(index, known) for name, known in every.items()}
    parts = {name: _laid_out(rows, MOST_NODES if total <= MOST_NODES else share)
             for name, rows in found.items()}  # fmt: skip
    whole = layout.circles({name: part[2].radius + 30 for name, part in sorted(parts.items())})
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
        circles.append(Circle(name, addresses.act(name, "graph"), round(x), round(y), radius))
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
    """The view box around all of the points, with room for names, and how large names are."""
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
