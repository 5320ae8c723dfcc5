"""Whether a person's own words say what a fact says: "I'm allergic to nuts" says "User is allergic
to nuts".

The words that matter of the fact must stand in one sentence, with its numbers, dates and names,
and as many negations. Questions, quotations, and sentences that ask for something to be forgotten
say nothing of the kind. It is a rule of thumb, on the side of hearing what was said.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from memory.facts import units
from memory.near import SHARE, Signature, signature

_SMALL_WORDS = (
    "user the a an i my me mine you your he she his her hers they them their we our us is am are "
    "was were be been has have had do does did will would can of to in on at for and or that "
    "this it its with by as from also really very just "
    "ich mein meine meinen meinem meiner mir mich du dein er sie sein seine ihr ihre wir uns der "
    "die das den dem des ein eine einen einem einer ist bin sind war hat habe haben und oder zu "
    "auf für mit auch von nutzer benutzer "
    "yo mi mis el la los las un una es soy está estoy tiene tengo y o de en con usuario "
    "je j mon ma mes le les une est suis ai et ou à avec utilisateur"
)
_STOP = frozenset(_SMALL_WORDS.split())
_NO_STATEMENT = re.compile(
    r"\?\s*[\"')\]]*$|\b(?:forg[eo]t\w*|delete|erase|remove|vergiss|vergessen|l[öo]sche?n?|olvid\w*|"
    r"borra\w*|oubli\w*|supprim\w*|not true|stimmt nicht)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"(?ms)^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1|\Z)|^[ \t]*>.*?$")
_ENDINGS = ("ing", "ed", "en", "es", "s", "t", "n", "e")
_SHORT = 4


def is_statement(line: str) -> bool:
    """Whether a line says something itself: no question, quotation, or wish to forget."""
    plain = line.strip()
    return bool(plain) and not plain.startswith(">") and not _NO_STATEMENT.search(plain)


class Ears:
    """Facts that are listened for."""

    def __init__(self, facts: Sequence[str]) -> None:
        self._signatures = [signature(fact) for fact in facts]
        self._sizes: list[int] = []
        self._postings: defaultdict[str, list[int]] = defaultdict(list)
        for number, one in enumerate(self._signatures):
            stems = _stems(one)
            self._sizes.append(len(stems))
            for stem in stems:
                self._postings[stem].append(number)

    def heard(self, sentence: str) -> list[int]:
        """The facts that the *sentence* says, whoever speaks."""
        said = signature(sentence)
        counts: Counter[int] = Counter()
        for stem in _stems(said):
            counts.update(self._postings.get(stem, ()))
        return [
            at
            for at, count in counts.items()
            if count >= SHARE * self._sizes[at] and _fits(said, self._signatures[at])
        ]

    def stated(self, text: str) -> set[int]:
        """The facts that a person states in *text*."""
        found: set[int] = set()
        for paragraph in _QUOTED.sub("\n", text).split("\n"):
            for sentence in units(paragraph):
                if not _NO_STATEMENT.search(sentence):
                    found.update(self.heard(sentence))
        return found


def _fits(said: Signature, fact: Signature) -> bool:
    numbers, dates, negations = fact.key
    return (
        set(numbers) <= set(said.key[0])
        and set(dates) <= set(said.key[1])
        and negations == said.key[2]
        and fact.names <= said.words.keys()
    )


def _stems(one: Signature) -> set[str]:
    return {_stem(word) for word in one.words if word not in _STOP}


def _stem(word: str) -> str:
    """The word without the most common endings, so that "likes" and "like" are one."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORT - 1:
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > _SHORT - 1 else word
