"""What a turn took and what it costs."""

from decimal import Decimal

import pytest

from jenny.agent.messages import Image, Message, Text, Thinking, ToolResult, ToolUse
from jenny.agent.tokens import Prices, Usage, estimate, estimate_messages


def test_usage_adds_up_field_by_field():
    """A turn's counters are the sum of its steps'."""
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)


def test_a_cost_is_what_the_preset_says_it_is():
    """Each kind of token has its own price, for a million of them."""
    prices = Prices(
        input=Decimal(3), output=Decimal(15), cache_read=Decimal("0.3"), cache_write=Decimal(4)
    )
    million = 1_000_000
    assert prices.cost(Usage(million, million, million, million)) == Decimal("22.300000")
    assert prices.cost(Usage(input=1)) == Decimal("0.000003")
    assert prices.cost(Usage()) == 0


def test_a_preset_without_cache_prices_uses_the_usual_shares():
    """Reading from the cache is cheap, writing to it a little dearer than not using it."""
    prices = Prices(input=Decimal(10), output=Decimal(0))
    assert prices.cost(Usage(cache_read=1_000_000)) == Decimal(1)
    assert prices.cost(Usage(cache_write=1_000_000)) == Decimal("12.5")


def test_a_free_model_costs_nothing():
    """A local server's price of zero is not taken for no price."""
    prices = Prices(input=Decimal(5), output=Decimal(5), cache_read=Decimal(0))
    assert prices.cost(Usage(cache_read=1_000_000)) == 0


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", 0, 0),
        ("The quick brown fox jumps over the lazy dog. " * 100, 1000, 1500),
        ("def f(x):\n    return x + 1\n" * 100, 700, 1300),
        ("私は猫です。" * 100, 400, 800),
        ("\ud800" * 40, 1, 60),
    ],
    ids=["nothing", "English", "code", "Japanese", "broken"],
)
def test_an_estimate_is_near_what_providers_count(text, low, high):
    """The meter is about right where nobody has counted yet."""
    assert low <= estimate(text) <= high


def test_everything_that_is_sent_is_in_the_estimate():
    """Calls and their results take room as words do."""
    empty = estimate_messages([Message("user", ())])
    for part in (
        Text("x" * 400),
        Thinking("x" * 400),
        ToolUse("t", "x", {"a": "x" * 400}),
        ToolResult("t", "x" * 400),
    ):
        assert estimate_messages([Message("user", (part,))]) > empty + 100


def test_a_picture_counts_by_its_pixels():
    """A picture of a model's own size takes about 3,300 tokens, however few bytes it has."""
    picture = Image("image/png", "x", "(a picture)", 1568, 1568)
    assert 3_200 < estimate_messages([Message("user", (picture,))]) < 3_400
