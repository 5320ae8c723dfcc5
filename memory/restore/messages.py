"""Sentences about a restore, before and after it."""

from collections.abc import Iterator

from jenny.workspace import names
from jenny.workspace.snapshots.values import counted
from memory.restore.values import Prepared, Restored

_SHOWN_CHARS = 160
# Lines that are named in the answer.
_LINES_NAMED = 5


def entries_sentence(cursors: tuple[int, ...], *, done: bool) -> str:
    """Say what happens to entries that Dream had read since; empty without any."""
    if not cursors:
        return ""
    verb = "will be" if not done else "is" if len(cursors) == 1 else "are"
    notes = counted(len(cursors), "note")
    return f"{notes} that Dream had read since {verb} tried again with the next memory update."


def voided_sentence(count: int) -> str:
    """Say what happens to changes that waited for a person; empty without any."""
    if not count:
        return ""
    changes = counted(count, "memory change")
    return f"{changes} to review cannot be made any more; what was said is tried again."


def left_out(prepared: Prepared) -> list[tuple[str, str, str]]:
    """List lines that stay away: file, displayed line, id of the tombstone."""
    rows = []
    for path, lines in prepared.left_out.items():
        for line in lines:
            text = " ".join(line.text.split())
            shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
            rows.append((path, shown, line.id))
    return rows


def ledger_sentence(prepared: Prepared) -> str:
    """Say that what was said is not rewound; empty when no ledger is restored."""
    if not prepared.plan.ledgers:
        return ""
    return (
        "The history, the archive and what you had forgotten are never taken back: both sides of "
        "them are kept."
    )


def restored_text(name: str, path: str, done: Restored) -> str:
    what = names.shown(path) if path else "Everything"
    forgotten = forgotten_sentence(done.prepared)
    but = ", but for what you had forgotten" if forgotten else ""
    if done.prepared.is_nothing:
        same = f"{what} is already as it was in {name}{but}. Nothing was written."
        return f"{same} {forgotten}".rstrip()
    plan = done.prepared.plan.message
    return " ".join([f"{what} is as it was in {name}{but}: {plan}", *_more(done)])


def forgotten_sentence(prepared: Prepared) -> str:
    """List the lines that stayed away and the way to bring them back; empty without any."""
    rows = left_out(prepared)
    if not rows:
        return ""
    named = ", ".join(f"“{text}” ({one})" for _, text, one in rows[:_LINES_NAMED])
    more = f", and {len(rows) - _LINES_NAMED:,} more" if len(rows) > _LINES_NAMED else ""
    they = "it" if len(rows) == 1 else "them"
    return (
        f"{counted(len(rows), 'line')} stayed away, since you had {they} forgotten: {named}{more}. "
        f"To have {they} back, choose “Allow again” on the page of this restore, or "
        f"`manage.py forget --lift ID`, and restore once more."
    )


def _more(done: Restored) -> Iterator[str]:
    yield "How it was before is kept in a snapshot."
    for message in (
        forgotten_sentence(done.prepared),
        entries_sentence(done.prepared.reoffer, done=True),
        voided_sentence(done.voided),
        *done.notes,
    ):
        if message:
            yield message
