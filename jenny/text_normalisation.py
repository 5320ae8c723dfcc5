"""Normalisation and tokens of text that people write. Every comparison of texts and names uses it.

`canonical` is NFC. Two spellings of the same characters (NFC and NFD) are always the same text.

`fold` is the form in which texts are compared. It removes differences in

* the coding of characters (canonical equivalence), full and half width, Arabic presentation forms,
  CJK compatibility ideographs, and the decimal digits of all scripts;
* case, by Unicode's full case folding: ß is ss, ς is σ. İ and I are i; the Turkish ı is a letter of
  its own;
* typographic quotes, apostrophes, hyphens and the minus sign;
* invisible characters: soft hyphens, zero width spaces, direction marks, variation selectors, and
  the Arabic tatweel.

It keeps everything else. A combining mark is part of the word in every script: vowel signs and
viramas (Devanagari, Bengali, Tamil, Telugu, Sinhala, Khmer, Myanmar …), Thai and Lao vowels and
tones, dakuten, Hangul jamo, accents, Hebrew points and Arabic vowel marks. Superscripts, fractions
and circled numbers stay as they are.

Joiners are kept where Unicode (UAX 31) gives them a meaning, and dropped elsewhere: ZWNJ between
two letters of Arabic script (Persian نامه‌ای is not نامهای), ZWJ and ZWNJ next to a virama of an
Indic script (Marathi दर्‍या is not दर्या; Malayalam letters with ZWJ are chillu letters), ZWJ
between emoji (a family is not three people).

`fold_accents` is `fold` without the accents of Latin, Greek and Cyrillic letters. Names of pages
and wikis are compared in it. Letters of Cyrillic alphabets that only look accented stay (й ї ў ѓ
ќ); ё is е, as Russian is mostly written. No mark of any other script is folded.

`search_form` is `fold_accents` without joiners, Hebrew points and Arabic vowel marks: these are
optional in writing, and a search without them must find the pointed word.

Tokens are words, numbers, and signs with a meaning (currencies, emoji, arrows, comparison signs).
Chinese, Japanese, Thai, Lao, Khmer and Myanmar text, which is written without spaces, is split into
its characters, each with its marks. `search_tokens` splits Korean syllables as well. The time of
all functions is proportional to the length of the text.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

# Scripts written without spaces between words.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf"
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7ff"
_LATIN_GREEK_CYRILLIC = "a-zA-Z\u00aa-\u024f\u0370-\u052f\u1c80-\u1c8f\u1e00-\u1fff\u2c60-\u2c7f"
_ARABIC = "\u0620-\u08ff\ufb50-\ufdff\ufe70-\ufefc"
# Letters of their own alphabets, though Unicode writes them as a letter and a mark.
_LETTERS = frozenset("йїўѓќ")
# Compatibility forms that differ in width or joining alone.
_LEVELLED = ("<wide>", "<narrow>", "<isolated>", "<initial>", "<medial>", "<final>", "<small>")

_QUOTES = {
    **dict.fromkeys(map(ord, "‘’‚‛′´ʼʻ׳＇"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″«»״＂"), '"'),
    **dict.fromkeys(map(ord, "‐‑−"), "-"),
}
_UNSEEN = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
)
# Tatweel, variation selectors and the grapheme joiner, which are printable by Unicode's classes.
_WITHOUT_MEANING = (0x640, 0x34F, *range(0x180B, 0x180E), *range(0xFE00, 0xFE10))
_WITH_FORMS = ((0x3000, 0x3001), (0xFB50, 0xFDF0), (0xFE50, 0xFEFD), (0xFF01, 0xFFEF))
_TAGS = "\U000e0000-\U000e007f"
_PICTURES = "\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
# Malayalam consonants with virama and ZWJ, and the letters that have the same meaning.
_CHILLU = dict(zip("ണനരലളക", "ൺൻർൽൾൿ", strict=True))
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u200c\u200d]"
)

_NUMBER = r"(?<![\w.,])[-+]?\d+(?:[.,:/'-]\d+)*(?:%|\++(?!\w))?(?!\w)"
_APOSTROPHE = r"'[^\W_]"
_SUFFIX = r"(?:[+#]+(?!\w))?"
_COMPARED = r"(?<=[\w)\]])[ ]?[<>]=?(?=[ ]?[\w$-])"
_ASCII_TOKEN = re.compile(
    rf"{_NUMBER}|[^\W_]+(?:{_APOSTROPHE}[^\W_]*)*{_SUFFIX}|\$|{_COMPARED}", re.ASCII
)
# ``re.IGNORECASE`` takes these for i and s, too. The small letters of İ are an i and a dot.
_FOUND_AS = str.maketrans({"ı": "i", "ſ": "s", "\u0307": None})
_ASCII_PIECE = re.compile(rf"{_ASCII_TOKEN.pattern}|[^\w\s<>]", re.ASCII)
_SIGNS = frozenset({"So", "Sc", "Sm", "Mn", "Mc", "Me"})
_NO_SIGNS = frozenset("|~^`=+")


def canonical(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def name_key(name: str) -> str:
    """Return the form in which two names are the same on a disk that ignores case and coding."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def case_key(text: str) -> str:
    """Return the small letters for which a pattern that ignores case has found a text."""
    return text.lower().translate(_FOUND_AS)


def fold(text: str) -> str:
    """Return the form in which texts are compared; see the module."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFD", level(text)).casefold().replace("i\u0307", "i")
    return unicodedata.normalize("NFC", folded)


def level(text: str) -> str:
    """Fold a text as ``fold`` does, but keep its case."""
    if text.isascii():
        return text
    levelled = unicodedata.normalize("NFD", text).translate(_levels())
    levelled = unicodedata.normalize("NFC", levelled)
    return levelled if levelled.isprintable() else _invisible().sub(_kept_joiner, levelled)


def fold_accents(text: str) -> str:
    """`fold`, without the accents of Latin, Greek and Cyrillic letters."""
    folded = fold(text)
    if folded.isascii():
        return folded
    return _loose_accents().sub("", folded.translate(_accents()))


def search_form(text: str) -> str:
    """Return the form in which a search compares words; see the module."""
    folded = fold_accents(text)
    return folded if folded.isascii() else _POINTS.sub("", folded)


def tokens(text: str) -> list[str]:
    folded = fold(text)
    if folded.isascii():
        return [token.strip() for token in _ASCII_TOKEN.findall(folded)]
    return [token.strip() for token in _token().findall(folded) if is_token(token)]


def pieces(text: str) -> list[str]:
    """Split *text*, which is levelled, into tokens and the punctuation between them, keeping
    case.
    """
    pattern = _ASCII_PIECE if text.isascii() else _token()
    return [piece.strip() for piece in pattern.findall(text)]


def is_token(piece: str) -> bool:
    first = piece.strip()[0]
    if first.isalnum() or len(piece) > 1 or first in "<>":
        return True
    return unicodedata.category(first) in _SIGNS and first not in _NO_SIGNS


def search_tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the words of *text* in search form, each with its start and end in *text*."""
    pattern = _ASCII_WORD if text.isascii() else _search_token()
    for match in pattern.finditer(text):
        form = search_form(match[0])
        if form:
            yield match.start(), match.end(), form


def slug(text: str) -> str:
    """Return the form in which names of pages are the same: words joined by dashes."""
    folded = fold_accents(text)
    pattern = _ASCII_WORD if folded.isascii() else _any_word()
    return "-".join(pattern.findall(folded))


def is_unspaced(token: str) -> bool:
    """True when a token is a character of a script without spaces between words."""
    return not token.isascii() and _UNSPACED_START.match(token) is not None


_UNSPACED_START = re.compile(f"[{UNSPACED}]")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")


def _kept_joiner(match: re.Match[str]) -> str:
    if (chillu := match["chillu"]) is not None:
        return _CHILLU[chillu[0]]
    return match["kept"] or ""


@lru_cache(maxsize=1)
def _invisible() -> re.Pattern[str]:
    virama = "".join(chr(code) for code in range(0x900, 0x11FFF) if _is_virama(code))
    return re.compile(
        f"(?P<chillu>[{''.join(_CHILLU)}]\u0d4d\u200d)"
        f"|(?P<kept>(?<=[{virama}])[\u200c\u200d](?=[^\\W_])"
        f"|\u200d(?=[{virama}])"
        f"|(?<=[{_ARABIC}])\u200c(?=[{_ARABIC}])"
        f"|(?<=[{_PICTURES}])\u200d(?=[{_PICTURES}])"
        f"|\U0001f3f4[{_TAGS}]+)"
        f"|[{_UNSEEN}{_TAGS}\u200c\u200d]"
    )


def _is_virama(code: int) -> bool:
    return unicodedata.combining(chr(code)) == 9  # noqa: PLR2004 - Unicode's class of viramas


@lru_cache(maxsize=1)
def _levels() -> dict[int, str]:
    """Map characters to their levelled forms."""
    table = dict.fromkeys(_WITHOUT_MEANING, "")
    digits = (chr(code) for code in range(0x660, 0x1FC00) if chr(code).isdecimal())
    table |= {ord(char): str(unicodedata.decimal(char)) for char in digits}
    for start, end in _WITH_FORMS:
        for code in range(start, end):
            kind, _, parts = unicodedata.decomposition(chr(code)).partition(" ")
            if kind in _LEVELLED:
                table[code] = "".join(chr(int(part, 16)) for part in parts.split())
    return table | _QUOTES


@lru_cache(maxsize=1)
def _marks() -> str:
    codes = (code for code in range(0x300, 0x1F000) if unicodedata.category(chr(code))[0] == "M")
    return "".join(map(chr, codes))


@lru_cache(maxsize=1)
def _accents() -> dict[int, str]:
    """Map accented letters of Latin, Greek and Cyrillic to their base letters."""
    table = {ord("ı"): "i"}
    for start, end in ((0xC0, 0x250), (0x370, 0x530), (0x1E00, 0x2000)):
        for code in range(start, end):
            char = chr(code)
            parts = unicodedata.normalize("NFD", char)
            if len(parts) > 1 and parts[0].isalpha() and char not in _LETTERS:
                table[code] = parts[0]
    return table


@lru_cache(maxsize=1)
def _loose_accents() -> re.Pattern[str]:
    return re.compile(f"(?<=[{_LATIN_GREEK_CYRILLIC}\u0300-\u036f])[\u0300-\u036f]+")


def _word(apart: str) -> str:
    """Return the pattern of a word without letters of *apart*; marks and joiners belong to it."""
    return rf"[^\W_{apart}](?:[^\W_{apart}]|[{_marks()}\u200c\u200d])*"


@lru_cache(maxsize=1)
def _token() -> re.Pattern[str]:
    word = _word(UNSPACED)
    return re.compile(
        rf"[{UNSPACED}][{_marks()}\u200c\u200d]*|{_NUMBER}|{word}(?:'{word})*{_SUFFIX}|{_COMPARED}"
        rf"|[{_PICTURES}](?:\u200d[{_PICTURES}]|[\U0001f3fb-\U0001f3ff{_TAGS}])*|[^\w\s<>]"
    )


@lru_cache(maxsize=1)
def _search_token() -> re.Pattern[str]:
    apart = f"{UNSPACED}\uff66-\uff9f{_HANGUL}"
    rest = f"[{_marks()}\u200b-\u200f\u00ad\u2060\ufeff\uff9e\uff9f]*"
    jamo = "[\u1100-\u115f][\u1160-\u11a7]?[\u11a8-\u11ff]?"
    word = rf"[^\W_{apart}](?:[^\W_{apart}]|[{_marks()}\u200b-\u200f\u00ad\u2060\ufeff])*"
    return re.compile(rf"{jamo}|[{apart}]{rest}|{word}")


@lru_cache(maxsize=1)
def _any_word() -> re.Pattern[str]:
    return re.compile(_word(""))


# Slugs: the names of workspace folders.


LONGEST_SLUG = 40
_NO_SLUG = re.compile(r"[^a-z0-9]+")


def folder_slug(name: str) -> str:
    """Return *name* as lower-case letters, digits and single hyphens; at least ``workspace``."""
    plain = fold_accents(name).encode("ascii", "ignore").decode()
    return _NO_SLUG.sub("-", plain).strip("-")[:LONGEST_SLUG].strip("-") or "workspace"


def slug_candidates(name: str) -> Iterator[str]:
    """Yield the slug of *name*, then the same with -2, -3 … without end."""
    first = folder_slug(name)
    yield first
    for number in itertools.count(2):
        yield f"{first}-{number}"
