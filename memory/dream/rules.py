"""Rules of Dream's writes: which paths, which lines stay, and which refusals remain open.

A path counts by its target. A link, or another spelling of a path, is refused even where it leads
to a file that Dream may write. A line about a day to come stays until that day is over.

* A refusal by a budget stays open until at least one of the lines it refused lands in that same
  file; what lands in another file does not close it.
* Refusals because a line is pinned, forgotten, protected and the like are final: they close at
  once.
* An edit that did not fit the file stays open until a later edit of the same target lands. One
  whose lines had landed before was made twice, and is not open.
"""

import datetime as dt
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from jenny.agent.errors import ToolProblem
from jenny.agent.prompt import one_line
from jenny.workspace import names
from jenny.workspace.content import read_text
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Change, Workspace
from memory import facts, files, suppression, text_similarity
from memory.dream.values import Attempt, BatchEntry
from memory.facts import normal
from memory.files import BY_PATH, MEMORY_FILES
from memory.history import dated_facts, fact_tags
from memory.history.entries import load_zone

ARCHIVE = "memory/archive"

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SLUG_CHARS = 64
WRITABLE_WORDS = f"{', '.join(files.BY_PATH)} and skills/<slug>/SKILL.md"


def writable_path(workspace: Workspace, path: str) -> str:
    """The path from the workspace's folder, if Dream may write there.

    Raises:
        WriteRefused: it may not; the rule is ``protected``.
        PathRefused: no file can have that path, or it leads out.
    """
    real = _real(workspace, path)
    if is_writable(real):
        return real
    if (slug := files.skill_of(real)) is not None:
        raise WriteRefused(f"{unfit_slug(slug)} Nothing was written.", "protected")
    message = (
        f"{names.shown(real)} is not Dream's to write: it writes {WRITABLE_WORDS}, and nothing "
        "else. Nothing was written."
    )
    raise WriteRefused(message, "protected")


def is_writable(path: str) -> bool:
    """True when Dream may write the file at this resolved path."""
    if path in files.BY_PATH:
        return True
    match path.split("/"):
        case [files.SKILLS, slug, files.SKILL_FILE]:
            return not unfit_slug(slug)
    return False


def readable_path(workspace: Workspace, path: str) -> str:
    """The path from the workspace's folder, if Dream may read there.

    Raises:
        ToolProblem: it may not.
        PathRefused: no file can have that path, or it leads out.
    """
    real = workspace.relative(path)
    first = real.split("/", 1)[0]
    is_fact = PurePosixPath(real).parent == PurePosixPath(ARCHIVE) and real.endswith(".md")
    if real in files.BY_PATH or (first == files.SKILLS and real != first) or is_fact:
        return real
    message = (
        f"{names.shown(real)} is not Dream's to read: it reads {', '.join(files.BY_PATH)}, skills, "
        f"and {ARCHIVE}/<file>.md."
    )
    raise ToolProblem(message)


def is_skill(path: str) -> bool:
    """True when a resolved path is a skill's file."""
    return path not in files.BY_PATH


def unfit_slug(slug: str) -> str:
    """Explain why Dream may not give a skill this name; empty when it may."""
    shown = names.shown(slug)
    if len(slug) > _SLUG_CHARS:
        return f"{shown} is no name for a skill: it has more than {_SLUG_CHARS} characters."
    if not _SLUG.fullmatch(slug):
        return (
            f"{shown} is no name for a skill: take small letters a–z, digits, and single hyphens "
            "between them."
        )
    if why := names.unfit(slug):
        return f"{shown} is no name for a skill: it {why}."
    return ""


def guard(change: Change) -> None:
    """Refuse what Dream or a review writes elsewhere, whatever its tools let through. A write
    rule (``jenny.workspace.write_rules``).

    Raises:
        WriteRefused: with rule ``protected``.
    """
    if change.actor.is_unattended and not is_writable(change.path):
        message = f"{names.shown(change.path)} is not Dream's to write. Nothing was written."
        raise WriteRefused(message, "protected")


def _real(workspace: Workspace, path: str) -> str:
    """Return the path's target, which must be the path itself."""
    real = workspace.relative(path)
    asked = PurePosixPath(path)
    if asked.is_absolute() and asked.is_relative_to(workspace.root):
        asked = asked.relative_to(workspace.root)
    if str(asked) != real:
        message = (
            f"{names.shown(path)} leads to {names.shown(real)}; Dream follows no links. Nothing "
            f"was written. It writes {WRITABLE_WORDS}."
        )
        raise WriteRefused(message, "protected")
    workspace.resolve(path, writing=True)
    return real


_MOST = 20
_LINE_CHARS = 160
# What is older is no appointment that somebody forgot to take out: a birthday, the year of a move.
_PASSED_DAYS = 400
RULE = "dated"


def describe(root: Path, today: dt.date) -> str:
    """The lines with a day, for Dream's first message; empty when there are none. *root*: the real
    folder."""
    passed: list[tuple[dt.date, str]] = []
    ahead: list[tuple[dt.date, str]] = []
    for file in MEMORY_FILES:
        text = suppression.without(root, read_text(root, file.path).text).text
        for fact in facts.facts(text):
            days = (
                fact_tags.days_in(fact.text) if fact.has_content and fact.kind != "comment" else []
            )
            if not days:
                continue
            row = (max(days), f"* {file.path}: {one_line(fact.text, _LINE_CHARS)}")
            if row[0] >= today:
                ahead.append(row)
            elif (today - row[0]).days <= _PASSED_DAYS:
                passed.append(row)
    parts = [
        _listed(
            "These lines name a day that has passed. Take out those that were about that day alone "
            "(an appointment, a deadline, a bill); what says since when something holds, or when "
            "it was decided, stays.",
            sorted(passed),
        ),
        _listed(
            "These lines name a day that is still to come. They stay until it is over, unless an "
            "entry corrects them or takes them back.",
            sorted(ahead),
        ),
    ]
    return "\n\n".join(filter(None, parts))


def find_lost(
    texts: Mapping[str, tuple[str | None, str]], entries: Iterable[BatchEntry], today: dt.date
) -> tuple[str, str] | None:
    """The file and the line of a day to come that an act would take out of the files, though no
    entry that it rests on corrects it; ``None``: there is none. *texts*: by path, what each file
    says before and after."""
    new = [fact.text for _, after in texts.values() for fact in facts.facts(after)]
    news = {facts.normal(text) for text in new}
    corrections: list[str] | None = None
    for path, (before, _) in texts.items():
        for fact in facts.facts(before or "") if path in BY_PATH else ():
            ahead = [day for day in fact_tags.days_in(fact.text) if day >= today]
            if not ahead or fact.kind == "comment" or facts.normal(fact.text) in news:
                continue
            if any(_keeps(text, fact.text, max(ahead)) for text in new):
                continue
            if corrections is None:
                corrections = list(_corrections(entries))
            if not any(
                dated_facts.is_about_same(text, fact.text, max(ahead)) for text in corrections
            ):
                return path, fact.text
    return None


def today_in(root: Path, zone: str = "") -> dt.date:
    """The day that it is in the workspace's zone."""
    return dt.datetime.now(load_zone(root, zone)).date()


def _keeps(text: str, old: str, day: dt.date) -> bool:
    """True when a line says of the same day what an old one says."""
    return day in fact_tags.days_in(text) and dated_facts.is_about_same(text, old, day)


def _corrections(entries: Iterable[BatchEntry]) -> Iterable[str]:
    """Yield texts that may take a line's place: corrections, and texts without tags."""
    for row in entries:
        for line in row.text.split("\n"):
            found = fact_tags.parse_strict(line)
            if found is None or found.tag == "correction" or found.when:
                yield line if found is None else found.text


def _listed(about: str, rows: list[tuple[dt.date, str]]) -> str:
    if not rows:
        return ""
    more = [f"… and {len(rows) - _MOST:,} more."] if len(rows) > _MOST else []
    return "\n".join([about, "", *(text for _, text in rows[:_MOST]), *more])


# Rules whose no is the last word: nothing the run could do would make it a yes.
FINAL_RULES = frozenset(
    {
        "forgotten",
        "pinned",
        "protected",
        "consent",
        "spelling",
        "secret",
        "skill",
        "rejected",
        "dated",
        "grounding",
    }
)
_ALIKE = 0.7
# Longer texts are compared by their beginnings.
_COMPARED_CHARS = 2_000


def open_refusals(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """The attempts of a run, in order, that were refused and never made good."""
    return tuple(
        attempt
        for number, attempt in enumerate(attempts)
        if not attempt.ok
        and attempt.rule not in FINAL_RULES
        and not any(_makes_good(later, attempt) for later in attempts[number + 1 :])
        and not any(_had_landed(earlier, attempt) for earlier in attempts[:number])
    )


def _makes_good(later: Attempt, refused: Attempt) -> bool:
    """True when a later write brought what the refused one was to bring."""
    # A call that nobody could read named no file.
    if not later.ok or (refused.path and later.path != refused.path):
        return False
    if refused.rule == "budget":
        return not refused.added or _shares_a_line(later.added, refused.added)
    if not (refused.added or refused.removed):
        return True
    return (
        _shares_a_line(later.added, refused.added)
        or _is_within(refused.added, later.added)
        or _shares_a_line(later.removed, refused.removed)
        or _is_alike(later.added, refused.added)
        or _is_alike(later.removed, refused.removed)
    )


def _had_landed(earlier: Attempt, refused: Attempt) -> bool:
    """True when an edit that did not fit was made before, and landed then."""
    return (
        earlier.ok
        and earlier.path == refused.path
        and refused.rule != "budget"
        and _shares_a_line(earlier.added, refused.added)
    )


def _shares_a_line(landed: Sequence[str], wanted: Sequence[str]) -> bool:
    """True when one of the lines is among those that landed, in these or nearly these words."""
    index = text_similarity.Index(line for line in landed if line.strip())
    return any(line.strip() and index.find(line) is not None for line in wanted)


def _is_within(pieces: Sequence[str], landed: Sequence[str]) -> bool:
    """True when one of the pieces of lines stands in a line that landed."""
    texts = [normal(line) for line in landed]
    return any(piece.strip() and any(normal(piece) in text for text in texts) for piece in pieces)


def _is_alike(landed: Sequence[str], wanted: Sequence[str]) -> bool:
    """True when two texts are mostly the same: an edit tried again in other words."""
    first, second = "\n".join(landed)[:_COMPARED_CHARS], "\n".join(wanted)[:_COMPARED_CHARS]
    if not first or not second:
        return False
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    return matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE
