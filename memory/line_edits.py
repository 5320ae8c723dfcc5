"""Edits single lines of the memory files for a person: reword, add, move, pin.

A line is a fact of the file, with what is indented below it. Everything else of the file stays
byte for byte as it is, and each edit is one write through the write rules, with its pins.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from textwrap import dedent

from jenny.workspace import diffs, names, texts, transactions
from jenny.workspace.errors import FileMissing, WorkspaceError
from jenny.workspace.files import FileVersion, Workspace
from jenny.workspace.write_rules import Change
from memory import files, pins, sections
from memory.errors import LineRefused, NoSuchLine, NotPinned
from memory.facts import Fact, decoded, facts, normal, stated
from memory.pins import Pin

MOST_CHARS = 4_000
_LARGEST = 4_000_000
_KEY_DIGITS = 16
_MARK = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_INDENT = re.compile(r"[ \t]*")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_ITEMS = frozenset({"bullet", "numbered"})
_END = "end"
_MISREAD = (
    "These words would not be read as one line of the file: a code block that does not end, a "
    "heading or a comment takes in what stands around it. Nothing was changed."
)


@dataclass(frozen=True, slots=True)
class LineRef:
    """A line as a page names it: its file, where it was, and the digest of its text (``key``)."""

    path: str
    line: int
    key: str

    def __str__(self) -> str:
        return f"{self.line}:{self.key}:{self.path}"


@dataclass(frozen=True, slots=True)
class Block:
    """A line with the lines that are indented below it; ``last`` is the number of its last row."""

    path: str
    fact: Fact
    below: tuple[Fact, ...]
    last: int

    @property
    def ref(self) -> LineRef:
        return line_ref(self.path, self.fact)


def line_ref(path: str, fact: Fact) -> LineRef:
    return LineRef(path, fact.first, _key(fact.text))


def parse_line_ref(text: str) -> LineRef:
    """Parse the text of a ``LineRef``.

    Raises:
        NoSuchLine: it is none, or names no memory file and no skill.
    """
    line, _, rest = text.partition(":")
    key, _, path = rest.partition(":")
    is_number = line.isascii() and line.isdecimal() and len(line) <= 9  # noqa: PLR2004 - digits
    if not is_number or not (path in files.BY_PATH or files.skill_of(path)):
        raise NoSuchLine("The form named no line of a memory file. Nothing was changed.")
    return LineRef(path, int(line), key)


def find_line(workspace: Workspace, ref: LineRef) -> Fact:
    """Return the line where it is now; of equal lines the one that stands where *ref* says.

    Raises:
        NoSuchLine: nobody has it any more.
    """
    return _found(stated(_file(workspace, ref.path).data), ref)


def find_blocks(workspace: Workspace, refs: Iterable[LineRef]) -> list[Block]:
    """Return the lines with what is indented below each, in the order of their files. A line that
    is below another of them is part of that one's block.

    Raises:
        NoSuchLine: nobody has one of them any more.
    """
    wanted: dict[str, list[LineRef]] = {}
    for ref in refs:
        wanted.setdefault(ref.path, []).append(ref)
    found: list[Block] = []
    for path, rows in wanted.items():
        data = _file(workspace, path).data
        there, lines, last = stated(data), decoded(data).split("\n"), 0
        chosen = {fact.first: fact for fact in (_found(there, ref) for ref in rows)}
        for first in sorted(chosen):
            if first <= last:
                continue
            last = sections.end_of_block(lines, chosen[first])
            below = tuple(fact for fact in there if first < fact.first <= last)
            found.append(Block(path, chosen[first], below, last))
    return found


def edit_line(workspace: Workspace, ref: LineRef, text: str) -> bool:
    """Reword a line; ``False`` when it says this already. Rows of it that were not changed stay
    byte for byte, and so does its pin.

    Raises:
        NoSuchLine, LineRefused: nothing was changed.
        WriteRefused, WriteFailed, LockTimeout: nothing was changed.
    """
    typed = _checked(text)
    with transactions.lock_workspace(workspace.root):
        old = _text(workspace, ref.path)
        fact = _found(stated(old.encode()), ref)
        rows = texts.to_lf(old).split("\n")
        before = rows[fact.first - 1 : fact.last]
        after = typed.split("\n") if fact.kind == "code" else _reworded(fact, before, _rows(typed))
        if after == before:
            return False
        rows[fact.first - 1 : fact.last] = after
        new = "\n".join(rows)
        others = [row for row in _read(old) if not fact.first <= row.first <= fact.last]
        made = _inserted(others, new)
        if any(row.kind == "heading" for row in made):
            raise LineRefused(_MISREAD)
        moves = [
            (pin, Pin(ref.path, made[0].text, heading=made[0].heading))
            for pin in pins.pins(workspace.root, ref.path)
            if pin.line == fact.first
        ]
        _write(workspace, {ref.path: new}, pins.move_pins(workspace.root, moves, workspace.actor))
    return True


def add_line(workspace: Workspace, path: str, heading: str, text: str) -> int:
    """Add a bullet at the end of a section; a missing heading is made. Return the number of the
    line that says this already, or 0 when it was added.

    Raises:
        LineRefused: there is no text, or it would be no line of its own; nothing was changed.
        WriteRefused, WriteFailed, LockTimeout: nothing was changed.
    """
    rows = _rows(_checked(sections.unmarked(text)))
    if path not in files.BY_PATH:
        raise LineRefused("A line is added to one of the memory files. Nothing was changed.")
    with transactions.lock_workspace(workspace.root):
        old = _text(workspace, path) if workspace.exists(path) else None
        said = normal(_MARK.sub("", "\n".join(rows), count=1))
        for fact in stated((old or "").encode()):
            if normal(fact.text) == said:
                return fact.first
        mark = "" if _MARK.match(rows[0]) else "- "
        added = [f"{mark}{rows[0]}", *(f"  {row}" if row else "" for row in rows[1:])]
        new = sections.added(old, heading, added, path=path)
        made = _inserted(_read(sections.new_file_text(path) if old is None else old), new)
        titles = {normal(row.text) for row in made if row.kind == "heading"}
        first = next(row for row in made if row.kind != "heading")
        if first.kind not in _ITEMS or titles - {normal(heading)}:
            raise LineRefused(_MISREAD)
        _write(workspace, {path: new})
    return 0


def move_lines(workspace: Workspace, refs: Iterable[LineRef], path: str, heading: str) -> int:
    """Move lines, with what is indented below them and their pins, under a heading of a memory
    file; return how many moved.

    Raises:
        NoSuchLine, LineRefused: nothing was changed.
        WriteRefused, WriteFailed, LockTimeout: nothing was changed.
    """
    if path not in files.BY_PATH:
        raise LineRefused("A line is moved into one of the memory files. Nothing was changed.")
    root = workspace.root
    with transactions.lock_workspace(root):
        new: dict[str, str] = {}
        taken: list[str] = []
        moves: list[tuple[Pin, Pin]] = []
        found = find_blocks(workspace, refs)
        held = pins.pins(root)
        for block in reversed(found):
            source = new[block.path] if block.path in new else _text(workspace, block.path)
            cut = sections.cut_fact(source, block.fact)
            new[block.path] = cut.text
            taken.append(_as_bullet(block.fact, cut.entry))
            moves += [
                (pin, Pin(path, pin.text, heading=heading))
                for pin in held
                if pin.path == block.path
                if pin.line and block.fact.first <= pin.line <= block.last
            ]
        text = new.pop(path, None)
        if text is None and workspace.exists(path):
            text = _text(workspace, path)
        for entry in reversed(taken):
            text = sections.added(text, heading, sections.as_lines(entry), path=path)
        # A move's target is written before its source, so that a crash leaves the text twice.
        _write(workspace, {path: text or "", **new}, pins.move_pins(root, moves, workspace.actor))
    return len(found)


def pin_lines(workspace: Workspace, refs: Iterable[LineRef], *, is_on: bool) -> int:
    """Pin the lines, or remove their pins, and return how many lines were named. Those that are as
    asked already stay so.

    Raises:
        NoSuchLine, LockTimeout: nothing was changed.
        WriteFailed: the ledger could not be written.
    """
    root = workspace.root
    with transactions.lock_workspace(root):
        lines = {(ref.path, find_line(workspace, ref).first) for ref in refs}
        for path, line in sorted(lines):
            with suppress(NotPinned):
                (pins.pin if is_on else pins.unpin)(root, path, line, workspace.actor)
    return len(lines)


def list_headings(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Yield the headings under which a line can stand: the file's path and the heading. A file that
    cannot be read has none."""
    for path in files.BY_PATH:
        try:
            every = current_facts(workspace, path) or []
        except WorkspaceError:
            continue
        rows = [fact.heading for fact in every if fact.kind == "heading"]
        # The title of a file with sections is no place for a line.
        found = rows[1:] if len(rows) > 1 else rows
        yield from ((path, heading) for heading in dict.fromkeys(found or [""]))


def current_facts(workspace: Workspace, path: str) -> list[Fact] | None:
    """Return the facts and headings of a file; ``None`` when it is missing.

    Raises:
        FileTooLarge, PathRefused: it cannot be read.
    """
    try:
        data = workspace.read(path, limit=_LARGEST).data
    except FileMissing:
        return None
    return [fact for fact in facts(decoded(data)) if fact.kind not in {"comment", "rule"}]


def _key(text: str) -> str:
    # Of the text as it stands: a line that differs in signs alone is another.
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_KEY_DIGITS]


def _found(there: Sequence[Fact], ref: LineRef) -> Fact:
    same = [fact for fact in there if _key(fact.text) == ref.key]
    if not same:
        message = (
            f"That line of {names.shown(ref.path)} was changed meanwhile, or is gone. Nothing was "
            "changed."
        )
        raise NoSuchLine(message)
    return min(same, key=lambda fact: abs(fact.first - ref.line))


def _as_bullet(fact: Fact, block: str) -> str:
    """Return the block with a paragraph's own rows as one."""
    if fact.kind != "paragraph":
        return block
    rows = block.split("\n")
    count = fact.last - fact.first + 1
    return "\n".join([" ".join(" ".join(rows[:count]).split()), *rows[count:]])


def _checked(text: str) -> str:
    """Return what a person typed, with LF line ends and without empty lines around it.

    Raises:
        LineRefused: it says nothing, is too long, or has control characters, an open code block or
            an open comment.
    """
    typed = texts.to_lf(text).strip("\n")
    if not any(map(str.isalnum, typed)):
        message = "Write what the line is to say; Forget takes a line out. Nothing was changed."
        raise LineRefused(message)
    if len(typed) > MOST_CHARS:
        message = f"A line has at most {MOST_CHARS:,} characters. Nothing was changed."
        raise LineRefused(message)
    odd = next((c for c in typed if unicodedata.category(c) == "Cc" and c not in "\n\t"), "")
    if odd:
        message = (
            f"The text has a control character (U+{ord(odd):04X}), which cannot be seen. Type the "
            "words again without it. Nothing was changed."
        )
        raise LineRefused(message)
    if _read(typed)[-1].text != _END:
        raise LineRefused(_MISREAD)
    return typed


def _rows(typed: str) -> list[str]:
    """Return the rows without the indentation that all have; blank ones stay only in code."""
    has_code = _FENCE.search(typed) is not None
    rows = [row.rstrip() for row in dedent(typed).split("\n")]
    rows[0] = rows[0].lstrip()
    return [row for row in rows if row or has_code]


def _reworded(fact: Fact, before: Sequence[str], typed: Sequence[str]) -> list[str]:
    """Return the rows of a reworded line: those that are the same as they were, the others with
    the bullet and indentation of the row that they replace."""
    mark = _MARK.match(before[0]) if fact.kind in _ITEMS else None
    start = (mark or _INDENT.match(before[0]) or [""])[0]
    below = re.sub(r"[^\t]", " ", start)
    was = [before[0][len(start) :], *before[1:]]
    same = was[0].strip() == typed[0].strip()
    made = [before[0] if same else start + typed[0]]
    plain = [[row.strip() for row in rows] for rows in (was, typed)]
    for tag, i, j, k, m in diffs.opcodes(*plain):
        for at in range(max(k, 1), m):
            old = min(i + at - k, j - 1)
            if old <= 0 or not typed[at]:
                made.append(below + typed[at] if typed[at] else "")
            elif tag == "equal":
                made.append(was[old])
            else:
                made.append((_INDENT.match(was[old]) or [""])[0] + typed[at])
    return made


def _read(text: str) -> tuple[Fact, ...]:
    """Return the facts of a file, with one behind its end that an open code block takes in."""
    return facts(f"{text}\n\n{_END}")


def _inserted(others: Sequence[Fact], new: str) -> list[Fact]:
    """Return the facts of *new* beside the *others*, which must all be there as they were.

    Raises:
        LineRefused: they are not, or nothing with content came in.
    """
    after = _read(new)
    count = len(after) - len(others)
    pairs = zip(others, after, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if not _is_same(a, b)), len(others))
    made = list(after[at : at + count]) if count > 0 else []
    left = [*after[:at], *after[at + count :]]
    is_kept = len(left) == len(others) and all(map(_is_same, left, others))
    if not is_kept or not any(row.has_content and row.kind != "comment" for row in made):
        raise LineRefused(_MISREAD)
    return made


def _is_same(one: Fact, other: Fact) -> bool:
    return (one.kind, one.text) == (other.kind, other.text)


def _file(workspace: Workspace, path: str) -> FileVersion:
    try:
        return workspace.read(path, limit=_LARGEST)
    except FileMissing as error:
        message = f"{names.shown(path)} is not there any more. Nothing was changed."
        raise NoSuchLine(message) from error


def _text(workspace: Workspace, path: str) -> str:
    """Return the text of a file that is to be written, without its byte order mark.

    Raises:
        NotText: it is not UTF-8.
    """
    return _file(workspace, path).text.removeprefix(texts.BOM)


def _write(workspace: Workspace, new: dict[str, str], first: Sequence[Change] = ()) -> None:
    old = {path: workspace.read(path).data if workspace.exists(path) else None for path in new}
    data = {path: texts.normalised(text, old[path]) for path, text in new.items()}
    workspace.write_many(data, first=first)
