"""What was looked up, in words: for the model, and as Markdown for a person."""

from collections.abc import Callable

from memory.archive import Archived
from memory.history.entries import Entry
from memory.recall import Recalled

# Characters of one text.
_PLAIN_CHARS, _SHOWN_CHARS = 700, 240


def plain(found: Recalled) -> str:
    """For the model: every text with its id or number."""
    if not found.facts and not found.entries:
        return f"Nothing in the archive or the history has this.{_hidden(found)}"
    lines = []
    if found.facts:
        lines.append("Archived facts, which once stood in the memory files:")
        for row in found.facts:
            where = f"{row.source}, {row.heading}" if row.heading else row.source
            there = found.standing.get(row.id)
            again = f"; it stands in {there.path} again" if there else ""
            lines.append(f"- {row.id} (left {where} on {row.date}{again}): {_line(row.text)}")
    if found.entries:
        lines.append("From the history of what was said:")
        lines += [
            f"- entry {row.cursor} ({row.timestamp}): {_line(row.content)}" for row in found.entries
        ]
    return "\n".join(lines)


def markdown(
    found: Recalled, link: Callable[[Archived], str], entry: Callable[[Entry], str]
) -> str:
    """For a person: *link* is where an archived text can be brought back, *entry* the page of an
    entry of the history."""
    if not found.facts and not found.entries:
        return f"Nothing in the archive or the history has this.{_hidden(found)}"
    lines = []
    if found.facts:
        lines += ["**Archived facts**", ""]
        for row in found.facts:
            where = f"{row.source}, {row.heading}" if row.heading else row.source
            there = found.standing.get(row.id)
            way = f"[Bring it back]({link(row)})"
            if there is not None:
                way = f"It stands in {literal(there.path)} again, line {there.line}."
            lines.append(
                f"- {literal(_line(row.text, _SHOWN_CHARS))} (`{row.id}`, left {literal(where)} on "
                f"{row.date}) {way}"
            )
        lines.append("")
    if found.entries:
        lines += ["**From the history**", ""]
        lines += [
            f"- {literal(_line(_facts(row.content), _SHOWN_CHARS))} "
            f"([entry {row.cursor}]({entry(row)}), {row.timestamp})"
            for row in found.entries
        ]
    if found.hidden:
        lines += ["", _hidden(found).strip()]
    return "\n".join(lines)


def literal(text: str) -> str:
    """*text* with what Markdown would read as its own made literal."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|~$!&" else char for char in text)


def _facts(content: str) -> str:
    """An entry's text without the marks of its list: it becomes one item of another."""
    return "\n".join(line.removeprefix("- ") for line in content.splitlines())


def _line(text: str, most: int = _PLAIN_CHARS) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"


def _hidden(found: Recalled) -> str:
    return " What was forgotten is not shown." if found.hidden else ""
