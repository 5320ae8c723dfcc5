"""The passphrase of a backup: asked in the terminal, and one key derived at a time."""

import contextlib
import fcntl
import getpass
import os
import sys
from collections.abc import Iterator

from django.conf import settings

from jenny import env
from jenny.workspace.errors import BackupRefused, WriteFailed, reason_of

# Derivation of a backup's key from its passphrase, one at a time on this machine.
#
# Each derivation takes up to 256 MB, so several at once could use up the memory. The web process
# derives none; it stores the passphrase for the job.


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


VARIABLE = "JENNY_BACKUP_PASSPHRASE"
ABOUT = (
    f"The passphrase comes from {VARIABLE} or the file {VARIABLE}_FILE, or is asked for (read "
    "from standard input where there is no terminal)."
)


def passphrase(*, twice: bool) -> str:
    given = env.secret("JENNY_BACKUP_PASSPHRASE")
    if not given:
        given = _typed(twice=twice) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    if not given:
        raise BackupRefused(f"No passphrase was given. Nothing was done. {ABOUT}")
    return given


def _typed(*, twice: bool) -> str:
    try:
        typed = getpass.getpass("Passphrase of the backup: ")
        again = getpass.getpass("Once more: ") if twice else typed
    except (KeyboardInterrupt, EOFError) as error:
        raise BackupRefused("Nothing was done.") from error
    if typed != again:
        raise BackupRefused("The two passphrases differ. Nothing was done.")
    return typed
