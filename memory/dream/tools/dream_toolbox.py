"""Dream's toolbox: the context of its tools, and every call on record."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from jenny.agent.tools import Tool, Toolbox, ToolContext, ToolOutcome
from memory import budgets, facts, files, skills, text_similarity
from memory.dream.tools.drafts import Landed
from memory.dream.tools.write_session import WriteSession

# What a model sent is repeated in a refusal, up to so many characters.
_SENTENCE_CHARS = 4_000
# Of a change, so many lines are told, each so far.
_LINES = 20
_SHOWN_CHARS = 300


@dataclass(slots=True)
class DreamToolContext(ToolContext):
    """The tools' context in a Dream run."""

    session: WriteSession = field(kw_only=True)


class DreamToolbox(Toolbox):
    """Dream's toolbox: a call that writes and came to nothing is always on record."""

    def __init__(
        self, tools: Sequence[Tool], ctx: DreamToolContext, *, writers: frozenset[str]
    ) -> None:
        super().__init__(tools, ctx)
        self._hand = ctx.session
        self._writers = writers

    def call(self, name: str, arguments: object) -> ToolOutcome:
        """Run a tool, as every toolbox does."""
        session = self._hand
        before = len(session.attempts)
        outcome = super().call(name, arguments)
        if not outcome.ok and len(outcome.content) > _SENTENCE_CHARS:
            # What the model sent is repeated in it.
            outcome = replace(outcome, content=f"{outcome.content[:_SENTENCE_CHARS]}…")
        if name in self._writers and not outcome.ok and len(session.attempts) == before:
            session.refuse(name, _path_in(arguments), "edit", outcome.content)
        return outcome

    def _spill(self, name: str, text: str) -> str:
        """Nothing is kept beside the files that Dream may write."""
        del name, text
        return ""


def _path_in(arguments: object) -> str:
    """The one path that a call named which could not be read; empty: none, or several."""
    if not isinstance(arguments, dict):
        return ""
    edits = arguments.get("edits")
    rows = edits if isinstance(edits, list) else [arguments]
    paths = {row.get("path") for row in rows if isinstance(row, dict)}
    path = paths.pop() if len(paths) == 1 else ""
    return path if isinstance(path, str) else ""


def format_landed(landed: Sequence[Landed], session: WriteSession) -> str:
    """What a write did, for the model: the lines that came and went, and how full the file is."""
    parts = []
    for row in landed:
        lines = [f"- {line[:_SHOWN_CHARS]}" for line in row.attempt.removed[:_LINES]]
        lines += [f"+ {line[:_SHOWN_CHARS]}" for line in row.attempt.added[:_LINES]]
        verb = "Made" if row.old is None else "Changed"
        if row.waits:
            verb = "Noted for the person's approval, and done as far as this run goes:"
        parts.append("\n".join([f"{verb} {row.path}:", *lines, *_gauge(row, session)]))
    return "\n\n".join([*parts, *_left_elsewhere(landed, session)])


def _gauge(row: Landed, session: WriteSession) -> list[str]:
    """How full a memory file is after a write. Room is asked for only where a file grew; a review
    adds nothing, and whoever makes a file smaller is making room."""
    for measured in budgets.gauge(session.workspace.root):
        if measured.file.path == row.path:
            gauge = replace(measured, chars=budgets.characters(row.new.encode()))
            has_grown = (gauge.chars or 0) > budgets.characters((row.old or "").encode())
            asks = gauge.near and has_grown and session.kind == "dream"
            return [f"{gauge.message}.{' Make room before you add more.' if asks else ''}"]
    return []


def _left_elsewhere(landed: Sequence[Landed], session: WriteSession) -> list[str]:
    """Where what was just taken out or reworded still stands, word for word or nearly so."""
    came = text_similarity.Index(line for row in landed for line in row.attempt.added)
    gone = [line for row in landed for line in row.attempt.removed if came.find(line) is None]
    if not gone:
        return []
    sources = {cursor for row in landed for cursor in row.attempt.sources}
    own: list[str] = []
    if any("correction" in row.tags for row in session.batch.entries if row.cursor in sources):
        own = [skill.path for skill in skills.all_skills(session.workspace.root) if skill.by_dream]
    stated = [
        (path, fact)
        for path in (*files.BY_PATH, *own)
        for fact in facts.facts(session.text(path) or "")
        if fact.has_content
    ]
    index = text_similarity.Index(fact.text for _, fact in stated)
    found = dict.fromkeys(at for line in gone[:_LINES] if (at := index.find(line)) is not None)
    return [
        f"The old wording still stands in {stated[at][0]}, line {stated[at][1].first}: "
        f"“{stated[at][1].text[:_SHOWN_CHARS]}”. If it is no longer true, change it there, too."
        for at in found
    ]
