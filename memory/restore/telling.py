"""What is said of a restore: before it, and after."""

from collections.abc import Iterator

from jenny.workspace import names
from jenny.workspace.snapshots.values import counted
from memory.restore.values import Prepared, Restored

_SHOWN_CHARS = 160
# Entries are named by number up to here.
_NAMED = 12


def entries_sentence(cursors: tuple[int, ...], *, done: bool) -> str:
    """What becomes of entries that Dream had read since; empty when there are none."""
    if not cursors:
        return ""
    what = "entry" if len(cursors) == 1 else "entries"
    verb = "is" if len(cursors) == 1 else "are"
    numbers = f" ({', '.join(map(str, cursors))})" if len(cursors) <= _NAMED else ""
    when = f"{verb} shown to it again" if done else "will be shown to it again"
    return f"{len(cursors):,} {what} of the history{numbers} that Dream had read since {when}."


def voided_sentence(count: int) -> str:
    """What becomes of changes that waited for a person; empty when there were none."""
    if not count:
        return ""
    what = "change of Dream's that waits" if count == 1 else "changes of Dream's that wait"
    return f"{count:,} {what} for your yes cannot be made any more; what it rests on comes again."


def left_out(prepared: Prepared) -> list[tuple[str, str, str]]:
    """Lines that do not come back: the file, the line as it is shown, the id of what is
    forgotten."""
    rows = []
    for path, lines in prepared.left_out.items():
        for line in lines:
            text = " ".join(line.text.split())
            shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
            rows.append((path, shown, line.id))
    return rows


def ledger_sentence(prepared: Prepared) -> str:
    """That what was said is not rewound; empty where no ledger is asked for."""
    if not prepared.plan.ledgers:
        return ""
    return (
        "The history, the archive and what you had forgotten are never taken back: both sides of "
        "them are kept."
    )


def told(name: str, path: str, done: Restored) -> str:
    """What came of it, for a person."""
    what = names.shown(path) if path else "Everything"
    if done.prepared.is_nothing:
        return f"{what} is already as it was in {name}. Nothing was written."
    return " ".join([f"{what} is as it was in {name}: {done.prepared.plan.sentence}", *_more(done)])


def _more(done: Restored) -> Iterator[str]:
    yield f"How it was before is kept in snapshot {done.before.id}."
    count = len(left_out(done.prepared))
    if count:
        lines = counted(count, "line")
        yield f"{lines} stayed away, since you had {'it' if count == 1 else 'them'} forgotten."
    for sentence in (
        entries_sentence(done.prepared.reoffer, done=True),
        voided_sentence(done.voided),
        *done.notes,
    ):
        if sentence:
            yield sentence
