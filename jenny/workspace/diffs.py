"""What changed between two texts, line by line, for people: counts, and diffs of bounded size.

Lines end in LF or CRLF, which count as the same; a lone CR and a missing end of the last line do
count. Bytes that are not UTF-8 are no text: that they changed is said, and no more.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

# Beyond this many lines a changed stretch is shown as replaced whole; finding what is common in
# it would take time that grows with its square.
_STRETCH_LINES = 3000
_CONTEXT = 3

type Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many lines came and went. ``is_binary``: one side is no text, so none are counted."""

    added: int = 0
    removed: int = 0
    is_binary: bool = False


def lines_of(data: bytes | None) -> list[str] | None:
    """The lines with their ends, CRLF as LF; ``None`` when it is no text. No file has no lines."""
    try:
        text = (data or b"").decode("utf-8")
    except UnicodeDecodeError:
        return None
    return re.findall(r"[^\n]*\n|[^\n]+", text.replace("\r\n", "\n"))


def is_same_text(old: bytes | None, new: bytes | None) -> bool:
    """Whether two contents are the same but for how lines end. A missing file is no empty one."""
    if old == new:
        return True
    if old is None or new is None:
        return False
    if old.replace(b"\r\n", b"\n") != new.replace(b"\r\n", b"\n"):
        return False
    return lines_of(old) is not None and lines_of(new) is not None


def opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """How *old* becomes *new*, as ``difflib`` says it (tag, from, to, from, to)."""
    start, limit = 0, min(len(old), len(new))
    while start < limit and old[start] == new[start]:
        start += 1
    end = 0
    while end < limit - start and old[-1 - end] == new[-1 - end]:
        end += 1
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(a), len(b)) > _STRETCH_LINES:
        middle: list[Opcode] = [("replace", 0, len(a), 0, len(b))]
    else:
        middle = list(SequenceMatcher(None, a, b).get_opcodes())
    rows: list[Opcode] = [("equal", 0, start, 0, start)] if start else []
    rows += [(tag, i + start, j + start, k + start, m + start) for tag, i, j, k, m in middle]
    if end:
        rows.append(("equal", len(old) - end, len(old), len(new) - end, len(new)))
    return rows


def counts(old: bytes | None, new: bytes | None) -> Counts:
    """How many lines came and went."""
    before, after = lines_of(old), lines_of(new)
    if before is None or after is None:
        return Counts(is_binary=True)
    added = removed = 0
    for tag, i, j, k, m in opcodes(before, after):
        if tag != "equal":
            removed += j - i
            added += m - k
    return Counts(added, removed)


def added_lines(old: bytes | None, new: bytes | None) -> list[str]:
    """The lines that came, without their ends; none when one side is no text."""
    before, after = lines_of(old), lines_of(new)
    if before is None or after is None:
        return []
    return [
        line.rstrip("\n")
        for tag, _, _, k, m in opcodes(before, after)
        if tag != "equal"
        for line in after[k:m]
    ]


def unified(path: str, old: bytes | None, new: bytes | None) -> str:
    """A unified diff of one file, or one line that says why there is none."""
    before, after = lines_of(old), lines_of(new)
    shown = plain_path(path)
    head = f"--- {f'a/{shown}' if old is not None else '/dev/null'}\n"
    head += f"+++ {f'b/{shown}' if new is not None else '/dev/null'}\n"
    if before is None or after is None:
        return head + "binary or not UTF-8: no lines are shown\n"
    return head + "".join(_hunk(before, after, group) for group in _grouped(opcodes(before, after)))


def _grouped(rows: list[Opcode]) -> list[list[Opcode]]:
    """The changes with a little of what stands around them, close ones together."""
    groups: list[list[Opcode]] = [[]]
    for index, (tag, i, j, k, m) in enumerate(rows):
        if tag != "equal":
            groups[-1].append((tag, i, j, k, m))
            continue
        before = _CONTEXT if index else 0
        after = _CONTEXT if index < len(rows) - 1 else 0
        if j - i <= before + after and groups[-1]:
            groups[-1].append((tag, i, j, k, m))
            continue
        if index:
            size = min(before, j - i)
            groups[-1].append((tag, i, i + size, k, k + size))
            groups.append([])
        size = min(after, j - i)
        groups[-1].append((tag, j - size, j, m - size, m))
    return [group for group in groups if any(row[0] != "equal" for row in group)]


def _hunk(before: Sequence[str], after: Sequence[str], group: list[Opcode]) -> str:
    """One stretch of a unified diff."""
    out = [f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@\n"]
    for tag, i, j, k, m in group:
        if tag == "equal":
            out += [_line(" ", line) for line in before[i:j]]
            continue
        out += [_line("-", line) for line in before[i:j]]
        out += [_line("+", line) for line in after[k:m]]
    return "".join(out)


def _line(mark: str, line: str) -> str:
    if line.endswith("\n"):
        return mark + line
    return f"{mark}{line}\n\\ No newline at end of file\n"


def _range(start: int, end: int) -> str:
    if end - start == 1:
        return str(start + 1)
    return f"{start + 1 if end > start else start},{end - start}"


def bounded(text: str, limit: int) -> str:
    """*text*, cut at the end of a line so that it has at most about *limit* characters; what is
    left out is said."""
    if len(text) <= limit:
        return text
    kept = text[:limit]
    kept = kept[: kept.rfind("\n") + 1] or f"{kept}\n"
    rest = text[len(kept) :].count("\n")
    return f"{kept}… {rest:,} more {'line' if rest == 1 else 'lines'}\n"


def fenced(text: str, language: str = "diff") -> str:
    """*text* in a Markdown fence that nothing inside can close."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith('\n') else '\n'}{fence}"


def code_span(text: str) -> str:
    """*text* as Markdown code on one line, whatever is in it."""
    plain = plain_path(text)
    longest = max((len(run) for run in re.findall(r"`+", plain)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


def plain_path(path: str) -> str:
    """A path on one line, with nothing invisible in it."""
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in path)
