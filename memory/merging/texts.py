"""A text of the archive that left the memory on both sides: the removals of both are told."""

from dataclasses import replace

from memory.archive import form


def merged(name: str, current: bytes, other: bytes) -> bytes:
    """The file with the removals that either side tells of; one that cannot be put together stays
    as it is here."""
    mine, theirs = form.parse(name, current), form.parse(name, other)
    if mine is None or theirs is None or mine.problem or theirs.problem:
        return current
    if mine.text != theirs.text:
        return current
    missing = [event for event in theirs.events if event not in mine.events]
    if not missing:
        return current
    ordered = sorted((*mine.events, *missing), key=lambda event: event.date)
    base = replace(
        mine, events=(), events_left_out=max(mine.events_left_out, theirs.events_left_out)
    )
    for event in ordered:
        base = form.with_event(base, event)
    return form.render(base)
