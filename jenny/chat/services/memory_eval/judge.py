"""Judges what a story left in the memory: by the story's patterns, and by rules for any text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

from jenny.accounts.models import UsageDay, Workspace
from jenny.chat.services.memory_eval.play import Played, known_text
from jenny.chat.services.memory_eval.stories import Pattern, Story
from jenny.chat.services.search import search_all
from jenny.workspace import seed
from jenny.workspace.content import read_text
from memory import facts, files, skills, text_similarity
from memory.fact_words import WordSet, share, words_of
from memory.recall import format_plain, recall

# A line with fewer of its words than this in what was said is taken for invented.
_SAID_SHARE = 0.5


@dataclass(slots=True)
class Marks:
    """The figures of one story; each list holds the names of the story, or the lines themselves.

    *lost*: neither in a prompt nor asked back (see *archived*: `recall` finds it). *missing_dated*:
    not shown before its day. *tokens* and *cost* count every request, by kind of run.
    """

    story: str
    model: str
    messages: int
    expected: int = 0
    kept: list[str] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    forgotten_found: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    missing_dated: list[str] = field(default_factory=list)
    missing_skills: list[str] = field(default_factory=list)
    wrong_answers: list[str] = field(default_factory=list)
    questions: int = 0
    runs: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    usage: dict[str, dict[str, int]] = field(default_factory=dict)
    tokens: int = 0
    cost: str = "0"
    unpriced_tokens: int = 0

    @property
    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def text(self) -> str:
        rows = [
            f"{self.story}, {self.messages} messages, {self.model}",
            f"  kept             {len(self.kept)} of {self.expected}",
        ]
        for name, found in _lists(self):
            shown = "; ".join(found[:_NAMED]) + (" …" if found[_NAMED:] else "")
            rows.append(f"  {name:<16} {len(found)}{f'  ({shown})' if found else ''}")
        right = self.questions - len(self.wrong_answers)
        rows.append(f"  right answers    {right} of {self.questions}")
        outcomes = ", ".join(f"{count} {status}" for status, count in self.runs.items())
        rows.append(f"  Dream            {outcomes}")
        for kind, counts in self.usage.items():
            rows.append(
                f"  {kind:<16} {counts['requests']:,} requests, {counts['input']:,} tokens in, "
                f"{counts['output']:,} out"
            )
        unpriced = f"; {self.unpriced_tokens:,} tokens without a price" * bool(self.unpriced_tokens)
        rows.append(f"  in all           {self.tokens:,} tokens, cost {self.cost}{unpriced}")
        return "\n".join(rows)


_NAMED = 6


def judge_story(story: Story, played: Played, model: str) -> Marks:
    workspace = played.workspace
    marks = Marks(story.title, model, len(story.messages), failures=played.failures)
    for status in played.runs:
        marks.runs[status] = marks.runs.get(status, 0) + 1
    known, written = known_text(workspace), list(_written(workspace))
    everything = "\n".join([known, *(text for _, text in written)])
    wanted = story.kept | {name: row.now for name, row in story.corrected.items()}
    marks.expected = len(wanted)
    for name, pattern in wanted.items():
        if _has(pattern, known):
            marks.kept.append(name)
        elif _has(pattern, _recalled(workspace, pattern)):
            marks.archived.append(name)
        else:
            marks.lost.append(name)
    in_files = "\n".join(text for _, text in written)
    marks.outdated = [name for name, row in story.corrected.items() if _has(row.old, in_files)]
    marks.wrong = [name for name, pattern in story.never.items() if _has(pattern, everything)]
    marks.forgotten_found = [
        words
        for words, pattern in story.forgotten.items()
        if _has(pattern, everything)
        or _has(pattern, format_plain(recall(workspace.root, words, search_all(workspace))))
    ]
    marks.invented = list(_invented(written, story.messages))
    marks.duplicates = list(_duplicates(written))
    marks.missing_dated = list(_missing_dated(story, played))
    skill_text = "\n".join(text for path, text in written if path not in files.BY_PATH)
    marks.missing_skills = [name for name, row in story.skills.items() if not _has(row, skill_text)]
    marks.questions = len(story.questions)
    marks.wrong_answers = [
        question
        for question, pattern in story.questions.items()
        if not _has(pattern, played.answers.get(question, ""))
    ]
    _count_usage(workspace, marks)
    return marks


def _lists(marks: Marks) -> Iterator[tuple[str, list[str]]]:
    yield "only archived", marks.archived
    yield "lost", marks.lost
    yield "wrong", marks.wrong
    yield "outdated", marks.outdated
    yield "forgotten, found", marks.forgotten_found
    yield "invented", marks.invented
    yield "duplicates", marks.duplicates
    yield "dated, missing", marks.missing_dated
    yield "skills, missing", marks.missing_skills
    yield "wrong answers", marks.wrong_answers
    yield "failures", marks.failures


def _has(pattern: Pattern, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def _written(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Yield the memory files and the skills as they are, without what the templates say."""
    for path in files.BY_PATH:
        found = read_text(workspace.root, path)
        default = seed.template_lines(path)
        lines = seed.strip_template_comments(found.text).splitlines()
        yield path, "\n".join(line for line in lines if line.strip() not in default)
    for skill in skills.all_skills(workspace.root):
        if not skill.ships:
            yield skill.path, read_text(workspace.root, skill.path).text


def _recalled(workspace: Workspace, pattern: Pattern) -> str:
    """Return what `recall` finds by each longer word of a pattern."""
    words = dict.fromkeys(re.findall(r"\w{4,}", pattern))
    return "\n".join(format_plain(recall(workspace.root, word)) for word in words)


def _stated(written: Iterable[tuple[str, str]]) -> list[str]:
    return [
        fact.text
        for path, text in written
        if path in files.BY_PATH
        for fact in facts.facts(text)
        if fact.has_content and fact.kind != "comment"
    ]


def _invented(written: Iterable[tuple[str, str]], messages: Iterable[str]) -> Iterator[str]:
    """Yield lines with words or numbers that nobody said."""
    said = [words_of(text) for text in messages]
    words = WordSet(word for row in said for word in row.all)
    numbers = {number for row in said for number in row.numbers}
    for line in _stated(written):
        found = words_of(line)
        if share(found.all, words) < _SAID_SHARE or not found.numbers <= numbers | _DAYS:
            yield line


# A date may be worked out of "on Friday", so its day and year need not have been said.
_DAYS = frozenset(map(str, (*range(1, 32), *range(2020, 2031))))


def _duplicates(written: Iterable[tuple[str, str]]) -> Iterator[str]:
    lines = _stated(written)
    for first, second in combinations(lines, 2):
        if text_similarity.is_near(first, second):
            yield first


def _missing_dated(story: Story, played: Played) -> Iterator[str]:
    for name, row in story.dated.items():
        days = [day for day in played.shown if row.first <= day < row.last]
        missing = [day for day in days if not _has(row.line, played.shown[day])]
        if missing:
            yield f"{name} on {missing[0]}"


def _count_usage(workspace: Workspace, marks: Marks) -> None:
    rows = UsageDay.objects.filter(account=workspace.owner)
    cost = sum((row.cost for row in rows), start=0)
    totals: dict[str, dict[str, int]] = {}
    for row in rows:
        counts = totals.setdefault(row.kind, {"requests": 0, "input": 0, "output": 0})
        counts["requests"] += row.requests
        counts["input"] += row.input_tokens + row.cache_read_tokens + row.cache_write_tokens
        counts["output"] += row.output_tokens
        marks.unpriced_tokens += row.unpriced_tokens
    marks.usage = dict(sorted(totals.items()))
    marks.tokens = sum(counts["input"] + counts["output"] for counts in totals.values())
    marks.cost = f"{cost:.4f}"
