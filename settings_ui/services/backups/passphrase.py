import getpass
import sys

from jenny import env
from jenny.workspace.errors import BackupRefused

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
