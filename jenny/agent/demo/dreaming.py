"""Dreaming by rule: facts with marks become lines of the memory files.

A fact that a file has already is left alone; one marked as a correction takes the place of the line
that speaks of the same; anything else is added under the heading that its words point to. What
was written is accounted for by what the tools answered.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jenny.agent.demo.asked import Asked, Call, Piece, Say

_WRITES = ("apply_patch", "edit_file")
_HEAD = re.compile(r"\[cursor (\d+) \|[^\]\n]*\]")
_FACT = re.compile(r"[-*]\s+\[(permanent|durable|correction|ephemeral|skip)\]\s+(.+)")
_ACTUALLY = re.compile(r"^actually,?\s+", re.IGNORECASE)
_KEPT = frozenset({"permanent", "durable", "correction"})
_FILE = re.compile(
    r"^## (?P<path>\S+\.md)\n.*?\n(?P<fence>`{3,})markdown\n(?P<text>.*?)\n(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_BULLET = re.compile(r"[-*+]\s+(.+)")
_ASKED_FOR = re.compile(r"^(?:The user|Jenny) said, and (?:the user )?asked to remember: ")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_WORD = re.compile(r"\w+")
# Words that two lines may share without speaking of the same.
_COMMON = frozenset(
    [
        *("the", "user", "users", "is", "are", "was", "has", "have", "a", "an", "and", "or", "of"),
        *("in", "on", "at", "to", "for", "with", "no", "not", "now", "longer", "actually", "any"),
        *("more", "instead", "s", "by", "from", "it", "that", "this", "but", "very", "since"),
    ]
)
_SHARE = 0.5
_PEOPLE = (
    "wife|husband|partner|mother|father|sister|brother|son|daughter|friend|colleague|boss|dog|cat"
    "|children"
)
# Where a fact goes, by the first of these that its words fit.
_PLACES = tuple(
    (re.compile(rf"\b(?:{words})\b", re.IGNORECASE), path, heading)
    for words, path, heading in (
        (
            "answers?|repl(?:y|ies)|explain|tone|formal|bullet points",
            "USER.md",
            "Communication",
        ),
        (
            _PEOPLE,
            "USER.md",
            "People",
        ),
        (r"called|name|born|birthday|lives?|speaks?|years old|from", "USER.md", "Identity"),
        (r"decided|decision|agreed|chose", "memory/MEMORY.md", "Decisions"),
        (r"server|deploys?|runs on|installed|account|backup", "memory/MEMORY.md", "Setup"),
        (
            r"project|deadline|release|building|writing|planning|works? on|launch",
            "memory/MEMORY.md",
            "Projects",
        ),
        (r"user", "USER.md", "Preferences and habits"),
        (r"", "memory/MEMORY.md", "Projects"),
    )
)


# The last two of them are where everything else goes.
_GUESSED = -2


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry: its number, and its facts with their marks."""

    cursor: int
    facts: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Plan:
    """The calls to make, whose entry each is for, and entries that need none."""

    calls: list[Call] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    known: set[int] = field(default_factory=set)


def is_dream(asked: Asked) -> bool:
    """Whether memory files are to be brought up to date."""
    return asked.tools >= {"finish", "move_entry", "apply_patch", "edit_file"}


def dream(asked: Asked) -> Iterator[Piece]:
    """The next step: the edits, then the account, then a word."""
    entries = list(_entries(asked.whole))
    plan = _planned(entries, asked.system)
    names = [done.call.name for done in asked.done]
    if "finish" in names:
        yield Say("Done, by rule: I am the demo model and understand nothing.")
    elif plan.calls and not names and not _was_reminded(asked):
        yield from plan.calls
    else:
        yield Call("finish", {"entries": _account(asked, entries, plan)})


def _was_reminded(asked: Asked) -> bool:
    """Whether this is a second question about the same entries."""
    return not _HEAD.search(asked.said)


def _entries(text: str) -> Iterator[_Entry]:
    """The entries of the batch, each put together from its pieces."""
    found: dict[int, list[str]] = {}
    lines: list[str] = []
    begins = False
    for line in text.split("\n"):
        head = _HEAD.fullmatch(line.strip())
        if head and not line.startswith(" "):
            lines = found.setdefault(int(head[1]), [])
            begins = bool(lines)
        elif line.startswith("  "):
            piece = line[2:]
            if begins and not _FACT.match(piece):
                lines[-1] = f"{lines[-1]}{piece}"
            else:
                lines.append(piece)
            begins = False
    for cursor, said in found.items():
        facts = (match for line in said if (match := _FACT.match(line.strip())))
        yield _Entry(cursor, tuple((match[1], _plain(match[2])) for match in facts))


def _plain(fact: str) -> str:
    """A fact without the words that only told that it is a correction, or was to be remembered."""
    plain = _ACTUALLY.sub("", _ASKED_FOR.sub("", fact.strip()))
    return plain[:1].upper() + plain[1:]


def _planned(entries: list[_Entry], system: str) -> _Plan:
    """What to call for these entries, given the files as the prompt shows them."""
    plan = _Plan()
    lines = list(lines_of(system))
    for entry in entries:
        kept = [(mark, fact) for mark, fact in entry.facts if mark in _KEPT]
        news = [(mark, fact) for mark, fact in kept if not _is_there(fact, lines)]
        if kept and not news:
            plan.known.add(entry.cursor)
        for mark, fact in news:
            old = _about_the_same(fact, lines) if mark == "correction" else None
            call = _replaced(old, fact, entry.cursor) if old else _added(fact, entry.cursor)
            if old:
                lines.remove(old)
            lines.append((str(old[0] if old else ""), f"- {fact}"))
            plan.calls.append(call)
            plan.owners.append(entry.cursor)
    return plan


def _account(asked: Asked, entries: list[_Entry], plan: _Plan) -> list[dict[str, Any]]:
    """What became of each entry, by what the tools answered."""
    results = [done.ok for done in asked.done if done.call.name in _WRITES]
    failed = {
        owner
        for number, owner in enumerate(plan.owners)
        if number >= len(results) or not results[number]
    }
    rows: list[dict[str, Any]] = []
    for entry in entries:
        row: dict[str, Any] = {"cursor": entry.cursor, "verdict": "saved"}
        if entry.cursor in failed:
            # It is not saved, and saying anything else of it would not be true.
            continue
        if entry.cursor in plan.known:
            row["verdict"] = "already_known"
        elif entry.cursor not in plan.owners:
            row |= {"verdict": "not_kept", "reason": _why_not(entry)}
        rows.append(row)
    return rows


def _why_not(entry: _Entry) -> str:
    return "only of the moment" if entry.facts else "no marked fact in it"


def lines_of(system: str) -> Iterator[tuple[str, str]]:
    """The bullets of the memory files in a prompt, each with its file."""
    for found in _FILE.finditer(system):
        for line in _COMMENT.sub("", found["text"]).split("\n"):
            if _BULLET.fullmatch(line.strip()):
                yield found["path"], line.strip()


def words_of(text: str) -> frozenset[str]:
    """The words of a line that say something."""
    return frozenset(_WORD.findall(text.lower())) - _COMMON


def place_of(fact: str, *, by_words: bool = False) -> tuple[str, str]:
    """The file and the heading where a fact belongs, by its words. *by_words*: nowhere (two empty
    texts) where they say nothing of it."""
    places = _PLACES[:_GUESSED] if by_words else _PLACES
    fitting = (place[1:] for place in places if place[0].search(fact))
    return next(fitting, ("", ""))


def _folded(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def _is_there(fact: str, lines: list[tuple[str, str]]) -> bool:
    return any(_folded(line) == _folded(fact) for _, line in lines)


def _about_the_same(fact: str, lines: list[tuple[str, str]]) -> tuple[str, str] | None:
    """The line that shares most of its own words with the fact; ``None``: none shares enough."""
    said = words_of(fact)
    best: tuple[float, tuple[str, str] | None] = (0.0, None)
    for row in lines:
        words = words_of(row[1])
        share = len(words & said) / len(words) if words else 0.0
        if row[0] and share >= _SHARE and share > best[0]:
            best = (share, row)
    return best[1]


def _replaced(old: tuple[str, str], fact: str, cursor: int) -> Call:
    return Call(
        "edit_file",
        {"path": old[0], "old_text": old[1], "new_text": f"- {fact}", "sources": [cursor]},
    )


def _added(fact: str, cursor: int) -> Call:
    path, heading = place_of(fact)
    edit = {"path": path, "action": "add", "heading": heading, "new_text": f"- {fact}"}
    return Call("apply_patch", {"edits": [edit], "sources": [cursor]})
