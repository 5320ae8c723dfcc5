"""Turn text into the words by which it is found.

A word with spaces around it is reduced to its stem by Snowball, in the language of its passage, and
folded (case, accents). Chinese, Japanese and Korean are split into pairs of characters; single
Chinese characters and Korean syllables are words as well. A question has other forms than what it
asks for, so each of its words stands for its stems in several languages.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any, Final

import snowballstemmer

from jenny.search.stop_words import STOP_WORDS
from jenny.text_normalisation import UNSPACED, search_form, search_tokens

# Longer ones are cut.
WORD_CHARS = 80
# Of a question; it may be a whole pasted page.
QUERY_CHARS = 2_000
QUERY_WORDS = 40
# Beside more words than these a single digit would find too much.
_FEW_WORDS = 4
# Pairs of Hiragana are mostly endings and particles.
HIRAGANA_WEIGHT = 0.3
# A form with this at its end stands for all that begin with it.
PREFIX = "*"
# A shorter beginning would be that of too many words.
_LEAST_PREFIX = 2
# A word that is being typed may be longer than its stem by so many letters, the stem not shorter.
_MOST_ENDING, _LEAST_STEM = 4, 3

_DEFAULT: Final = "english"
_LATIN: Final = tuple(language for language in STOP_WORDS if language != "russian")
_SCRIPTS: Final = (
    ("russian", re.compile("[\u0400-\u052f]")),
    ("greek", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("arabic", re.compile("[\u0600-\u06ff]")),
    ("hindi", re.compile("[\u0900-\u097f]")),
    ("tamil", re.compile("[\u0b80-\u0bff]")),
    ("armenian", re.compile("[\u0530-\u058f]")),
)
_HIRAGANA = re.compile("[\u3041-\u309f]")
_KATAKANA = re.compile("[\u30a0-\u30ff\uff66-\uff9f]")
_HAN = re.compile("[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_HANGUL = re.compile("[\u1100-\u11ff\u3131-\u318e\uac00-\ud7ff]")
_OTHER = re.compile(f"[{UNSPACED}]")
_RUNS = (_HIRAGANA, _KATAKANA, _HAN, _HANGUL, _OTHER)
_PHRASE = re.compile('["“”„«»]([^"“”„«»]+)["“”„«»]')

_STEMMERS: dict[str, tuple[Any, Lock]] = {}
_STEMMERS_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a question.

    *forms*: what it is in the index, in the language of the question; *others*: its forms in other
    languages, for passages in these.
    """

    forms: frozenset[str]
    others: frozenset[str] = frozenset()
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Query:
    """The words of a question, and the phrases in quotation marks."""

    terms: tuple[Term, ...]
    phrases: tuple[tuple[frozenset[str], ...], ...] = ()

    @property
    def forms(self) -> frozenset[str]:
        return frozenset().union(*(term.forms | term.others for term in self.terms))

    @property
    def needed(self) -> tuple[frozenset[str], ...]:
        """The forms of each word that a passage with all of the query has."""
        words = [term.forms for term in self.terms if term.weight == 1]
        return tuple(dict.fromkeys([*words, *(one for phrase in self.phrases for one in phrase)]))

    def completed(self, texts: Iterable[str]) -> "Query":
        """Return the query with the words of *texts* that have a beginning which it looks for."""
        if not any(form.endswith(PREFIX) for term in self.terms for form in term.forms):
            return self
        there = {word for text in texts for word in text.split()}
        terms = []
        for term in self.terms:
            begun = tuple(form[:-1] for form in term.forms if form.endswith(PREFIX))
            more = {word for word in there if begun and word.startswith(begun)}
            terms.append(Term(term.forms | more, term.others, term.weight))
        return Query(tuple(terms), self.phrases)

    def known(self, frequencies: Mapping[str, int]) -> "Query":
        """Return the query with the forms that occur; other languages only without its own."""
        terms = []
        for term in self.terms:
            for forms in (term.forms, term.others):
                if there := frozenset(form for form in forms if form in frequencies):
                    terms.append(Term(there, weight=term.weight))
                    break
        return Query(tuple(terms), self.phrases)


def index_words(lines: Sequence[str]) -> list[str]:
    """Return the words of each line, separated by spaces."""
    tokens = [list(_tokens(line)) for line in lines]
    language = _language(word for line in tokens for word, form, run in line if not run)
    return [" ".join(_line_words(line, language)) for line in tokens]


def parse_query(text: str, *, is_typed: bool = False, is_begun: bool = False) -> Query:
    """Parse a question. Stop words count only when it has no others, and single digits when it
    has few: "room 7".

    *is_typed*: its last word may be the beginning of one. *is_begun*: so may each of them.
    """
    plain = text[:QUERY_CHARS].replace("\0", " ")
    tokens = list(_tokens(plain))
    begun = tokens[-1] if is_typed and tokens and _is_word_char(plain[-1]) else None
    language = _language((word for word, _, run in tokens if not run), "")
    terms: dict[Term, None] = {}
    common: dict[Term, None] = {}
    digits: dict[Term, None] = {}
    for word, form, run in tokens:
        if not isinstance(form, str):
            for pair in _pairs(form) if len(form) > 1 else form:
                weight = HIRAGANA_WEIGHT if run is _HIRAGANA else 1.0
                terms.setdefault(Term(frozenset({pair}), weight=weight))
            continue
        chosen = terms
        if len(form) == 1 and form.isdecimal():
            chosen = digits
        elif word in STOP_WORDS.get(language, ()) or (len(form) == 1 and form.isascii()):
            chosen = common
        term = _term(word, form, language)
        may_begin = is_begun or (begun is not None and (word, form) == begun[:2])
        chosen.setdefault(_begun(term, form) if may_begin else term)
    if len(terms) <= _FEW_WORDS:
        terms |= digits
    phrases = tuple(phrase for match in _PHRASE.finditer(plain) if (phrase := _phrase(match[1])))
    return Query(tuple(terms or common)[:QUERY_WORDS], phrases)


def _tokens(text: str) -> Iterator[tuple[str, tuple[str, ...] | str, re.Pattern[str] | None]]:
    """Yield each word as written in small letters, its folded form, and None.

    Characters of one script without spaces that stand together are one word; their forms are a
    tuple, and the third value is the script.
    """
    pending: list[str] = []
    script: re.Pattern[str] | None = None
    last = -1
    for start, end, form in search_tokens(text):
        here = _script(form)
        if pending and (here is not script or start != last):
            yield "", tuple(pending), script
            pending = []
        if here is None:
            word = text[start:end].lower()
            if not word.isascii():
                word = unicodedata.normalize("NFC", word)
            yield word[:WORD_CHARS], form[:WORD_CHARS], None
        else:
            pending.append(form)
        script, last = here, end
    if pending:
        yield "", tuple(pending), script


def _script(form: str) -> re.Pattern[str] | None:
    if form.isascii() or form[0] < "\u0e00":
        return None
    return next((run for run in _RUNS if run.match(form)), None)


def _line_words(
    tokens: Sequence[tuple[str, tuple[str, ...] | str, re.Pattern[str] | None]], language: str
) -> list[str]:
    """Return the words in their order; second forms follow, so that phrases stay together."""
    first: list[str] = []
    second: list[str] = []
    for word, form, run in tokens:
        if isinstance(form, str):
            stem, *others = _stems(word, form, language)
            first.append(stem)
            second += others
            continue
        first += _pairs(form) if len(form) > 1 else form
        if len(form) > 1 and run in (_HAN, _HANGUL):
            second += form
    return first + second


def _pairs(form: Sequence[str]) -> list[str]:
    return [form[at] + form[at + 1] for at in range(len(form) - 1)]


@lru_cache(maxsize=100_000)
def _stems(word: str, form: str, language: str) -> tuple[str, ...]:
    """Return the stem, and for a word with accents also that of the word without them."""
    if not form.isalpha():
        return (form,)
    if not form.isascii():
        language = next((name for name, script in _SCRIPTS if script.match(form)), language)
    one = search_form(_stem(language, word)) or form
    other = one if word == form else _stem(language, form)
    return (one,) if one == other else (one, other)


def _term(word: str, form: str, language: str) -> Term:
    forms = _variants(word, form)
    if not language:
        return Term(forms)
    own = frozenset(_stems(word, form, language))
    return Term(own, forms - own)


def _is_word_char(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM"


def _begun(term: Term, form: str) -> Term:
    """Return the term of a word that is being typed: its beginning, or a stem that it exceeds."""
    if len(form) < _LEAST_PREFIX:
        return term
    ends = range(len(form) - 1, max(len(form) - 1 - _MOST_ENDING, _LEAST_STEM - 1), -1)
    stems = {form[:end] for end in ends}
    return Term(term.forms | {form + PREFIX}, term.others | stems, term.weight)


@lru_cache(maxsize=10_000)
def _variants(word: str, form: str) -> frozenset[str]:
    """Return the stems of a word of a question in all languages of its script."""
    if not form.isalpha():
        return frozenset({form})
    return frozenset(stem for language in _LATIN for stem in _stems(word, form, language))


def _stem(language: str, word: str) -> str:
    with _STEMMERS_LOCK:
        if language not in _STEMMERS:
            _STEMMERS[language] = snowballstemmer.stemmer(language), Lock()
    stemmer, lock = _STEMMERS[language]
    # A stemmer keeps the word that it works on.
    with lock:
        return str(stemmer.stemWord(word))


def _language(words: Iterator[str], default: str = _DEFAULT) -> str:
    """Return the Latin-script or Cyrillic language with most stop words among *words*."""
    counted: Counter[str] = Counter()
    for word in words:
        for language in _LANGUAGES_OF.get(word, ()):
            counted[language] += 1
    return max(counted, key=lambda one: (counted[one], one == _DEFAULT), default=default)


_LANGUAGES_OF: Final[dict[str, list[str]]] = {}
for _name, _words in STOP_WORDS.items():
    for _word in _words:
        _LANGUAGES_OF.setdefault(_word, []).append(_name)


def _phrase(text: str) -> tuple[frozenset[str], ...]:
    found: list[frozenset[str]] = []
    for word, form, _ in _tokens(text):
        if isinstance(form, str):
            found.append(_variants(word, form))
        else:
            found += [frozenset({pair}) for pair in (_pairs(form) if len(form) > 1 else form)]
    return tuple(found)


def mark_words(text: str, forms: frozenset[str]) -> list[tuple[str, bool]]:
    """Split a text into pieces; True for those whose words have one of these *forms*."""
    spans: list[tuple[int, int]] = []
    before = (-1, -1, "")
    for start, end, form in search_tokens(text):
        if _script(form) is None:
            word = unicodedata.normalize("NFC", text[start:end].lower())
            found = not forms.isdisjoint(_variants(word[:WORD_CHARS], form[:WORD_CHARS]))
            spans += [(start, end)] if found else []
        elif before[1] == start and before[2] + form in forms:
            spans.append((before[0], end))
        elif form in forms:
            spans.append((start, end))
        before = (start, end, form)
    pieces: list[tuple[str, bool]] = []
    at = 0
    for start, end in spans:
        if at < start:
            pieces.append((text[at:start], False))
        if at < end:
            # Marks that touch are one.
            last = pieces.pop()[0] if pieces and pieces[-1][1] and at >= start else ""
            pieces.append((last + text[max(at, start) : end], True))
            at = end
    return [*pieces, (text[at:], False)] if at < len(text) else pieces
