"""The words of a text that carry meaning, compared whatever their inflection.

Words of languages with spaces count as the same when they have a stem in common; Chinese and
Japanese text is compared by pairs of characters. Negated clauses are kept apart from the others, so
that "eats pork" does not stand in "does not eat pork".
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from jenny.text_normalisation import fold, fold_accents, is_unspaced, level, pieces
from memory import dates
from memory.similarity_words import CONTRACTED, NEGATIONS, NUMBERS, POSSESSIVES, SMALL_WORDS

# Words that a fact may say or leave out without saying something else.
_FUNCTION_WORDS = """
    user users he she it they him her them i me we us you who which what there here this
    these those his hers its their theirs was were be been being has have had having does
    did doing will would can could may might shall should must of to in on at for by from
    with as into about around during since until than then so now also very just really
    still already currently nowadays actually if when while because or but per via one ones
    called named name said says asked mentioned told nutzer nutzers nutzerin benutzer er sie es ihm
    ihn ihnen wir uns man war waren sein wird werden wurde wurden worden hat habe haben
    hatte hatten kann konnte soll sollte muss musste darf will moechte zu zum zur im in am
    an auf aus bei beim fuer für von vom mit nach seit bis um über ueber unter durch gegen
    als wie wenn weil aber oder doch nun jetzt noch schon derzeit aktuell heute eigentlich
    da dort hier dieser diese dieses diesen sich so sehr gerade mehr etwa heisst heißt
    namens dessen deren whose usuario usuaria tiene tengo ha han fue ser de del al con por
    para en que se su sus lo utilisateur utilisatrice il elle a ont été être du au aux avec pour
    par dans sur que qui se sa ses ユーザー 用户 用戶
"""
_SAYS_NOTHING = (
    frozenset(map(fold, _FUNCTION_WORDS.split())) | SMALL_WORDS | POSSESSIVES
) - NEGATIONS
# Verbs that say no without a negation.
_AVERSION_STEMS = """
    avoid dislike hate refuse lack detest quit skip omit evit vermeid meid hass verzicht
    aufgehor aufhor
"""
_AVERSIONS = frozenset(_AVERSION_STEMS.split())
_CJK_NEGATION = re.compile(
    "(?:^|(?<=[\u30a1-\u30ff\u4e00-\u9fffき]))(?:では|じゃ)な[いく]|[没沒无勿]|不(?!動産|思議)|無(?!料|理)|未(?!満)|非(?!常)|なし|抜き|(?<!なければなら)(?<!なければいけ)(?<!なくてはなら)ない(?!と(?:いけ|だめ|ダメ|なら|困))|なかった|ません|(?<![少危もと])なく(?!て)|ぬ|(?<![必まはい])ず(?=[に、。,.;]|$)|嫌い|苦手|避け|やめ|讨厌|避免"
)
_PREPOSITION_LIST = """
    in on at for by from with into about during im am an auf bei beim für von vom mit zu zum zur en
    con por para dans sur avec pour
"""
_PREPOSITIONS = frozenset(_PREPOSITION_LIST.split())
# These negate one word: the one behind them (the first), or the one before them.
_CJK_NEGATES_NEXT = re.compile("[不没沒未非勿]")
_CJK_NEGATES_LAST = re.compile("なし|抜き|無し|(?:では|じゃ)な[いく]")
# What stands behind these is a reason, and not what is denied: "avoids nuts because of an allergy".
_REASONS = frozenset({"because", "despite", "wegen", "weil", "trotz", "aufgrund", "obwohl"})
# Where or with what something is not done.
_CJK_PLACE = re.compile("[\u30a1-\u30ff\u4e00-\u9fff]*(?:で(?!は?(?:な|あり))|に|から|まで)")
# What is spoken of, where something else is what is not done: "娘は左耳が聞こえない".
_CJK_TOPIC = re.compile("は.*[がを]")
_CJK_REASON = re.compile("ので|ため|から|ても")
# A negation in these languages reaches over its whole clause; one of these nouns reaches over what
# is behind it; any other may reach further back.
_NEGATES_CLAUSE = frozenset({"nicht", "nie", "niemals", "niet", "nooit", "anymore"})
_NOUN_NEGATIONS = """
    without no kein keine keinen keinem keiner keines ohne sin sem sans senza zonder geen bez без
    ningún ninguna aucun aucune
"""
_NEGATES_NOUN = frozenset(_NOUN_NEGATIONS.split())
_CLAUSE = re.compile(
    r"[,;:()（）、，；。.!?！？—–\n]+(?=\D|$)|\s+-\s+|\s(?=(?:and|but|und|aber|sondern|pero|sino|y|mais|et)\s)"
    r"|(?<=ではなく)|(?<=じゃなく)|(?<=でなく)|(?<=ないが)|(?<=ますが)|(?<=るが)|(?<=たが)|(?<=だが)|(?<=[。！？；])",
    re.IGNORECASE,
)
# Inflection of Japanese verbs and adjectives, and words that say nothing.
_HIRAGANA_ENDINGS = re.compile(
    "んでいます|んでいる|んでいた|んだ|ています|ている|ていた|ません|ました|でした|です|ます|だった|だ|である|として|について|から|まで|より|ので"
    "|ため|こと|もの|など|という|する|した|して|され|れる|られ|たい|ない|なく|なかった|では|には|とは|ユーザー"
)
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_KANA = re.compile("[\u3041-\u30ff]")
# Characters that say nothing by themselves in Chinese, where no kana part the words.
_CHINESE_FUNCTION = re.compile(
    "使用者|用户|用戶|[的了在是我他她它有和与與很也都把被就还還这這那到从從对對于於吧呢着過过会會用]"
)
_APART = re.compile("[\u3041-\u309f]+|[^\u3041-\u309f]+")
# What may stand behind a stem that two words share.
_ENDING_LIST = """
    s es e ed d ing er ers r n en t te ten tes ter tem st est et y ies ied ly al ic ation ion
    ions ung ungen heit keit isch ische ischen lich em m ern ment ness ence ance ent ant a o
    os as ado ada ando aba ba é ée és ait ent ез а у ы и е ой ом ам ах ть л ла ли ет ит ют 's ings
    ling ist ists in innen i ie iert ier able ful tion age est able ize ise ized ised izes ises
"""
_ENDINGS = frozenset(_ENDING_LIST.split()) | {""}
# Behind a word of three letters other endings make another word: "tea", "team"; "car", "care".
_SHORT_ENDINGS = frozenset({"", "s", "es", "'s", "ed", "ing", "en", "er", "ers"})
_SHORTEST_STEM = 3
_MARK = "\x02"
_CJK_DENIED_DATE = re.compile(f"({_MARK}[^{_MARK}]*{_MARK}\\s*)(?:では|じゃ|で)な[いく]")
# A noun up to its ending: what なし behind it negates.
_CJK_NOUN = re.compile("[\u30a1-\u30ff\u4e00-\u9fff]+[\u3041-\u309f]{0,2}")
_IRREGULAR_ROWS = """
    go goes went gone going/buy bought/teach taught/meet met/leave left/build built/sell
    sold/begin began begun/drive drove driven/eat ate eaten/drink drank drunk/write wrote
    written/speak spoke spoken/grow grew/know knew known/think thought/bring brought/keep
    kept/sleep slept/feel felt/find found/win won/lose lost/make made/pay paid/take took
    taken/give gave given/get got/run ran/sing sang sung/swim swam swum/sit sat/stand
    stood/break broke broken/choose chose chosen/fly flew flown /ride rode ridden/wear wore
    worn/hear heard/become became/fall fell fallen/wake woke /child children/wife wives/man
    men/woman women/foot feet/tooth teeth/mouse mice/person people /like enjoy love fond
    favourite favorite prefer/move relocate/job work/trip journey/reside live living/kid child /lead
    led/big large/flat apartment/doctor physician/car automobile/phone telephone/mom mother
    mum/dad father/grandfather grandpa granddad/grandmother grandma
    granny/grossvater opa/grossmutter oma/begin start/weekly week/daily day/monthly month
    /yearly year annual
    /gehen ging gegangen geht/essen isst ass gegessen esse/trinken trank trinkt
    getrunken/lesen liest las gelesen/sprechen gespräch spricht sprach gesprochen/fahren fährt fuhr
    gefahren/ziehen zieht zog gezogen umgezogen umziehen/nehmen nimmt nahm genommen/geben
    gibt gab gegeben/schlafen schläft schlief /tragen trägt trug getragen/kommen kommt kam
    gekommen/treffen trifft traf getroffen/laufen läuft lief gelaufen/schreiben schrieb
    geschrieben/mögen mag mochte gern gerne liebt bevorzugt lieber/singen sang
    gesungen/beginnen begann begonnen/finden fand gefunden/bleiben blieb geblieben/heißen
    hieß/ kaufen gekauft/arbeit arbeitet arbeiten job/helfen hilft half geholfen/wissen weiß
    wusste /好 好む 好き 気 愛/住 暮/働 勤
"""
_LEMMAS = {
    fold_accents(word): fold_accents(row.split()[0])
    for row in _IRREGULAR_ROWS.split("/")
    if row.split()
    for word in row.split()
}
_GE = re.compile(r"^(ab|an|auf|aus|ein|mit|nach|um|vor|zu)?ge(?=\w{5})")
# Verbs that many facts share say less than the other words, and names say more.
_LIGHT_WORDS = """
    like eat drink live want need use own get make take go come do keep give enjoy love
    moegen mogen essen trinken wohnen leben brauchen nutzen benutzen kaufen geben 好 住 食 飲 使
    有 吃 喝 喜 欢
"""
_LIGHT = frozenset(_LIGHT_WORDS.split())
LIGHT_WEIGHT, _WEIGHT, _NAME_WEIGHT = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text outside and inside of negated clauses, each with its weight (0: only to
    be found by); numbers and dates. *spelled*: the words as they are written, for a sentence.
    *names*: words with a capital that do not begin a clause. *uncertain*: words of negated clauses
    to which the negation may not belong."""

    positive: dict[str, int]
    negated: dict[str, int]
    numbers: frozenset[str]
    dates: frozenset[str]
    spelled: dict[str, str] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    uncertain: frozenset[str] = frozenset()

    @property
    def all(self) -> dict[str, int]:
        both = self.negated | self.positive
        return {word: max(weight, self.negated.get(word, 0)) for word, weight in both.items()}


@lru_cache(maxsize=8_000)
def words_of(text: str) -> Words:
    read = clauses_of(text)
    positive: dict[str, int] = {}
    negated: dict[str, int] = {}
    spelled: dict[str, str] = {}
    for _, words in read:
        for target, found in ((positive, words.positive), (negated, words.negated)):
            for word, weight in found.items():
                target[word] = max(weight, target.get(word, 0))
        spelled |= words.spelled
    return Words(
        positive,
        negated,
        frozenset().union(*(words.numbers for _, words in read)),
        frozenset().union(*(words.dates for _, words in read)),
        spelled,
        frozenset().union(*(words.names for _, words in read)),
        frozenset().union(*(words.uncertain for _, words in read)),
    )


@lru_cache(maxsize=8_000)
def clauses_of(text: str) -> tuple[tuple[str, Words], ...]:
    """The clauses of a text, each with its words."""
    found: list[tuple[str, Words]] = []
    was_negated = False
    for part in _CLAUSE.split(dates.marked(level(text).replace(_MARK, " "), _MARK)):
        # "Not in May": only the date is denied, and dates are compared apart.
        days, clause = dates.split_marked(_CJK_DENIED_DATE.sub(r"\1", part), _MARK)
        reading = _Clause(clause)
        # An item of a list is negated with the item before it.
        count = sum(weight > 0 for weight in reading.words.values())
        is_inherited = not reading.is_negated and count == 1 and was_negated
        is_negated = reading.is_negated or is_inherited
        if count:
            was_negated = is_negated
        # "Tea without sugar" has tea.
        plain = set(reading.words)
        if is_negated:
            plain = set() if is_inherited else reading.spared
        words = Words(
            {word: weight for word, weight in reading.words.items() if word in plain},
            {word: weight for word, weight in reading.words.items() if word not in plain},
            frozenset(reading.numbers),
            frozenset(days),
            reading.spelled,
            frozenset(reading.names),
            frozenset(reading.words if is_inherited else reading.uncertain - reading.spared),
        )
        found.append((clause, words))
    return tuple(found)


class _Clause:
    def __init__(self, text: str) -> None:
        self.words: dict[str, int] = {}
        self.numbers: set[str] = set()
        self.names: set[str] = set()
        self.spelled: dict[str, str] = {}
        self.spared: set[str] = set()
        self.uncertain: set[str] = set()
        self.is_negated = False
        self._has_object = False
        self._is_behind = False
        run, is_first = "", True
        for piece in [*pieces(text), ""]:
            if piece and is_unspaced(piece):
                run += piece
                continue
            if run:
                self._unspaced(run)
                run = ""
            if piece and (piece[0].isalnum() or piece[1:2].isdigit()):
                self._word(piece, is_first=is_first)
                is_first = False

    def _word(self, piece: str, *, is_first: bool) -> None:
        if piece[0].isdigit() or not piece[0].isalnum():
            self.numbers.add(re.sub(r"(?<=\d)[.,'](?=\d{3}\b)", "", piece).lstrip("+").rstrip("."))
            return
        folded = fold(piece)
        parts = CONTRACTED.get(folded, folded).split()
        if folded.endswith("n't"):
            parts = [folded[:-3], "not"]
        for part in parts:
            bare = part.partition("'")[0] or part
            self._is_behind = self._is_behind or bare in _REASONS
            if bare in NEGATIONS:
                self._negate(bare)
            elif bare in NUMBERS:
                self.numbers.add(NUMBERS[bare])
            elif bare in _SAYS_NOTHING:
                # "No sugar in tea": what is behind the preposition is not what there is none of.
                self._is_behind = self._is_behind or (self._has_object and bare in _PREPOSITIONS)
            elif len(bare) > 1 or not bare.isascii():
                self._add(fold_accents(bare), piece, is_name=piece[0].isupper() and not is_first)

    def _negate(self, bare: str) -> None:
        # "Because of it, no coffee": what is behind a reason can be denied itself.
        self._is_behind = self._is_behind and bare not in _NEGATES_NOUN
        if not self.is_negated and bare not in _NEGATES_CLAUSE:
            before = self.spared if bare in _NEGATES_NOUN else self.uncertain
            before.update(self.words)
        self.is_negated = True

    def _add(self, word: str, piece: str, *, is_name: bool) -> None:
        if self._is_behind:
            self.uncertain.add(word)
        if is_aversion(word):
            self.is_negated = True
        weight = _NAME_WEIGHT if is_name else _weight(word)
        self._has_object = self._has_object or (
            self.is_negated and weight > LIGHT_WEIGHT and not is_aversion(word)
        )
        self.words[word] = weight
        self.spelled[word] = piece
        if is_name:
            self.names.add(word)

    def _unspaced(self, run: str) -> None:
        plain = fold(run)
        if not _KANA.search(plain):
            plain = _CHINESE_FUNCTION.sub("", plain) or plain
        negation = next(reversed(list(_CJK_NEGATION.finditer(plain))), None)
        self.is_negated = self.is_negated or negation is not None
        if negation and _CJK_NEGATES_LAST.fullmatch(negation[0]):
            # Of what stands before it, only the last word may be meant: "AではなくB".
            self.spared.update(list(self.words)[: None if negation.start() else -1])
        for word in _words_of_run(plain):
            if word in _SAYS_NOTHING:
                continue
            self.words[word] = _weight(word)
            self.spelled[word] = word
            if negation and _is_out_of_reach(word, plain, negation):
                is_noun = _CJK_NEGATES_LAST.fullmatch(negation[0])
                (self.spared if is_noun else self.uncertain).add(word)
        # To be found by: of no weight itself.
        for at, char in enumerate(plain):
            for form in (char, plain[at : at + 2]):
                if not _HIRAGANA.fullmatch(form):
                    self.words.setdefault(form, 0)


def _words_of_run(plain: str) -> Iterator[str]:
    for part in _APART.findall(_HIRAGANA_ENDINGS.sub("の", plain)):
        if _HIRAGANA.fullmatch(part):
            if len(part) > _SHORTEST_STEM:
                yield part
        elif len(part) == 1 or not _KANA.search(plain):
            yield from part
        else:
            yield from (part[at : at + 2] for at in range(len(part) - 1))


def is_aversion(word: str) -> bool:
    """True when a word says no without a negation: "avoids"."""
    return any(word.startswith(stem) for stem in _AVERSIONS)


def _is_out_of_reach(word: str, text: str, negation: re.Match[str]) -> bool:
    """True when a negation may not belong to a word of the same clause."""
    at = text.find(word)
    if at < 0:
        return False
    if _CJK_NEGATES_NEXT.fullmatch(negation[0]):
        return at < negation.start()
    if _CJK_NEGATES_LAST.fullmatch(negation[0]):
        return not _CJK_NOUN.fullmatch(text[at : negation.start()])
    if _CJK_PLACE.match(text, at + len(word)) or _CJK_TOPIC.search(text, at, negation.start()):
        return True
    return at >= negation.end() or bool(_CJK_REASON.search(text, at, negation.start()))


def beginnings(word: str) -> frozenset[str]:
    """Return the beginnings that a word shares with its inflected forms, for an index."""
    return frozenset(form[:_SHORTEST_STEM] for form in (word, lemma_of(word), _without_ge(word)))


class WordSet:
    """Words to look others up in, whatever their inflection."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words: set[str] = set()
        self._by_beginning: dict[str, list[str]] = {}
        for word in words:
            self._words |= {word, lemma_of(word)}
            for form in {word, _without_ge(word)}:
                self._by_beginning.setdefault(form[:_SHORTEST_STEM], []).append(form)

    def has(self, word: str) -> bool:
        if word in self._words or lemma_of(word) in self._words:
            return True
        return any(
            has_same_stem(form, other)
            for form in {word, _without_ge(word)}
            for other in self._by_beginning.get(form[:_SHORTEST_STEM], ())
        )


@dataclass(frozen=True, slots=True)
class WordSets:
    """The words of a text, to look others up in."""

    positive: WordSet
    negated: WordSet
    all: WordSet


@lru_cache(maxsize=8_000)
def word_sets(text: str) -> WordSets:
    words = words_of(text)
    return WordSets(WordSet(words.positive), WordSet(words.negated), WordSet(words.all))


def share(wanted: dict[str, int], found: WordSet) -> float:
    """Return the share of the *wanted* words, by their weight, among those found; 1 of no words."""
    total = sum(wanted.values())
    if not total:
        return 1.0
    return sum(weight for word, weight in wanted.items() if found.has(word)) / total


def spelled_beginnings(word: str) -> frozenset[str]:
    """Return what the text of any form of a word has in it, irregular ones included."""
    lemma = lemma_of(word)
    forms = (form for form, other in _LEMMAS.items() if other == lemma)
    return beginnings(word).union(form[:_SHORTEST_STEM] for form in forms)


def missing(wanted: Iterable[str], found: WordSet) -> Iterator[str]:
    return (word for word in wanted if not found.has(word))


def _weight(word: str) -> int:
    lemma = lemma_of(word)
    if lemma in _LIGHT or lemma.removesuffix("s") in _LIGHT or lemma.removesuffix("t") in _LIGHT:
        return LIGHT_WEIGHT
    return _WEIGHT


def lemma_of(word: str) -> str:
    forms = (word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("d"))
    return next((_LEMMAS[form] for form in forms if form in _LEMMAS), word)


def _without_ge(word: str) -> str:
    """A German participle without the syllable in it: "gelesen", "ausgeliefert"."""
    return _GE.sub(r"\1", word)


def has_same_stem(one: str, other: str) -> bool:
    """True when two words differ by their endings alone."""
    if not one[:1].isalpha() or is_unspaced(one[0]):
        return one == other
    common = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        common += 1
    return common >= _SHORTEST_STEM and _is_inflected(one, other, common)


def _is_inflected(one: str, other: str, common: int) -> bool:
    # A doubled letter belongs to the ending: "stop", "stopped".
    ends = [_undoubled(word, common) for word in (one, other)]
    if min(len(one), len(other)) <= _SHORTEST_STEM and not set(ends) <= _SHORT_ENDINGS:
        return False
    return all(end in _ENDINGS for end in ends)


def _undoubled(word: str, common: int) -> str:
    end = word[common:]
    return end[1:] if end[:1] == word[common - 1] else end
