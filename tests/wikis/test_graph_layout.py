"""Where pages stand in a graph."""

import math
import random
from itertools import pairwise

import pytest

from tests.support.chance import seed
from wikis.graph import NODE, lay_out, place_circles


def graph(kind: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Nodes and edges of a graph of that kind."""
    chance = random.Random(seed())
    nodes = [f"p{number}" for number in range(400)]
    chain = list(pairwise(nodes))
    return nodes, {
        "none": [],
        "chain": chain,
        "star": [(nodes[0], other) for other in nodes[1:]],
        "ring": [*chain, (nodes[-1], nodes[0])],
        "binary": [(nodes[number], nodes[(number - 1) // 2]) for number in range(1, 400)],
        "random": [tuple(chance.sample(nodes, 2)) for _ in range(900)],  # type: ignore[misc]
    }[kind]


@pytest.mark.parametrize("kind", ["none", "chain", "star", "ring", "binary", "random"])
def test_every_page_has_a_place_of_its_own_and_keeps_it(kind: str) -> None:
    """Within the picture, on no other page, and at the same place each time, in whatever order
    pages and links come."""
    nodes, edges = graph(kind)
    found = lay_out(nodes, edges)
    assert set(found.places) == set(nodes)
    points = sorted(found.places.values())
    assert all(math.hypot(x, y) <= found.radius + 1 for x, y in points)
    for at, (x, y) in enumerate(points):
        for other_x, other_y in points[at + 1 :]:
            if other_x - x > NODE:
                break
            assert math.hypot(other_x - x, other_y - y) > NODE
    mixed = random.Random(3).sample(nodes, len(nodes))
    again = lay_out(mixed, [(other, one) for one, other in reversed(edges)])
    assert again.places == found.places


def test_wikis_stand_beside_each_other() -> None:
    """No circle lies on another."""
    radii = {f"w{number}": 10.0 + number**2 for number in range(30)}
    found = place_circles(radii)
    names = sorted(radii)
    for at, one in enumerate(names):
        for other in names[at + 1 :]:
            apart = math.dist(found.places[one], found.places[other])
            assert apart > radii[one] + radii[other] - 0.01


@pytest.mark.parametrize("nodes", [[], ["one"], ["one", "two"]])
def test_small_ones_too(nodes: list[str]) -> None:
    """Nothing divides by nothing."""
    assert set(lay_out(nodes, []).places) == set(nodes)
