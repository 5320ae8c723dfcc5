import re
from collections.abc import Iterator

from memory.history import fact_tags

_WHEN = r"\d{4}-\d{2}-\d{2}[^\]\n]{0,40}"
_TAGS = "permanent|durable|ephemeral|correction|skip"
# A tag in backticks is only mentioned.
_TAG = re.compile(
    rf"(?<!`)[*_]{{0,3}}\[(?:(?:{_TAGS})(?:, ?dated {_WHEN})?|dated {_WHEN})\][*_:]{{0,4}}(?!`)",
    re.IGNORECASE,
)
_OTHER_BRACKETS = re.compile(r"[【［]([^】］\n]{1,40})[】］]")
_HEAD = re.compile(r"(?<!`)\[cursor \d+[^\]\n]{0,160}\]")
# A message of a conversation, or the beginning of a raw text.
_RECORD = re.compile(
    r"(?<!`)(?:\[RAW\] [\d,]+ messages?"
    r"|\[(?:[A-Z][a-z]+ )?\d{4}-\d{2}-\d{2}[^\]\n]{0,20}\] (?:USER|ASSISTANT):)"
)
_SPACES = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")
_BULLET = re.compile(r"([ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+)(.*)")
_HEADING = re.compile(r"(#{1,6})[ \t]+\S")


def strip_tags(line: str) -> str:
    """Return a line without fact tags and entry heads."""
    if not any(sign in line for sign in "[【［"):
        return line
    plain = _HEAD.sub("", _TAG.sub("", line))
    plain = _OTHER_BRACKETS.sub(lambda row: "" if fact_tags.heading_tag(row[1]) else row[0], plain)
    if plain == line:
        return line
    bullet = _BULLET.match(line)
    head = bullet[1] if bullet else ""
    said = plain[len(head) :]
    said = _SPACES.sub(" ", said).strip()
    said = re.sub(r"[ \t]+(?=[.,;:!?](?:\s|$))", "", said)
    return f"{head}{said}" if said else ""


def strip_added(old: str | None, new: str) -> str:
    """Return the new text without fact tags and entry heads in added lines; other lines stay."""
    there = set((old or "").split("\n"))
    lines = []
    for line in new.split("\n"):
        plain = line if line in there else strip_tags(line)
        if plain or not line.strip():
            lines.append(plain)
    return "\n".join(lines)


def find_record(text: str) -> str:
    """Return the first line that repeats a conversation word for word, or an empty string."""
    return next((line.strip() for line in text.split("\n") if _RECORD.search(line)), "")


def list_artifacts(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and kind of every artifact of the record in a file."""
    for number, line in enumerate(text.split("\n"), 1):
        if _RECORD.search(line):
            yield number, "a line of a conversation word for word"
        elif strip_tags(line) != line:
            yield number, "a tag of the record"


def list_empty_headings(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and title of headings without content."""
    rows = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    for at, (number, line) in enumerate(rows):
        found = _HEADING.match(line)
        if not found:
            continue
        following = _HEADING.match(rows[at + 1][1]) if at + 1 < len(rows) else None
        is_last = at + 1 == len(rows)
        if (is_last or (following and len(following[1]) <= len(found[1]))) and len(rows) > 1:
            yield number, line.strip("# \t")
