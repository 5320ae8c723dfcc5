"""What a browser is called in the list of sessions."""

import pytest

from jenny.accounts.models.account import describe_browser

_APPLE = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox on Linux",
        ),
        (f"Mozilla/5.0 (X11; Linux x86_64) {_APPLE} Chrome/140.0 Safari/537.36", "Chrome on Linux"),
        (
            f"Mozilla/5.0 (Windows NT 10.0) {_APPLE} Chrome/140.0 Safari/537.36 Edg/140.0",
            "Edge on Windows",
        ),
        (
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 "
                "(KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1"
            ),
            "Safari on iPhone",
        ),
        (
            f"Mozilla/5.0 (Linux; Android 16) {_APPLE} Chrome/140.0 Mobile Safari/537.36",
            "Chrome on Android",
        ),
        ("Mozilla/5.0 (Macintosh) AppleWebKit Version/19 Safari/600", "Safari on macOS"),
        ("curl/8.0", "curl"),
        ("", "Unknown browser"),
        ("<script>alert(1)</script>", "Unknown browser"),
    ],
)
def test_a_device_is_told_in_words(agent: str, expected: str) -> None:
    """Somebody finds the session that is not theirs; nothing of the header itself is shown."""
    assert describe_browser(agent) == expected
