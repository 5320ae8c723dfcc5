"""Dates in texts, in whatever form people write them: 2026-11-30, 30.11.2026, 11/30/2026,
30 November 2026, November 30, 30. November, 30 de noviembre, 2026年11月30日."""

import re
from typing import Final

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
        r"\b(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})(?:[T ](?=\d\d:))?(?![\d-])",
        r"\b(?P<y>\d{4})/(?P<m>\d{1,2})/(?P<d>\d{1,2})\b",
        r"(?P<y>\d{4})年(?P<m>\d{1,2})月(?:(?P<d>\d{1,2})日)?",
        r"\b(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4})\b",
        r"\b(?P<a>\d{1,2})[/-](?P<b>\d{1,2})[/-](?P<y>\d{4})\b",
        (
            rf"\b{_DAY.format('d')}\s+(?:de\s+|of\s+)?(?P<n>{_MONTH})\b\.?"
            r"(?:,?\s+(?:de\s+|of\s+)?(?P<y>\d{4})\b)?"
        ),
        rf"\b(?P<n>{_MONTH})\b\.?\s+{_DAY.format('d')}(?!\d)(?:,?\s+(?P<y>\d{{4}})\b)?",
        rf"\b(?P<n>{_MONTH})\b\.?\s+(?:de\s+|of\s+)?(?P<y>\d{{4}})\b",
    )
)
_MONTHS_IN_A_YEAR = 12


def take(text: str) -> tuple[list[str], str]:
    """The dates in *text*, each as ``Y-M-D`` with 0 for what it leaves open, and the text without
    them. Of 3/4/2026 the day is taken to come first, of 3/14/2026 it cannot."""
    if not any(char.isdigit() for char in text):
        return [], text
    found: list[str] = []

    def noted(match: re.Match[str]) -> str:
        parts = match.groupdict()
        month = MONTHS.get((parts.get("n") or "").casefold()) or int(parts.get("m") or 0)
        day = int(parts.get("d") or 0)
        if parts.get("a"):
            day, month = int(parts["a"]), int(parts["b"])
            if month > _MONTHS_IN_A_YEAR:
                day, month = month, day
        found.append(f"{int(parts.get('y') or 0)}-{month}-{day}")
        return " "

    for form in _FORMS:
        text = form.sub(noted, text)
    return found, text
