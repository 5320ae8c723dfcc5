"""A verdict is carried out: under the workspace's lock and with its row held, the file first.

The row is stored when the file was written. Who is killed in between leaves a hunk that waits for
what its file says already; the next look at it sees that, and it is settled.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from django.db import transaction
from django.db.models.functions import Now

from jenny.accounts.models import Account, Workspace
from jenny.agent.messages import clean
from jenny.agent.tools import file_access
from jenny.workspace import acts, paths
from jenny.workspace.errors import FileMissing
from jenny.workspace.files import Actor, open_workspace
from memory import ledger, skills
from memory.approval import placing, saying
from memory.approval.text_lines import lines_of
from memory.approval.values import Kind
from memory.dream.reviewing.review import SUFFIX
from memory.dream.tools.drafts import Draft, Refusal, check
from memory.errors import NotApproved
from memory.forgotten import stones
from memory.history import cursors
from memory.management.dreaming.book import put_on_offer
from memory.management.staging import as_json, keep_marks, open_rows, piece_of
from memory.models import StagedHunk

State = StagedHunk.State


@dataclass(slots=True)
class Case:
    """One hunk before its judge: its row, those decided together with it, and who decides."""

    workspace: Workspace
    row: StagedHunk
    account: Account | None
    kind: str = "browser"
    partners: list[StagedHunk] = field(default_factory=list)

    @property
    def rows(self) -> list[StagedHunk]:
        """All that is decided; what comes before what goes, so that nothing is nowhere."""
        return sorted([self.row, *self.partners], key=lambda row: row.kind == "remove")

    @property
    def person(self) -> Actor:
        """Who decides, as a writer."""
        return Actor(self.kind, account=self.account.pk if self.account else None)


@contextmanager
def case(
    workspace: Workspace, hunk_id: int, account: Account | None, kind: str
) -> Iterator[Case | StagedHunk | None]:
    """The case of a hunk that waits, all held; a row that was decided; ``None``: there is none.

    What is raised inside leaves the rows as they were.

    Raises:
        WorkspaceError: the workspace is not to be had.
    """
    root = paths.real_root(workspace.root)
    with acts.locked(root):
        with transaction.atomic():
            mine = StagedHunk.objects.select_for_update().filter(workspace=workspace)
            row = mine.filter(pk=hunk_id).first()
            if row is None or row.state != State.WAITING:
                yield row
            else:
                partners = partners_of(row, open_rows(workspace).select_for_update())
                yield Case(workspace, row, account, kind, partners)
        keep_marks(workspace)


def partners_of(row: StagedHunk, waiting: Iterable[StagedHunk]) -> list[StagedHunk]:
    """The other half of a move: what goes in one file and comes in another, in the same words."""
    if row.kind not in ("add", "remove"):
        return []
    said = saying.words(piece_of(row))
    other = "remove" if row.kind == "add" else "add"
    found = [
        one
        for one in waiting
        if one.kind == other and one.path != row.path and one.run_id == row.run_id
    ]
    return [one for one in found if said and saying.words(piece_of(one)) == said][:1]


def text_of(workspace: Workspace, path: str) -> str | None:
    """A file's text as it is now; ``None``: there is none.

    Raises:
        NotApproved, PathRefused: it is no text that can be changed.
        FileMissing: the workspace's folder is not there.
    """
    opened = open_workspace(workspace.root, Actor("pipeline"))
    try:
        data = opened.read(path, limit=file_access.READ_BYTES).data
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


def land(found: Case, *, text: str | None, seen: str | None) -> None:
    """Write the hunk (and the other half of a move) through the rules of every write, as the run
    that proposed it, and mark the rows as accepted.

    Raises:
        NotApproved: its place has changed, or the new words cannot be written.
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
        rebase(found.workspace, path)


def bury(found: Case) -> tuple[str, ...]:
    """Note as forgotten what the hunk would add, or of a removal what it takes out, which goes;
    and mark the rows. What was forgotten.

    Raises:
        NotApproved: nothing of it could be forgotten without what stands.
        WriteRefused, WriteFailed, …: nothing was changed.
    """
    root = paths.real_root(found.workspace.root)
    row = found.row
    piece = piece_of(row)
    dead = saying.dead(row.path, piece)
    if not dead:
        message = (
            "What this would write says the same as what stands there now, so nothing was "
            "forgotten. Reject this wording, or forget the line itself."
        )
        raise NotApproved(message)
    tombs = stones.burying(root, dead, replace(found.person, reason="never store this"))
    goes = [one for one in found.rows if one.kind == "remove"]
    new = {one.path: _placed(one, text_of(found.workspace, one.path), None, None) for one in goes}
    _mark(found, State.NEVER, None)
    if new:
        actor = replace(found.person, reason="forgotten")
        workspace = open_workspace(root, actor)
        data = {path: text.encode() for path, text in new.items()}
        workspace.write_many(data, first=tombs)
    elif tombs:
        ledger.land(root, tombs)
    for path in new:
        rebase(found.workspace, path)
    return tuple(one.text for one in dead)


def drop(found: Case) -> tuple[int, ...]:
    """Mark the rows as rejected; the entries that Dream is shown again, since what they say is in
    no file."""
    loses = [one for one in found.rows if one.kind != "remove"] if not found.partners else []
    sources = {cursor for one in loses for cursor in one.sources}
    offered = offer(found.workspace, sources)
    found.row.offered = list(offered)
    _mark(found, State.REJECTED, None)
    return offered


def offer(workspace: Workspace, sources: set[int]) -> tuple[int, ...]:
    """Have the entries shown to Dream again that its place is past; the others come by themselves.
    The workspace's lock is held."""
    if not sources:
        return ()
    place = cursors.dream_cursor(paths.real_root(workspace.root))
    past = {cursor for cursor in sources if cursor <= place}
    put_on_offer(workspace, past)
    return tuple(sorted(sources))


def rebase(workspace: Workspace, path: str) -> None:
    """Let what still waits for a file know its neighbours as they are now."""
    rows = list(open_rows(workspace).filter(path=path))
    pieces = [piece_of(row) for row in rows]
    if not rows or rows[0].kind == "skill":
        return
    fresh = placing.rebased(path, text_of(workspace, path), pieces)
    for row, old, piece in zip(rows, pieces, fresh, strict=True):
        if old != piece:
            row.piece = as_json(piece)
            row.save(update_fields=["piece"])


def _placed(row: StagedHunk, old: str | None, text: str | None, seen: str | None) -> str:
    """The file's text with the hunk in it, in other words if some are given."""
    piece = piece_of(row)
    if text is not None:
        lines = tuple(lines_of(clean(text))) if text.strip() else ()
        if not lines and not piece.before:
            raise NotApproved("There is nothing to write. Reject the change instead.")
        if not lines and piece.kind == "skill":
            raise NotApproved("A skill cannot be empty. Reject the change instead.")
        if piece.kind != "skill":
            kind: Kind = "add" if not piece.before else "change" if lines else "remove"
            piece = replace(piece, kind=kind)
        piece = replace(piece, after=lines)
    placed = placing.put(old, [piece])
    if not placed.conflicts:
        return placed.text or ""
    if text is None and seen is None:
        message = (
            f"Its place in {row.path} has changed meanwhile, so nothing was written. Look at both "
            "texts, and write what is to stand there."
        )
        raise NotApproved(message)
    stands = placing.standing(old, piece_of(row))
    if seen is not None and seen.replace("\r\n", "\n").strip() != stands.strip():
        message = (
            f"Something else stands in {row.path} by now than was shown, so nothing was written. "
            "Look at it again."
        )
        raise NotApproved(message)
    return placing.solved(old, piece_of(row), piece.after)


def _check(found: Case, new: str) -> None:
    """What holds of any text that is written as Dream's, also of a person's words for it."""
    row = found.row
    old = text_of(found.workspace, row.path)
    try:
        check(Draft(row.path, None if old is None else old.encode(), old, new))
    except Refusal as refusal:
        raise NotApproved(f"{refusal.sentence} The change still waits.") from refusal
    if row.kind == "skill":
        problem = skills.parse(row.path.split("/")[1], new).problem
        if problem:
            raise NotApproved(f"Nothing was written: the skill would be broken: {problem}.")


def _write(found: Case, new: dict[str, str]) -> None:
    """The act, as the run that proposed it."""
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
    """What the run that proposed it is called in the write log; a review has a name of its own."""
    if row.run is None:
        return ""
    return f"{row.run.name}{SUFFIX}" if row.actor == "review" else row.run.name


def _mark(found: Case, state: State, text: str | None) -> None:
    for row in found.rows:
        row.state, row.decided_at = state, Now()
        row.decided_by = found.account.pk if found.account else None
        if text is not None and row is found.row:
            row.is_edited, row.text = True, text
        row.save()
