"""What a turn changed in the memory files, said on its answer: from what it wrote, not from what
the model says."""

from django.db import transaction
from django.urls import reverse

from jenny.chat.models import Block, Message, Turn
from jenny.chat.tasks.answers import answer_of
from jenny.workspace import diffs
from memory.management import origins
from memory.models import TurnChange
from memory.provenance.record import TURN
from memory.undoing import Changed

MARK = "memory"


def note_changes(turn: Turn) -> Message | None:
    """Add the chip "Memory updated" to the turn's last answer, once; ``None``: it changed no
    memory file, or it is there. The answer is not published."""
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
    """What the turn changed, by file."""
    return origins.changes_of(turn.conversation.workspace, f"{TURN}{turn.pk}")


def values(rows: list[TurnChange]) -> list[Changed]:
    """The rows as values."""
    return [Changed(row.path, _bytes(row.before), _bytes(row.after)) for row in rows]


def mark_undone(turn: Turn, rows: list[TurnChange]) -> Message | None:
    """Note on the chip that the changes were taken back; the answer it stands on."""
    origins.mark_undone(rows)
    block = turn.blocks.filter(kind=Block.Kind.NOTE, data__kind=MARK).first()
    if block is None:
        return None
    block.data["undone"] = True
    block.save(update_fields=["data"])
    return block.message


def _bytes(data: bytes | memoryview | None) -> bytes | None:
    return None if data is None else bytes(data)
