"""What a person is told of a run: one sentence or two, by its status alone.

Numbers and reasons come from what the run's own writes did, never from what a model said.
"""

from collections.abc import Iterable, Sequence

from memory.dream.outcome.cursor_rule import TRIES
from memory.dream.values import Decision, Status

BEGUN = "Dreaming…"
SETTINGS = "[Settings → Memory updates](/settings/memory/)"
NO_ARGUMENT = f"`/dream` takes no settings. They are in {SETTINGS}; `/dream` alone starts a run."
IS_RUNNING = "Dream is already running in this workspace. Nothing was started."
IS_QUEUED = "A run of Dream waits for its turn already. Nothing was started."
INTERRUPTED = (
    "Dream was interrupted: the process that ran it has ended. What it had written is kept as a "
    "version of its own; notes that it had not read to the end will be tried again."
)
SEEMS_DEAD = (
    "A memory update no longer answers: its process has not been heard of for half a minute. "
    "Another one takes over within two minutes; `/dream` does so at once."
)
_KEPT = "What was said is kept and will be tried again."
_NAMED = 10
_TOLD: dict[Status, str] = {
    "completed": "Memory updated in {seconds}.",
    "nothing_new": "Memory is up to date: nothing new.",
    "wrote_nothing": f"Dream wrote nothing: {{why}} {_KEPT}",
    "partly_written": f"Dream's changes are partly written: {{why}} {_KEPT}",
    "held": f"The memory is nearly full ({{count}} of {TRIES}): {{why}} {_KEPT} Make room in the "
    f"file, or raise its limit in {SETTINGS}.",
    "gave_up": f"Dream could not process {{entries}} in {TRIES} updates. {{why}}",
    "waiting": "Dream's changes are waiting for approval: [review them](/memory/approvals/). Until "
    "you decide, chats see them, marked as waiting.",
    "interrupted": INTERRUPTED,
    "paused": f"Dream paused: {{why}} {_KEPT}",
    "nothing_pending": "Nothing to do. {waits}",
    "failed": f"Dream failed: {{why}}{{limit}} {_KEPT}",
}


def waits(why: str) -> str:
    """What is said when no run begins since no model is asked for now; empty when *why* is."""
    return f"{why} Nothing was started; what was said is kept." if why else ""


def message(decision: Decision, *, seconds: float, waits: str, is_capped: bool = False) -> str:
    """The outcome of a run. *waits*: why nothing was there to process, if nothing was."""
    told = _TOLD[decision.status].format(
        why=decision.why or "The reason is not known.",
        seconds=_seconds(seconds),
        count=decision.held_count,
        entries=_entries(decision.set_aside),
        waits=waits,
        limit=" The limits are in Settings → Memory updates." if is_capped else "",
    )
    if decision.set_aside:
        named = _entries(decision.set_aside, capital=True)
        told = f"{told.rstrip()} {named}: kept in the history; Memory → Overview can try again."
    return told.strip()


def why_nothing(*, idle_minutes: int, passed: int, set_aside: int) -> str:
    """Return why no note waits, and what brings one about."""
    parts = ["Nothing new was said since the last update."]
    if passed:
        parts = [f"{_count(passed)} left out: you changed or forgot what they are about."]
    if idle_minutes:
        parts.append(
            f"A chat is taken in after {idle_minutes} quiet minutes, or at once with `/dream`."
        )
    else:
        parts.append(
            "Chats are not taken in by themselves, as Settings → Conversation says; `/dream` takes "
            "them in at once."
        )
    if set_aside:
        parts.append(f"{_count(set_aside)} not processed earlier; Memory → Overview can try again.")
    return " ".join(parts)


def set_aside_notice(cursors: Sequence[int]) -> str:
    """Return the notice while notes could not be processed; empty when there are none."""
    if not cursors:
        return ""
    return (
        f"{_entries(cursors, capital=True)} of the history could not be processed. What was said "
        "is kept, and can be tried again in Memory → Overview."
    )


def _entries(cursors: Iterable[int], *, capital: bool = False) -> str:
    found = sorted(cursors)
    word = "note" if len(found) == 1 else "notes"
    shown = ", ".join(map(str, found[:_NAMED]))
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"{word.capitalize() if capital else word} {shown}{more}"


def _count(number: int) -> str:
    return "1 note was" if number == 1 else f"{number:,} notes were"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004 - longer ones need no tenths
