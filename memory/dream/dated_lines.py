"""Lines of the memory files that name a day: those whose day has passed may go, those whose day is
still to come stay until an entry corrects them."""

import datetime as dt
from collections.abc import Iterable, Mapping
from pathlib import Path

from jenny.agent.prompt import one_line
from jenny.workspace.content import read_text
from memory import facts, suppression
from memory.dream.values import BatchEntry
from memory.files import BY_PATH, MEMORY_FILES
from memory.history import fact_tags, upcoming
from memory.history.entries import load_zone

_MOST = 20
_LINE_CHARS = 160
# What is older is no appointment that somebody forgot to take out: a birthday, the year of a move.
_PASSED_DAYS = 400
RULE = "dated"


def describe(root: Path, today: dt.date) -> str:
    """The lines with a day, for Dream's first message; empty when there are none. *root*: the real
    folder."""
    passed: list[tuple[dt.date, str]] = []
    ahead: list[tuple[dt.date, str]] = []
    for file in MEMORY_FILES:
        text = suppression.without(root, read_text(root, file.path).text).text
        for fact in facts.facts(text):
            days = (
                fact_tags.days_in(fact.text) if fact.has_content and fact.kind != "comment" else []
            )
            if not days:
                continue
            row = (max(days), f"* {file.path}: {one_line(fact.text, _LINE_CHARS)}")
            if row[0] >= today:
                ahead.append(row)
            elif (today - row[0]).days <= _PASSED_DAYS:
                passed.append(row)
    parts = [
        _listed(
            "These lines name a day that has passed. Take out those that were about that day alone "
            "(an appointment, a deadline, a bill); what says since when something holds, or when "
            "it was decided, stays.",
            sorted(passed),
        ),
        _listed(
            "These lines name a day that is still to come. They stay until it is over, unless an "
            "entry corrects them or takes them back.",
            sorted(ahead),
        ),
    ]
    return "\n\n".join(filter(None, parts))


def find_lost(
    texts: Mapping[str, tuple[str | None, str]], entries: Iterable[BatchEntry], today: dt.date
) -> tuple[str, str] | None:
    """The file and the line of a day to come that an act would take out of the files, though no
    entry that it rests on corrects it; ``None``: there is none. *texts*: by path, what each file
    says before and after."""
    new = [fact.text for _, after in texts.values() for fact in facts.facts(after)]
    news = {facts.normal(text) for text in new}
    corrections: list[str] | None = None
    for path, (before, _) in texts.items():
        for fact in facts.facts(before or "") if path in BY_PATH else ():
            ahead = [day for day in fact_tags.days_in(fact.text) if day >= today]
            if not ahead or fact.kind == "comment" or facts.normal(fact.text) in news:
                continue
            if any(_keeps(text, fact.text, max(ahead)) for text in new):
                continue
            if corrections is None:
                corrections = list(_corrections(entries))
            if not any(upcoming.is_about_same(text, fact.text, max(ahead)) for text in corrections):
                return path, fact.text
    return None


def today_in(root: Path, zone: str = "") -> dt.date:
    """The day that it is in the workspace's zone."""
    return dt.datetime.now(load_zone(root, zone)).date()


def _keeps(text: str, old: str, day: dt.date) -> bool:
    """Whether a line says of the same day what an old one says."""
    return day in fact_tags.days_in(text) and upcoming.is_about_same(text, old, day)


def _corrections(entries: Iterable[BatchEntry]) -> Iterable[str]:
    """What may take a line's place: corrections, and texts that nobody has tagged."""
    for row in entries:
        for line in row.text.split("\n"):
            found = fact_tags.parse_strict(line)
            if found is None or found.tag == "correction" or found.when:
                yield line if found is None else found.text


def _listed(about: str, rows: list[tuple[dt.date, str]]) -> str:
    if not rows:
        return ""
    more = [f"… and {len(rows) - _MOST:,} more."] if len(rows) > _MOST else []
    return "\n".join([about, "", *(text for _, text in rows[:_MOST]), *more])
