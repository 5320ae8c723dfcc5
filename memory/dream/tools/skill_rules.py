"""What holds of a skill that Dream makes or changes.

A skill is made only of what was seen at least twice: in two conversations, or on two days. It has
a header that says when it is to be used, and steps. Dream changes only skills that it made itself:
they say so in their header (``made-by: dream``), which code writes; who takes that line out has
made the skill their own. What ships, what a person made, and what nobody understands stays as is.
"""

import difflib
import re
from collections.abc import Sequence

from jenny.markdown import front_matter
from jenny.markdown.front_matter import FrontMatter
from jenny.workspace.errors import WriteRefused
from memory import facts, near, suspect
from memory.history.entries import Entry
from memory.skills import MADE_BY, Skill, parse, unfit_name

BY_DREAM = "dream"
MAX_CHARS = 16_000
MAX_WORDS = 2_000
MAX_DESCRIPTION = 300
_MIN_DESCRIPTION = 10
_MIN_STEPS = 2
_STEP_WORDS = 3
_SIGHTINGS = 2
_SLUGS_ALIKE = 0.86
_KEYS = frozenset({"name", "description", "always", "disabled", MADE_BY})
_WORD = re.compile(r"\w+")
# Words of a name that say nothing about what a skill is for.
_EMPTY = frozenset(
    {"a", "an", "the", "how", "to", "do", "make", "making", "run", "running", "for", "of", "my"}
    | {"skill", "workflow", "process", "procedure", "guide"}
)


def checked(
    path: str,
    old: str | None,
    new: str,
    *,
    seen: Sequence[Entry],
    known: Sequence[Skill],
    is_noted: bool = False,
    is_moved: bool = False,
) -> str:
    """The text to write, its origin noted. *seen*: the entries that the write rests on; *known*:
    every skill there is; *is_noted*: a memory file spoke of the workflow before the run;
    *is_moved*: what a memory file says is only to find its place, and nothing new is made of it.

    Raises:
        WriteRefused: with rule ``skill`` where that is final, ``edit`` where another text may do.
    """
    slug = path.split("/")[1]
    if old is None:
        _refuse_a_double(slug, new, known)
        _refuse_too_early(_SIGHTINGS if is_moved and is_noted else sightings(seen) + is_noted)
        new = new.replace("\r\n", "\n").removeprefix("\ufeff")
    else:
        _refuse_a_strangers(path, old)
    header = _understood(path, slug, new)
    _check_body(path, header.body)
    if found := suspect.orders(new):
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
    """Whether a skill's file says that Dream made it."""
    header = front_matter.read(text)
    return not header.problem and header.values.get(MADE_BY) == BY_DREAM


def sightings(entries: Sequence[Entry]) -> int:
    """In how many conversations or on how many days something was seen, by the entries about it;
    what nothing sets apart counts once."""
    chats = {entry.conversation for entry in entries if entry.conversation}
    days = {entry.timestamp[:10] for entry in entries if entry.timestamp}
    return max(len(chats), len(days), min(len(entries), 1))


def near_same(slug: str, description: str, known: Sequence[Skill]) -> Skill | None:
    """The skill that is for the same as a new one would be, by its name or its description."""
    wanted = _name_words(slug)
    for skill in known:
        if skill.name == slug:
            continue
        if wanted and _name_words(skill.name) == wanted:
            return skill
        if difflib.SequenceMatcher(None, skill.name.lower(), slug).ratio() >= _SLUGS_ALIKE:
            return skill
        if not skill.problem and description and near.is_near(skill.description, description):
            return skill
    return None


def _refuse_a_double(slug: str, new: str, known: Sequence[Skill]) -> None:
    path = f"skills/{slug}/SKILL.md"
    if any(skill.name == slug and skill.ships for skill in known):
        _refuse(path, "a skill of that name comes with Jenny; take it as it is", "skill")
    description = str(front_matter.read(new).values.get("description") or "")
    double = near_same(slug, description, known)
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


def _refuse_too_early(seen: int) -> None:
    if seen >= _SIGHTINGS:
        return
    message = (
        "No skill was made: a skill is made only of a workflow that was seen at least twice, in "
        "two conversations or on two days. Name an entry of each in sources, or in noted the line "
        "of a memory file that spoke of it before this run. Until then, keep such a line in "
        "memory/MEMORY.md."
    )
    raise WriteRefused(message, "skill")


def _refuse_a_strangers(path: str, old: str) -> None:
    """Refuse to touch what Dream did not make, or what nobody understands."""
    header = front_matter.read(old)
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
    header = front_matter.read(new)
    skill = parse(slug, new)
    if problem := header.problem or unfit_name(slug) or skill.problem:
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
    if (name := header.values.get("name")) not in (None, slug):
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
    words = len(_WORD.findall(body))
    if len(body) > MAX_CHARS or words > MAX_WORDS:
        _refuse(
            path,
            f"it has {words:,} words in {len(body):,} characters; a skill has at most "
            f"{MAX_WORDS:,} words and {MAX_CHARS:,} characters",
            "edit",
        )
    steps = [
        fact
        for fact in facts.facts(body)
        if fact.kind in {"bullet", "numbered"} and len(_WORD.findall(fact.text)) >= _STEP_WORDS
    ]
    if len(steps) < _MIN_STEPS:
        _refuse(
            path,
            "it needs its steps as a list, one step an item, each saying in full what is done: "
            f"at least {_MIN_STEPS}",
            "edit",
        )


def _name_words(slug: str) -> frozenset[str]:
    """A name's words that say what it is about, singular and plural alike."""
    words = re.split(r"[-_]+", slug.lower())
    return frozenset(
        word[:-1] if len(word) > 3 and word.endswith("s") else word  # noqa: PLR2004 - shorter words keep their s
        for word in words
        if word and word not in _EMPTY
    )


def _refuse(path: str, why: str, rule: str) -> None:
    raise WriteRefused(f"{path} was not written: {why}. Nothing was written.", rule)
