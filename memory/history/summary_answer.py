"""Parses a summariser's answer: tagged facts, or ``(nothing)``.

``- [permanent|durable|dated 2026-12-04|ephemeral|correction|skip] fact``, one bullet a fact. A
bullet without a tag counts as durable, so that the output of small models is not lost. Anything
else (an error's text, a page, a JSON object, an apology, nothing) is no answer and must not reach
the memory.
"""

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from jenny.agent.answers import split_reasoning
from memory import text_similarity
from memory.history import fact_tags

MARKS = fact_tags.TAGS
# Facts with one of these tags are kept beyond the moment.
KEPT_MARKS = frozenset({"permanent", "durable", "correction"})
NATURAL_STOPS = frozenset({"end_turn", "stop_sequence", "stop"})

_NOTHING = re.compile(
    r"[-*_`\s]*[(（](?:nothing|nichts|rien|nada|niente|niets|nic|ничего|hiçbir şey|ingenting"
    r"|なし|無し|无|無|没有|없음|لا شيء|कुछ नहीं)[)）][.。*_`\s]*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"(?:`{3,}|~{3,})[\w-]*")
_OTHER = re.compile(r"[{]|\[\s*[{]|<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
# A line of the conversation itself; an answer that repeats it is no summary.
_SPOKEN = re.compile(
    r"(?:\[[^\]\n]{0,40}\]\s{0,2})?\*{0,2}(?:user|assistant|human|tool)\*{0,2}\s?:", re.IGNORECASE
)
# Phrases of a model that declines, and of a provider's error.
_DECLINES = re.compile(
    "|".join(  # noqa: FLY002 - rows of a table
        (
            r"\bI(?:['\u2019]m| am) (?:sorry|unable|not able)|\bas an AI\b",
            r"\bI (?:can(?:['\u2019]t|not| not)|won['\u2019]t)\b|\bHTTP \d{3}\b|\bbad gateway\b",
            r"\b(?:error|exception|traceback|overloaded|unauthorized|forbidden)\b",
            r"\btut mir leid|\bich kann\b.{0,40}\bnicht\b|\bleider\b|\bdésolé|\bje ne peux pas",
            r"\blo siento|\bno puedo|\bdesculpe|\bsinto muito|\bnão posso|\bmi dispiace",
            r"\bnon posso|\bhet spijt me|\bik kan\b.{0,40}\bniet\b|\bprzepraszam|\bnie mogę",
            r"\bomlouvám|\bbohužel|\bnemohu|\bnemůžu|извините|простите|к сожалению|не могу",
            r"\büzgünüm|yapamam|申し訳|できません|お手伝いでき|抱歉|对不起|無法|无法|不能帮",
            "죄송|할 수 없|آسف|لا أستطيع|لا يمكنني|क्षमा करें|माफ़ करें|नहीं कर सकत",
        )
    ),
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A summariser's answer. *text* has a bullet a line and is empty for ``(nothing)``.
    *untagged* counts the facts without a tag, which count as durable. *forget* are the facts that
    the person asked to have forgotten; they are not in the text."""

    text: str
    untagged: int = 0
    forget: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The reason why a reply is no answer, in a few words. *is_refusal*: the model declined."""

    reason: str
    is_refusal: bool = False


def parse_answer(text: str, stop_reason: str, *, has_calls: bool = False) -> Answer | NoAnswer:
    """Parse a reply. *stop_reason* is that of the Messages API."""
    if has_calls:
        return NoAnswer("it called a tool")
    if stop_reason not in NATURAL_STOPS:
        return NoAnswer(
            f"it ended with {stop_reason or 'no reason'}", is_refusal=stop_reason == "refusal"
        )
    said, unended = split_reasoning(text)
    if said and any(is_marked for is_marked, _ in _facts(unended)):
        # A fact may only mention such a tag: then what follows is no thought.
        return NoAnswer("it did not end its thoughts")
    if _NOTHING.fullmatch(said):
        return Answer("")
    facts = list(_facts(said))
    untagged = sum(not is_marked for is_marked, _ in facts)
    if not facts or _is_other(said) or (untagged == len(facts) and _is_no_summary(said)):
        return NoAnswer(_what_it_is(text, said))
    rows = [fact for _, fact in facts]
    wishes = tuple(fact_tags.strip_tag(row.split("\n")[0]) for row in rows if _is_wish(row))
    return Answer("\n".join(row for row in rows if not _is_wish(row)), untagged, wishes)


def _is_wish(fact: str) -> bool:
    return mark_of(fact.split("\n", maxsplit=1)[0]) == "forget"


def _is_other(said: str) -> re.Match[str] | None:
    """Match a page or an object, fenced or not."""
    lines = (line for line in said.splitlines() if not _FENCE.fullmatch(line.strip()))
    return _OTHER.match("\n".join(lines).strip())


def _is_no_summary(said: str) -> bool:
    """True when a list without tags is a refusal, an error, a question or the conversation
    itself."""
    has_begun = False
    for line in said.splitlines():
        plain = line.strip()
        row = fact_tags.parse_lenient(plain)
        if row.is_listed:
            if (
                _SPOKEN.match(row.text)
                or _OTHER.match(row.text)
                or not any(map(str.isalpha, row.text))
            ):
                return True
            if not has_begun and (found := _DECLINES.search(row.text)) and found.start() < 3:  # noqa: PLR2004 - at its beginning
                return True
            has_begun = True
        elif _DECLINES.search(plain) or (not has_begun and plain.endswith(("?", "？", "؟"))):
            return True
    return False


def _what_it_is(text: str, said: str) -> str:
    if not said:
        return "it only thought aloud" if text.strip() else "it said nothing"
    if other := _is_other(said):
        return "it sent a page" if other[0].startswith("<") else "it sent a JSON object"
    return "it has no fact in it"


def mark_of(line: str) -> str:
    """Return the tag of a fact's line; empty without one."""
    row = fact_tags.parse_strict(line)
    return row.tag if row else ""


def is_kept(text: str) -> bool:
    """True when an entry has a fact that is kept beyond the moment."""
    return any(mark_of(line) in KEPT_MARKS for line in text.splitlines())


def _facts(said: str) -> Iterator[tuple[bool, str]]:
    """Yield each bullet in one format, and whether it has a tag.

    A heading that is a tag applies to the bullets below it. Lines right below a bullet and
    indented lines belong to it; text around the bullets (a greeting, a fence) is dropped.
    """
    open_fact = _OpenFact()
    group, is_apart = "", False
    for line in said.splitlines():
        plain, was_apart = line.strip(), is_apart
        is_apart = bool(not plain or _FENCE.fullmatch(plain) or _NOTHING.fullmatch(plain))
        if is_apart:
            continue
        row = fact_tags.parse_lenient(plain)
        indent = len(line) - len(line.lstrip(" \t\u3000"))
        says = any(map(str.isalnum, row.text))
        if _is_heading(plain, row, says=says):
            yield from open_fact.end()
            group = fact_tags.heading_tag(plain)
        elif row.tag and says:
            yield from open_fact.end()
            open_fact = _OpenFact(row.rendered, indent, is_marked=True)
        elif open_fact.takes(row, indent, is_apart=was_apart):
            open_fact.text += f"\n  {plain}"
        else:
            yield from open_fact.end()
            if row.is_listed and says:
                text = replace(row, tag=group).rendered
                open_fact = _OpenFact(text, indent, is_marked=bool(group))
    yield from open_fact.end()


@dataclass(slots=True)
class _OpenFact:
    text: str = ""
    indent: int = 0
    is_marked: bool = False

    def takes(self, row: fact_tags.Line, indent: int, *, is_apart: bool) -> bool:
        if not self.text:
            return False
        return indent > self.indent if row.is_listed else indent > 0 or not is_apart

    def end(self) -> Iterator[tuple[bool, str]]:
        if self.text:
            yield self.is_marked, self.text
        self.text = ""


def _is_heading(plain: str, row: fact_tags.Line, *, says: bool) -> bool:
    """True when a line is a heading: only a tag, or written as one."""
    return plain.startswith("#") or bool(row.tag and not says) or bool(fact_tags.heading_tag(plain))


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
TASK_HEADING = (
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
