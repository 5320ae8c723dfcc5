"""The hand of one run: what its tools share, and the one way in which they write.

Every write is decided on under the workspace's lock, from what is on disk at that moment: first
the fence (whoever has lost the run writes nothing), then the files are read, the edits applied, the
write rules asked, and all of it lands or none. Whatever happens is an attempt on record; what a run
did is computed from these records, never from what the model says.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from jenny.agent.errors import Cancelled, ToolProblem
from jenny.agent.tools import file_access
from jenny.workspace import acts
from jenny.workspace.errors import PathRefused, WorkspaceError, WriteRefused
from jenny.workspace.files import Actor, Workspace
from memory import facts, files, near, skills
from memory.approval.values import Shelf
from memory.dream.judging import refusals
from memory.dream.tools import places, skill_rules, staging
from memory.dream.tools.drafts import LINE_CHARS, Draft, Landed, Refusal, Step, check, kept, whole
from memory.dream.tools.heritage import Heritage, RestsOn
from memory.dream.tools.staging import Staging
from memory.dream.values import Attempt, Batch, EntryVerdict

type Kind = Literal["dream", "review"]

# So many problems of one patch are told.
_TOLD = 8


class Hand:
    """What the tools of one run may do, and what they did.

    *fence* raises when the run has lost its workspace; it is asked under the workspace's lock,
    right before each write. *run* names the run in the write log (``dream:17``). *shelf*: where
    writes wait for a person's approval, and which do. *rests_on*: what a review, which names no
    entries, takes over from the lines that it replaces.
    """

    def __init__(
        self,
        workspace: Workspace,
        batch: Batch,
        *,
        fence: Callable[[], None] = lambda: None,
        run: str = "",
        kind: Kind = "dream",
        rests_on: RestsOn = lambda _: (),
        shelf: Shelf | None = None,
    ) -> None:
        self.workspace = workspace
        self.batch = batch
        self.kind = kind
        self.run = run
        self._heritage = Heritage(rests_on)
        self._fence = fence
        self.attempts: list[Attempt] = []
        self.verdicts: dict[int, EntryVerdict] = {}
        self.has_finished = False
        self.staging = Staging(shelf) if shelf is not None else None
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
        drafts: list[Draft] = []
        try:
            self._check_sources(named)
            with acts.locked(self.workspace.root):
                self._fence()
                if self.staging:
                    self.staging.look()
                drafts = self._drafts(steps)
                if self.kind == "review":
                    named = self._heritage.of(drafts)
                for draft in drafts:
                    self._check(draft, named, noted)
                self._land(drafts, named, reason)
        except Refusal as refusal:
            self._record_refusal(tool, steps, drafts, named, refusal)
            raise ToolProblem(refusal.sentence) from refusal
        except WriteRefused as refused:
            as_one = Refusal(refused.rule, refused.sentence)
            self._record_refusal(tool, steps, drafts, named, as_one)
            if refused.rule == "epoch":
                raise Cancelled("lost") from refused
            raise ToolProblem(refused.sentence) from refused
        except WorkspaceError as error:
            rule = "protected" if isinstance(error, PathRefused) else "edit"
            self._record_refusal(tool, steps, drafts, named, Refusal(rule, error.sentence))
            raise ToolProblem(error.sentence) from error
        return [self._record(tool, draft, named) for draft in drafts]

    def text(self, path: str) -> str | None:
        """A memory file's text as the run goes on from it; ``None`` when there is none, or it is
        no text."""
        data = _bytes(self.workspace, path)
        try:
            text = None if data is None else file_access.decoded(path, data)
        except ToolProblem:
            return None
        return self.staging.over(path, text) if self.staging else text

    def refuse(self, tool: str, path: str, rule: str, sentence: str) -> None:
        """Put a write on record that came to nothing before it reached a file."""
        self.attempts.append(
            Attempt(tool, path[:LINE_CHARS], (), ok=False, rule=rule, sentence=sentence)
        )

    def _check_sources(self, sources: tuple[int, ...]) -> None:
        if self.kind == "review":
            return
        known = ", ".join(str(row.cursor) for row in self.batch.entries) or "none"
        if not sources:
            raise Refusal(
                "edit",
                "Nothing was written: sources is empty. Name the entries that this change rests "
                f"on, by number. The entries of this run: {known}.",
            )
        if unknown := [cursor for cursor in sources if cursor not in self.batch.cursors]:
            raise Refusal(
                "edit",
                f"Nothing was written: sources names {_numbers(unknown)}, which this run was not "
                f"shown. The entries of this run: {known}.",
            )

    def _drafts(self, steps: Sequence[Step]) -> list[Draft]:
        """What the steps make of their files as they are now."""
        drafts: dict[str, Draft] = {}
        problems: list[tuple[str, str]] = []
        for number, step in enumerate(steps, 1):
            path = places.writable(self.workspace, step.path)
            try:
                if path not in drafts:
                    drafts[path] = self._draft(path)
                draft = drafts[path]
                before = draft.new
                draft.new = step.change(before)
                if self.staging:
                    self.staging.follow(draft, before)
            except ToolProblem as problem:
                which = f"Edit {number} ({path}): " if len(steps) > 1 else f"{path}: "
                problems.append((path, f"{which}{problem.sentence.rstrip('.')}."))
        if problems:
            told = " ".join(sentence for _, sentence in problems[:_TOLD])
            more = f" {len(problems) - _TOLD} more do not fit." if len(problems) > _TOLD else ""
            raise Refusal("edit", f"Nothing was written. {told}{more}", problems[0][0])
        return [draft for draft in drafts.values() if draft.new != draft.old]

    def _draft(self, path: str) -> Draft:
        """A file as it is now, and with what waits for it."""
        data = _bytes(self.workspace, path)
        disk = None if data is None else file_access.decoded(path, data)
        old = self.staging.over(path, disk) if self.staging else disk
        if old != disk:
            data = None if old is None else old.encode()
        return Draft(path, data, old, old, disk, disk)

    def _check(self, draft: Draft, sources: tuple[int, ...], noted: str) -> None:
        """What holds of any text that Dream writes, and of skills besides."""
        check(draft)
        if self.staging:
            self.staging.check(draft)
        if places.is_skill(draft.path):
            seen = [row.entry for row in self.batch.entries if row.cursor in sources]
            draft.new = skill_rules.checked(
                draft.path,
                draft.old,
                draft.text,
                seen=seen,
                known=(
                    *skills.every(self.workspace.root),
                    *(self.staging.skills() if self.staging else ()),
                ),
                is_noted=self._is_noted(noted),
                is_moved=self.kind == "review",
            )

    def _is_noted(self, line: str) -> bool:
        """Whether a memory file said this, or nearly this, before the run."""
        return bool(line.strip()) and any(
            near.nearest(line, [fact.text for fact in facts.stated(data)]) is not None
            for data in self.before.values()
        )

    def _land(self, drafts: Sequence[Draft], sources: tuple[int, ...], reason: str) -> None:
        if not drafts:
            return
        actor = Actor(self.kind, run=self.run, sources=sources, reason=reason[:500])
        workspace = self.workspace.as_actor(actor)
        if self.staging and self.staging.is_on:
            self.staging.land(drafts, workspace, sources)
        elif len(drafts) == 1:
            # One file needs no journal; the lock that is held makes it the file that was read.
            workspace.write(drafts[0].path, drafts[0].text.encode())
        else:
            workspace.write_many({draft.path: draft.text.encode() for draft in drafts})

    def _record(self, tool: str, draft: Draft, sources: tuple[int, ...]) -> Landed:
        if self.staging and self.staging.is_on:
            made = staging.attempts(tool, draft, sources)
        else:
            made = [whole(tool, draft, sources)]
        self.attempts += made
        return Landed(draft.path, draft.old, draft.text, made[-1], waits=made[-1].waits)

    def _record_refusal(
        self,
        tool: str,
        steps: Sequence[Step],
        drafts: Sequence[Draft],
        sources: tuple[int, ...],
        refusal: Refusal,
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
                    path[:LINE_CHARS],
                    sources,
                    ok=False,
                    rule=rule,
                    sentence=refusal.sentence,
                    added=kept(added),
                    removed=kept(removed),
                )
            )


def _bytes(workspace: Workspace, path: str) -> bytes | None:
    """A file's bytes; ``None`` when there is none, or no plain file."""
    try:
        if not workspace.exists(path):
            return None
        return workspace.read(path, limit=file_access.READ_BYTES).data
    except PathRefused:
        return None


def _numbers(cursors: Sequence[int]) -> str:
    shown = ", ".join(str(cursor) for cursor in cursors[:8])
    return f"{shown} and {len(cursors) - 8} more" if len(cursors) > 8 else shown  # noqa: PLR2004 - so many are named
