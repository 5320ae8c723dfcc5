"""Merges an archived text that was removed on both sides: all removals are kept."""

from dataclasses import replace

from memory.archive import file_format


def merged(name: str, current: bytes, other: bytes) -> bytes:
    """Return the file with the removals of both sides; one that cannot be merged stays as it is."""
    mine, theirs = file_format.parse(name, current), file_format.parse(name, other)
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
        base = file_format.with_event(base, event)
    return file_format.render(base)
