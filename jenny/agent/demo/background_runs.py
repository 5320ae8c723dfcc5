"""Answers the product's own requests by rule: Dream, review, gardener, titles, summaries.

Dream: a fact that a file has already is skipped; a correction replaces the line about the same
subject; any other fact is added under the heading that fits its words. The final account is made
from the tools' answers.

The review moves lines that are in the wrong file, and archives lines that another line repeats with
more words. Single words are weak evidence, so it changes less than a model would.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from jenny.agent.demo.facts import day_of, in_third_person, stated_facts
from jenny.agent.demo.request import Call, DemoRequest, Piece, Say, lines_of
from jenny.text_normalisation import tokens

_WRITES = ("apply_patch", "edit_file")
_HEAD = re.compile(r"\[cursor (\d+) \|[^\]\n]{0,200}\]")
_FACT = re.compile(
    r"(?:\(\d+\.\d+\) )?[-*]\s+\[(permanent|durable|correction|ephemeral|skip|dated)"
    r"(?:,? ?dated)?(?: \d{4}-[^\]\n]{1,40})?\]\s+(.+)"
)
_ACTUALLY = re.compile(r"^actually,?\s+", re.IGNORECASE)
# A note of a correction is marked like any other note.
_CORRECTS = re.compile(r"\bno longer\b|\bnicht mehr\b|ではなく", re.IGNORECASE)
_KEPT = frozenset({"permanent", "durable", "correction"})
_ASKED_FOR = re.compile(r"^(?:The user|Jenny) said, and (?:the user )?asked to remember: ")
_WORD = re.compile(r"\w+")
# Words that lines about different subjects may share.
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
# Files and headings for facts; the first row with a fitting word counts.
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
        (
            r"called|name|born|birthday|lives?|speaks?|years old|from|user is (?-i:[A-Z]\w+)",
            "USER.md",
            "Identity",
        ),
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


# The last two rows are the defaults.
_GUESSED = -2


@dataclass(frozen=True, slots=True)
class _Entry:
    cursor: int
    facts: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Plan:
    """The calls to make, the entry of each, and entries that need none."""

    calls: list[Call] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    known: set[int] = field(default_factory=set)


def is_dream(asked: DemoRequest) -> bool:
    return asked.tools >= {"finish", "move_entry", "apply_patch", "edit_file"}


def dream(asked: DemoRequest) -> Iterator[Piece]:
    """Yield the next step: the edits, then the account, then a closing word."""
    entries = list(_entries(asked.whole))
    plan = _planned(entries, asked.system)
    names = [done.call.name for done in asked.done]
    if "finish" in names:
        yield Say("Done, by rule: I am the demo model and understand nothing.")
    elif plan.calls and not names and not _was_reminded(asked):
        yield from plan.calls
    else:
        yield Call("finish", {"entries": _account(asked, entries, plan)})


def _was_reminded(asked: DemoRequest) -> bool:
    return not _HEAD.search(asked.said)


def _entries(text: str) -> Iterator[_Entry]:
    """Yield the entries of the batch, each joined from its parts."""
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
    """Return a fact in the third person, without the words that only mark it: so a note in the
    person's words and the summary of the same are one line.
    """
    return in_third_person(_ACTUALLY.sub("", _ASKED_FOR.sub("", fact.strip())))


def _planned(entries: list[_Entry], system: str) -> _Plan:
    plan = _Plan()
    lines = list(lines_of(system))
    for entry in entries:
        kept = [(mark, fact) for mark, fact in entry.facts if mark in _KEPT]
        news = [(mark, fact) for mark, fact in kept if not _is_there(fact, lines)]
        if kept and not news:
            plan.known.add(entry.cursor)
        for mark, fact in news:
            old = (
                _about_the_same(fact, lines)
                if mark == "correction" or _CORRECTS.search(fact)
                else None
            )
            call = _replaced(old, fact, entry.cursor) if old else _added(fact, entry.cursor)
            if old:
                lines.remove(old)
            lines.append((str(old[0] if old else ""), f"- {fact}"))
            plan.calls.append(call)
            plan.owners.append(entry.cursor)
    return plan


def _account(asked: DemoRequest, entries: list[_Entry], plan: _Plan) -> list[dict[str, Any]]:
    """Return the outcome of each entry, by the tools' answers."""
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
            # It is not saved, and any other outcome would be wrong.
            continue
        if entry.cursor in plan.known:
            row["verdict"] = "already_known"
        elif entry.cursor not in plan.owners:
            row |= {"verdict": "not_kept", "reason": _why_not(entry)}
        rows.append(row)
    return rows


def _why_not(entry: _Entry) -> str:
    return "only of the moment" if entry.facts else "no marked fact in it"


def words_of(text: str) -> frozenset[str]:
    """Return the significant words of a line."""
    return frozenset(_WORD.findall(text.lower())) - _COMMON


def place_of(fact: str, *, by_words: bool = False) -> tuple[str, str]:
    """Return the file and heading for a fact, by its words.

    *by_words*: return two empty texts when no row fits, instead of the default.
    """
    places = _PLACES[:_GUESSED] if by_words else _PLACES
    fitting = (place[1:] for place in places if place[0].search(fact))
    return next(fitting, ("", ""))


def _is_there(fact: str, lines: list[tuple[str, str]]) -> bool:
    return any(tokens(line) == tokens(fact) for _, line in lines)


def _about_the_same(fact: str, lines: list[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the line that shares most of its own words with the fact; ``None``: not enough."""
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


_USER, _MEMORY = "USER.md", "memory/MEMORY.md"
# Maximum of lines moved or removed in one review.
_MOST = 8
_FEWEST_WORDS = 2

type _Line = tuple[str, str]


def is_review(asked: DemoRequest) -> bool:
    """True when the request asks to make the memory files smaller, without new entries."""
    return asked.tools >= {"finish", "move_entry"} and "This is a review" in asked.system


def review(asked: DemoRequest) -> Iterator[Piece]:
    """Yield the next step: the moves, then the finish, then a closing word."""
    names = [done.call.name for done in asked.done]
    calls = [] if names else list(_moves(list(lines_of(asked.system))))[:_MOST]
    if "finish" in names:
        yield Say("Reviewed, by rule: I am the demo model and understand nothing.")
    elif calls:
        yield from calls
    else:
        yield Call("finish", {})


def _moves(lines: list[_Line]) -> Iterator[Call]:
    gone: set[_Line] = set()
    for line in lines:
        path, text = line
        # A call cannot say which of two equal lines is meant.
        if lines.count(line) > 1:
            continue
        if any(_says_more(other, line) for other in lines if other not in gone):
            gone.add(line)
            yield _move(line, "archive", "another line says it, with more in it")
        elif path == _USER:
            place, heading = place_of(text, by_words=True)
            if place == _MEMORY:
                gone.add(line)
                yield _move(line, place, "", heading)


def _says_more(other: _Line, line: _Line) -> bool:
    """True when *other* has all words of *line*, or is the same line in a later file."""
    said, meant = words_of(other[1]), words_of(line[1])
    if other == line or len(meant) < _FEWEST_WORDS:
        return False
    return meant < said or (meant == said and (other[0] < line[0]))


def _move(line: _Line, to: str, reason: str, heading: str = "") -> Call:
    path, text = line
    rest = {"heading": heading} if heading else {"reason": reason}
    return Call("move_entry", {"path": path, "entry": text, "to": to, **rest})


_LINE = re.compile(r"^(\d+)\. \[(log/\S+?)\] (?:[-*] )?(?:\d\d:\d\d — )?(.+)$", re.MULTILINE)
_TITLE = "From the log"
_PAGE = re.compile(
    r"^### (wiki/from-the-log\.md)\n\n(?P<fence>`{3,})\w*\n(?P<text>.*?)\n(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


def is_tidying(asked: DemoRequest) -> bool:
    return "finish_tidying" in asked.tools


def tidy(asked: DemoRequest) -> Iterator[Piece]:
    """Yield the next step: the page, then the account, then a closing word."""
    called = [done.call.name for done in asked.done]
    if "finish_tidying" in called:
        yield Say("Done.")
        return
    lines = [(found[1], found[2], found[3].strip()) for found in _LINE.finditer(asked.whole)]
    page = _PAGE.search(asked.system)
    there = [tokens(row) for row in (page["text"].splitlines() if page else ())]
    new = [row for row in lines if tokens(row[2]) not in there]
    if not called and new:
        bullets = "\n".join(f"- {text}" for _, _, text in new)
        yield (
            _added_bullets(page["text"].splitlines()[-1], bullets)
            if page
            else _made_page(bullets, new)
        )
        return
    known = [f"{number}: it stands there" for number, _, text in lines if tokens(text) in there]
    yield Call(
        "finish_tidying",
        {"summary": "The demo model put each line into one page.", "left_out": known},
    )


def _made_page(bullets: str, new: list[tuple[str, str, str]]) -> Call:
    return Call(
        "add_page",
        {"title": _TITLE, "text": bullets, "state": "open", "source": new[0][1]},
    )


def _added_bullets(last: str, bullets: str) -> Call:
    return Call(
        "edit_file",
        {"path": "wiki/from-the-log.md", "old_text": last, "new_text": f"{last}\n{bullets}"},
    )


_TITLE_WORDS = 6
_WANTS_TITLE = re.compile(r"\b(?:give|write|make|find)\b.{0,80}\btitle\b", re.IGNORECASE)
_WANTS_SUMMARY = re.compile(r"\bsummari[sz]e\b|\bconsolidate\b|\bdurable\b", re.IGNORECASE)
_SPEAKER = re.compile(
    r"^(?:\[[^\]\n]{0,200}\]\s*)?(?:\*\*)?(?P<who>user|human|jenny|assistant|tool)\b[^:\n]{0,40}:(?:\*\*)?\s*",
    re.IGNORECASE | re.MULTILINE,
)
_POLITE = re.compile(
    r"^(?:hi|hello|hey|please|thanks|ok|so|well)\b[\s,.!]*|^(?:can|could|would|will) you\s+"
    r"|^(?:please|i(?:'d| would) like(?: you)? to|i want(?: you)? to)\s+",
    re.IGNORECASE,
)
# Words that a title should not end with.
_LOOSE_END = re.compile(r"\s(?:a|an|and|at|by|for|in|is|my|of|on|or|that|the|to|with|your)$")


def is_title(asked: DemoRequest) -> bool:
    return not asked.tools and bool(_WANTS_TITLE.search(asked.system))


def title(asked: DemoRequest) -> Iterator[Piece]:
    first = next(_of_the_user(asked.said), "").strip() or asked.said.strip()
    line = first.splitlines()[0] if first else ""
    while (shorter := _POLITE.sub("", line)) != line:
        line = shorter
    words = re.sub(r"[#*`_>\[\]]", "", line).split()[:_TITLE_WORDS]
    text = " ".join(words).rstrip(".,;:!?") or "Conversation"
    while (shorter := _LOOSE_END.sub("", text)) != text:
        text = shorter
    yield Say(text[0].upper() + text[1:])


def is_summary(asked: DemoRequest) -> bool:
    return not asked.tools and bool(_WANTS_SUMMARY.search(asked.system))


def summary(asked: DemoRequest) -> Iterator[Piece]:
    facts = dict.fromkeys(
        f"- [{tag}] {fact}"
        for text, day in _dated_turns(asked.said)
        for tag, fact in stated_facts(text, day)
    )
    yield Say("\n".join(facts) or "(nothing)")


def _of_the_user(text: str) -> Iterator[str]:
    """Yield the user's words in a transcript with speakers."""
    yield from (said for said, _ in _dated_turns(text))


def _dated_turns(text: str) -> Iterator[tuple[str, date | None]]:
    """Yield the same, each with its day."""
    turns = list(_SPEAKER.finditer(text))
    for index, turn in enumerate(turns):
        end = turns[index + 1].start() if index + 1 < len(turns) else len(text)
        if turn["who"].lower() in {"user", "human"}:
            yield text[turn.end() : end].strip(), day_of(turn[0])
