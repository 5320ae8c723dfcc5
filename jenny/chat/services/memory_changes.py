"""Shows a turn's changes of memory files on its answer, computed from its writes."""

from django.db import transaction
from django.urls import reverse

from jenny.chat.models import Block, Message, Turn
from jenny.chat.services.answers import answer_of
from jenny.workspace import diffs
from memory.models import TurnChange
from memory.provenance import TURN
from memory.services import origins
from memory.undo_turn import Changed

MARK = "memory"


def record_changes(turn: Turn) -> Message | None:
    """Add the note "Memory updated" to the turn's last answer, once, without publishing it.

    ``None``: the turn changed no memory file, or the note exists.
    """
    rows = changes_of(turn)
    if not rows:
        return None
    files = []
    for row in values(rows):
        counts = diffs.counts(row.before, row.after)
        files.append({"path": row.path, "added": counts.added, "removed": counts.removed})
    with transaction.atomic():
        turn.conversation.locked()
        if turn.blocks.filter(kind=Block.Kind.NOTE, data__kind=MARK).exists():
            return None
        answers = turn.messages.filter(kind=Message.Kind.ANSWER).order_by("-pk")
        answer = answers.first() or answer_of(turn)
        url = reverse("chat:changes", args=[turn.conversation_id, turn.pk])
        Block.objects.create(
            turn=turn,
            message=answer,
            step=turn.steps,
            kind=Block.Kind.NOTE,
            is_open=False,
            text="Memory updated: " + ", ".join(row.path for row in rows),
            data={"kind": MARK, "files": files, "url": url},
        )
    return answer


def changes_of(turn: Turn) -> list[TurnChange]:
    return origins.changes_of(turn.conversation.workspace, f"{TURN}{turn.pk}")


def values(rows: list[TurnChange]) -> list[Changed]:
    return [Changed(row.path, _bytes(row.before), _bytes(row.after)) for row in rows]


def mark_undone(turn: Turn, rows: list[TurnChange]) -> Message | None:
    """Record that these changes were undone, in the note when all of them are, and return its
    answer."""
    origins.mark_undone(rows)
    block = turn.blocks.filter(kind=Block.Kind.NOTE, data__kind=MARK).first()
    if block is None:
        return None
    if all(row.undone_at is not None for row in changes_of(turn)):
        block.data["undone"] = True
        block.save(update_fields=["data"])
    return block.message


def _bytes(data: bytes | memoryview | None) -> bytes | None:
    return None if data is None else bytes(data)
