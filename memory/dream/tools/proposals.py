"""Writes that wait for a person's approval: what they are made from, and where they go.

Such a run edits each file together with all that waits for it. ``all``: nothing of what it writes
lands. ``removals``: what a step only adds lands at once; what takes something away or rewords it
waits, and so does an addition for which there is room only after that.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from jenny.agent.tools import file_tools
from jenny.workspace import diffs, write_rules
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Change, Workspace
from memory import facts, skills
from memory.approvals import merge, overlay
from memory.approvals.diff import derive, is_alike
from memory.approvals.values import Act, Piece, ProposalStore, Waiting
from memory.dream.tools import allowed_paths
from memory.dream.tools.drafts import Draft, Refusal, landed_attempt, recorded_lines
from memory.dream.values import Attempt


class ProposalWriter:
    """What of a run's writes waits, by the shelf that it is put on."""

    def __init__(self, shelf: ProposalStore) -> None:
        self._shelf = shelf
        self._found: Waiting | None = None
        # What the model has read whole of files that are not on disk as it read them.
        self.read: dict[str, str] = {}

    @property
    def is_on(self) -> bool:
        """Whether writes wait at all."""
        return self._shelf.mode != "off"

    @property
    def found(self) -> Waiting:
        """What waits, as last looked at."""
        return self.look() if self._found is None else self._found

    def look(self) -> Waiting:
        """Look at what waits now; where writes do not wait, once a run is enough."""
        if self._found is None or self.is_on:
            self._found = self._shelf.waiting()
        return self._found

    def over(self, path: str, text: str | None) -> str | None:
        """A file's text as the run goes on from it."""
        return overlay.applied(self.found, path, text) if self.is_on else text

    def skills(self) -> Iterator[skills.Skill]:
        """Skills that wait and are no files yet."""
        for row in self.found.staged:
            if row.piece.kind == "skill" and not row.piece.before:
                yield skills.parse(row.path.split("/")[1], "\n".join(row.piece.after))

    def said(self) -> Iterator[tuple[str, str]]:
        """What is to be added, by file, for who asks what is known already."""
        for row in self.found.staged:
            if row.piece.kind != "skill":
                yield row.path, "\n".join(row.piece.after)

    def follow(self, draft: Draft, before: str | None) -> None:
        """Let what a step only added be among what lands; *before*: the text before it."""
        if self._shelf.mode != "removals" or allowed_paths.is_skill(draft.path):
            return
        pieces = derive(draft.path, before, draft.text)
        if pieces and all(piece.kind == "add" for piece in pieces):
            placed = merge.merge_hunks(draft.landing, pieces)
            if not placed.conflicts:
                draft.landing = placed.text

    def check(self, draft: Draft) -> None:
        """What a person rejected is not proposed again.

        Raises:
            Refusal: it is.
        """
        found = self.found
        if allowed_paths.is_skill(draft.path):
            if facts.normal(draft.text) in {facts.normal(text) for text in found.rejected}:
                raise _rejected(draft.path, draft.path)
            return
        wordings = {facts.normal(text) for text in found.rejected}
        stays = {facts.normal(text) for text in found.kept}
        if not wordings and not stays:
            return
        came, went = _facts(draft.came), _facts("\n".join(draft.removed))
        for text in came:
            if facts.normal(text) in wordings:
                raise _rejected(draft.path, text)
        for text in went:
            if facts.normal(text) in stays and not any(is_alike([text], [one]) for one in came):
                message = (
                    f"Nothing was written: the person was asked to take “{text[:160]}” out of "
                    f"{draft.path}, and wants to keep it. That is final."
                )
                raise Refusal("rejected", message, draft.path)

    def land(self, drafts: Sequence[Draft], workspace: Workspace, sources: Sequence[int]) -> None:
        """Put aside what waits, and write what does not; both, or neither.

        Raises:
            WriteRefused, …: as any write.
        """
        actor, root = workspace.actor, workspace.root
        with self._shelf.act():
            write_rules.check_write(
                [
                    Change(row.path, _bytes(row.old), row.text.encode(), actor, root)
                    for row in drafts
                ]
            )
            for draft in drafts:
                self._let_skill_land(draft)
            try:
                _write(drafts, workspace)
            except WriteRefused as refused:
                if refused.rule != "budget":
                    raise
                for draft in drafts:
                    draft.landing = draft.disk
            for draft in drafts:
                pieces = derive(draft.path, draft.landing, draft.text)
                act = Act(sources, actor.reason, actor.kind, self._unplaced(draft, pieces))
                self._shelf.put(draft.path, pieces, act)
        self._found = None

    def _unplaced(self, draft: Draft, pieces: Sequence[Piece]) -> frozenset[int]:
        """What waits for the file and had no place in it, so that the run did not edit it."""
        rows = self.found.of(draft.path)
        if not self.is_on:
            # The draft was made without what waits: that about other lines goes on waiting.
            if allowed_paths.is_skill(draft.path):
                pieces = derive(draft.path, draft.disk, draft.text)
            lines = {line for piece in pieces for line in _lines_about(piece)}
            return frozenset(row.id for row in rows if lines.isdisjoint(_lines_about(row.piece)))
        placed = merge.merge_hunks(draft.disk, [row.piece for row in rows])
        return frozenset(rows[number].id for number in placed.conflicts)

    def _let_skill_land(self, draft: Draft) -> None:
        """A new skill, and one in which lines only come, takes nothing away."""
        if self._shelf.mode != "removals" or not allowed_paths.is_skill(draft.path):
            return
        if self.found.of(draft.path):
            return
        before = file_tools.lines_of(draft.disk or "")
        after = file_tools.lines_of(draft.text)
        rows = diffs.opcodes(before, after)
        if draft.disk is None or all(tag in ("equal", "insert") for tag, *_ in rows):
            draft.landing = draft.text


def attempts(tool: str, draft: Draft, sources: tuple[int, ...]) -> list[Attempt]:
    """The records of an act: of what landed of it, and of what waits."""
    found = []
    lines = diffs.added_lines(_bytes(draft.disk), _bytes(draft.landing))
    grew = len(draft.landing or "") - len(draft.disk or "")
    if draft.landing != draft.disk:
        found.append(
            Attempt(tool, draft.path, sources, ok=True, added=recorded_lines(lines), grew=grew)
        )
    there = Counter(lines)
    came = []
    for line in diffs.added_lines(draft.data, draft.text.encode()):
        if there[line]:
            there[line] -= 1
        else:
            came.append(line)
    added, removed = recorded_lines(came), draft.removed
    if added or removed or not found:
        waiting = replace(
            landed_attempt(tool, draft, sources), added=added, removed=removed, waits=True
        )
        found.append(replace(waiting, grew=waiting.grew - grew))
    return found


def _write(drafts: Sequence[Draft], workspace: Workspace) -> None:
    new = {
        row.path: row.landing.encode()
        for row in drafts
        if row.landing is not None and row.landing != row.disk
    }
    if len(new) == 1:
        for path, data in new.items():
            workspace.write(path, data)
    elif new:
        workspace.write_many(new)


def _lines_about(piece: Piece) -> set[str]:
    """The lines that a piece is about; a skill's has the whole file before and after."""
    if piece.kind != "skill":
        return set(filter(str.strip, (*piece.before, *piece.after)))
    changed = set(piece.before) ^ set(piece.after)
    return {line for line in changed if line.strip() and not skills.HEADER_LINE.match(line)}


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _facts(text: str) -> list[str]:
    return [row.text for row in facts.facts(text) if row.has_content]


def _rejected(path: str, text: str) -> Refusal:
    message = (
        f"Nothing was written: the person rejected this wording: “{text[:160]}”. Say it in other "
        "words that are true to the entry, or account for the entry as not_kept."
    )
    return Refusal("rejected", message, path)
