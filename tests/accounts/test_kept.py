"""Text that is kept over a login."""

from typing import Any

from jenny.accounts import kept


def test_text_is_handed_out_once_at_its_page() -> None:
    """Each page gets what was typed there, and no other page does."""
    session: dict[str, Any] = {}
    kept.keep(session, "/chat/a/", "for a")
    kept.keep(session, "/chat/b/", "for b")
    assert kept.take(session, "/chat/") == ""
    assert kept.take(session, "/chat/a/") == "for a"
    assert kept.take(session, "/chat/a/") == ""
    assert kept.newest(session) == "for b"


def test_the_newest_text_of_a_page_counts() -> None:
    """Sending again after writing more keeps the longer text, once."""
    session: dict[str, Any] = {}
    kept.keep(session, "/chat/", "one")
    kept.keep(session, "/chat/", "one and two")
    assert kept.take(session, "/chat/") == "one and two"
    assert kept.newest(session) == ""


def test_there_is_a_limit() -> None:
    """A session cannot be filled without end; the newest text is what stays."""
    session: dict[str, Any] = {}
    for number in range(10):
        kept.keep(session, f"/chat/{number}/", str(number) * 60_000)
    kept.keep(session, "/chat/", "x" * 500_000)
    assert sum(len(item["text"]) for item in session[kept.KEY]) <= kept.LIMIT
    assert kept.take(session, "/chat/") == "x" * kept.LIMIT


def test_blank_text_is_not_kept() -> None:
    """Nothing typed, nothing kept: no session is made for it."""
    session: dict[str, Any] = {}
    kept.keep(session, "/chat/", " \n")
    assert session == {}
