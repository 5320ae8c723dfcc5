"""The hand of one run: what its tools share, and the one way in which they write.

Every write is decided on under the workspace's lock, from what is on disk at that moment: first
the fence (whoever has lost the run writes nothing), then the files are read, the edits applied, the
write rules asked, and all of it lands or none. Whatever happens is an attempt on record; what a run
did is computed from these records, never from what the model says.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from jenny.agent.errors import Cancelled, ToolProblem
from jenny.agent.tools import Tool, Toolbox, ToolContext, ToolOutcome, file_access
from jenny.workspace import acts, diffs
from jenny.workspace.errors import PathRefused, WorkspaceError, WriteRefused
from jenny.workspace.files import Actor, Workspace
from jenny.workspace.redact import redact
from memory import facts, files, near, skills, suspect
from memory.dream import refusals, skill_rules
from memory.dream.tools import gauges, places
from memory.dream.values import Attempt, Batch, EntryVerdict

type Kind = Literal["dream", "review"]

# More than this is never added by one call.
MAX_ADDED_CHARS = 8_000
# So many problems of one patch are told.
_TOLD = 8
# Kept of a line in the records.
_LINE_CHARS = 2_000
_LINES = 400


@dataclass(frozen=True, slots=True)
class Step:
    """One change of one file. *change* makes the new text of the old one (``None``: no file);
    *added* and *removed* are the lines it is about, should it come to nothing."""

    path: str
    change: Callable[[str | None], str]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Landed:
    """What one act did to one file."""

    path: str
    old: str | None
    new: str
    attempt: Attempt


@dataclass(slots=True)
class _Draft:
    """What an act makes of one file, before it lands."""

    path: str
    data: bytes | None
    old: str | None
    new: str | None

    @property
    def text(self) -> str:
        return self.new or ""

    @property
    def added(self) -> tuple[str, ...]:
        return _kept(diffs.added_lines(self.data, self.text.encode()))

    @property
    def removed(self) -> tuple[str, ...]:
        return _kept(diffs.added_lines(self.text.encode(), self.data))


class _Refusal(Exception):
    """An act that came to nothing: the rule, what the model is told, and the file at fault."""

    def __init__(self, rule: str, sentence: str, path: str = "") -> None:
        super().__init__(sentence)
        self.rule = rule
        self.sentence = sentence
        self.path = path


class Hand:
    """What the tools of one run may do, and what they did.

    *fence* raises when the run has lost its workspace; it is asked under the workspace's lock,
    right before each write. *run* names the run in the write log (``dream:17``).
    """

    def __init__(
        self,
        workspace: Workspace,
        batch: Batch,
        *,
        fence: Callable[[], None] = lambda: None,
        run: str = "",
        kind: Kind = "dream",
    ) -> None:
        self.workspace = workspace
        self.batch = batch
        self.kind = kind
        self.run = run
        self._fence = fence
        self.attempts: list[Attempt] = []
        self.verdicts: dict[int, EntryVerdict] = {}
        self.has_finished = False
        self.before = {path: _bytes(workspace, path) for path in files.BY_PATH}

    @property
    def open_refusals(self) -> tuple[Attempt, ...]:
        """The attempts that were refused and never made good."""
        return refusals.open_refusals(self.attempts)

    @property
    def landed(self) -> tuple[Attempt, ...]:
        """The attempts that landed."""
        return tuple(attempt for attempt in self.attempts if attempt.ok)

    @property
    def unaccounted(self) -> tuple[int, ...]:
        """The entries that no verdict was accepted for, in the order shown."""
        return tuple(row.cursor for row in self.batch.entries if row.cursor not in self.verdicts)

    @property
    def finished(self) -> bool:
        """Whether the model accounted for every entry."""
        return self.has_finished and not self.unaccounted

    def write(
        self,
        tool: str,
        steps: Sequence[Step],
        sources: Sequence[int],
        *,
        reason: str = "",
        noted: str = "",
    ) -> list[Landed]:
        """Let all the steps happen, or none; what became of each file that changed. *noted*: a
        line of a memory file by which a new skill's workflow was known before.

        Raises:
            ToolProblem: none did, and why.
            Cancelled: the run is no longer this one's to write for.
        """
        named = tuple(dict.fromkeys(sources))
        drafts: list[_Draft] = []
        try:
            self._check_sources(named)
            with acts.locked(self.workspace.root):
                self._fence()
                drafts = self._drafts(steps)
                for draft in drafts:
                    self._check(draft, named, noted)
                self._land(drafts, named, reason)
        except _Refusal as refusal:
            self._record_refusal(tool, steps, drafts, named, refusal)
            raise ToolProblem(refusal.sentence) from refusal
        except WriteRefused as refused:
            as_one = _Refusal(refused.rule, refused.sentence)
            self._record_refusal(tool, steps, drafts, named, as_one)
            if refused.rule == "epoch":
                raise Cancelled("lost") from refused
            raise ToolProblem(refused.sentence) from refused
        except WorkspaceError as error:
            rule = "protected" if isinstance(error, PathRefused) else "edit"
            self._record_refusal(tool, steps, drafts, named, _Refusal(rule, error.sentence))
            raise ToolProblem(error.sentence) from error
        return [self._record(tool, draft, named) for draft in drafts]

    def text(self, path: str) -> str | None:
        """A memory file's text as it is now; ``None`` when there is none, or it is no text."""
        data = _bytes(self.workspace, path)
        try:
            return None if data is None else file_access.decoded(path, data)
        except ToolProblem:
            return None

    def refuse(self, tool: str, path: str, rule: str, sentence: str) -> None:
        """Put a write on record that came to nothing before it reached a file."""
        self.attempts.append(
            Attempt(tool, path[:_LINE_CHARS], (), ok=False, rule=rule, sentence=sentence)
        )

    def _check_sources(self, sources: tuple[int, ...]) -> None:
        if self.kind == "review":
            return
        known = ", ".join(str(row.cursor) for row in self.batch.entries) or "none"
        if not sources:
            raise _Refusal(
                "edit",
                "Nothing was written: sources is empty. Name the entries that this change rests "
                f"on, by number. The entries of this run: {known}.",
            )
        if unknown := [cursor for cursor in sources if cursor not in self.batch.cursors]:
            raise _Refusal(
                "edit",
                f"Nothing was written: sources names {_numbers(unknown)}, which this run was not "
                f"shown. The entries of this run: {known}.",
            )

    def _drafts(self, steps: Sequence[Step]) -> list[_Draft]:
        """What the steps make of their files as they are now."""
        drafts: dict[str, _Draft] = {}
        problems: list[tuple[str, str]] = []
        for number, step in enumerate(steps, 1):
            path = places.writable(self.workspace, step.path)
            try:
                if path not in drafts:
                    data = _bytes(self.workspace, path)
                    old = None if data is None else file_access.decoded(path, data)
                    drafts[path] = _Draft(path, data, old, old)
                drafts[path].new = step.change(drafts[path].new)
            except ToolProblem as problem:
                which = f"Edit {number} ({path}): " if len(steps) > 1 else f"{path}: "
                problems.append((path, f"{which}{problem.sentence.rstrip('.')}."))
        if problems:
            told = " ".join(sentence for _, sentence in problems[:_TOLD])
            more = f" {len(problems) - _TOLD} more do not fit." if len(problems) > _TOLD else ""
            raise _Refusal("edit", f"Nothing was written. {told}{more}", problems[0][0])
        return [draft for draft in drafts.values() if draft.new != draft.old]

    def _check(self, draft: _Draft, sources: tuple[int, ...], noted: str) -> None:
        """What holds of any text that Dream writes."""
        text = "\n".join(draft.added)
        if len(text) > MAX_ADDED_CHARS and not places.is_skill(draft.path):
            raise _Refusal(
                "edit",
                f"Nothing was written: {len(text):,} characters at once are too many for "
                f"{draft.path}; at most {MAX_ADDED_CHARS:,} are added by one call. Memory files "
                "hold single facts.",
                draft.path,
            )
        if found := suspect.invisible(text):
            raise _Refusal(
                "edit",
                f"Nothing was written: the text for {draft.path} holds invisible characters "
                f"({found}). Write it without them.",
                draft.path,
            )
        if hits := redact(text).hits:
            raise _Refusal(
                "secret",
                f"Nothing was written: the text for {draft.path} holds what looks like a secret "
                f"({hits[0].kind}). Secrets are never kept in these files.",
                draft.path,
            )
        if places.is_skill(draft.path):
            seen = [row.entry for row in self.batch.entries if row.cursor in sources]
            draft.new = skill_rules.checked(
                draft.path,
                draft.old,
                draft.text,
                seen=seen,
                known=skills.every(self.workspace.root),
                is_noted=self._is_noted(noted),
            )

    def _is_noted(self, line: str) -> bool:
        """Whether a memory file said this, or nearly this, before the run."""
        return bool(line.strip()) and any(
            near.nearest(line, [fact.text for fact in facts.stated(data)]) is not None
            for data in self.before.values()
        )

    def _land(self, drafts: Sequence[_Draft], sources: tuple[int, ...], reason: str) -> None:
        if not drafts:
            return
        actor = Actor(self.kind, run=self.run, sources=sources, reason=reason[:500])
        workspace = self.workspace.as_actor(actor)
        workspace.write_many({draft.path: draft.text.encode() for draft in drafts})

    def _record(self, tool: str, draft: _Draft, sources: tuple[int, ...]) -> Landed:
        grew = len(draft.text) - len(draft.old or "")
        attempt = Attempt(
            tool,
            draft.path,
            sources,
            ok=True,
            added=draft.added,
            removed=draft.removed,
            grew=grew,
        )
        self.attempts.append(attempt)
        return Landed(draft.path, draft.old, draft.text, attempt)

    def _record_refusal(
        self,
        tool: str,
        steps: Sequence[Step],
        drafts: Sequence[_Draft],
        sources: tuple[int, ...],
        refusal: _Refusal,
    ) -> None:
        """Put each file of an act that came to nothing on record, with the lines it was about.

        Where the file at fault is known, the others were refused along with it, and can be
        written by themselves.
        """
        wanted: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        for step in steps:
            path = step.path.removeprefix("./")
            added, removed = wanted.get(path, ((), ()))
            wanted[path] = (added + step.added, removed + step.removed)
        for draft in drafts:
            wanted[draft.path] = (draft.added, draft.removed)
        at_fault = [path for path in wanted if path == refusal.path or path in refusal.sentence]
        for path, (added, removed) in wanted.items():
            rule = refusal.rule if path in at_fault or not at_fault else "edit"
            self.attempts.append(
                Attempt(
                    tool,
                    path[:_LINE_CHARS],
                    sources,
                    ok=False,
                    rule=rule,
                    sentence=refusal.sentence,
                    added=_kept(added),
                    removed=_kept(removed),
                )
            )


@dataclass(slots=True)
class Desk(ToolContext):
    """The tools' context in a Dream run."""

    hand: Hand = field(kw_only=True)


class HandBox(Toolbox):
    """Dream's toolbox: a call that writes and came to nothing is always on record."""

    def __init__(self, tools: Sequence[Tool], desk: Desk, *, writers: frozenset[str]) -> None:
        super().__init__(tools, desk)
        self._hand = desk.hand
        self._writers = writers

    def call(self, name: str, arguments: object) -> ToolOutcome:
        """Run a tool, as every toolbox does."""
        hand = self._hand
        before = len(hand.attempts)
        outcome = super().call(name, arguments)
        if name in self._writers and not outcome.ok and len(hand.attempts) == before:
            path = arguments.get("path") if isinstance(arguments, dict) else None
            hand.refuse(name, path if isinstance(path, str) else "", "edit", outcome.content)
        return outcome

    def _spill(self, name: str, text: str) -> str:
        """Nothing is kept beside the files that Dream may write."""
        del name, text
        return ""


def told(landed: Sequence[Landed], hand: Hand) -> str:
    """What a write did, for the model: the lines that came and went, and how full the file is."""
    parts = []
    for row in landed:
        lines = [f"- {line[:300]}" for line in row.attempt.removed[:20]]
        lines += [f"+ {line[:300]}" for line in row.attempt.added[:20]]
        verb = "Made" if row.old is None else "Changed"
        gauge = gauges.sentence(hand.workspace.root, row.path)
        parts.append("\n".join([f"{verb} {row.path}:", *lines, *([gauge] if gauge else [])]))
    return "\n\n".join(parts)


def _bytes(workspace: Workspace, path: str) -> bytes | None:
    """A file's bytes; ``None`` when there is none, or no plain file."""
    try:
        if not workspace.exists(path):
            return None
        return workspace.read(path, limit=file_access.READ_BYTES).data
    except PathRefused:
        return None


def _kept(lines: Sequence[str]) -> tuple[str, ...]:
    """Lines that say something, bounded."""
    return tuple(line[:_LINE_CHARS] for line in lines if line.strip())[:_LINES]


def _numbers(cursors: Sequence[int]) -> str:
    shown = ", ".join(str(cursor) for cursor in cursors[:8])
    return f"{shown} and {len(cursors) - 8} more" if len(cursors) > 8 else shown  # noqa: PLR2004
