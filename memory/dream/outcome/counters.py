"""What Dream counts from run to run, in ``memory/.dream_review``, and when it raises the alarm.

The file is JSON and is replaced in one piece; one that cannot be read counts as zeros, since no
count is worth stopping for.
"""

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Literal

from jenny.workspace import line_files, paths
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import open_workspace
from jenny.workspace.write_rules import Actor

PATH = "memory/.dream_review"
ALARM_AT = 4
_BYTES = 10_000
_MOST = 2**31

type Progress = Literal["advanced", "stayed", "nothing", "fault", "paused"]
"""How a run went, for counting: Dream's place moved on; it should have and did not; there was
nothing to read; or a fault (an exception, or of the provider) came in between. ``paused``: somebody
paused all calls to models, which counts as nothing at all."""


@dataclass(frozen=True, slots=True)
class Counters:
    """``runs_since_review``: runs since a review pass ended well. ``stuck_runs``: in a row that
    should have moved Dream's place in the history and did not; ``forced_at_stuck``: at which of
    them a review was last forced. ``failures``: faults in a row. ``empty_runs``: in a row that
    were shown facts to be kept and wrote none of them."""

    runs_since_review: int = 0
    stuck_runs: int = 0
    forced_at_stuck: int = 0
    failures: int = 0
    empty_runs: int = 0


type Due = Literal["", "due", "forced"]
"""Whether a review pass is due, and whether by its turn or because Dream is stuck."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """What a person is to be told of at once. *kind* is the counter's name."""

    kind: str
    count: int
    message: str


def load(root: Path) -> Counters:
    """The counts; zeros where the file is missing, damaged, or holds what is no count."""
    try:
        with line_files.open_lines(paths.real_root(root), PATH) as file:
            data = b"" if file is None else file.read(0, min(file.size, _BYTES))
        row = json.loads(data)
    except (OSError, WorkspaceError, ValueError, RecursionError):
        return Counters()
    if not isinstance(row, dict):
        return Counters()
    known = {field.name: row.get(field.name) for field in fields(Counters)}
    return Counters(**{name: _count(value) for name, value in known.items()})


def store(root: Path, counters: Counters, actor: Actor) -> None:
    """Replace the file.

    Raises:
        WorkspaceError: it is as it was.
    """
    data = json.dumps(asdict(counters)).encode() + b"\n"
    open_workspace(root, actor).write(PATH, data)


def review_due(now: Counters, every: int) -> Due:
    """Whether a review pass comes before the batch: when Dream is stuck for an even number of runs
    at which none was forced yet; or when as many runs went by as the settings say. How full the
    files are has no say."""
    is_even = now.stuck_runs > 0 and now.stuck_runs % 2 == 0
    if is_even and now.stuck_runs != now.forced_at_stuck:
        return "forced"
    return "due" if now.runs_since_review >= every else ""


def reviewed(now: Counters, due: Due, every: int, *, failed: bool) -> Counters:
    """The counts once a pass is over, before its run is counted. One that failed comes back in two
    runs. It changes nothing about being stuck; one that was forced is noted, whichever way it went,
    so that a count that stands still forces no second one."""
    return replace(
        now,
        runs_since_review=max(every - 2, 0) if failed else 0,
        forced_at_stuck=now.stuck_runs if due == "forced" else now.forced_at_stuck,
    )


def after(before: Counters, course: Progress, *, is_empty: bool | None, gave_up: bool) -> Counters:
    """The counts after a run. *is_empty*: whether it wrote none of the facts to be kept that it
    was shown (``None``: it was shown none). A run that *gave_up* has moved on by that."""
    if course == "paused":
        return before
    stuck, forced = before.stuck_runs, before.forced_at_stuck
    if course == "advanced" or gave_up:
        stuck = forced = 0
    elif course == "stayed":
        stuck += 1
    empty = before.empty_runs
    if is_empty is not None and course != "fault":
        empty = empty + 1 if is_empty else 0
    return Counters(
        runs_since_review=min(before.runs_since_review + 1, _MOST),
        stuck_runs=min(stuck, _MOST),
        forced_at_stuck=forced,
        failures=min(before.failures + 1, _MOST) if course == "fault" else 0,
        empty_runs=min(empty, _MOST),
    )


def reached(
    before: Counters, course: Progress, *, is_empty: bool | None, cause: str, gave_up: bool = False
) -> tuple[Alarm, ...]:
    """The alarms that a run raises: of counts that reach four by it, whether or not it is then
    given up. *cause* is a sentence when it is known. *gave_up*: nothing is set aside without one,
    also when no count in a row came to four."""
    counted = after(before, course, is_empty=is_empty, gave_up=False)
    found = standing(counted, cause, only_new_since=before)
    if gave_up and not standing(counted):
        return (Alarm("gave_up", ALARM_AT, f"{_GAVE_UP} {cause}".strip()),)
    return found


def standing(
    now: Counters, cause: str = "", *, only_new_since: Counters | None = None
) -> tuple[Alarm, ...]:
    """The alarms that the counts stand for."""
    found = []
    for kind, words in _WORDS.items():
        count: int = getattr(now, kind)
        earlier: int = getattr(only_new_since, kind) if only_new_since else 0
        if count >= ALARM_AT and (only_new_since is None or earlier < ALARM_AT):
            message = words.format(count=count)
            found.append(Alarm(kind, count, f"{message} {cause}".strip()))
    return tuple(found)


def without(counters: Counters, kind: str) -> Counters:
    """The counts with one of them begun anew, once its cause was seen to."""
    return replace(counters, **{kind: 0})


_WORDS = {
    "stuck_runs": "The last {count} memory updates got no further. "
    "What was said is kept and will be tried again.",
    "failures": "Dream has failed {count} times in a row. What was said is kept and waits.",
    "empty_runs": "Dream was shown facts worth keeping in {count} runs in a row "
    "and wrote none of them.",
}


_GAVE_UP = (
    "Dream came to no end with something in the history in 4 runs and has set it aside. It is kept."
)


def _count(value: object) -> int:
    """A count, or 0 for what is none."""
    return value if type(value) is int and 0 <= value <= _MOST else 0
