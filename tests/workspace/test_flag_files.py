"""Marks in a workspace's own folder."""

from jenny.workspace import flag_files


def test_a_mark_stands_until_it_is_taken_away(tmp_path):
    """Set twice is set once, taken twice is taken once; none is no error."""
    assert not flag_files.flag_is_set(tmp_path, "waiting")
    flag_files.clear_flag(tmp_path, "waiting")
    flag_files.set_flag(tmp_path, "waiting")
    flag_files.set_flag(tmp_path, "waiting")
    assert flag_files.flag_is_set(tmp_path, "waiting")
    flag_files.clear_flag(tmp_path, "waiting")
    flag_files.clear_flag(tmp_path, "waiting")
    assert not flag_files.flag_is_set(tmp_path, "waiting")
