"""Where each page of a graph stands: the same pages and links always give the same places.

A page that others hang on stands in the middle of them, they in the middle of theirs: the tree of
shortest ways from the best-linked page, drawn as bubbles in bubbles. It takes a fraction of a
second for thousands of pages, where forces that pull and push would take minutes.
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

type Point = tuple[float, float]

NODE = 10.0
# Few pages stand wide apart, so that their names fit between them: (up to so many, apart).
_GAPS = ((12, 64.0), (60, 40.0), (300, 16.0))
_CLOSE = 6.0
# Bubbles in bubbles grow twofold with each step; what lies deeper stands around the last one.
_DEEPEST = 4


@dataclass
class _Bubble:
    """A page with those that hang on it. ``radius`` of the whole; ``places`` of its children from
    its own centre."""

    name: str
    children: list["_Bubble"] = field(default_factory=list)
    radius: float = NODE
    places: list[Point] = field(default_factory=list)


@dataclass(frozen=True)
class Layout:
    """Places by name, and the radius of the circle that holds them all."""

    places: Mapping[str, Point]
    radius: float


def lay_out(nodes: Sequence[str], edges: Iterable[tuple[str, str]], first: str = "") -> Layout:
    """Places for *nodes*; *first* is the middle of what hangs together with it."""
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


def circles(radii: Mapping[str, float]) -> Layout:
    """Places for circles of these sizes beside each other, the largest in the middle."""
    whole = _Bubble("", [_Bubble(name, radius=radius) for name, radius in radii.items()])
    _ring(whole, 0.0, _GAPS[0][1])
    places = dict(zip((one.name for one in whole.children), whole.places, strict=True))
    return Layout(places, whole.radius)


def _tree(root: str, neighbours: Mapping[str, list[str]], seen: set[str]) -> _Bubble:
    """The tree of shortest ways from *root*; what many lead to hangs on the best-linked."""
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
    """Give every bubble its size and its children their places, the innermost first."""
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
    """Put the children in rings around the middle, the large ones first, equal ones as they came:
    a chain of pages stays a chain."""
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
        # Each ring begins a little further round, so that no two rings stand in line.
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
