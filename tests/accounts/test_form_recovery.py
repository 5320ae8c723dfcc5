"""Text that is kept over a login."""

from typing import Any

from jenny.accounts import access


def test_text_is_handed_out_once_at_its_page() -> None:
    """Each page gets what was typed there, and no other page does."""
    session: dict[str, Any] = {}
    access.keep_form(session, "/chat/a/", "for a")
    access.keep_form(session, "/chat/b/", "for b")
    assert access.take_form(session, "/chat/") == ""
    assert access.take_form(session, "/chat/a/") == "for a"
    assert access.take_form(session, "/chat/a/") == ""
    assert access.newest_form(session) == "for b"


def test_the_newest_text_of_a_page_counts() -> None:
    """Sending again after writing more keeps the longer text, once."""
    session: dict[str, Any] = {}
    access.keep_form(session, "/chat/", "one")
    access.keep_form(session, "/chat/", "one and two")
    assert access.take_form(session, "/chat/") == "one and two"
    assert access.newest_form(session) == ""


def test_there_is_a_limit() -> None:
    """A session cannot be filled without end; the newest text is what stays."""
    session: dict[str, Any] = {}
    for number in range(10):
        access.keep_form(session, f"/chat/{number}/", str(number) * 60_000)
    access.keep_form(session, "/chat/", "x" * 500_000)
    assert sum(len(item["text"]) for item in session[access.KEPT_FORM]) <= access.KEPT_FORM_CHARS
    assert access.take_form(session, "/chat/") == "x" * access.KEPT_FORM_CHARS


def test_blank_text_is_not_kept() -> None:
    """Nothing typed, nothing kept: no session is made for it."""
    session: dict[str, Any] = {}
    access.keep_form(session, "/chat/", " \n")
    assert session == {}
