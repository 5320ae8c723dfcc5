"""Names in a graph: as many as can be read."""

from wikis.graph import place_labels


def test_names_that_would_lie_on_each_other_stand_above_and_below() -> None:
    """Of two dots side by side both long names are written, one of them below its dot; a third in
    the same place, and less important, has none."""
    rows = {name: (x, 0, 7, 24) for name, x in (("first", 0), ("second", 60), ("third", 30))}
    found = place_labels(rows, 13)
    assert list(found) == ["first", "second"]
    assert found["first"] < 0 < found["second"]


def test_names_with_room_stand_above() -> None:
    """Where nothing is in the way a name is above its dot."""
    assert set(place_labels({"one": (0, 0, 7, 5), "two": (300, 0, 7, 5)}, 13).values()) == {-11}
