"""The write session of one run: the one way in which its tools write, and the record of it.

Every write is decided under the workspace's lock, from what is on disk at that moment: first the
fence (whoever has lost the run writes nothing), then the files are read, the edits applied, the
write rules asked, and all of it lands or none. Whatever happens is an attempt on record; what a
run did is computed from these records, never from what the model says.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from jenny.agent.errors import Cancelled, ToolProblem
from jenny.agent.tools import file_tools
from jenny.workspace import transactions, write_rules
from jenny.workspace.errors import PathRefused, WorkspaceError, WriteRefused
from jenny.workspace.files import Actor, Change, Workspace
from memory import artifacts, facts, files, injection_scan, skills, text_similarity
from memory.approvals.values import ProposalStore
from memory.dream import fact_checks, rules, skill_rules
from memory.dream.drafts import (
    LINE_CHARS,
    Draft,
    EditStep,
    InheritedSources,
    Landed,
    ProposalWriter,
    Refusal,
    RestsOn,
    attempts,
    check_draft,
    drop_known,
    landed_attempt,
    recorded_lines,
)
from memory.dream.fact_checks import RULE, CheckedAct, FactStates, GroundingCheck, list_kept
from memory.dream.values import Attempt, Batch, EntryVerdict
from memory.history import reader

type Kind = Literal["dream", "review"]

# So many problems of one patch are told.
_TOLD = 8


class WriteSession:
    """The writes of one run: checks each act, applies it, and keeps the record.

    *fence* raises when the run has lost its workspace; it is asked under the workspace's lock,
    right before each write. *run* names the run in the write log (``dream:17``). *proposals*: where
    writes wait for a person's approval, and which do. *rests_on*: what a review, which names no
    entries, takes over from the lines that it replaces. *zone*: the person's, where the workspace
    names none.
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
        proposals: ProposalStore | None = None,
        zone: str = "",
    ) -> None:
        self.workspace = workspace
        self.zone = zone
        self.batch = batch
        self.kind = kind
        self.run = run
        self._inherited = InheritedSources(rests_on)
        self._rests_on = rests_on
        self._grounding = GroundingCheck()
        self._fence = fence
        self.attempts: list[Attempt] = []
        self.verdicts: dict[int, EntryVerdict] = {}
        # What the model said of single facts, by their names (memory.dream.fact_checks).
        self.fact_verdicts: dict[str, EntryVerdict] = {}
        # Facts that were left out for a reason of the list.
        self.left_out: set[str] = set()
        # Where lines of the newest write stood already, a sentence each.
        self.known: list[str] = []
        # Skills that the model was told of because a new one is near them.
        self._named_skills: set[str] = set()
        self.has_finished = False
        # Whether the model was told what its account may have overlooked.
        self.was_warned = False
        self.staging = ProposalWriter(proposals) if proposals is not None else None
        self.notes: list[str] = []
        self.before = {path: _bytes(workspace, path) for path in files.BY_PATH}

    @property
    def open_refusals(self) -> tuple[Attempt, ...]:
        """The attempts that were refused and never made good."""
        return rules.open_refusals(self.attempts)

    @property
    def landed(self) -> tuple[Attempt, ...]:
        return tuple(attempt for attempt in self.attempts if attempt.ok)

    @property
    def unaccounted(self) -> tuple[int, ...]:
        """The entries that no verdict was accepted for, in the order shown."""
        return tuple(row.cursor for row in self.batch.entries if row.cursor not in self.verdicts)

    @property
    def finished(self) -> bool:
        """True when the model accounted for every entry."""
        return self.has_finished and not self.unaccounted

    def write(
        self,
        tool: str,
        steps: Sequence[EditStep],
        sources: Sequence[int],
        *,
        reason: str = "",
        noted: str = "",
        waits: bool = False,
    ) -> list[Landed]:
        """Let all the steps happen, or none; what became of each file that changed. *noted*: a
        line of a memory file by which a new skill's workflow was known before. *waits*: the act
        waits for the person's approval, whatever the settings say.

        Raises:
            ToolProblem: none did, and why.
            Cancelled: the run is no longer this one's to write for.
        """
        named = tuple(dict.fromkeys(sources))
        drafts: list[Draft] = []
        self.known = []
        try:
            self._check_sources(named)
            with transactions.lock_workspace(self.workspace.root):
                self._fence()
                if self.staging:
                    self.staging.look()
                drafts = self._new_drafts(steps)
                if self.kind == "review":
                    named = self._inherited.of(drafts)
                for draft in drafts:
                    self._check(draft, named, noted)
                self._check_days(drafts, named)
                waits = waits or self._is_doubtful(drafts, named)
                self._land(drafts, named, reason, waits=waits)
        except Refusal as refusal:
            self._record_refusal(tool, steps, drafts, named, refusal)
            raise ToolProblem(refusal.message) from refusal
        except WriteRefused as refused:
            as_one = Refusal(refused.rule, refused.message)
            as_one.is_logged = refused.is_logged
            self._record_refusal(tool, steps, drafts, named, as_one)
            if refused.rule == "epoch":
                raise Cancelled("lost") from refused
            raise ToolProblem(refused.message) from refused
        except WorkspaceError as error:
            rule = "protected" if isinstance(error, PathRefused) else "edit"
            self._record_refusal(tool, steps, drafts, named, Refusal(rule, error.message))
            raise ToolProblem(error.message) from error
        return [self._record(tool, draft, named) for draft in drafts]

    def text(self, path: str) -> str | None:
        """A memory file's text as the run goes on from it; ``None`` when there is none, or it is
        no text."""
        data = _bytes(self.workspace, path)
        try:
            text = None if data is None else file_tools.decoded(path, data)
        except ToolProblem:
            return None
        return self.staging.over(path, text) if self.staging else text

    def fact_states(self) -> FactStates:
        """Return which of the batch's facts the files state now. Skills count as well."""
        own = [row.path for row in skills.all_skills(self.workspace.root) if not row.ships]
        texts = [self.text(path) for path in (*self.before, *own)]
        quoted = {
            fact.name: said.reason
            for fact in list_kept(self.batch.entries)
            if (said := self.fact_verdicts.get(fact.name) or self.verdicts.get(fact.cursor))
            and said.kind != "not_kept"
        }
        return fact_checks.find_states(
            self.batch, self.attempts, texts, left_out=self.left_out, quoted=quoted
        )

    def refuse(self, tool: str, path: str, rule: str, message: str) -> None:
        """Put a write on record that came to nothing before it reached a file."""
        write_rules.log_refusal(Actor(self.kind, run=self.run), Refusal(rule, message))
        self.attempts.append(
            Attempt(tool, path[:LINE_CHARS], (), ok=False, rule=rule, message=message)
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

    def _drafts(self, steps: Sequence[EditStep]) -> list[Draft]:
        """Apply the steps to their files as they are now, without writing."""
        drafts: dict[str, Draft] = {}
        problems: list[tuple[str, str]] = []
        for number, step in enumerate(steps, 1):
            path = rules.writable_path(self.workspace, step.path)
            try:
                if path not in drafts:
                    drafts[path] = self._draft(path)
                draft = drafts[path]
                before = draft.new
                draft.new = artifacts.strip_added(before, step.change(before))
                if self.staging:
                    self.staging.follow(draft, before)
            except ToolProblem as problem:
                which = f"Edit {number} ({path}): " if len(steps) > 1 else f"{path}: "
                problems.append((path, f"{which}{problem.message.rstrip('.')}."))
        if problems:
            listed = " ".join(message for _, message in problems[:_TOLD])
            more = f" {len(problems) - _TOLD} more do not fit." if len(problems) > _TOLD else ""
            raise Refusal("edit", f"Nothing was written. {listed}{more}", problems[0][0])
        return [draft for draft in drafts.values() if draft.new != draft.old]

    def _new_drafts(self, steps: Sequence[EditStep]) -> list[Draft]:
        """The drafts without lines that a memory file states already."""
        drafts = self._drafts(steps)
        waiting = self.staging.said() if self.staging and not self.staging.is_on else ()
        whole = {draft.path: draft.new for draft in drafts}
        self.known = drop_known(drafts, self.text, waiting)
        for draft in drafts:
            if self.staging and draft.new != whole[draft.path]:
                # What lands at once lacks these lines as well.
                draft.landing = draft.disk
                self.staging.follow(draft, draft.old)
        return [draft for draft in drafts if draft.new != draft.old]

    def _draft(self, path: str) -> Draft:
        """A file as it is now, and with what waits for it."""
        data = _bytes(self.workspace, path)
        disk = None if data is None else file_tools.decoded(path, data)
        old = self.staging.over(path, disk) if self.staging else disk
        if old != disk:
            data = None if old is None else old.encode()
        return Draft(path, data, old, old, disk, disk)

    def _check(self, draft: Draft, sources: tuple[int, ...], noted: str) -> None:
        """Check the rules of any text that Dream writes, and of skills."""
        check_draft(draft)
        if self.staging:
            self.staging.check(draft)
        if rules.is_skill(draft.path):
            seen = [row.entry for row in self.batch.entries if row.cursor in sources]
            draft.new = skill_rules.checked(
                draft.path,
                draft.old,
                draft.text,
                seen=seen,
                known=skill_rules.KnownSkills(
                    (
                        *skills.all_skills(self.workspace.root),
                        *(self.staging.skills() if self.staging else ()),
                    ),
                    self.text,
                    self._named_skills,
                ),
                is_noted=self._is_noted(noted),
                noted=noted,
                is_moved=self.kind == "review",
            )

    def _check_days(self, drafts: Sequence[Draft], sources: tuple[int, ...]) -> None:
        """A line about a day to come is taken out only by what corrects it."""
        texts = {draft.path: (draft.old, draft.text) for draft in drafts}
        seen = [row for row in self.batch.entries if row.cursor in sources]
        today = rules.today_in(self.workspace.root, self.zone)
        if lost := rules.find_lost(texts, seen, today):
            path, line = lost
            message = (
                f"Nothing was written: “{line[:160]}” in {path} is about a day that is still to "
                f"come (today is {today}). It stays until that day is over, unless an entry "
                "corrects it: then name that entry in sources, and write what holds now."
            )
            raise Refusal(rules.RULE, message, path)

    def _is_doubtful(self, drafts: Sequence[Draft], sources: tuple[int, ...]) -> bool:
        """True when an act has to wait for the person, since it says what the run was not shown."""
        act = CheckedAct(
            drafts=drafts,
            batch=self.batch,
            sources=sources,
            text=self.text,
            earlier=[line for row in self.landed for line in row.removed],
            written=[
                fact.text for row in self.landed for fact in facts.facts("\n".join(row.added))
            ],
            entries=self._entries_of,
            is_review=self.kind == "review",
        )

        def check_rules() -> None:
            # What a rule refuses needs no answer.
            self._check_rules(drafts, sources)

        notes = self._grounding.check(act, check_rules)
        if notes and self.staging is None:
            message = (
                "Nothing was written: it does not follow from what this run was shown, and nobody "
                "can approve it here."
            )
            raise Refusal(RULE, message)
        self.notes += notes
        return bool(notes)

    def _check_rules(self, drafts: Sequence[Draft], sources: tuple[int, ...]) -> None:
        actor = Actor(self.kind, run=self.run, sources=sources)
        root = self.workspace.root
        changes = [Change(row.path, row.data, row.text.encode(), actor, root) for row in drafts]
        write_rules.check_write(changes)

    def _entries_of(self, digests: Sequence[str]) -> list[str]:
        """The texts of the entries on which a line rests."""
        try:
            cursors = self._rests_on(digests)
            found = reader.find_by_cursor(self.workspace.root, cursors)
        except WorkspaceError:
            return []
        return [entry.content for entry in found.values()]

    def _is_noted(self, line: str) -> bool:
        """True when a memory file said this, or nearly this, before the run."""
        return bool(line.strip()) and any(
            text_similarity.nearest(line, [fact.text for fact in facts.stated(data)]) is not None
            for data in self.before.values()
        )

    def _land(
        self, drafts: Sequence[Draft], sources: tuple[int, ...], reason: str, *, waits: bool
    ) -> None:
        if not drafts:
            return
        actor = Actor(self.kind, run=self.run, sources=sources, reason=reason[:500])
        workspace = self.workspace.as_actor(actor)
        for draft in drafts:
            draft.waits = waits
            if waits:
                # None of it lands before the person has decided.
                draft.landing = draft.disk
        if self.staging and (self.staging.is_on or self._has_orders(drafts) or waits):
            self.staging.land(drafts, workspace, sources)
        elif len(drafts) == 1:
            # One file needs no journal; the lock that is held makes it the file that was read.
            workspace.write(drafts[0].path, drafts[0].text.encode())
        else:
            workspace.write_many({draft.path: draft.text.encode() for draft in drafts})

    def _has_orders(self, drafts: Sequence[Draft]) -> bool:
        """True when a new line of a memory file reads like an order slipped in for a model.
        Then the whole act waits for the person, whatever the settings say, and they are told."""
        found = False
        for draft in drafts:
            if rules.is_skill(draft.path):
                continue
            for line in draft.added:
                if what := injection_scan.orders(line):
                    found = True
                    self.notes.append(
                        f"A line for {draft.path} waits for your approval, since {what}: “"
                        f"{' '.join(line.split())[:160]}”."
                    )
        for draft in drafts if found else ():
            draft.waits = True
        return found

    def _record(self, tool: str, draft: Draft, sources: tuple[int, ...]) -> Landed:
        if self.staging and (self.staging.is_on or draft.waits):
            made = attempts(tool, draft, sources)
        else:
            made = [landed_attempt(tool, draft, sources)]
        self.attempts += made
        return Landed(draft.path, draft.old, draft.text, made[-1], waits=made[-1].waits)

    def _record_refusal(
        self,
        tool: str,
        steps: Sequence[EditStep],
        drafts: Sequence[Draft],
        sources: tuple[int, ...],
        refusal: Refusal,
    ) -> None:
        """Put each file of an act that came to nothing on record, with the lines it was about.

        Where the file at fault is known, the others were refused along with it, and can be
        written by themselves.
        """
        write_rules.log_refusal(Actor(self.kind, run=self.run), refusal)
        wanted: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        for step in steps:
            path = step.path.removeprefix("./")
            added, removed = wanted.get(path, ((), ()))
            wanted[path] = (added + step.added, removed + step.removed)
        for draft in drafts:
            wanted[draft.path] = (draft.added, draft.removed)
        at_fault = [path for path in wanted if path == refusal.path or path in refusal.message]
        for path, (added, removed) in wanted.items():
            rule, message = refusal.rule, refusal.message
            if at_fault and path not in at_fault:
                rule = "together"
                message = (
                    f"Nothing was written to {path}, since the same call was refused for "
                    f"{' and '.join(at_fault)}. It can be written by itself."
                )
            self.attempts.append(
                Attempt(
                    tool,
                    path[:LINE_CHARS],
                    sources,
                    ok=False,
                    rule=rule,
                    message=message,
                    added=recorded_lines(added),
                    removed=recorded_lines(removed),
                )
            )


def _bytes(workspace: Workspace, path: str) -> bytes | None:
    """A file's bytes; ``None`` when there is none, or no plain file."""
    try:
        if not workspace.exists(path):
            return None
        return workspace.read(path, limit=file_tools.READ_BYTES).data
    except PathRefused:
        return None


def _numbers(cursors: Sequence[int]) -> str:
    shown = ", ".join(str(cursor) for cursor in cursors[:8])
    return f"{shown} and {len(cursors) - 8} more" if len(cursors) > 8 else shown  # noqa: PLR2004 - so many are named
