"""Time zones."""

import datetime as dt

import pytest

from jenny.accounts.errors import UnknownZone
from jenny.accounts.services.json_command import zone_name_of
from jenny.agent import clock


@pytest.mark.parametrize(
    ("candidates", "zone"),
    [
        (("Asia/Tokyo", "UTC"), "Asia/Tokyo"),
        (("", "Europe/Berlin"), "Europe/Berlin"),
        (("../../etc/passwd", "Mars/Olympus"), "UTC"),
        ((), "UTC"),
    ],
)
def test_the_first_known_zone_counts(candidates: tuple[str, ...], zone: str) -> None:
    """The browser's zone, else the operator's, else UTC; nonsense is passed over."""
    assert clock.first_known_zone(*candidates) == zone


def test_a_command_says_which_zone_it_does_not_know() -> None:
    """A typing error does not silently become UTC."""
    with pytest.raises(UnknownZone, match="Europe/Berln"):
        zone_name_of("Europe/Berln")


@pytest.mark.parametrize("name", ["", "Nowhere", "../x", "\0"])
def test_a_zone_that_went_away_is_utc(name: str) -> None:
    """A page never fails for the sake of a zone."""
    assert clock.zone_of(name) == dt.UTC
