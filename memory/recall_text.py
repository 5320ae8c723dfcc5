"""Formats search results as text for the model and as Markdown for a person."""

from collections.abc import Callable

from jenny.agent.clock import with_weekday
from memory import search_sources
from memory.recall import Found, Recalled

# About 1,500 tokens for the model.
PLAIN_CHARS = 6_000
_SHOWN_CHARS = 240
_NO_WORDS = "There are no words to look for in this. Ask with a word or a number."
_GROWING = " The index is still being made, so there may be more."


def plain(found: Recalled) -> str:
    """Format for the model: every passage with its day and its place."""
    if not found.found:
        return _nothing(found)
    lines = ["Found, what fits best first:"]
    size = 0
    for count, row in enumerate(found.found):
        line = f"- {_where(found, row)}: {_line(row.text, 1_000)}"
        size += len(line)
        if count and size > PLAIN_CHARS:
            lines.append(f"{len(found.found) - count} more are left out.")
            break
        lines.append(line)
    ending = "" if found.is_whole else _GROWING
    lines.append(
        "What is asked may stand in several places: look for each thing on its own, and with other "
        f"words when this is not it.{ending}"
    )
    return "\n".join(lines)


def markdown(found: Recalled, link: Callable[[Found], str]) -> str:
    """Format for a person. *link* is the page of a passage, and for an archived fact the page that
    brings it back."""
    if not found.found:
        return _nothing(found)
    lines = []
    for row in found.found:
        text = literal(_line(_facts(row.text), _SHOWN_CHARS))
        way = f"[{literal(_name(row))}]({link(row)})" + (f", {row.day}" if row.day else "")
        if row.fact is not None:
            left = f"{row.fact.source}, {row.fact.heading}".removesuffix(", ")
            there = found.standing.get(row.fact.id)
            fate = literal(_line(row.fact.fate, _SHOWN_CHARS))
            way = f"`{row.fact.id}`, {literal(left)}; {fate}"
            if there is None:
                text, way = f"{text} ({way})", f"[Bring it back]({link(row)})"
            else:
                text = f"{text} ({way})"
                way = f"It stands in {literal(there.path)} again, line {there.line}."
            lines.append(f"- {text} {way}")
        else:
            lines.append(f"- {text} ({way})")
    if found.hidden:
        lines += ["", _hidden(found).strip()]
    if not found.is_whole:
        lines += ["", _GROWING.strip()]
    return "\n".join(lines)


def literal(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|~$!&" else char for char in text)


def place_of(row: Found) -> str:
    """Name the place of a passage and its day: ``USER.md, line 3``."""
    return _name(row) + (f", {with_weekday(row.day)}" if row.day else "")


def _where(found: Recalled, row: Found) -> str:
    if row.fact is None:
        return place_of(row)
    where = f"{row.fact.source}, {row.fact.heading}".removesuffix(", ")
    there = found.standing.get(row.fact.id)
    again = f"; it stands in {there.path} again" if there else ""
    return f"archived fact {row.fact.id}, {where}; {_line(row.fact.fate, _SHOWN_CHARS)}{again}"


def _name(row: Found) -> str:
    if row.kind == search_sources.HISTORY:
        return f"entry {row.anchor}"
    if row.kind in (search_sources.CHAT, search_sources.PROJECT_CHAT):
        return f"conversation “{row.title or 'without a title'}”"
    return f"{row.place}, line {row.anchor}"


def _facts(content: str) -> str:
    """Return an entry's text without list marks, since it becomes a list item."""
    return "\n".join(line.removeprefix("- ") for line in content.splitlines())


def _line(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"


def _nothing(found: Recalled) -> str:
    if not found.has_words:
        return _NO_WORDS
    more = "" if found.is_whole else _GROWING
    return f"Nothing that was said or written has this.{_hidden(found)}{more}"


def _hidden(found: Recalled) -> str:
    return " What was forgotten is not shown." if found.hidden else ""
