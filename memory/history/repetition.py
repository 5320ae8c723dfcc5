"""Notes repeated tasks in a summary with their day, so that Dream sees them twice and can make a
skill of them."""

import datetime as dt
import re
from collections.abc import Iterable

from memory import text_similarity
from memory.history import fact_tags

# Phrases of a summary for a request, by language.
_ASKED = re.compile(
    r"\b(?:asks?|asked|requests?|requested|wanted (?:help|a|an|the)|needs? (?:help|an?) )\b"
    r"|\b(?:bat|bittet|gebeten|wünscht|wünschte|verlangt|möchte|wollte|demande|demandé|pide)\b"
    r"|\b(?:pidió|solicita|solicitó|pede|pediu|solicitou|chiede|chiesto|vraagt|vroeg|gevraagd)\b"
    r"|\b(?:prosi|prosił|prosiła|poprosił|poprosiła|žádá|požádal|požádala|chtěl|chtěla)\b"
    r"|\b(?:попросил|попросила|просит|просил|просила|istedi|istiyor|rica etti)\b"
    r"|頼ん|頼み|依頼|求め|要求|请求|要我|让我|請求|요청|부탁|طلب|माँगा|मांगा|मांगी|कहा",
    re.IGNORECASE,
)
_AGAIN = re.compile(r"^Asked again on \S+(?: \S+ \d{4})?: ", re.IGNORECASE)
ABOUT = (
    "Asked for before. When the USER asks for one of these again, write it again, as "
    '"[durable] Asked again on <day>: …":'
)


def is_task(line: str) -> bool:
    """True when a line records a request."""
    return _AGAIN.match(fact_tags.strip_tag(line)) is not None or _ASKED.search(line) is not None


def note_repeated(answer: str, recorded: str, day: dt.date | None) -> str:
    """Return a summary in which each recorded task says that it was requested again."""
    known = [line for line in recorded.split("\n") if is_task(line)]
    if not known or day is None:
        return answer
    index = text_similarity.Index(_without_again(known))
    return "\n".join(_noted(line, index, day) for line in answer.split("\n"))


def _noted(line: str, index: text_similarity.Index, day: dt.date) -> str:
    row = fact_tags.parse_strict(line)
    if row is None or not is_task(line) or _AGAIN.match(row.text) or index.find(row.text) is None:
        return line
    tag = "durable" if row.tag in ("ephemeral", "skip") else row.tag
    return f"- {fact_tags.bracket(tag, row.when)} Asked again on {day}: {row.text}"


def split_tasks(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split lines into facts and tasks."""
    rows = list(lines)
    return [row for row in rows if not is_task(row)], [row for row in rows if is_task(row)]


def _without_again(lines: Iterable[str]) -> list[str]:
    return [_AGAIN.sub("", fact_tags.strip_tag(line)) for line in lines]
