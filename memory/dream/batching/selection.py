"""What a run's batch is chosen from, read from disk at the moment it is chosen."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from jenny.agent.tokens import Usage
from memory import facts, files, skills, suppression, text_similarity
from memory.dream.batching import batch
from memory.dream.batching.batch import BatchInput, Digest
from memory.dream.outcome import cursor_rule
from memory.dream.outcome.counters import Due
from memory.dream.review.result import ReviewResult
from memory.dream.values import Batch, Decision
from memory.history import edited_entries, fact_tags, reader, summary_answer

_EDITED = "edited away in the conversation"
_FORGOTTEN = "you had it forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """What earlier runs left: from how many runs each entry has come back, those of them whose
    newest run failed (and was not only held), those offered again, those given up, and how many
    entries a batch may have (0: as many as ever)."""

    tries: Mapping[int, int] = field(default_factory=dict)
    failed: frozenset[int] = frozenset()
    reoffered: frozenset[int] = frozenset()
    set_aside: frozenset[int] = frozenset()
    most: int = 0


class RunStore(Protocol):
    """What the database knows, for one run."""

    def may_write(self) -> bool:
        """Whether the run is still its holder's; asked under the workspace's lock."""

    def began(self, cursor: int, snapshot: str) -> None:
        """Keep what whoever takes the run over must know: Dream's cursor, and the snapshot."""

    def lists(self) -> Lists: ...

    def reviewing(self, due: Due) -> None:
        """Keep that a review pass has begun, so that whoever takes the run over counts it."""

    def reviewed(self, found: ReviewResult) -> None: ...

    def spent(self, usage: Usage) -> None:
        """Keep at once what a request used, so that a run that is killed has used it."""

    def digest(self, key: str) -> str | None:
        """What a summariser made of the text with this key; ``None``: nothing yet."""

    def keep_digest(self, key: str, cursor: int, text: str) -> None:
        """Keep it until Dream's place is past that entry."""

    def save_outcome(self, batch: Batch, decision: Decision) -> None:
        """Store what comes back, is offered again, or is given up; before Dream's place moves."""


def choose_batch(root: Path, lists: Lists, digest: Digest) -> tuple[Batch, int]:
    """The batch, and where Dream's cursor stands.

    Raises:
        CursorBroken, LockTimeout, WriteFailed, PathRefused: nothing can be read.
        NotDigested: a raw entry that comes first cannot be summarised for now.
    """
    pending = reader.acknowledged(root)
    wanted = lists.reoffered - lists.set_aside
    again = tuple(reader.find_by_cursor(root, wanted).values())
    waiting = tuple(row for row in pending.entries if row.cursor not in lists.set_aside)
    every = (*waiting, *again)
    passed = dict.fromkeys(edited_entries.cursors(root, every), _EDITED)
    shown = {row.cursor: row for row in suppression.without_forgotten(root, every)}
    passed |= {row.cursor: _FORGOTTEN for row in every if row.cursor not in shown}
    alone = {
        cursor for cursor in lists.failed if lists.tries.get(cursor, 0) >= cursor_rule.TRIES - 1
    }
    offer = BatchInput(
        waiting=[shown.get(row.cursor, row) for row in waiting],
        reoffered=[shown.get(row.cursor, row) for row in again],
        passed=passed,
        tries=lists.tries,
        alone=alone,
        most=lists.most or batch.MOST_ENTRIES,
    )
    return batch.build_batch(offer, digest=digest), pending.read_to


def in_files(root: Path, shown: Batch, text: Callable[[str], str | None]) -> frozenset[int]:
    """Entries with facts to be kept, each of which stands in a memory file or a skill, in these or
    nearly these words. *text* reads a file."""
    tagged = [row for row in shown.entries if cursor_rule.is_tagged(row)]
    if not tagged:
        return frozenset()
    paths = [*files.BY_PATH, *(row.path for row in skills.all_skills(root) if not row.ships)]
    texts = FactIndex(text(path) for path in paths)
    return frozenset(row.cursor for row in tagged if not texts.unknown(row.text))


class FactIndex:
    """An index of the facts of some files, for exact and near matches."""

    def __init__(self, texts: Iterable[str | None]) -> None:
        said = [fact for text in texts for fact in facts.facts(text or "") if fact.has_content]
        self._index = text_similarity.Index(
            unit for fact in said for unit in dict.fromkeys((fact.text, *facts.units(fact)))
        )

    def has(self, fact: str) -> bool:
        """True when the files state the fact in these or nearly these words."""
        return self._index.find(fact_tags.strip_tag(fact)) is not None

    def unknown(self, entry: str) -> tuple[str, ...]:
        """Return an entry's facts to keep that the files do not state."""
        return tuple(fact for fact in tagged(entry) if not self.has(fact))


def tagged(entry: str) -> tuple[str, ...]:
    """Return an entry's facts that are to be kept beyond the moment, without their tags."""
    return tuple(
        fact_tags.strip_tag(line).strip()
        for line in entry.splitlines()
        if summary_answer.mark_of(line) in summary_answer.KEPT_MARKS
    )
