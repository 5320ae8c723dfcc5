"""Progress of backup jobs, and detection of dead ones on this machine."""

import os
import socket
import time
from collections.abc import Callable

from jenny.accounts.models import Job

_SECONDS = 0.4
# Full length of a progress bar: a number of bytes would not fit the column.
WHOLE = 1_000

type Progress = Callable[[int, int, str], None]


def telling(job: Job) -> Progress:
    """Return a callback that stores progress no more often than a page shows it."""
    last = 0.0

    def tell(step: int, steps: int, doing: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS or step >= steps:
            last = now
            job.progress(WHOLE * step // steps if steps else job.step, WHOLE, doing)

    return tell


def part(progress: Progress, start: int, end: int) -> Progress:
    """Map the progress of one step to the range *start* to *end* of ``WHOLE``."""

    def tell(step: int, steps: int, doing: str) -> None:
        done = (end - start) * min(step, steps) // steps if steps else 0
        progress(start + done, WHOLE, doing)

    return tell


def is_gone(job: Job) -> bool:
    """True when the job's process ran on this machine and no longer exists."""
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
