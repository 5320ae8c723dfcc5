"""What a person is told of a run: one sentence or two, by its status alone.

Numbers and reasons come from what the run's own writes did, never from what a model said.
"""

from collections.abc import Iterable, Sequence

from memory.dream.judging.verdict import TRIES
from memory.dream.values import Decision, Status

BEGUN = "Dreaming…"
SETTINGS = "[Settings → Memory](/settings/memory/)"
NO_ARGUMENT = f"`/dream` takes no settings. They are in {SETTINGS}; `/dream` alone starts a run."
IS_RUNNING = "Dream is already running in this workspace. Nothing was started."
IS_QUEUED = "A run of Dream waits for its turn already. Nothing was started."
INTERRUPTED = (
    "Dream was interrupted: the process that ran it has ended. What it had written is kept as a "
    "version of its own; what it had not read to the end is offered again."
)
SEEMS_DEAD = (
    "A run of Dream seems dead: its process has not been heard of for half a minute. It is taken "
    "over within two minutes; `/dream` does so at once."
)
_KEPT = "What was said is kept and offered again."
_NAMED = 10
_TOLD: dict[Status, str] = {
    "completed": "Dream completed in {seconds}.",
    "nothing_new": "Dream completed, nothing new.",
    "wrote_nothing": f"Dream wrote nothing: {{why}} {_KEPT}",
    "partly_written": f"Dream's changes are partly written: {{why}} {_KEPT}",
    "held": f"Dream is held ({{count}} of {TRIES}): {{why}} {_KEPT} Make room in the file, or "
    f"raise its budget in {SETTINGS}.",
    "gave_up": f"Dream gave up on {{entries}} after {TRIES} runs. {{why}}",
    "waiting": "Dream's changes are waiting for approval. Until you decide, chats are shown them "
    "as proposed.",
    "interrupted": INTERRUPTED,
    "paused": f"Dream paused: {{why}} {_KEPT}",
    "nothing_pending": "Nothing to process. {waits}",
    "failed": f"Dream failed: {{why}}{{limit}} {_KEPT}",
}


def waits(why: str) -> str:
    """What is said when no run begins since no model is asked for now; empty when *why* is."""
    return f"{why} Nothing was started; what was said is kept." if why else ""


def sentence(decision: Decision, *, seconds: float, waits: str, is_capped: bool = False) -> str:
    """The outcome of a run. *waits*: why nothing was there to process, if nothing was."""
    told = _TOLD[decision.status].format(
        why=decision.why or "The reason is not known.",
        seconds=_seconds(seconds),
        count=decision.held_count,
        entries=_entries(decision.set_aside),
        waits=waits,
        limit=" The limits are in Settings → Memory." if is_capped else "",
    )
    if decision.set_aside:
        kept = "is" if len(decision.set_aside) == 1 else "are"
        named = _entries(decision.set_aside, capital=True)
        told = f"{told.rstrip()} {named} {kept} set aside: kept in the history, not shown again."
    return told.strip()


def why_nothing(*, idle_minutes: int, passed: int, set_aside: int) -> str:
    """Why nothing waits in the history, and the setting to change."""
    parts = []
    if passed:
        parts.append(f"{_count(passed)} passed over: edited away, or forgotten.")
    if idle_minutes:
        parts.append(
            f"No conversation was summarised since the last run; that happens after {idle_minutes} "
            "idle minutes (`agents.defaults.idleCompactAfterMinutes`, Settings → Conversation), "
            "or at once with `/compact`."
        )
    else:
        parts.append(
            "Summarising idle conversations is switched off "
            "(`agents.defaults.idleCompactAfterMinutes` is 0, Settings → Conversation); "
            "`/compact` summarises one at once."
        )
    if set_aside:
        parts.append(f"{_count(set_aside)} set aside earlier.")
    return " ".join(parts)


def set_aside_notice(cursors: Sequence[int]) -> str:
    """What stands on every page while entries are set aside; empty when none are."""
    if not cursors:
        return ""
    is_one = len(cursors) == 1
    return (
        f"{_entries(cursors, capital=True)} of the history {'is' if is_one else 'are'} set aside, "
        f"since Dream came to no end with {'it' if is_one else 'them'}. What was said is kept in "
        "memory/history.jsonl, and can be offered again."
    )


def _entries(cursors: Iterable[int], *, capital: bool = False) -> str:
    found = sorted(cursors)
    word = "entry" if len(found) == 1 else "entries"
    shown = ", ".join(map(str, found[:_NAMED]))
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"{word.capitalize() if capital else word} {shown}{more}"


def _count(number: int) -> str:
    return "1 entry was" if number == 1 else f"{number:,} entries were"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004 - longer ones need no tenths
