"""Applies decisions on hunks under the workspace's lock and with the row locked: the file first.

The row is stored after the file was written. A crash in between leaves a pending hunk whose file
says the same already; the next look finds that and stores it as settled.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.db import transaction
from django.db.models.functions import Now

from jenny.accounts.models import Account, Workspace
from jenny.agent.messages import clean
from jenny.agent.tools import file_tools
from jenny.workspace import paths, transactions
from jenny.workspace.errors import FileMissing, WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from memory import facts, ledgers, skills
from memory.approvals import diff, merge
from memory.approvals.diff import split_lines, trim_blank_lines
from memory.approvals.values import DecisionOutcome, Kind
from memory.dream.drafts import Draft, Refusal, check_draft
from memory.dream.review import SUFFIX
from memory.errors import NotApproved
from memory.history import cursors
from memory.models import StagedHunk
from memory.services import proposals
from memory.services.dream_run_store import queue_entries
from memory.services.proposals import as_json, keep_marks, open_rows, piece_of
from memory.skills import Skill
from memory.suppression import forget_lines, lines_to_forget, tombstones
from memory.suppression.hide import filtered

State = StagedHunk.State


@dataclass(slots=True)
class Decision:
    """One hunk under decision: its row, the rows decided together with it, and the person."""

    workspace: Workspace
    row: StagedHunk
    account: Account | None
    kind: str = "browser"
    partners: list[StagedHunk] = field(default_factory=list)

    @property
    def rows(self) -> list[StagedHunk]:
        """All rows of the decision. Additions come before removals, so that no text is missing in
        between."""
        return sorted([self.row, *self.partners], key=lambda row: row.kind == "remove")

    @property
    def person(self) -> Actor:
        return Actor(self.kind, account=self.account.pk if self.account else None)


@contextmanager
def open_decision(
    workspace: Workspace,
    hunk_id: int,
    account: Account | None,
    kind: str,
) -> Iterator[Decision | StagedHunk | None]:
    """Open the decision on a pending hunk with all locks. Yields the row when it was decided
    already, ``None`` when there is none.

    An exception inside leaves the rows as they were.

    Raises:
        WorkspaceError: the workspace cannot be used.
    """
    root = paths.real_root(workspace.root)
    with transactions.lock_workspace(root):
        with transaction.atomic():
            mine = StagedHunk.objects.select_for_update().filter(workspace=workspace)
            row = mine.filter(pk=hunk_id).first()
            if row is None or row.state != State.WAITING:
                yield row
            else:
                partners = partners_of(row, open_rows(workspace).select_for_update())
                yield Decision(workspace, row, account, kind, partners)
        keep_marks(workspace)


def partners_of(row: StagedHunk, waiting: Iterable[StagedHunk]) -> list[StagedHunk]:
    """Return the other half of a move: the same words, removed in one file and added in another."""
    if row.kind not in ("add", "remove"):
        return []
    said = diff.piece_words(piece_of(row))
    other = "remove" if row.kind == "add" else "add"
    found = [
        one
        for one in waiting
        if one.kind == other and one.path != row.path and one.run_id == row.run_id
    ]
    return [one for one in found if said and diff.piece_words(piece_of(one)) == said][:1]


def text_of(workspace: Workspace, path: str) -> str | None:
    """Return a file's present text; ``None`` without one.

    Raises:
        NotApproved, PathRefused: it is no text that can be changed.
        FileMissing: the workspace's folder is missing.
    """
    opened = open_workspace(workspace.root, Actor("pipeline"))
    try:
        data = opened.read(path, limit=file_tools.READ_BYTES).data
    except FileMissing:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        message = f"{path} is no text file now, so nothing was written. The change still waits."
        raise NotApproved(message)
    return text


def land_hunk(found: Decision, *, text: str | None, seen: str | None) -> None:
    """Write the hunk (and the other half of a move) through the write rules, as the run that
    proposed it, and mark the rows as accepted.

    Raises:
        NotApproved: its place has changed, or the new wording cannot be written.
        WriteRefused, WriteFailed, …: as any write; nothing was changed.
    """
    new: dict[str, str] = {}
    for row in found.rows:
        old = new.get(row.path, text_of(found.workspace, row.path))
        own = text if row is found.row else None
        new[row.path] = _placed(row, old, own, seen)
    if text is not None:
        _check(found, new[found.row.path])
    _mark(found, State.ACCEPTED, text)
    _write(found, new)
    for path in new:
        rebase_hunks(found.workspace, path)


def suppress_hunk(found: Decision) -> tuple[str, ...]:
    """Suppress what the hunk would add, or what its removal removes, and mark the rows. Return
    the suppressed texts.

    Raises:
        NotApproved: suppressing it would affect other present text.
        WriteRefused, WriteFailed, …: nothing was changed.
    """
    root = paths.real_root(found.workspace.root)
    row = found.row
    piece = piece_of(row)
    dead = diff.rejected_tombstones(row.path, piece)
    if not dead:
        message = (
            "What this would write says the same as what stands there now, so nothing was "
            "forgotten. Reject this wording, or forget the line itself."
        )
        raise NotApproved(message)
    person = replace(found.person, reason="never store this")
    tombs = tombstones.add_tombstones(root, dead, person)
    goes = [one for one in found.rows if one.kind == "remove"]
    new = {one.path: _placed(one, text_of(found.workspace, one.path), None, None) for one in goes}
    _mark(found, State.NEVER, None)
    if new:
        actor = replace(found.person, reason="forgotten")
        workspace = open_workspace(root, actor)
        data = {path: text.encode() for path, text in new.items()}
        workspace.write_many(data, first=tombs)
    else:
        # As of every text that is forgotten, a copy stays, so that it can be brought back.
        tombs += proposals.archive_changes(root, row, person)
        if tombs:
            ledgers.land(root, tombs)
    for path in new:
        rebase_hunks(found.workspace, path)
    return tuple(one.text for one in dead)


def lift_tombstones(root: Path, row: StagedHunk, account: Account | None, kind: str) -> None:
    """Let what a row says be known again; call it under the workspace's lock."""
    piece = piece_of(row)
    said = piece.before if row.is_wish else piece.after
    ids = tombstones.matching_ids(root, facts.facts("\n".join(said)))
    person = Actor(kind, account=account.pk if account else None)
    if changes := tombstones.remove_tombstones(root, ids, person, "remembered after all"):
        ledgers.land(root, changes)


def forget_hunk(found: Decision) -> str:
    """Take out the line that a person asked in a conversation to have forgotten.

    Raises:
        NotApproved: it stands there no more.
        WriteRefused, WriteFailed, …: as any write; nothing was changed.
    """
    row, root = found.row, paths.real_root(found.workspace.root)
    before = {facts.normal(one.text) for one in facts.facts("\n".join(piece_of(row).before))}
    lines = [
        one.id
        for one in lines_to_forget(root, row.text)
        if one.path == row.path and facts.normal(one.old) in before
    ]
    if not lines:
        message = f"The line does not stand in {row.path} any more, so nothing was taken out."
        raise NotApproved(message)
    done = forget_lines(root, row.text, lines, replace(found.person, reason="forgotten"))
    _mark(found, State.ACCEPTED, None)
    rebase_hunks(found.workspace, row.path)
    return done.message


def take_back_hunk(workspace: Workspace, hunk_id: int, actor: Actor) -> str | None:
    """Take an accepted hunk (and the other half of a move) out of its file again, and let the rows
    wait as before. Return the file names; ``None`` when the hunk waits already. Call it under the
    workspace's lock.

    The rows wait before the file is written: where a crash comes in between, the file says what
    they would write, and they are settled.

    Raises:
        NotApproved: it is not accepted, or its place has changed since.
        WriteRefused, WriteFailed, …: as any write; nothing was changed.
    """
    mine = StagedHunk.objects.filter(workspace=workspace)
    with transaction.atomic():
        row = mine.select_for_update().filter(pk=hunk_id).first()
        if row is not None and row.state == State.WAITING:
            return None
        if row is None or row.state != State.ACCEPTED or row.is_wish or row.replaced is None:
            message = "Nothing was undone: this change is not accepted any more."
            raise NotApproved(message)
        rows = [row, *partners_of(row, mine.filter(state=State.ACCEPTED))]
        # Removals are put back first, so that no text is missing in between.
        rows.sort(key=lambda one: one.kind != "remove")
        before = [(one.pk, one.decided_at, one.decided_by, one.is_edited) for one in rows]
        new: dict[str, str | None] = {}
        for one in rows:
            old = new[one.path] if one.path in new else text_of(workspace, one.path)
            new[one.path] = _taken_back(workspace, one, old)
        numbers = [one.pk for one in rows]
        waiting = {"state": State.WAITING, "decided_at": None, "decided_by": None}
        mine.filter(pk__in=numbers).update(**waiting, is_edited=False)
    keep_marks(workspace)
    try:
        open_workspace(workspace.root, actor).write_many(
            {path: None if text is None else text.encode() for path, text in new.items()}
        )
    except WorkspaceError:
        for number, at, by, is_edited in before:
            mine.filter(pk=number).update(
                state=State.ACCEPTED, decided_at=at, decided_by=by, is_edited=is_edited
            )
        raise
    # A page that was read in between found that the file says it, and settled them.
    mine.filter(pk__in=numbers).update(**waiting)
    for path in new:
        rebase_hunks(workspace, path)
    return " and ".join(new)


def _taken_back(workspace: Workspace, row: StagedHunk, text: str | None) -> str | None:
    """Return the file's text without the accepted change; ``None``: no file."""
    piece = piece_of(row)
    is_edited = row.is_edited and row.text.strip()
    written = tuple(split_lines(clean(row.text))) if is_edited else piece.after
    back = tuple(row.replaced or ())
    kind: Kind = piece.kind
    if kind != "skill":
        kind = "add" if not written else "change" if back else "remove"
    # A heading that came with the lines goes with them when nothing else is below it.
    wholes = [(piece.title, "", *trim_blank_lines(written)), written] if piece.title else [written]
    for lines in wholes:
        placed = merge.merge_hunks(text, [replace(piece, kind=kind, before=lines, after=back)])
        if not placed.conflicts:
            break
    if text is None or placed.conflicts:
        message = (
            f"{row.path} was changed there since, so nothing was undone. Memory shows its lines, "
            "each with Edit and Forget."
        )
        raise NotApproved(message)
    state = tombstones.state(paths.real_root(workspace.root))
    if filtered(state, "\n".join(back)).left_out:
        message = (
            "You had what would come back forgotten since, so nothing was undone. Memory → "
            "Forgotten lets it be known again."
        )
        raise NotApproved(message)
    return None if row.kind == "skill" and not back else placed.text


def drop_hunk(found: Decision) -> tuple[int, ...]:
    """Mark the rows as rejected and return the entries that Dream is shown again, since no file
    has their facts."""
    loses = [one for one in found.rows if one.kind != "remove"] if not found.partners else []
    sources = {cursor for one in loses for cursor in one.sources}
    offered = requeue_sources(found.workspace, sources)
    found.row.offered = list(offered)
    _mark(found, State.REJECTED, None)
    return offered


def requeue_sources(workspace: Workspace, sources: set[int]) -> tuple[int, ...]:
    """Requeue the entries that Dream's cursor has passed; the others come by themselves. Call it
    under the workspace's lock."""
    if not sources:
        return ()
    place = cursors.dream_cursor(paths.real_root(workspace.root))
    past = {cursor for cursor in sources if cursor <= place}
    queue_entries(workspace, past)
    return tuple(sorted(sources))


def rebase_hunks(workspace: Workspace, path: str) -> None:
    """Give pending hunks of a file their present neighbours."""
    rows = list(open_rows(workspace).filter(path=path))
    pieces = [piece_of(row) for row in rows]
    if not rows or rows[0].kind == "skill":
        return
    fresh = merge.rebased(path, text_of(workspace, path), pieces)
    for row, old, piece in zip(rows, pieces, fresh, strict=True):
        if old != piece:
            row.piece = as_json(piece)
            row.save(update_fields=["piece"])


def _placed(row: StagedHunk, old: str | None, text: str | None, seen: str | None) -> str:
    """Return the file's text with the hunk, or with the person's wording of it."""
    piece = piece_of(row)
    if text is not None:
        lines = tuple(split_lines(clean(text))) if text.strip() else ()
        if not lines and not piece.before:
            raise NotApproved("There is nothing to write. Reject the change instead.")
        if not lines and piece.kind == "skill":
            raise NotApproved("A skill cannot be empty. Reject the change instead.")
        if piece.kind != "skill":
            kind: Kind = "add" if not piece.before else "change" if lines else "remove"
            piece = replace(piece, kind=kind)
        piece = replace(piece, after=lines)
    placed = merge.merge_hunks(old, [piece])
    if not placed.conflicts:
        row.replaced = list(piece.before)
        return placed.text or ""
    if text is None and seen is None:
        message = (
            f"Its place in {row.path} has changed meanwhile, so nothing was written. Look at both "
            "texts, and write what is to stand there."
        )
        raise NotApproved(message)
    stands = merge.standing(old, piece_of(row))
    if seen is not None and seen.replace("\r\n", "\n").strip() != stands.strip():
        message = (
            f"Something else stands in {row.path} by now than was shown, so nothing was written. "
            "Look at it again."
        )
        raise NotApproved(message)
    row.replaced = stands.split("\n") if stands else []
    return merge.solved(old, piece_of(row), piece.after)


def _check(found: Decision, new: str) -> None:
    """Check a text that is written as Dream's, also when a person worded it."""
    row = found.row
    old = text_of(found.workspace, row.path)
    try:
        check_draft(Draft(row.path, None if old is None else old.encode(), old, new))
    except Refusal as refusal:
        raise NotApproved(f"{refusal.message} The change still waits.") from refusal
    if row.kind == "skill":
        problem = skills.parse(row.path.split("/")[1], new).problem
        if problem:
            raise NotApproved(f"Nothing was written: the skill would be broken: {problem}.")


def _write(found: Decision, new: dict[str, str]) -> None:
    row = found.row
    actor = Actor(
        row.actor,
        account=found.account.pk if found.account else None,
        run=name_of(row),
        sources=tuple(sorted({cursor for one in found.rows for cursor in one.sources})),
        reason=row.reason,
    )
    workspace = open_workspace(found.workspace.root, actor)
    workspace.write_many({path: text.encode() for path, text in new.items()})


def name_of(row: StagedHunk) -> str:
    """Return the run name in the write log; a review has a name of its own."""
    if row.run is None:
        return ""
    return f"{row.run.name}{SUFFIX}" if row.actor == "review" else row.run.name


def _mark(found: Decision, state: State, text: str | None) -> None:
    for row in found.rows:
        row.state, row.decided_at = state, Now()
        row.decided_by = found.account.pk if found.account else None
        if text is not None and row is found.row:
            row.is_edited, row.text = True, text
        row.save()


def skills_waiting(workspace: Workspace) -> tuple[Skill, ...]:
    """Return Dream's skills with ``always: true`` whose text (``Skill.version``) is not
    approved."""
    return skills.waiting(workspace.root)


def approve_skill(
    workspace: Workspace,
    path: str,
    version: str,
    *,
    account: Account | None,
    kind: str = "browser",
) -> DecisionOutcome:
    """Approve that version of the skill; another text needs another approval."""
    found = _found(workspace, path)
    if found is None:
        return _refused(path)
    if found.version != version:
        message = (
            f"The skill “{found.name}” has another text by now than you were shown, so nothing was "
            "agreed to. Look at it again."
        )
        return DecisionOutcome(ok=False, message=message)
    if found.waits(skills.approved_versions(workspace.root)):
        try:
            skills.approve_skill(workspace.root, path, version, _person(account, kind))
        except WorkspaceError as error:
            return DecisionOutcome(ok=False, message=error.message)
    message = f"The skill “{found.name}” is read in every conversation from now on."
    return DecisionOutcome(ok=True, message=message)


def withdraw_skill(
    workspace: Workspace, path: str, *, account: Account | None, kind: str = "browser"
) -> DecisionOutcome:
    """Withdraw the approval: the skill is only listed from now on."""
    found = _found(workspace, path)
    if found is None:
        return _refused(path)
    if not found.waits(skills.approved_versions(workspace.root)):
        try:
            skills.withdraw_approval(workspace.root, path, _person(account, kind))
        except WorkspaceError as error:
            return DecisionOutcome(ok=False, message=error.message)
    message = f"The skill “{found.name}” is only listed from now on, until you agree to it."
    return DecisionOutcome(ok=True, message=message)


def _found(workspace: Workspace, path: str) -> Skill | None:
    """Return Dream's skill at *path* that asks to be read always."""
    every = skills.all_skills(workspace.root)
    return next((row for row in every if row.path == path and row.always and row.by_dream), None)


def _refused(path: str) -> DecisionOutcome:
    message = (
        f"There is no skill of Dream's at {path} that asks to be read in every conversation. "
        "Nothing was changed."
    )
    return DecisionOutcome(ok=False, message=message)


def _person(account: Account | None, kind: str) -> Actor:
    return Actor(kind, account=account.pk if account else None)
