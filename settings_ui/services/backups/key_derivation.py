"""Derivation of a backup's key from its passphrase, one at a time on this machine.

Each derivation takes up to 256 MB, so several at once could use up the memory. The web process
derives none; it stores the passphrase for the job.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator

from django.conf import settings

from jenny.workspace.errors import WriteFailed, reason_of

_LOCK = ".deriving"


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other process or thread derives a key.

    Raises:
        WriteFailed: the lock file cannot be made.
    """
    folder = settings.JENNY_DATA.backups
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        message = f"The passphrase could not be tried: {reason_of(error)}. Nothing was changed."
        raise WriteFailed(message) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
