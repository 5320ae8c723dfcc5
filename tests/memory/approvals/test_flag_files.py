"""Flag files in a workspace's own folder."""

from memory.approvals import overlay


def test_a_flag_stays_until_it_is_cleared(tmp_path):
    """Set twice is set once, taken twice is taken once; none is no error."""
    assert not overlay.flag_is_set(tmp_path, "waiting")
    overlay.clear_flag(tmp_path, "waiting")
    overlay.set_flag(tmp_path, "waiting")
    overlay.set_flag(tmp_path, "waiting")
    assert overlay.flag_is_set(tmp_path, "waiting")
    overlay.clear_flag(tmp_path, "waiting")
    overlay.clear_flag(tmp_path, "waiting")
    assert not overlay.flag_is_set(tmp_path, "waiting")
