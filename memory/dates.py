"""Recognises dates in texts in many forms: 2026-11-30, 30.11.2026, 11/30/2026, 30 November 2026,
November 30, 30. November, 30 de noviembre, 2026年11月30日."""

import re
from typing import Final

from jenny.text_normalisation import fold

_NAMES: Final = (
    "january jan januar jänner enero janvier gennaio janeiro",
    "february feb februar febrero février fevrier febbraio fevereiro",
    "march mar märz maerz mrz marzo mars março",
    "april apr abril avril aprile",
    "may mai mayo maggio maio",
    "june jun juni junio juin giugno junho",
    "july jul juli julio juillet luglio julho",
    "august aug agosto août aout",
    "september sep sept septiembre septembre settembre setembro",
    "october oct oktober okt octubre octobre ottobre outubro",
    "november nov noviembre novembre novembro",
    "december dec dezember dez diciembre décembre decembre dicembre dezembro",
)
MONTHS: Final = {name: at for at, row in enumerate(_NAMES, 1) for name in row.split()}
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_DAY = r"(?P<{0}>\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?"

_FORMS: Final = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?<![\da-zA-Z_])(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})(?:[T ](?=\d\d:))?(?![\d-])",
        r"\b(?P<y>\d{4})/(?P<m>\d{1,2})/(?P<d>\d{1,2})(?!\d)",
        r"(?P<y>\d{4})年(?P<m>\d{1,2})月(?:(?P<d>\d{1,2})日)?",
        r"(?<!\d)(?P<m>\d{1,2})月(?P<d>\d{1,2})日",
        r"\b(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4})\b",
        r"\b(?P<a>\d{1,2})[/-](?P<b>\d{1,2})[/-](?P<y>\d{4})\b",
        (
            rf"\b{_DAY.format('d')}\s+(?:de\s+|of\s+)?(?P<n>{_MONTH})\b\.?"
            r"(?:,?\s+(?:de\s+|of\s+)?(?P<y>\d{4})\b)?"
        ),
        rf"\b(?P<n>{_MONTH})\b\.?\s+{_DAY.format('d')}(?!\d)(?:,?\s+(?P<y>\d{{4}})\b)?",
        rf"\b(?P<n>{_MONTH})\b\.?\s+(?:de\s+|of\s+)?(?P<y>\d{{4}})\b",
        r"(?<![\d./-])(?P<m>1[0-2]|0\d)[./](?P<y>(?:19|20)\d\d)(?![\d./-])",
        r"(?<![\d./-])(?P<y>(?:19|20)\d\d)-(?P<m>1[0-2]|0\d)(?![\d./-])",
    )
)
_MONTHS_IN_A_YEAR = 12


def extract_dates(text: str) -> tuple[list[str], str]:
    """The dates in *text*, each as ``Y-M-D``, and the text without them."""
    return split_marked(marked(text.replace("\x02", " "), "\x02"), "\x02")


def split_marked(text: str, mark: str) -> tuple[list[str], str]:
    """The dates between two *marks*, and the text without them."""
    pattern = re.compile(f"{mark}(.*?){mark}")
    return pattern.findall(text), pattern.sub("", text)


def marked(text: str, mark: str) -> str:
    """Return *text* with every date as ``Y-M-D`` between two *marks*; missing parts are 0.

    3/4/2026 is read with the day first, 3/14/2026 with the month first.
    """
    if not any(char.isdigit() for char in text):
        return text

    def date(match: re.Match[str]) -> str:
        parts = match.groupdict()
        month = MONTHS.get(fold(parts.get("n") or "")) or int(parts.get("m") or 0)
        day = int(parts.get("d") or 0)
        if parts.get("a"):
            day, month = int(parts["a"]), int(parts["b"])
            if month > _MONTHS_IN_A_YEAR:
                day, month = month, day
        return f" {mark}{int(parts.get('y') or 0)}-{month}-{day}{mark} "

    for form in _FORMS:
        text = form.sub(date, text)
    return text
