"""Jobs of backups: told of at a person's pace, and found dead at once on this machine."""

import os
import socket
import time
from collections.abc import Callable

from jenny.accounts.models import Job

_SECONDS = 0.4
# What a bar counts to: bytes would not fit the column.
WHOLE = 1_000

type Progress = Callable[[int, int, str], None]


def telling(job: Job) -> Progress:
    """Tell a job how far it is, no more often than a page shows."""
    last = 0.0

    def tell(step: int, steps: int, doing: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS or step >= steps:
            last = now
            job.progress(WHOLE * step // steps if steps else job.step, WHOLE, doing)

    return tell


def part(progress: Progress, start: int, end: int) -> Progress:
    """What tells of a part of the work, which takes the bar from *start* to *end* of ``WHOLE``."""

    def tell(step: int, steps: int, doing: str) -> None:
        done = (end - start) * min(step, steps) // steps if steps else 0
        progress(start + done, WHOLE, doing)

    return tell


def is_gone(job: Job) -> bool:
    """Whether the process that held a job ran on this machine and is not there any more."""
    host, _, rest = job.holder.partition(":")
    number = rest.partition(":")[0]
    if job.state != Job.State.RUNNING or host != socket.gethostname()[:32]:
        return False
    if not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
