"""The language of a text."""

import re
from functools import lru_cache

from jenny.text_normalisation import is_unspaced

_FUNCTION_WORDS = {
    "en": "the is of and to with for has his her from at by not does was are since every from",
    "de": "der die das und ist mit für im hat ein eine seit bei nicht kein keine am zu dem den vom "
    "wird als auch ohne von beim gegen aus isst trinkt wohnt mag",
    "es": "el los las una con por para es tiene del que vive",
    "fr": "le les des une est avec pour dans sur qui du au chez",
    "it": "il gli una è con per di che della",
    "nl": "het een van met voor niet geen heeft",
}
_LANGUAGE_OF: dict[str, str] = {
    word: language for language, row in _FUNCTION_WORDS.items() for word in row.split()
}
_WORD = re.compile(r"\w+")


@lru_cache(maxsize=4_000)
def language_of(text: str) -> str:
    """The language of a text as far as its small words tell it, or else its script; empty: Latin
    script, and nothing else is known."""
    letters = [char for char in text if char.isalpha()]
    if not letters:
        return ""
    if 3 * sum(map(is_unspaced, letters)) >= len(letters):
        return "cjk"
    scripts = [ord(char) >> 8 for char in letters if ord(char) >= 0x370]  # noqa: PLR2004 - behind Latin
    if 2 * len(scripts) > len(letters):
        return f"script {max(set(scripts), key=scripts.count)}"
    found = [
        _LANGUAGE_OF[word] for word in map(str.lower, _WORD.findall(text)) if word in _LANGUAGE_OF
    ]
    counted = sorted({(found.count(one), one) for one in found}, reverse=True)
    if not counted or (len(counted) > 1 and counted[0][0] == counted[1][0]):
        return ""
    return counted[0][1]


def is_script(language: str) -> bool:
    return language == "cjk" or language.startswith("script")
