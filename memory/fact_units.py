"""The units in which texts are compared: words, in Chinese and Japanese characters, with what they
are (a name, a person, a verb, a day), and the language of a text.

They are coarser than the words of ``memory.fact_words`` and told apart by language: German writes
every noun with a capital, English only names, Japanese has neither.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from jenny.search.stop_words import STOP_WORDS
from jenny.text_normalisation import fold, fold_accents, is_unspaced
from memory import dates
from memory.fact_quantities import level_quantities
from memory.fact_words import LIGHT_WEIGHT, Words, clauses_of, lemma_of, word_sets, words_of
from memory.similarity_words import RELATIVES


@dataclass(frozen=True, slots=True)
class Unit:
    """A word; in Chinese and Japanese a run of katakana or one Chinese character. *run*: as it is
    written. *is_loose*: a verb or the like, which changes when a fact is said in other words."""

    key: str
    run: str
    weight: int
    is_name: bool = False
    is_loose: bool = False

    @property
    def counts(self) -> bool:
        return self.weight > LIGHT_WEIGHT or is_unspaced(self.key[0])

    @property
    def is_of_calendar(self) -> bool:
        """True when it is a day of the week or a month."""
        return self.key.startswith(("day ", "month "))

    @property
    def is_role(self) -> bool:
        return self.key.removesuffix("s").removesuffix("inlaw") in _ROLES or self.key in _ROLES

    @property
    def is_person(self) -> bool:
        return self.is_name or self.is_role


@dataclass(frozen=True, slots=True)
class Text:
    """A text by its units, clause by clause."""

    source: str
    folded: str
    clauses: tuple[tuple[Unit, ...], ...]
    words: Words
    names: frozenset[str]
    keys: frozenset[str]
    found: tuple[str, ...]

    @property
    def units(self) -> Iterator[Unit]:
        return (unit for clause in self.clauses for unit in clause)

    @property
    def squeezed(self) -> str:
        return re.sub(r"[\s-]", "", self.folded)

    @property
    def people(self) -> list[str]:
        """The Chinese and Japanese names of people in it."""
        return _CJK_PERSON.findall(self.folded)

    def around(self, at: int) -> tuple[str, str]:
        """The signs before and behind a clause; empty where there are none."""
        source, place = self.source, 0
        for number, (clause, _) in enumerate(clauses_of(source)):
            found = source.find(clause.strip(), place)
            if found < 0:
                break
            place = found + len(clause.strip())
            if number == at:
                return source[:found].rstrip()[-1:], source[place:].lstrip()[:1]
        return "", ""

    def is_label(self, at: int) -> bool:
        """True when a clause only says what the text is about: "Medication: …"."""
        is_short = len({unit.run for unit in self.clauses[at]}) <= _LABEL_UNITS
        return is_short and self.around(at)[1] in _COLONS

    def knows(self, unit: Unit) -> bool:
        """True when it has the unit in any inflection."""
        return unit.key in self.keys or self._has_form(unit)

    def _has_form(self, unit: Unit) -> bool:
        key = unit.key
        if key.startswith("month "):
            return any(f"month {day.split('-')[1]}" == key for day in self.words.dates)
        if is_unspaced(key[0]):
            return key in self.folded or is_made_of(key, self.folded)
        if is_model(key):
            return key in self.squeezed
        if any(char.isdigit() for char in key):
            return not key.startswith("day ") and all(
                part in self.folded for part in _CODE.findall(key)
            )
        if unit.is_name:
            return any(_is_same_name(key, other) for other in self.found)
        return word_sets(self.source).all.has(key) or (
            key not in _ROLES and any(_is_part(key, one) for one in self.found)
        )


_MODEL = re.compile(r"[^\W\d]+\d{1,2}[a-z]?")
_LABEL_UNITS, _COLONS = 2, (":", "：")
_LABELS = """
    name job work works employer occupation profession home address residence resident city town
    family person pet pets diet hobby hobbies drink drinks food language languages birthday birth
    age instrument sport school preference preferences status note notes always wants wanted
    previously before earlier project decision decided every each any year years month monthly day
    days daily longer together around approximately about usually often mainly mostly partly
    currently about above across after against along among behind below beside between beyond down
    except inside near off onto out outside over past through throughout toward under up within yet
    only even ever again once twice more most less least much many few little lot some any both all
    half several enough quite rather too almost nearly well away ahead apart instead otherwise
    however therefore though although while whenever wherever whether unless whereas due reason
    gb tb mb routine minute minutes hour hours minuten stunden prof professor dr mr mrs ms
    tag tage tagen woche wochen session sessions rather statt mid early late end beginning upfront
    wegen aufgrund trotz dank während zwecks laut gemäß infolge bezüglich hinsichtlich
    front together answer answers reply replies response responses format style tone manner topic
    subject area type kind goal plan planned plans planning status current favourite favorite likes
    used uses using based located available known called aged
    antwort antworten stil ton thema bereich art ziel geplant plant plan aktuell lieblings bekannt
    mitte anfang ende zusammen gemeinsam dahin solange samt herr herrn jeder jede
    jeden jedes darüber damit dazu davon dafür daran darauf dabei dagegen
    beruf arbeit arbeitgeber wohnort wohnung wohnhaft adresse stadt familie haustier haustiere
    ernährung hobbys getränk getränke sprache sprachen geburtstag geburt geburtsort alter
    geboren vorliebe vorlieben stand notiz davor vorher früher zuvor ehemals seitdem projekt
    entscheidung jahr jahre monat monatlich jährlich täglich uhr immer meist
"""
LABELS = frozenset(map(fold_accents, _LABELS.split()))
_CJK_LABELS = re.compile(
    "職業|仕事|住所|居住|在住|趣味|好物|家族|誕生日|名前|出身|勤務先|勤務|以前|現在|最近|当時|使用|予定|担当|時点|決定|先生|奏者|理由|回答|目標|目的|全部|全て|希望|方法|場所|時間|時期|経営|営業"
    "|ユーザー|利用者|本人|毎[年月週日]|[上中下]旬|一緒|場合|不可|不要|最初|最後|以外|除|用户|[主制有它起去在要只]|使用者|名称|地址|工作|爱好"
)
# Whose name a person's place is; not what people are called together, or at work.
_ROLES = (RELATIVES | frozenset("母父妻夫娘兄弟姉妹祖孫叔伯友")) - frozenset(
    [
        "child",
        "kid",
        "kids",
        "children",
        "kinder",
        "eltern",
        "parent",
        "parents",
        "ehefrau",
        "ehemann",
        "boss",
        "chefin",
        "coworker",
    ]
)
_KANA = re.compile("[\u3041-\u30fa]")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]{2,}")
_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff々]+")
# Characters that count, or belong to dates.
_HAN_COUNTERS = frozenset(
    "年月日時分秒歳才匹人名回個枚本冊円点番号第约前後以毎的万千百十一二三四五六七八九宛方製中用式系者先代込済付別側間等内外質社"
)
_PARTICLES = frozenset("はがをにのでともへやかだよ")
_VERB = re.compile("(?<!s)s$|ed$")
_COMMON_VERBS = """
    live call prepare train give visit attend use run work take help add allow answer apply arrange
    arrive ask base become belong bring build buy carry cause celebrate check choose collect come
    commute complete connect consider continue cook create decide deliver describe develop drive
    earn eat ensure enter expect fall fill find finish fix follow get grow handle happen have hear
    hold include install intend involve join keep know lead learn leave lend let lie listen locate
    look maintain make manage mean meet mention move need note occur offer open operate organise
    organize own participate pay perform play prefer present produce provide publish pursue put
    raise reach read receive recommend refer regard remain remember remind remove repeat replace
    require reside respond return ride see seek sell send serve set sit sleep speak spend stand
    start stay stop suffer suggest teach tell tend think try turn understand wait wake want watch
    wear wish write serving based located
"""
_VERBS = frozenset(
    form
    for verb in _COMMON_VERBS.split()
    for form in (
        *(f"{verb}{ending}" for ending in ("", "s", "es", "d", "ed", "ing")),
        f"{verb[:-1]}ing",
        f"{verb[:-1]}ies",
        f"{verb[:-1]}ied",
        *(f"{verb}{verb[-1]}{ending}" for ending in ("ed", "ing")),
    )
)
_GERMAN_VERB = re.compile("[^aeiou]t$|et$")
_VERBAL_CHARS = 2
_CJK_VERBAL = re.compile(r"[をにへとで]\|[\sしす]?")
_HONORIFIC = re.compile("さん|くん|ちゃん|氏|様")
_MYRIADS = re.compile(r"(?<!\d)(?:(\d{1,9})万(?:(\d{1,4})千)?|(\d{1,9})千)")
_WEEKDAYS = (
    "monday mon montag montags lunes lundi",
    "tuesday tue dienstag dienstags martes mardi",
    "wednesday wed mittwoch mittwochs mercredi miércoles",
    "thursday thu donnerstag donnerstags jueves jeudi",
    "friday fri freitag freitags viernes vendredi",
    "saturday sat samstag samstags sonnabend sábado samedi",
    "sunday sun sonntag sonntags domingo dimanche",
)
_DAYS = {
    fold_accents(word): f"day {number}"
    for number, row in enumerate(_WEEKDAYS)
    for word in row.split()
}
_MONTHS = {fold_accents(word): month for word, month in dates.MONTHS.items()}
_GERMAN_DAYS = ("Mo", "Di", "Mi", "Do", "Fr", "Sa", "So")
_CJK_DAY = re.compile("([月火水木金土日])曜日?|(?:周|星期|礼拜)([一二三四五六日天])(?![年月回次])")


_STOP_WORDS = {
    language: frozenset(map(fold_accents, STOP_WORDS[name]))
    for language, name in (
        ("en", "english"),
        ("de", "german"),
        ("es", "spanish"),
        ("fr", "french"),
        ("it", "italian"),
        ("nl", "dutch"),
    )
}


@lru_cache(maxsize=4_000)
def read_units(text: str, language: str) -> Text:
    text = level_quantities(text, language)
    if language == "cjk":
        text = _MYRIADS.sub(_in_digits, fold(text))
    clauses = tuple(
        (*_spaced_units(words, language, text), *_unspaced_units(fold(clause)))
        for clause, words in clauses_of(text)
    )
    names = _names(text, clauses, language)
    keys = frozenset(unit.key for clause in clauses for unit in clause)
    words = words_of(text)
    return Text(text, fold(text), clauses, words, names, keys, tuple(words.all))


def _in_digits(number: re.Match[str]) -> str:
    tens, thousands, alone = (int(part or 0) for part in number.groups())
    return str(tens * 10_000 + (thousands + alone) * 1_000)


def _spaced_units(words: Words, language: str, text: str) -> Iterator[Unit]:
    stop_words = _STOP_WORDS.get(language, _STOP_WORDS["en"])
    for word, weight in words.all.items():
        if not weight or is_unspaced(word[0]) or word in stop_words:
            continue
        run = words.spelled.get(word, word)
        is_capital = run[:1].isupper()
        if language == "de" and run in _GERMAN_DAYS:
            yield Unit(f"day {_GERMAN_DAYS.index(run)}", run, 2)
        elif day := _DAYS.get(word) or _DAYS.get(word.removesuffix("s")):
            yield Unit(day, run, 2)
        elif is_capital and word in _MONTHS:
            yield Unit(f"month {_MONTHS[word]}", run, 2)
        elif language == "de":
            # Every noun has a capital: it tells no name, but it tells the verbs.
            is_verb = not is_capital or (text.startswith(run) and bool(_GERMAN_VERB.search(word)))
            yield Unit(word, run, min(weight, 2), is_loose=is_verb)
        elif language not in {"en", "", "cjk"} and word not in words.names:
            # No verbs can be told here, so no word is a noun for certain.
            yield Unit(word, run, weight, is_loose=True)
        else:
            is_verb = not _VERBS.isdisjoint((word, lemma_of(word))) or word.endswith("ly")
            is_verb = is_verb or (text.startswith(run) and bool(_VERB.search(word)))
            yield Unit(word, run, weight, word in words.names, is_verb)


def _unspaced_units(text: str) -> Iterator[Unit]:
    for day in _CJK_DAY.finditer(text):
        at = "月火水木金土日".index(day[1]) if day[1] else min("一二三四五六日天".index(day[2]), 6)
        yield Unit(f"day {at}", day[0], 2)
    text = _CJK_LABELS.sub("、", _CJK_DAY.sub("、", text))
    for run in _KATAKANA.finditer(text):
        yield Unit(run[0], run[0], 2)
    for run in _HAN_RUN.finditer(text):
        end = text[run.end() : run.end() + 1]
        is_verb = "\u3041" <= end <= "\u309f" and end not in _PARTICLES
        is_verb = is_verb and not _HONORIFIC.match(text, run.end())
        # A noun that is used as a verb, at the end: "横浜に通学".
        noun = run[0].removesuffix("中")
        is_verbal = len(noun) == _VERBAL_CHARS and bool(
            _CJK_VERBAL.fullmatch(f"{text[max(run.start() - 1, 0) : run.start()]}|{end}")
        )
        for at, char in enumerate(run[0], 1):
            if char not in _HAN_COUNTERS:
                yield Unit(char, run[0], 1, is_loose=is_verbal or (is_verb and at == len(run[0])))


# German names stand without an article: "in Graz", "Tochter Mia".
_GERMAN_NAME = re.compile(
    r"\b(in|bei|aus|nach|von|namens|Dr|[A-ZÄÖÜ][a-zäöüß]{2,})(?=\s([A-ZÄÖÜ][a-zäöüß]+)\b)"
)
_TITLES = frozenset({"dr", "prof", "herr", "herrn", "frau"})
_MIXED_CASE = re.compile(r"\b(?:\w*[a-zäöüß][A-ZÄÖÜ]\w*|[A-Z]{2,})\b")
_CJK_PERSON = re.compile(
    r"(?:^|(?<=[^\u4e00-\u9fff々]))[\u4e00-\u9fff々]{1,4}(?=(?:さん|くん|ちゃん|氏|様|先生)(?![\u4e00-\u9fff]))"
)
_CJK_NAME = re.compile(
    "[\u30a1-\u30fa\u30fc]{2,}|[\u4e00-\u9fff]{1,4}(?=さん|くん|ちゃん|氏|様|先生)"
)


def _names(text: str, clauses: Iterable[Sequence[Unit]], language: str) -> frozenset[str]:
    if language == "de":
        pairs = ((fold_accents(first), name) for first, name in _GERMAN_NAME.findall(text))
        found = (
            name
            for first, name in pairs
            if first in _TITLES or (first not in LABELS and not _is_calendar(first))
        )
        return frozenset((*found, *_MIXED_CASE.findall(text)))
    if language == "cjk":
        return frozenset(_CJK_NAME.findall(fold(text)))
    return frozenset(unit.run for clause in clauses for unit in clause if unit.is_name)


def is_model(key: str) -> bool:
    """True when a word names a model or a level: "t5" of "X-T5", "b1"."""
    return bool(_MODEL.fullmatch(key))


def _is_calendar(word: str) -> bool:
    return word in _DAYS or word.removesuffix("s") in _DAYS or word in dates.MONTHS


# The parts of a word that has a number in it: "x1", "d1000".
_CODE = re.compile(r"\d+|[^\W\d]{2,}")
_OF_A_PLACE = re.compile("(?:ese|ish|ische?r?n?|er|n)$")


def _is_same_name(one: str, other: str) -> bool:
    if one == other or one.rstrip("s'") == other.rstrip("s'"):
        return True
    return _OF_A_PLACE.sub("", one) == other or one == _OF_A_PLACE.sub("", other)


def is_made_of(run: str, text: str) -> bool:
    """True when a run of katakana is two that the text has."""
    return any(run[:at] in text and run[at:] in text for at in range(2, len(run) - 1))


_CASE_END = re.compile("(?:en|er|n|e|s)$")
_SHORTEST_FIRST = 3
_SHORTEST_PART, _SHORTEST_STEM, _SHORTEST_WHOLE = 4, 4, 6
# What German puts behind a word without saying much more.
_HEADS = """
    dienst lehrer lehrerin platz zeit termin stelle nummer stunde abend morgen arbeit bereich woche
    angabe angaben liche lich ische heit keit ung ungen isch krank
"""
_LINKING = 2
_HEAD_WORDS = frozenset(_HEADS.split())


@lru_cache(maxsize=20_000)
def _is_part(word: str, other: str) -> bool:
    """True when a word is a part of another, or has it as a part and says no more: "Erdnüsse",
    "Erdnussallergie"."""
    short, long = sorted((word, other), key=len)
    first = _CASE_END.sub("", word)
    if len(first) >= _SHORTEST_FIRST and other.startswith(first) and len(other) > len(first) + 3:
        # "Süden", where "Südbalkon" was said.
        return True
    if len(long) < _SHORTEST_WHOLE or len(short) < _SHORTEST_PART or is_unspaced(word[0]):
        return False
    stem = short if short in long else short[: max(_SHORTEST_PART, len(short) - 2)]
    at = long.find(stem)
    if at < 0 or (at > 0 and len(stem) <= _SHORTEST_PART):
        return False
    if long == other:
        return True
    if at:
        # What stands in front says which: "Sandboden".
        return at <= _LINKING
    rest = long[len(stem) :]
    return len(rest) <= _SHORTEST_PART or rest in _HEAD_WORDS


def is_compound(word: str, text: Text) -> bool:
    """True when a word is made of two that the text has."""
    known = [
        one
        for one in text.found
        if len(one) >= _SHORTEST_PART or text.words.spelled.get(one, "").isupper()
    ]
    begins = [_stem(one) for one in known if word.startswith(_stem(one))]
    if any(
        len(one) < _SHORTEST_PART and word.startswith((*(b + one for b in begins),))
        for one in known
    ):
        # "Hüft-OP", "Hüftoperation".
        return True
    return any(
        _stem(other)[:_SHORTEST_STEM] in word[len(begin) - 1 :]
        and len(begin) + len(other) >= len(word) - _SHORTEST_PART
        for begin in begins
        for other in known
        if not other.startswith(begin)
    )


def _stem(word: str) -> str:
    return word[: max(_SHORTEST_PART, len(word) - 2)]


def plain_number(number: str) -> str:
    """A number without the ways in which it may be written: 07:40 and 7.40, 3rd and 3."""
    digits = re.sub(r"(?<=\d)(?:st|nd|rd|th|er|e|\.)$", "", number.strip("+%"))
    digits = re.sub(r"(?<=\d)[:.](?=\d\d$)", ":", digits).removesuffix(":00")
    return re.sub(r"^0+(?=\d)", "", digits)


_HALF_HOUR = re.compile(r"\bhalf (?:an )?hour|\bhalben? stunde|半時間")


def has_digits(text: str, number: str, *, but_months: bool = False) -> bool:
    """*but_months*: not where they number a month of a Japanese text."""
    if number == "30" and _HALF_HOUR.search(text):
        return True
    end = r"[\d.,月]" if but_months else r"[\d.,]"
    is_number = number.replace(".", "", 1).isdigit()
    return is_number and bool(re.search(rf"(?<![\d.,]){re.escape(number)}(?!{end})", text))


def is_of_month(text: Text, number: str) -> bool:
    """True when a number of a Japanese text only numbers months."""
    found = re.findall(rf"(?<![\d.]){re.escape(number)}(?!\d)(月?)", text.source)
    return bool(found) and all(found)


def date_parts(days: Iterable[str]) -> Iterator[str]:
    return (part for day in days for part in day.split("-"))


def has_date_parts(text: Text, date: str) -> bool:
    """True when a text without dates of a known form has the month and the day as numbers."""
    parts = [part for part in date.split("-")[1:] if part != "0"]
    return not text.words.dates and text.words.numbers.issuperset(parts) and len(parts) > 1


def has_kana(text: Text) -> bool:
    return bool(_KANA.search(text.source))


_WORD = re.compile(r"\w+")
# Words that are months only with a capital.
_NO_MONTHS = frozenset({"may", "march", "mar", "out"})


def has_month(text: Text, month: int) -> bool:
    """True when a text names a month, with or without a day."""
    return (
        f"month {month}" in text.keys
        or any(day.split("-")[1] == str(month) for day in text.words.dates)
        or bool(re.search(rf"(?<!\d){month}月", text.source))
        or any(
            dates.MONTHS.get(word.lower()) == month
            for word in _WORD.findall(text.source)
            if word not in _NO_MONTHS
        )
    )


def is_same_date(one: str, other: str) -> bool:
    return all(
        a == b or "0" in (a, b) for a, b in zip(one.split("-"), other.split("-"), strict=True)
    )


# Words of one stem begin alike.
_ROOT = 3
_NEAR_TEXTS = 60


def nearest_texts(units: Iterable[Unit], texts: Iterable[str]) -> list[str]:
    """The texts that have most beginnings of the units' words: a file may have thousands."""
    roots = {unit.key[:_ROOT] for unit in units if unit.counts}
    counted = []
    for text in texts:
        folded = fold_accents(text)
        if count := sum(root in folded for root in roots):
            counted.append((count, text))
    counted.sort(key=lambda row: -row[0])
    return [text for _, text in counted[:_NEAR_TEXTS]]


def runs_of(units: Iterable[Unit]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(unit.run for unit in units))
