"""Writes numbers, times, units, abbreviations and contrasts of a text in one form, so that texts
that say the same amount have the same digits: "three times a week", "3x weekly", "週に三回"."""

import re
from functools import lru_cache

from jenny.text_normalisation import case_key
from memory.similarity_words import NUMBERS

# What is written as what. A full stop at the end may be missing.
_PHRASES = {
    "first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6",
    "seventh": "7", "eighth": "8", "ninth": "9", "tenth": "10", "once": "1 time",
    "twice": "2 times", "thrice": "3 times", "fortnightly": "every 2 weeks",
    "biweekly": "every 2 weeks", "every other": "every 2", "dozen": "12",
    "half an hour": "30 minutes", "quarter of an hour": "15 minutes", "half a year": "6 months",
    "einmal": "1 mal", "zweiwöchentlich": "alle 2 wochen", "vierzehntägig": "alle 2 wochen",
    "dutzend": "12", "halbe stunde": "30 minuten", "halben stunde": "30 minuten",
    "viertelstunde": "15 minuten", "halbjährlich": "alle 6 monate", "anderthalb": "1.5",
    "primer": "1", "primero": "1", "primera": "1", "segundo": "2", "segunda": "2",
    "tercer": "3", "tercera": "3", "premier": "1", "première": "1", "deuxième": "2",
    "troisième": "3",
    "kilometres": "km", "kilometers": "km", "kilometer": "km", "kilometern": "km",
    "kilometre": "km", "metres": "m", "meters": "m", "metern": "m", "kilograms": "kg",
    "kilos": "kg", "kilogramm": "kg", "litres": "l", "liters": "l", "litern": "l",
    "noon": "12:00", "midday": "12:00", "midnight": "0:00", "mitternacht": "0:00",
    "halbes jahr": "6 monate", "halben jahr": "6 monate", "new year's eve": "31 December",
    "new year's day": "1 January", "christmas eve": "24 December", "christmas day": "25 December",
    "silvester": "31. Dezember", "heiligabend": "24. Dezember", "neujahr": "1. Januar",
    "nochevieja": "31 de diciembre", "nochebuena": "24 de diciembre",
    "euros": "euro", "eur": "euro", "dollars": "dollar", "percent": "%", "per cent": "%",
    "prozent": "%", "approx.": "about", "approximately": "about", "ca.": "about",
    "circa": "about", "roughly": "about", "geb.": "geboren", "min.": "minutes",
    "mins": "minutes", "hrs": "hours", "std.": "stunden", "nr.": "nummer", "incl.": "with",
    "inkl.": "mit", "z.b.": ",", "z. b.": ",", "e.g.": ",", "bzw.": "und", "u.a.": ",",
    "usw.": "", "etc.": "", "max.": "at most", "dr.": "dr", "mr.": "mr",
    "mrs.": "mrs", "ms.": "ms", "prof.": "prof", "st.": "st", "sr.": "sr", "sra.": "sra",
    "instead of": "instead without", "rather than": "instead without",
    "in place of": "instead without", "anstelle von": "statt ohne", "anstatt": "statt ohne",
    "statt": "statt ohne", "anstelle": "statt ohne", "free of": "without", "free from": "without",
    "frei von": "ohne", "still to be": "not yet",
    "yet to be": "not yet",
    "not exceed": "at most", "not exceeding": "at most", "no more than": "at most",
    "not more than": "at most", "no less than": "at least", "not less than": "at least",
    "nicht übersteigen": "höchstens", "nicht überschreiten": "höchstens",
    "nicht mehr als": "höchstens", "nicht weniger als": "mindestens",
    "gave up": "stopped", "given up": "stopped", "gives up": "stopped", "cut out": "stopped",
    "swore off": "stopped", "does not change": "still", "has not changed": "still",
    "not changed": "still", "unchanged": "still", "ändert sich nicht": "weiterhin",
    "nicht geändert": "weiterhin", "unverändert": "weiterhin",
    "ausgenommen": "außer", "excluding": "except", "apart from": "except", "save for": "except",
    "en lugar de": "sin", "en vez de": "sin", "au lieu de": "sans", "plutôt que": "sans",
}  # fmt: skip
_PHRASE = re.compile(
    r"(?<![\w.])(?:"
    + "|".join(map(re.escape, sorted(_PHRASES, key=len, reverse=True)))
    + r")(?!\w)",
    re.IGNORECASE,
)
# Short names of days; in small letters they are other words.
_DAYS = {
    "Mon": "Monday",
    "Tue": "Tuesday",
    "Tues": "Tuesday",
    "Wed": "Wednesday",
    "Thu": "Thursday",
    "Thurs": "Thursday",
    "Fri": "Friday",
    "Sat": "Saturday",
    "Sun": "Sunday",
}
_DAY = re.compile(rf"\b(?:{'|'.join(_DAYS)})\b")
_ORDINAL = re.compile(
    r"\b(erst|zweit|dritt|viert|fünft|sechst|siebt|acht|neunt|zehnt)e[nrms]?\b", re.IGNORECASE
)
_ORDINALS = [
    "erst",
    "zweit",
    "dritt",
    "viert",
    "fünft",
    "sechst",
    "siebt",
    "acht",
    "neunt",
    "zehnt",
]
_TIMES = re.compile(r"\b(\w+?)mal\b|(?<=\d)\s?[x×](?!\w)", re.IGNORECASE)
# English and German numbers of two words: "twenty-five", "fünfundzwanzig".
_TENS = {
    word: int(number)
    for word, number in NUMBERS.items()
    if number in {"20", "30", "40", "50", "60"}
}
_ONES = {word: int(number) for word, number in NUMBERS.items() if number in set("123456789")}
_ONES |= {"ein": 1, "one": 1}
_TEENS = (
    dict(
        zip(
            ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"],
            range(13, 20),
            strict=True,
        )
    )
    | dict(
        zip(
            ["dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"],
            range(13, 20),
            strict=True,
        )
    )
    | {"seventy": 70, "eighty": 80, "ninety": 90, "siebzig": 70, "achtzig": 80, "neunzig": 90}
)
# "Sixtieth", "sechzigsten", "zwölften".
_GREAT_ORDINAL = re.compile(
    rf"\b({'|'.join([*_TEENS, *_TENS, 'elf', 'zwölf'])})(?:s?te[nrms]?|th)\b"
    r"|\b(twent|thirt|fort|fift|sixt|sevent|eight|ninet)ieth\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    rf"\b(?:(?P<ten>{'|'.join(_TENS)})[- ](?P<one>{'|'.join(_ONES)})"
    rf"|(?P<ein>{'|'.join(_ONES)})und(?P<zig>{'|'.join(_TENS)})|(?P<teen>{'|'.join(_TEENS)}))\b",
    re.IGNORECASE,
)
# Words that say something else in the other languages.
_NUMBERS_OF_ONE_LANGUAGE = {
    "es": {"once": "11", "trece": "13", "catorce": "14", "quince": "15", "dieciséis": "16"},
    "fr": {
        "sept": "7",
        "cent": "100",
        "treize": "13",
        "quatorze": "14",
        "quinze": "15",
        "seize": "16",
    },
}

_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(NUMBERS)})\b(?!-)", re.IGNORECASE)
# "Fünfjährig", "dreistündig", "Zweizimmerwohnung", "5-jährig", "five-year".
_COMPOUND_NUMBER = re.compile(
    rf"\b({'|'.join((*_ONES, *NUMBERS))}|\d+)(?:-(?=[a-z])"
    r"|-?(?=(?:jähr|monat|wöch|täg|stünd|minüt|zimmer|köpf)\w))",
    re.IGNORECASE,
)
_IN_LAW = re.compile(r"\b(\w+)[- ]in[- ]law\b", re.IGNORECASE)
_MINUTES = re.compile(r"(?<=\d) min\b\.?", re.IGNORECASE)
_FUSED = re.compile(
    r"(?<![\w.,:])(\d+(?:[.,:]\d+)?)(km|cm|mm|m|kg|g|mg|l|ml|h|min|s|am|pm|gb|mb|tb)\b",
    re.IGNORECASE,
)
_MERIDIEM = re.compile(r"\b(\d{1,2})(?:[:.](\d\d))?\s?(a|p)\.?m\b\.?", re.IGNORECASE)
_O_CLOCK = re.compile(
    r"\b(\d{1,2})(?:[.:](\d\d))?\s?(?:uhr\b|o'clock|h\b(?=\s?\d\d\b|\b))", re.IGNORECASE
)
_HALF_GERMAN = re.compile(r"\bhalb (\w+)\b", re.IGNORECASE)
_HOUR_DIGITS = 2
_HALF_ENGLISH = re.compile(r"\bhalf past (\w+)\b", re.IGNORECASE)
# "2.12." may be a version at the end of a sentence.
_GERMAN_DATE = re.compile(
    r"((?<![\d.,])(?<!\d\s))([12]?\d|3[01])\.\s?(1[0-2]|0?[1-9])\.(?=\s?[,;)–\w])(?!\s?\d)|"
    r"(\b(?:am|ab|vom|bis|zum|den|dem|ca\.|about) |[\w:] ?, |[:–] |\()"
    r"(\d{1,2})\.\s?(1[0-2]|0?[1-9])\.(?!\s?\d)"
)
_GERMAN_MONTHS = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
]
_NUMBER_SIGN = re.compile(r"\bno\.\s?(?=\d)", re.IGNORECASE)
_PREFERRED_OVER = re.compile(
    r"\b((?:prefer|chose|pick|select|favour|favor)\w*\b[^,;.]*?) over\b", re.IGNORECASE
)
_NO_LONGER_FRENCH = re.compile(r"\b((?:ne\s|n')\w+) plus\b", re.IGNORECASE)
_SIGNS = {"€": " euro ", "£": " pound ", "$": " dollar ", "～": "〜", "&": " and ", "≈": " about "}
_FRACTIONS = {"½": "5", "¼": "25", "¾": "75"}
_FRACTION = re.compile(r"(\d*)\s?([½¼¾])")
# Two numbers and what is between them: "18–27 Dec", "10-12.30". Longer rows are dates or phones.
_RANGE = re.compile(
    r"(?<![\d.:/-])(\d{1,2}(?:[.:]\d\d)?)(\.?)\s?[-–—]\s?(\d{1,2}(?:[.:]\d\d)?)(?![\d:-])"
)
_THOUSANDS = re.compile(
    r"(?<=\d),(?=\d{3}(?!\d))|(?<=\b\d)[ \xa0\u202f](?=\d{3}\b)|(?<=\b\d\d)[ \xa0\u202f](?=\d{3}\b)"
)

_KANJI = dict(zip("〇一二三四五六七八九", range(10), strict=True)) | {"零": 0, "両": 2, "两": 2}
_COUNTERS = (
    "回日時分歳才人匹頭個枚本冊年月週点點天次岁歲周个名杯台階番度円元万千百キロ箱軒世代泊つ割文"
    "行章問曲品種通件組部字語駅秒倍"
)
_KANJI_NUMBER = re.compile(
    rf"第[一二三四五六七八九十]+|[一二三四五六七八九十百〇両两]+(?=[{_COUNTERS}か-ヶカケ])"
)
_CJK_TIME = re.compile(r"(\d{1,2})[時点點](?:(半)|(\d{1,2})分)?")
_CJK_DATE = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})(?![\d/])")
_CJK_DAY = re.compile("[（(]([月火水木金土日])[)）]")
_CJK_SECOND_DAY = re.compile(r"(\d{1,2}月)(\d{1,2}日)([^\d月日]{1,4})(\d{1,2}日)")
_CJK_EVERY_TWO = re.compile("隔(?=[週日月年])")
_CJK_UNITS = {
    "大晦日": "12月31日",
    "元日|元旦": "1月1日",
    "正午": "12:00",
    "半年": "6か月",
    "キロメートル": "km",
    "キロ": "km",
    "メートル(?!法)": "m",
    "ユーロ": " euro ",
    "変わらない|変わりない|変わりなし|変更(?:は|が)?な[しい]": "同じ",
    "を?超え(?:ない|ず)": "以内",
    "の代わりに": "ではなく、",
    "の代わり": "もうなし",
}


@lru_cache(maxsize=8_000)
def level_quantities(text: str, language: str = "") -> str:
    """*language*: of the text (``memory.text_languages``)."""
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    text = _FRACTION.sub(lambda found: f"{found[1] or 0}.{_FRACTIONS[found[2]]}", text)
    text = _THOUSANDS.sub("", text)
    text = _RANGE.sub(r"\1\2 – \3", text)
    if language == "cjk":
        return _level_unspaced(text)
    for word, number in _NUMBERS_OF_ONE_LANGUAGE.get(language, {}).items():
        text = re.sub(rf"\b{word}\b", number, text)
    text = _NUMBER_SIGN.sub("number ", text)
    text = _HALF_GERMAN.sub(lambda found: _half(found, -1), text)
    text = _HALF_ENGLISH.sub(lambda found: _half(found, 0), text)
    text = _GREAT_ORDINAL.sub(_great_ordinal, text)
    text = _NUMBER.sub(_number, text)
    text = _NUMBER_WORD.sub(lambda found: NUMBERS[case_key(found[0])], text)
    text = _TIMES.sub(_times, text)
    text = _MINUTES.sub(" minutes", _FUSED.sub(r"\1 \2", text))
    text = _COMPOUND_NUMBER.sub(_compound_number, text)
    text = _IN_LAW.sub(r"\1inlaw", text)
    if language == "de":
        text = _GERMAN_DATE.sub(_german_date, text)
    if language in {"en", ""}:
        text = _MERIDIEM.sub(_meridiem, text)
        text = _DAY.sub(lambda found: _DAYS[found[0]], text)
    text = _O_CLOCK.sub(lambda found: f"{found[1]}:{found[2] or '00'}", text)
    text = _ORDINAL.sub(lambda found: str(_ORDINALS.index(case_key(found[1])) + 1), text)
    text = _NO_LONGER_FRENCH.sub(r"\1 pas", text)
    text = _PREFERRED_OVER.sub(r"\1 instead without", text)
    return _PHRASE.sub(_phrase, text)


def _phrase(found: re.Match[str]) -> str:
    word = _PHRASES[case_key(found[0])]
    return word.capitalize() if found[0][0].isupper() else word


def _number(found: re.Match[str]) -> str:
    if found["teen"]:
        return str(_TEENS[case_key(found["teen"])])
    ten, one = found["ten"] or found["zig"], found["one"] or found["ein"]
    return str(_TENS[case_key(ten)] + _ONES[case_key(one)])


def _great_ordinal(found: re.Match[str]) -> str:
    word = case_key(found[1] or f"{found[2]}y")
    return str(_TEENS.get(word) or NUMBERS.get(word, word))


def _compound_number(found: re.Match[str]) -> str:
    number = case_key(found[1])
    return f"{_ONES.get(number) or NUMBERS.get(number, number)} "


def _german_date(found: re.Match[str]) -> str:
    lead, day, month = found.groups()[:3] if found[2] else found.groups()[3:]
    return f"{lead}{day}. {_GERMAN_MONTHS[int(month) - 1]}"


def _times(found: re.Match[str]) -> str:
    if found[1] is None:
        return " times"
    number = NUMBERS.get(case_key(found[1]))
    return f"{number} mal" if number else found[0]


def _meridiem(found: re.Match[str]) -> str:
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    return f"{hour}:{found[2] or '00'}"


def _half(found: re.Match[str], shift: int) -> str:
    number = NUMBERS.get(case_key(found[1]), found[1])
    is_hour = number.isdecimal() and len(number) <= _HOUR_DIGITS
    return f"{int(number) + shift}:30" if is_hour else found[0]


def _level_unspaced(text: str) -> str:
    text = re.sub("、(?=\\d)", "、 ", text)
    text = re.sub(r"(\d\.\d+)(?=[^\d\s.])", r"\1 ", text)
    text = _CJK_EVERY_TWO.sub("2", text)
    text = re.sub(r"(\d{1,2})(?=\s?[–〜~-]\s?\d{1,2}月)", r"\1月", text)
    text = _KANJI_NUMBER.sub(lambda found: _kanji_number(found[0]), text)
    for unit, plain in _CJK_UNITS.items():
        text = re.sub(unit, plain, text)
    text = _CJK_DAY.sub(r"(\1曜日)", text)
    text = _CJK_SECOND_DAY.sub(r"\1\2\3\1\4", text)
    text = _CJK_DATE.sub(r"\1月\2日", text)
    return _CJK_TIME.sub(_cjk_time, text)


def _kanji_number(run: str) -> str:
    lead, run = ("第", run[1:]) if run[0] == "第" else ("", run)
    if "十" not in run and "百" not in run:
        return lead + "".join(str(_KANJI[char]) for char in run)
    total, value = 0, 0
    for char in run:
        if char in "十百":
            total += (value or 1) * (10 if char == "十" else 100)
            value = 0
        else:
            value = _KANJI[char]
    return f"{lead}{total + value}"


def _cjk_time(found: re.Match[str]) -> str:
    # "24時間" is a length.
    if (
        found.string[found.end(0) : found.end(0) + 1] in {"間", "制"}
        and not found[2]
        and not found[3]
    ):
        return found[0]
    return f" {found[1]}:{'30' if found[2] else (found[3] or '00').zfill(2)} "
