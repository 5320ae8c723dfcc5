"""Marks in a workspace's own folder."""

from jenny.workspace import marks


def test_a_mark_stands_until_it_is_taken_away(tmp_path):
    """Set twice is set once, taken twice is taken once; none is no error."""
    assert not marks.is_set(tmp_path, "waiting")
    marks.take(tmp_path, "waiting")
    marks.put(tmp_path, "waiting")
    marks.put(tmp_path, "waiting")
    assert marks.is_set(tmp_path, "waiting")
    marks.take(tmp_path, "waiting")
    marks.take(tmp_path, "waiting")
    assert not marks.is_set(tmp_path, "waiting")
