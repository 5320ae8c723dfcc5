"""Drafts of one act before it lands, and those that wait for a person's approval.

Lines that a memory file states already are not added again. In a review, which was shown no
entries, each new line takes over the sources of the lines that leave for it. Where writes wait, a
run edits each file together with all that waits for it. ``all``: nothing that it writes lands.
``removals``: a mere addition lands at once; what removes or rewords a line waits, and so does an
addition for which there is room only after that.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from jenny.agent.tools import file_tools
from jenny.workspace import diffs, write_rules
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Change, Workspace
from jenny.workspace.redact import redact
from memory import artifacts, facts, files, injection_scan, skills, text_similarity
from memory.approvals import merge, overlay
from memory.approvals.diff import derive, is_alike
from memory.approvals.values import Piece, ProposalAct, ProposalStore, Waiting
from memory.dream import rules
from memory.dream.values import Attempt
from memory.facts import Fact

# More than this is never added by one call.
MAX_ADDED_CHARS = 8_000
# Kept of a line in the records, and so many lines.
LINE_CHARS = 2_000
_LINES = 400


@dataclass(frozen=True, slots=True)
class EditStep:
    """One change of one file. *change* makes the new text of the old one (``None``: no file);
    *added* and *removed* are the lines it is about, should it come to nothing."""

    path: str
    change: Callable[[str | None], str]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Landed:
    """The effect of one act on one file. *waits*: (part of) it waits for a person's approval."""

    path: str
    old: str | None
    new: str
    attempt: Attempt
    waits: bool = False


@dataclass(slots=True)
class Draft:
    """One file as an act leaves it, before it lands.

    *data* and *old* are what it is made from: the file, and where writes wait for approval the file
    with all that waits. *disk* is the file then, and *landing* what of the act may land at once.
    """

    path: str
    data: bytes | None
    old: str | None
    new: str | None
    disk: str | None = None
    landing: str | None = None
    waits: bool = False

    @property
    def text(self) -> str:
        return self.new or ""

    @property
    def came(self) -> str:
        """All that comes, whole: what a rule is asked about."""
        return "\n".join(diffs.added_lines(self.data, self.text.encode()))

    @property
    def added(self) -> tuple[str, ...]:
        """The lines that come, as they are kept on record."""
        return recorded_lines(diffs.added_lines(self.data, self.text.encode()))

    @property
    def removed(self) -> tuple[str, ...]:
        """The lines that go, as they are kept on record."""
        return recorded_lines(diffs.added_lines(self.text.encode(), self.data))


class Refusal(Exception):
    """An act that came to nothing: the rule, what the model is told, and the file at fault."""

    is_logged = False

    def __init__(self, rule: str, message: str, path: str = "") -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.path = path


def check_draft(draft: Draft) -> None:
    """Check the rules of any text that Dream writes.

    Raises:
        Refusal: it does not.
    """
    text = draft.came
    grows = len(draft.text) > len(draft.old or "")
    if len(text) > MAX_ADDED_CHARS and grows and not rules.is_skill(draft.path):
        raise Refusal(
            "edit",
            f"Nothing was written: {len(text):,} characters at once are too many for "
            f"{draft.path}; at most {MAX_ADDED_CHARS:,} are added by one call. Memory files "
            "hold single facts.",
            draft.path,
        )
    if found := injection_scan.invisible(text):
        raise Refusal(
            "edit",
            f"Nothing was written: the text for {draft.path} holds invisible characters "
            f"({found}). Write it without them.",
            draft.path,
        )
    if line := artifacts.find_record(text):
        raise Refusal(
            "edit",
            f"Nothing was written: “{line[:120]}” for {draft.path} is a line of the record word "
            "for word. Write the fact that follows from it, in a sentence of its own.",
            draft.path,
        )
    if hits := redact(text).hits:
        raise Refusal(
            "secret",
            f"Nothing was written: the text for {draft.path} holds what looks like a secret "
            f"({hits[0].kind}). Secrets are never kept in these files.",
            draft.path,
        )


def landed_attempt(tool: str, draft: Draft, sources: tuple[int, ...]) -> Attempt:
    """The record of an act that landed as it was meant."""
    return Attempt(
        tool,
        draft.path,
        sources,
        ok=True,
        added=draft.added,
        removed=draft.removed,
        grew=len(draft.text) - len(draft.old or ""),
    )


def recorded_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines that are not blank, bounded in number and length."""
    return tuple(line[:LINE_CHARS] for line in lines if line.strip())[:_LINES]


_SHOWN_CHARS = 160


def drop_known(
    drafts: Sequence[Draft],
    text: Callable[[str], str | None],
    waiting: Iterable[tuple[str, str]] = (),
) -> list[str]:
    """Take out of the drafts what stands in a memory file already, in these or nearly these words;
    a sentence for each line, with the place where it stands. What the same act takes out of a file
    does not stand there. *text* reads a file; *waiting*: texts that wait for approval, by file."""
    changed = {draft.path: draft for draft in drafts if draft.path in files.BY_PATH}
    came = {path: _came(draft) for path, draft in changed.items()}
    if not any(came.values()):
        return []
    stated: list[tuple[str, Fact]] = []
    for path in files.BY_PATH:
        after = changed[path].text if path in changed else text(path) or ""
        stated += [
            (f"{path}, line {fact.first},", fact)
            for fact in facts.facts(after)
            if _counts(fact) and fact.first - 1 not in came.get(path, set())
        ]
    stated += [
        (f"what waits for approval in {path}", fact)
        for path, said in waiting
        for fact in facts.facts(said)
        if _counts(fact)
    ]
    index = text_similarity.Index(fact.text for _, fact in stated)
    messages: list[str] = []
    for path, draft in changed.items():
        known = list(_known(draft, came[path], stated, index))
        if known:
            messages += [message for message, _ in known]
            dropped = {number for _, number in known}
            _drop(draft, dropped, came[path] - dropped)
    return messages


def _counts(fact: Fact) -> bool:
    return fact.has_content and fact.kind not in {"comment", "code"}


def _came(draft: Draft) -> set[int]:
    """The indexes of lines that come."""
    rows = diffs.opcodes((draft.old or "").splitlines(), draft.text.splitlines())
    return {at for tag, _, _, start, end in rows if tag != "equal" for at in range(start, end)}


def _known(
    draft: Draft,
    came: set[int],
    stated: Sequence[tuple[str, Fact]],
    index: text_similarity.Index,
) -> Iterator[tuple[str, int]]:
    for fact in facts.facts(draft.text):
        number = fact.first - 1
        if not _counts(fact) or number not in came or fact.last != fact.first:
            continue
        at = index.find(fact.text)
        if at is not None:
            where, other = stated[at]
            yield f"{where} says it already: “{other.text[:_SHOWN_CHARS]}”.", number


def _drop(draft: Draft, dropped: set[int], came: set[int]) -> None:
    lines = draft.text.splitlines(keepends=True)
    left = [lines[number].strip() for number in came if 0 <= number < len(lines)]
    has_removed = bool(draft.removed)
    if not has_removed and not any(line and not line.startswith("#") for line in left):
        # Nothing but a heading would come.
        draft.new = draft.old
        return
    draft.new = "".join(line for number, line in enumerate(lines) if number not in dropped)


type RestsOn = Callable[[Sequence[str]], tuple[int, ...]]
"""On which entries lines rest, by their digests (``memory.facts.digests``)."""

# A line that takes the place of many rests on the newest so many of their entries.
_MOST = 100


class InheritedSources:
    """The entries that lines rest on, as a ledger has them, and those of the pass's own lines,
    which no ledger has yet."""

    def __init__(self, rests_on: RestsOn) -> None:
        self._rests_on = rests_on
        self._own: dict[str, tuple[int, ...]] = {}

    def of(self, drafts: Sequence[Draft]) -> tuple[int, ...]:
        """Return the entries on which an act rests."""
        gone = [_digests(draft.data) - _digests(draft.text.encode()) for draft in drafts]
        left = sorted(set().union(*gone))
        found = {cursor for one in left for cursor in self._own.get(one, ())}
        if asked := [one for one in left if one not in self._own]:
            found.update(self._rests_on(asked))
        sources = tuple(sorted(found))[-_MOST:]
        for draft in drafts:
            came = _digests(draft.text.encode()) - _digests(draft.data)
            self._own |= dict.fromkeys(came, sources)
        return sources


def _digests(data: bytes | None) -> set[str]:
    return {one for fact in facts.stated(data) for one in facts.digests(fact.text)}


class ProposalWriter:
    """Stages a run's writes that wait for approval in a store of proposals."""

    def __init__(self, proposals: ProposalStore) -> None:
        self._proposals = proposals
        self._found: Waiting | None = None
        # What the model has read whole of files that are not on disk as it read them.
        self.read: dict[str, str] = {}

    @property
    def is_on(self) -> bool:
        """True when writes wait at all."""
        return self._proposals.mode != "off"

    @property
    def found(self) -> Waiting:
        """The staged changes, as last loaded."""
        return self.look() if self._found is None else self._found

    def look(self) -> Waiting:
        """Look at what waits now; where writes do not wait, once a run is enough."""
        if self._found is None or self.is_on:
            self._found = self._proposals.waiting()
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
        """Return the lines that wait to be added, by file, as facts that are known already."""
        for row in self.found.staged:
            if row.piece.kind != "skill":
                yield row.path, "\n".join(row.piece.after)

    def follow(self, draft: Draft, before: str | None) -> None:
        """Let what a step only added be among what lands; *before*: the text before it."""
        if self._proposals.mode != "removals" or rules.is_skill(draft.path):
            return
        pieces = derive(draft.path, before, draft.text)
        if pieces and all(piece.kind == "add" for piece in pieces):
            placed = merge.merge_hunks(draft.landing, pieces)
            if not placed.conflicts:
                draft.landing = placed.text

    def check(self, draft: Draft) -> None:
        """Refuse to propose again what a person rejected.

        Raises:
            Refusal: it is.
        """
        found = self.found
        if rules.is_skill(draft.path):
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
        with self._proposals.act():
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
                act = ProposalAct(sources, actor.reason, actor.kind, self._unplaced(draft, pieces))
                self._proposals.put(draft.path, pieces, act)
        self._found = None

    def _unplaced(self, draft: Draft, pieces: Sequence[Piece]) -> frozenset[int]:
        """Return staged changes that had no place in the file: the run did not edit them."""
        rows = self.found.of(draft.path)
        if not self.is_on:
            # The draft was made without what waits: that about other lines goes on waiting.
            if rules.is_skill(draft.path):
                pieces = derive(draft.path, draft.disk, draft.text)
            lines = {line for piece in pieces for line in _lines_about(piece)}
            return frozenset(row.id for row in rows if lines.isdisjoint(_lines_about(row.piece)))
        placed = merge.merge_hunks(draft.disk, [row.piece for row in rows])
        return frozenset(rows[number].id for number in placed.conflicts)

    def _let_skill_land(self, draft: Draft) -> None:
        """A new skill, and one in which lines only come, takes nothing away."""
        if self._proposals.mode != "removals" or not rules.is_skill(draft.path):
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
