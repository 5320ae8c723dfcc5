"""When two texts say the same: what is refused, archived as reworded, and held to be a slip."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import near
from memory.near import Index, is_near, is_same, is_typo_of, nearest

NEAR = [
    (
        "User is allergic to nuts and peanuts since childhood.",
        "* user is ALLERGIC to nuts, peanuts and since childhood",
    ),
    ("Born on 30.11.1984 in Graz", "Born on November 30, 1984 in Graz"),
    ("Meets Ana on 3 May 2026 at noon", "Meets Ana at noon on 2026-05-03"),
    ("Trifft Ana am 3. März 2026", "Trifft Ana am 03.03.2026"),
    ("La boda es el 4 de junio de 2027", "La boda es el 2027-06-04"),
    ("User doesn't like coffee at all", "User does not like coffee at all"),
    ("Has 3,000 euros and two cats", "has 3000 euros and 2 cats"),
    ("[durable] Lives in Berlin", "- lives in **Berlin**!"),
    ("Mag keine Nüsse", "mag keine Nu\u0308sse"),
    ("Anna's sister lives in Bonn", "Anna\u2019s sister lives in Bonn."),
    ("用户喜欢在早上喝绿茶", "用户喜欢在早上喝绿茶。"),
    ("uses nu\u200bts", "uses nuts"),
]
APART = [
    ("User likes coffee", "User does not like coffee"),
    ("Mag Kaffee mit viel Milch und Zucker", "Mag keinen Kaffee mit viel Milch und Zucker"),
    ("J'aime le café noir du matin", "Je n'aime pas le café noir du matin"),
    ("Le gusta el café solo por la mañana", "No le gusta el café solo por la mañana"),
    ("用户喜欢喝咖啡", "用户不喜欢喝咖啡"),
    (
        "Works with Anna on the big new project every day",
        "Works with Lena on the big new project every day",
    ),
    (
        "Anna likes tea in the morning with some milk",
        "Lena likes tea in the morning with some milk",
    ),
    (
        "The rent is 900 euros a month for the whole flat",
        "The rent is 950 euros a month for the whole flat",
    ),
    (
        "Has two cats and a dog at home in the country",
        "Has three cats and a dog at home in the country",
    ),
    (
        "The exam is on 3 May 2026 in the morning at school",
        "The exam is on 4 May 2026 in the morning at school",
    ),
    (
        "It was -5 degrees in the house that whole winter",
        "It was 5 degrees in the house that whole winter",
    ),
    ("Likes green tea", "Likes black tea"),
    ("Programs in C", "Programs in C++"),
    ("Prefers 🍎", "Prefers 🍌"),
]


@pytest.mark.parametrize(("first", "second"), NEAR)
def test_the_same_fact_in_another_dress(first, second):
    """Case, marks, forms of dates and numbers, and one word in seven may differ."""
    assert is_near(first, second)
    assert is_near(second, first)
    assert is_typo_of(first, second)


@pytest.mark.parametrize(("first", "second"), APART)
def test_another_fact_in_the_same_words(first, second):
    """A number, date, name or negation makes another fact of the same words."""
    assert not is_near(first, second)
    assert not is_near(second, first)
    assert nearest(first, [second]) is None


@pytest.mark.parametrize(
    ("old", "new", "is_slip"),
    [
        ("Lives in Berln", "Lives in Berlin", True),
        ("Favourite colour is bleu", "Favourite colour is blue", True),
        ("Prefers short answers withuot preamble", "Prefers short answers without preamble", False),
        ("Plays the gitar on Sundays", "Plays the guitar on Sundays", True),
        ("Born 1984", "Born 1985", False),
        ("Sister is called Anna", "Sister is called Lena", False),
        ("Likes tea", "Likes tea no more", False),
    ],
)
def test_slips_of_the_pen(old, new, is_slip):
    """A letter or two do not make another fact; a number, another name or a negation does."""
    assert is_typo_of(old, new) is is_slip


WORDS = "user likes tea milk Anna Bonn not 12 3.5 never the a of nuts 2026-05-03 绿茶 don't ¡"
words = st.lists(
    st.sampled_from(WORDS.split()),
    max_size=12,
).map(" ".join)
texts = st.one_of(words, st.text(max_size=60))


@settings(max_examples=300, deadline=None)
@given(texts, texts)
def test_nearness_has_no_direction(first, second):
    """A text is near itself, nearness goes both ways, and the index finds what is near, whatever
    the texts are."""
    assert is_near(first, first)
    assert is_near(first, second) == is_near(second, first)
    if is_same(first, second):
        assert is_near(first, second)
    if is_near(first, second):
        assert is_typo_of(first, second)
    assert (Index([second]).find(first) is not None) == is_near(first, second)


@settings(max_examples=100, deadline=None)
@given(st.lists(words, max_size=25), words)
def test_the_index_misses_nothing(known, sought):
    """The quick search finds a near text exactly when looking at each one would."""
    found = Index(known).find(sought)
    assert (found is not None) == any(is_near(sought, one) for one in known)
    assert found is None or is_near(sought, known[found])


def test_the_share_of_words_decides():
    """Six of seven words in common are near, five of six are not."""
    assert near.SHARE == 0.85
    assert is_near("one small word differs in this line x", "one small word differs in this line y")
    assert is_near("aa bb cc dd ee ff gg", "aa bb cc dd ee ff hh")
    assert not is_near("aa bb cc dd ee ff", "aa bb cc dd ee hh")


@pytest.mark.parametrize("text", ["[", "[a](", "a'", "1.2,", "may ", "不", "?", "- ", "`"])
def test_long_texts_of_signs_are_taken_apart_at_once(text):
    """A hundred thousand brackets in a file hold nobody up: the work grows with the length."""
    assert is_near(text * 100_000, text * 100_000)
