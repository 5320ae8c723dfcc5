"""Fact tags: how long a fact holds, and the day that it is about.

A fact is one line, ``- [tag] text``. The tags are those of ``TAGS``; one with a day is written
``[dated 2026-12-04]``, ``[dated 2026-12-04 15:00]`` or ``[dated 2026-12-04 to 2026-12-06]``, and
a day may follow another tag: ``[correction, dated 2026-12-11]``. ``parse_strict`` reads that.
``parse_lenient`` reads the variants of small models: tags in other languages, in bold, in other
brackets, before a colon, at the end of the line.
"""

import datetime as dt
import re
from dataclasses import dataclass
from typing import Final

from jenny.text_normalisation import case_key, fold
from memory import dates

TAGS: Final = ("permanent", "durable", "dated", "ephemeral", "correction", "skip", "forget")
# A day inside a tag.
_DAY = r"\d{4}-\d{2}-\d{2}"
_TIME = r"\d{1,2}:\d{2}"
_WHEN = (
    rf"{_DAY}(?:[ T]{_TIME}(?: ?[-\u2013] ?{_TIME})?)?(?: ?(?:to|/|\u2013) ?{_DAY}(?: {_TIME})?)?"
)
_PLAIN = "|".join(tag for tag in TAGS if tag != "dated")
_STRICT = re.compile(
    rf"(?:[-*+•–]|\d{{1,3}}[.)])?[ \t]*[*_`]{{0,3}}"
    rf"\[(?P<tag>(?:{_PLAIN})(?:, ?dated {_WHEN})?|dated {_WHEN})\][*_`:]{{0,4}}[ \t]*(?P<text>.*)",
    re.IGNORECASE,
)
_ISO = re.compile(_DAY)
_STAMP = re.compile(rf"({_DAY})(?:[ T]({_TIME}))?")

# Names of the tags by language, as models write them. An ambiguous word stands for the tag that
# keeps the fact longer.
_NAMES: Final[dict[str, str]] = {
    "permanent": """
        permanent|permanently|forever|lifelong
        |für immer|lebenslang|immerwährend|permanente|para siempre|para sempre|per sempre|blijvend
        |voor altijd|stały|stałe|stała|na stałe|trvalý|trvalé|trvalá|trvale|natrvalo
        |постоянный|постоянное|постоянная|постоянно|навсегда|kalıcı|永久|永久的|永続|永続的|恒久|恒久的
        |영구|영구적|دائم|دائمة|स्थायी|permanentní|bestående""",
    "durable": """
        durable|lasting|long term|longterm|persistent
        |dauerhaft|langfristig|beständig|langlebig|duradero|duradera|duradouro|duradoura|durável
        |duraturo|duratura|durevole|duurzaam|langdurig|trwały|trwałe|trwała|długotrwały|długotrwałe
        |dlouhodobý|dlouhodobé|dlouhodobá|dlouhodobě|долговременный|долговременное|долговременно
        |долгосрочный|долгосрочное|долгосрочная|длительный|длительное|uzun vadeli|uzun süreli
        |dayanıklı|長期|長期的|持続|持続的|耐久|长期|长期的|持久|持久的|지속|지속적|장기|장기적
        |طويل الأمد|طويل المدى|مستدام|مستمر|टिकाऊ|दीर्घकालिक|varaktig""",
    "ephemeral": """
        ephemeral|temporary|short term|transient
        |vorübergehend|kurzfristig|flüchtig|kurzlebig|éphémère|temporaire|passager|passagère
        |efímero|efímera|temporal|efêmero|efêmera|efémero|efémera|temporário|temporária
        |effimero|effimera|temporaneo|temporanea|vluchtig|tijdelijk|kortstondig
        |ulotny|ulotne|ulotna|tymczasowy|tymczasowe|tymczasowa|chwilowe|krótkotrwałe
        |dočasný|dočasné|dočasná|přechodný|přechodné|pomíjivé|временный|временное|временная|временно
        |мимолётный|мимолетный|кратковременный|краткосрочный|geçici|kısa süreli
        |一時|一時的|短期|短期的|临时|臨時|暂时|暫時|短暂|短暫|일시|일시적|임시|단기
        |مؤقت|مؤقتة|عابر|अस्थायी|क्षणिक|tillfällig""",
    "correction": """
        correction|corrected|corrections
        |korrektur|berichtigung|korrigiert|corrección|correção|correcção|correzione|correctie
        |korekta|poprawka|sprostowanie|oprava|korekce|исправление|поправка|коррекция|düzeltme
        |訂正|修正|更正|纠正|糾正|정정|수정|تصحيح|सुधार|संशोधन|rättelse|korrigering""",
    "skip": """
        skip|skipped|ignore
        |überspringen|auslassen|weglassen|ignorer|omettre|passer|omitir|saltar|ignorar|pular
        |salta|saltare|ignorare|overslaan|pomiń|pominąć|pominięte|přeskočit|vynechat
        |пропустить|пропуск|пропущено|atla|atlandı|スキップ|省略|無視|跳过|跳過|略過|忽略
        |건너뛰기|생략|무시|تخطي|تجاهل|छोड़ें|छोड़ दें|hoppa över""",
    "forget": """
        forget|forgotten|to forget|to be forgotten|vergessen|vergiss|oublier|à oublier|olvidar
        |esquecer|dimenticare|vergeten|zapomnieć|zapomnij|zapomenout|забыть|забудь|unut|unutulacak
        |忘却|忘れる|忘れて|忘记|忘記|잊기|잊어|نسيان|انس|भूलना|glömma""",
    # Only together with a day.
    "dated": """
        dated|date|due|due on|due by|deadline|until|datiert|datum|termin|fällig|fällig am|bis|frist
        |daté|datée|échéance|jusqu'au|fechado|fechada|fecha|con fecha|vence|datado|datada|data
        |datato|datata|scadenza|gedateerd|datowany|datowane|z datą|termin|datovaný|datované
        |датированный|датировано|дата|срок|до|tarihli|tarih|日付|期日|期限|締切|日期|有日期|截止
        |날짜|기한|마감|مؤرخ|بتاريخ|تاريخ|दिनांकित|दिनांक|तारीख|daterad""",
}
_TAG_OF: Final[dict[str, str]] = {}
for _tag, _row in _NAMES.items():
    for _name in _row.split("|"):
        _TAG_OF.setdefault(fold(" ".join(_name.split())), _tag)
# Of several tags in one bracket the first in this order counts.
_ORDER = ("forget", "correction", "permanent", "durable", "ephemeral", "skip", "dated")

_BULLET = re.compile(
    r"(?:[-*+•–·・◦▪‣](?=[ \t\u3000]|\*\*|__|[\[(【（［〔「『<])"
    r"|\(?\d{1,3}[.)．）、](?!\d)|[①-⑳])[ \t\u3000]*"
)
_EMPHASIS = "*_`~"
_PAIRS = {
    "[": "]",
    "［": "］",
    "【": "】",
    "〔": "〕",
    "(": ")",
    "（": "）",
    "「": "」",
    "『": "』",
    "<": ">",
    "{": "}",
}
_LONGEST_TAG = 80
_BEFORE_COLON = re.compile(
    r"[*_`~]{0,3}([^\W\d_][^:：\[\]*_`~|]{1,28}?)[*_`~]{0,3}[ \t]?[:：][*_`~]{0,3}[ \t\u3000]*"
)
_IN_BOLD = re.compile(r"(\*{1,3}|_{1,3}|`)([^\W\d_][^*_`:：]{1,28}?)\1[ \t\u3000]+(?=\S)")
_AFTER_TAG = re.compile(
    r"[*_`~]{0,3}[ \t\u3000]*(?:[:：–—-](?=[\s*_`~]|[^\x00-\x7f]))?[*_`~]{0,3}[ \t\u3000]*"
)
_SPLIT = re.compile(r"\s*[,;/|+&、，；・]\s*|\]\s*\[|\s+and\s+")
_UNKNOWN = re.compile(r"[^\W\d_][\w \t-]{0,23}")
_TABLE = re.compile(r"\|([^|]{1,80})\|(.+?)\|?")


@dataclass(frozen=True, slots=True)
class Line:
    """A parsed line.

    *tag* is empty without one; *when* is the day of the tag as written (``2026-12-04 15:00``);
    *is_listed*: it has a bullet or a number.
    """

    tag: str
    text: str
    when: str = ""
    is_listed: bool = False

    @property
    def rendered(self) -> str:
        """Return the line in the history's format, with the tag ``durable`` when it has none."""
        return f"- {bracket(self.tag or 'durable', self.when)} {self.text}"


def bracket(tag: str, when: str = "") -> str:
    if tag == "dated" or not when:
        return f"[{tag} {when}]" if when else f"[{tag}]"
    return f"[{tag}, dated {when}]"


def parse_strict(line: str) -> Line | None:
    """Parse a line in the history's format; ``None`` without a tag."""
    found = _STRICT.fullmatch(line.strip())
    if found is None:
        return None
    tag, _, when = (
        found["tag"].partition("dated ") if "ated" in found["tag"] else (found["tag"], "", "")
    )
    name = case_key(tag.strip(" ,")) or "dated"
    return Line(name, found["text"], when, is_listed=True)


def last_day(when: str) -> dt.date | None:
    days = [day for text in _ISO.findall(when) if (day := _day(text))]
    return max(days, default=None)


def strip_tag(line: str) -> str:
    """Return the text of a history line without bullet and tag."""
    found = parse_strict(line)
    return found.text if found else re.sub(r"^\s*(?:[-*+•–]|\d{1,3}[.)])\s+", "", line).strip()


def parse_lenient(line: str) -> Line:
    """Parse a line of a model's answer, however it writes its tag."""
    plain = line.strip()
    bullet = _BULLET.match(plain)
    rest = plain[bullet.end() :] if bullet else plain
    if not bullet and (row := _TABLE.fullmatch(plain)):
        tag, when = _resolved(row[1])
        text = row[2].strip()
        if tag and any(map(str.isalnum, text)):
            return _made(tag, when, text, is_listed=True)
    is_listed = bullet is not None
    for read in (_in_brackets, _before_colon, _in_bold, _at_the_end):
        if found := read(rest):
            tag, when, text = found
            return _made(tag, when, text, is_listed=is_listed)
    return Line("", _without_unknown(rest), is_listed=is_listed)


def heading_tag(line: str) -> str:
    """Return the tag of a line that holds nothing else: ``## Durable``, ``**Permanent
    facts:**``."""
    plain = line.strip().lstrip("#").strip().strip(_EMPHASIS).rstrip(":：").strip(_EMPHASIS).strip()
    if plain[:1] in _PAIRS and plain.endswith(_PAIRS[plain[0]]):
        plain = plain[1:-1]
    plain = re.sub(r"(?i)\s+(?:facts?|notes?|items?)$", "", plain)
    tag, when = _resolved(plain)
    return tag if not when and tag != "dated" else ""


def _made(tag: str, when: str, text: str, *, is_listed: bool) -> Line:
    text = _balanced(text.strip())
    if tag == "dated" and not when:
        when = _day_in(text)
        tag = "dated" if when else "ephemeral"
    return Line(tag, text, when, is_listed)


def _in_brackets(text: str) -> tuple[str, str, str] | None:
    start = len(text) - len(text.lstrip(_EMPHASIS))
    opening = text[start : start + 1]
    if opening not in _PAIRS or not opening:
        return None
    end = text.find(_PAIRS[opening], start + 1, start + _LONGEST_TAG)
    # Several brackets in a row are one: "[permanent][correction]".
    while end > 0 and text[end + 1 : end + 2] == opening and _resolved(_inner(text, end + 1))[0]:
        end = text.find(_PAIRS[opening], end + 2, end + _LONGEST_TAG)
    if end < 0:
        return None
    tag, when = _resolved(text[start + 1 : end])
    if not tag:
        return None
    after = _AFTER_TAG.match(text, end + 1)
    return tag, when, text[after.end() if after else end + 1 :]


def _inner(text: str, start: int) -> str:
    end = text.find(_PAIRS[text[start]], start + 1, start + _LONGEST_TAG)
    return text[start + 1 : end] if end > 0 else ""


def _before_colon(text: str) -> tuple[str, str, str] | None:
    found = _BEFORE_COLON.match(text)
    tag, when = _resolved(found[1]) if found else ("", "")
    return (tag, when, text[found.end() :]) if found and tag and tag != "dated" else None


def _in_bold(text: str) -> tuple[str, str, str] | None:
    found = _IN_BOLD.match(text)
    tag, when = _resolved(found[2]) if found else ("", "")
    return (tag, when, text[found.end() :]) if found and tag and tag != "dated" else None


def _at_the_end(text: str) -> tuple[str, str, str] | None:
    plain = text.rstrip(f"{_EMPHASIS}.。 \t")
    # No round brackets: "(until 2026-12-04)" is part of the fact.
    opening = next((one for one in "[［【" if plain.endswith(_PAIRS[one])), "")
    start = plain.rfind(opening, max(0, len(plain) - _LONGEST_TAG)) if opening else -1
    if start < 1:
        return None
    tag, when = _resolved(plain[start + 1 : -1])
    return (tag, when, text[:start].rstrip(f"{_EMPHASIS} \t")) if tag else None


def _resolved(text: str) -> tuple[str, str]:
    """Return the tag and the day of a bracket's text; empty without a tag."""
    when = _when(text)
    rest = _named(text, when)
    parts = [part for part in _SPLIT.split(rest) if part.strip()]
    tags = {_TAG_OF.get(_plain(part), "") for part in parts}
    if not tags or "" in tags:
        return "", ""
    if "dated" in tags and not when and not (tags == {"dated"} and _plain(rest) == "dated"):
        return "", ""
    tag = next(name for name in _ORDER if name in tags)
    if tag == "ephemeral" and when:
        tag = "dated"
    return tag, when


def _named(text: str, when: str) -> str:
    if not when:
        return text
    rest = _STAMP.sub(" ", text)
    rest = dates.extract_dates(rest)[1]
    rest = re.sub(rf"{_TIME}|(?<!\w)(?:to|bis|at|um|à|a las|on|am|le|el)(?!\w)", " ", rest)
    return rest.strip(" \t:：–—-/~")


def _when(text: str) -> str:
    stamps = [row for row in _STAMP.finditer(text) if _day(row[1])]
    if stamps:
        first, last = stamps[0], stamps[-1]
        time = f" {first[2].zfill(5)}" if first[2] else ""
        return first[1] + (f" to {last[1]}" if last[1] > first[1] else time)
    return _day_in(text)


def _day_in(text: str) -> str:
    return max(map(str, days_in(text)), default="")


def days_in(text: str) -> list[dt.date]:
    """Return the days that a text names with their year."""
    found = []
    for row in dates.extract_dates(text)[0]:
        year, month, day = map(int, row.split("-"))
        try:
            found.append(dt.date(year, month, day))
        except ValueError:  # it leaves the year or the day open, or there is no such day
            continue
    return found


def _day(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def _plain(text: str) -> str:
    folded = fold(text.strip().strip(_EMPHASIS))
    return " ".join(folded.replace("-", " ").replace("_", " ").split())


def _without_unknown(text: str) -> str:
    """Turn an unknown tag into words of the fact, so that no file has it as a tag."""
    start = len(text) - len(text.lstrip(_EMPHASIS))
    if text[start : start + 1] not in ("[", "【", "［"):
        return _balanced(text.strip())
    end = text.find(_PAIRS[text[start]], start + 1, start + _LONGEST_TAG)
    inner = text[start + 1 : end] if end > 0 else ""
    if not inner.strip():
        return text[end + 1 :].strip() if end > 0 else text.strip()
    if not _UNKNOWN.fullmatch(inner) or text[end + 1 : end + 2] in ("(", "["):
        return text.strip()
    after = _AFTER_TAG.match(text, end + 1)
    said = text[after.end() if after else end + 1 :].strip()
    return f"{inner.strip()}: {_balanced(said)}" if said else text.strip()


def _balanced(text: str) -> str:
    """Remove the end of an emphasis that began before the tag."""
    for sign in ("***", "**", "__", "*", "_", "`"):
        if text.endswith(sign) and text.count(sign) % 2:
            return text[: -len(sign)].rstrip()
    return text
