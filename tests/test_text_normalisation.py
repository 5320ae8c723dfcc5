"""How texts and names are compared: which differences count in which script, and which do not."""

import re
import string
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jenny import text_normalisation as texts
from memory.facts import normal
from memory.text_similarity import is_near, is_same
from wikis import names

# Two words of one script that differ in one meaningful sign.
PAIRS = {
    "Latin": ("ano", "año"),
    "Turkish": ("sık", "sik"),
    "Vietnamese": ("má", "mà"),
    "Greek": ("πότε", "ποτέ"),
    "Cyrillic": ("край", "краи"),
    "Ukrainian": ("їла", "іла"),
    "Armenian": ("տուն", "տուր"),
    "Georgian": ("დედა", "დელა"),
    "Arabic": ("كَتَبَ", "كُتِبَ"),
    "Persian": ("نامه\u200cای", "نامهای"),
    "Hebrew": ("שָׁר", "שַׂר"),
    "Devanagari": ("पोता", "पिता"),
    "Marathi": ("दर्\u200dया", "दर्या"),
    "Bengali": ("কাকা", "কাকি"),
    "Gurmukhi": ("ਦਾਦਾ", "ਦਾਦੀ"),
    "Gujarati": ("દાદા", "દાદી"),
    "Tamil": ("மாமா", "மாமி"),
    "Telugu": ("తాత", "తీత"),
    "Kannada": ("ಮಾವ", "ಮಾವಿ"),
    "Malayalam": ("അവൻ", "അവന്"),
    "Sinhala": ("මාමා", "මාමි"),
    "Thai": ("แม่", "แม้"),
    "Lao": ("ພໍ່", "ພໍ້"),
    "Khmer": ("តា", "តី"),
    "Myanmar": ("အမေ", "အမိ"),
    "Tibetan": ("ཨ་མ", "ཨི་མ"),
    "Hangul": ("국어", "국아"),
    "Katakana": ("パパ", "ハハ"),
    "Hiragana": ("かき", "かぎ"),
    "Han": ("父", "母"),
    "Ethiopic": ("ሀ", "ሁ"),
    "Emoji": ("👨\u200d👩\u200d👧", "👨👩👧"),
    "Flags": ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "🏴"),
    "Superscript": ("10²", "102"),
    "Fraction": ("1½", "11/2"),
    "Comparison": ("x < 5", "x > 5"),
    "Rhesus": ("0+", "0-"),
}
WORDS = [
    *(word for pair in PAIRS.values() for word in pair),
    "Straße",
    "İstanbul",
    "ΣΊΣΥΦΟΣ",
    "Größe",
    "Ёлка",
    "ﬁn",
    "ﾊﾟﾊﾟ",
    "Ｊｅｎｎｙ",
    "O’Brien",
]


@pytest.mark.parametrize("script", PAIRS)
def test_one_meaningful_sign_makes_another_word(script):
    """Marks, joiners and letters of a script are part of the word, alone and in a sentence."""
    one, other = PAIRS[script]
    for before, after in (("", ""), ("User likes ", " very much")):
        first, second = before + one + after, before + other + after
        assert normal(first) != normal(second)
        assert not is_same(first, second)
        assert not is_near(first, second)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), st.data())
def test_dress_makes_no_other_text(words, data):
    """Case, white space, typographic quotes and the coding of characters make no other text."""
    dress = [
        lambda word: word,
        str.upper,
        lambda word: unicodedata.normalize("NFD", word),
        lambda word: unicodedata.normalize("NFC", word),
        lambda word: f"“{word}”",
        lambda word: f'"{word}"',
        lambda word: word.replace("’", "'"),
    ]
    # The dotless i has no upper case of its own.
    chosen = [
        data.draw(st.sampled_from(dress[:1] if "ı" in word else dress))(word) for word in words
    ]
    gap = data.draw(st.sampled_from([" ", "  ", "\u00a0", "\n", "\u3000"]))
    assert is_same(" ".join(words), gap.join(chosen) + ".")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_the_forms_are_stable(text):
    """A form of a form is itself, and NFC and NFD of any text have the same forms."""
    for form in (texts.fold, texts.fold_accents, texts.search_form, texts.name_key):
        once = form(text)
        assert form(once) == once
        assert form(unicodedata.normalize("NFD", text)) == once
        assert form(unicodedata.normalize("NFC", text)) == once


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("name: Ana; city: Bonn", "City: Bonn; Name: Ana"),
        ('{"name": "Ana", "age": 3}', '{"age": 3, "name": "Ana"}'),
        ("名前: アナ\n市: ボン", "市：ボン\n名前：アナ"),
        ("我用Python写代码", "我用 Python 写代码"),
        ("रूम ५", "रूम 5"),
        ("la temperatura es −5", "la temperatura es -5"),
    ],
)
def test_keys_may_stand_in_any_order(first, second):
    """The order of keys, spaces beside Chinese, and the digits of a script are no difference."""
    assert is_same(first, second)


def test_only_latin_greek_and_cyrillic_accents_fold():
    """Names are the same but for accents of these three; й is a letter, ё is е."""
    assert names.slug("Königin Ένα Ёлка") == "konigin-ενα-елка"
    assert names.slug("й") != names.slug("и")
    for one, other in (PAIRS[script] for script in ("Devanagari", "Katakana", "Thai", "Arabic")):
        assert names.slug(one) != names.slug(other)


@pytest.mark.parametrize("sign", ["क्", "가", "a\u0301", "\u200d", "👨\u200d", "か\u3099", "'a"])
def test_work_grows_with_the_length(sign):
    """A hundred thousand marks, joiners or jamo hold nobody up."""
    long = sign * 100_000
    assert texts.fold(long) == texts.fold(long)
    assert len(texts.tokens(long)) <= len(long)


def test_a_key_is_what_a_pattern_that_ignores_case_looked_for() -> None:
    """Every sign that such a pattern takes for a Latin letter has that letter as its key."""
    found = [
        (letter, char)
        for letter in string.ascii_lowercase
        for char in map(chr, range(0x3000))
        if re.fullmatch(letter, char, re.IGNORECASE)
    ]
    assert {"ı", "İ", "ſ", "\u212a"} <= {char for _, char in found}
    assert [row for row in found if texts.case_key(row[1]) != row[0]] == []
