"""Rules for a skill that Dream makes or changes.

A skill is made only of what was seen at least twice: in two conversations, or on two days. It has
a header that says when it is to be used, and steps. Dream changes only skills that it made itself:
they say so in their header (``made-by: dream``), which code writes; who takes that line out has
made the skill their own. What ships, what a person made, and what nobody understands stays as is.
"""

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jenny.markdown import front_matter
from jenny.markdown.front_matter import FrontMatter
from jenny.text_normalisation import is_unspaced, tokens
from jenny.workspace.errors import WriteRefused
from memory import facts, injection_scan, text_similarity
from memory.fact_words import WordSet
from memory.history.entries import HistoryEntry
from memory.skills import MADE_BY, Skill, name_problem, parse

BY_DREAM = "dream"
MAX_CHARS = 16_000
MAX_WORDS = 2_000
MAX_DESCRIPTION = 300
_MIN_DESCRIPTION = 10
_MIN_STEPS = 2
_STEP_WORDS = 3
_SIGHTINGS = 2
_SLUGS_ALIKE = 0.86
# From this share of the shorter one's steps, and of the longer one's, two skills are the same.
_SAME_STEPS, _SAME_STEPS_OF_LONGER = 0.6, 0.4
# So many steps that share words with a step are looked at, and so many near skills are named.
_ALIKE_STEPS = 3
_NAMED = 3
_KEYS = frozenset({"name", "description", "always", "disabled", MADE_BY})
_VERSION = re.compile(r"(?:v|version)?\d*")
# Words of a name that say nothing about what a skill is for.
_EMPTY = frozenset(
    {"a", "an", "the", "how", "to", "do", "make", "making", "run", "running", "for", "of", "my"}
    | {"skill", "workflow", "process", "procedure", "guide"}
)


@dataclass(frozen=True, slots=True)
class KnownSkills:
    """Every skill there is. *text* reads a file. *named*: skills that the run was told of as near
    a new one; each is named once."""

    skills: Sequence[Skill]
    text: Callable[[str], str | None]
    named: set[str]


def checked(
    path: str,
    old: str | None,
    new: str,
    *,
    seen: Sequence[HistoryEntry],
    known: KnownSkills,
    is_noted: bool = False,
    is_moved: bool = False,
    noted: str = "",
) -> str:
    """The text to write, its origin noted. *seen*: the entries that the write rests on;
    *is_noted*: a memory file has the line *noted* since before the run;
    *is_moved*: what a memory file says is only to find its place, and nothing new is made of it.

    Raises:
        WriteRefused: with rule ``skill`` where that is final, ``edit`` where another text may do.
    """
    slug = path.split("/")[1]
    if old is None:
        _refuse_a_double(slug, new, known)
        count = _SIGHTINGS if is_moved and is_noted else sightings(seen) + is_noted
        _refuse_too_early(count, "" if is_noted else noted)
        _name_near_ones(path, new, known)
        new = new.replace("\r\n", "\n").removeprefix("\ufeff")
    else:
        _refuse_a_strangers(path, old)
    header = _understood(path, slug, new)
    _check_body(path, header.body)
    if found := injection_scan.orders(new):
        _refuse(
            path, f"{found}. A skill says how a task is done, and gives no such orders", "skill"
        )
    if old is not None:
        if header.values.get(MADE_BY) != BY_DREAM:
            _refuse(path, f"the line “{MADE_BY}: {BY_DREAM}” of its header must stay", "edit")
        return new
    if MADE_BY in header.values:
        _refuse(path, f"leave “{MADE_BY}” out of the header; it is written for you", "edit")
    return f"---\n{header.raw}{MADE_BY}: {BY_DREAM}\n---\n{header.body}"


def is_by_dream(text: str) -> bool:
    """True when a skill's file says that Dream made it."""
    header = front_matter.read_front_matter(text)
    return not header.problem and header.values.get(MADE_BY) == BY_DREAM


def sightings(entries: Sequence[HistoryEntry]) -> int:
    """In how many conversations or on how many days something was seen, by the entries about it;
    what nothing sets apart counts once."""
    chats = {entry.conversation for entry in entries if entry.conversation}
    days = {entry.timestamp[:10] for entry in entries if entry.timestamp}
    return max(len(chats), len(days), min(len(entries), 1))


def near_same(slug: str, new: str, known: KnownSkills) -> Skill | None:
    """The skill that is for the same as a new one would be, by its name, its description or its
    steps."""
    header = front_matter.read_front_matter(new)
    description, own_steps = _description(new), _steps(header.body)
    wanted = _name_words(slug)
    for skill in known.skills:
        if skill.name == slug:
            continue
        if wanted and _is_same_name(wanted, _name_words(skill.name)):
            return skill
        if difflib.SequenceMatcher(None, skill.name.lower(), slug).ratio() >= _SLUGS_ALIKE:
            return skill
        if (
            not skill.problem
            and description
            and text_similarity.is_near(skill.description, description)
        ):
            return skill
        body = front_matter.read_front_matter(skill.text or known.text(skill.path) or "").body
        if _has_same_steps(own_steps, _steps(body)):
            return skill
    return None


def _has_same_steps(first: Sequence[str], second: Sequence[str]) -> bool:
    short, long = sorted((first, second), key=len)
    index = text_similarity.Index(long)
    count = sum(
        index.find(step) is not None
        or any(
            not text_similarity.contradicts(step, long[at])
            for at in index.close(step, _ALIKE_STEPS)
        )
        for step in short
    )
    least = max(_MIN_STEPS, _SAME_STEPS * len(short), _SAME_STEPS_OF_LONGER * len(long))
    return count >= least


def _name_near_ones(path: str, new: str, known: KnownSkills) -> None:
    """Name skills whose name or description is near, once: the model can tell what they are for,
    and code cannot. The refusal leaves nothing open, since the same call is accepted next."""
    slug, description = path.split("/")[1], _description(new)
    words = WordSet(_name_words(slug))
    near = [
        skill
        for skill in known.skills
        if skill.name not in known.named
        and not skill.ships
        and (
            any(words.has(word) for word in _name_words(skill.name))
            or text_similarity.is_close(skill.description, description)
        )
    ]
    known.named.update(skill.name for skill in near)
    if near:
        rows = "; ".join(f"{skill.path} (“{skill.description}”)" for skill in near[:_NAMED])
        _refuse(
            path,
            f"near it there is {rows}. Read what may be for the same, and extend it if you made "
            "it. If none is, send this call again",
            "skill",
        )


def _refuse_a_double(slug: str, new: str, known: KnownSkills) -> None:
    path = f"skills/{slug}/SKILL.md"
    if any(skill.name == slug and skill.ships for skill in known.skills):
        _refuse(path, "a skill of that name comes with Jenny; take it as it is", "skill")
    double = near_same(slug, new, known)
    if double is None:
        return
    if double.by_dream:
        _refuse(
            path,
            f"{double.path} is for the same. Read that one and change it in its place, under its "
            "name",
            "skill",
        )
    whose = "comes with Jenny" if double.ships else "is the user's own"
    _refuse(path, f"{double.path} is for the same and {whose}; leave it as it is", "skill")


def _refuse_too_early(seen: int, not_found: str) -> None:
    """*not_found*: the line that the call gave as ``noted``, if no memory file has it."""
    if seen >= _SIGHTINGS:
        return
    if not_found.strip():
        line = " ".join(not_found.split())[:160]
        message = (
            f"No skill was made: noted names “{line}”, and no memory file had that line when this "
            "run began. Copy the line as it stands in the file, or name an entry of two "
            "conversations or two days in sources."
        )
        raise WriteRefused(message, "skill")
    message = (
        "No skill was made: a skill is made only of a workflow that was seen at least twice, in "
        "two conversations or on two days. Name an entry of each in sources, or in noted the line "
        "of a memory file that spoke of it before this run. Until then, keep such a line in "
        "memory/MEMORY.md."
    )
    raise WriteRefused(message, "skill")


def _refuse_a_strangers(path: str, old: str) -> None:
    """Refuse to touch what Dream did not make, or what nobody understands."""
    header = front_matter.read_front_matter(old)
    if header.problem:
        _refuse(
            path,
            f"its header cannot be understood ({header.problem}); it is left as it is",
            "skill",
        )
    if header.values.get(MADE_BY) != BY_DREAM:
        _refuse(
            path, "it was not made by Dream; the user's own skills are left as they are", "skill"
        )


def _understood(path: str, slug: str, new: str) -> FrontMatter:
    """The new text's header, which must be as it should be."""
    header = front_matter.read_front_matter(new)
    skill = parse(slug, new)
    if problem := header.problem or name_problem(slug) or skill.problem:
        _refuse(path, f"its header would not be understood: {problem}", "edit")
    if not header.values:
        _refuse(
            path,
            "it needs a header: a line ---, then “description: …” saying when the skill is to be "
            "used, then a line ---",
            "edit",
        )
    if unknown := sorted(header.values.keys() - _KEYS):
        _refuse(path, f"its header has {', '.join(unknown)[:80]}, which nothing reads", "edit")
    if (name := header.values.get("name")) not in (None, "", slug):
        _refuse(path, f"its header is named {str(name)[:60]!r}, its folder {slug!r}", "edit")
    description = header.values.get("description")
    if (
        not isinstance(description, str)
        or not _MIN_DESCRIPTION <= len(description.strip()) <= MAX_DESCRIPTION
    ):
        _refuse(
            path,
            f"its header needs a description of {_MIN_DESCRIPTION} to {MAX_DESCRIPTION} characters "
            "that says when the skill is to be used",
            "edit",
        )
    return header


def _check_body(path: str, body: str) -> None:
    found = tokens(body)
    # A word of a script without spaces has about two characters.
    words = len(found) - sum(map(is_unspaced, found)) // 2
    if len(body) > MAX_CHARS or words > MAX_WORDS:
        _refuse(
            path,
            f"it has {words:,} words in {len(body):,} characters; a skill has at most "
            f"{MAX_WORDS:,} words and {MAX_CHARS:,} characters",
            "edit",
        )
    if len(_steps(body)) < _MIN_STEPS:
        _refuse(
            path,
            "it needs its steps as a list, one step an item, each saying in full what is done: "
            f"at least {_MIN_STEPS}",
            "edit",
        )


def _steps(body: str) -> list[str]:
    return [
        fact.text
        for fact in facts.facts(body)
        if fact.kind in {"bullet", "numbered"} and len(tokens(fact.text)) >= _STEP_WORDS
    ]


def _description(text: str) -> str:
    return str(front_matter.read_front_matter(text).values.get("description") or "")


def _name_words(slug: str) -> frozenset[str]:
    """A name's words that say what it is about, without the number of a version."""
    words = re.split(r"[-_]+", slug.lower())
    return frozenset(word for word in words if word not in _EMPTY and not _VERSION.fullmatch(word))


def _is_same_name(first: frozenset[str], second: frozenset[str]) -> bool:
    """True when each name has the other's words, whatever their inflection."""
    pairs = ((first, WordSet(second)), (second, WordSet(first)))
    return all(sought.has(word) for words, sought in pairs for word in words) and bool(second)


def _refuse(path: str, why: str, rule: str) -> None:
    raise WriteRefused(f"{path} was not written: {why}. Nothing was written.", rule)
