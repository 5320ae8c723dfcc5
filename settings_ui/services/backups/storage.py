"""Storage of backups and of their keys for a day: one folder each, outside every workspace.

The web process stores the passphrase, encrypted under the instance's secret, beside the file. The
worker removes it when it starts, derives the key, and stores that until the import is confirmed.
Both expire after an hour.
"""

import base64
import contextlib
import fcntl
import getpass
import json
import os
import re
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings

from jenny import env
from jenny.accounts.models import Account, Job
from jenny.accounts.vault import Unreadable, Vault
from jenny.workspace import retention
from jenny.workspace.errors import BackupRefused, WriteFailed, reason_of

_ID = re.compile(r"[0-9a-f]{32}")
_FILE, _KEY, _ABOUT, _HELD = "file", "key", "about.json", "held"
_KEY_MARK, _PASSPHRASE_MARK = "key:", "passphrase:"
# Files of one account that may arrive or wait for confirmation at once.
_MOST_WAITING = 5


@dataclass(frozen=True)
class Place:
    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def file(self) -> Path:
        return self.path / _FILE

    @property
    def about(self) -> dict[str, Any]:
        try:
            found = json.loads((self.path / _ABOUT).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def is_whole(self) -> bool:
        return self.file.is_file()

    def note(self, **facts: Any) -> None:
        _write(self.path, _ABOUT, json.dumps(self.about | facts).encode())

    def hold(self) -> None:
        """Keep the folder longer than a day, for an interrupted import."""
        _write(self.path, _HELD, b"")

    def leave_key(self, key: bytes) -> None:
        self._leave(_KEY_MARK + base64.b64encode(key).decode())

    def leave_passphrase(self, passphrase: str) -> None:
        """Store the passphrase; the worker derives the key from it."""
        self._leave(_PASSPHRASE_MARK + passphrase)

    def _leave(self, text: str) -> None:
        try:
            _write(self.path, _KEY, Vault(settings.SECRET_KEY).encrypt(text, _origin(self.name)))
        except OSError as error:
            message = f"There is no room for a backup: {reason_of(error)}. Nothing was changed."
            raise WriteFailed(message) from error

    def secret(self, *, take: bool) -> bytes | str | None:
        """Return the stored key or passphrase, or ``None`` when the backup is not encrypted.
        *take* removes it.

        Raises:
            BackupRefused: it has expired.
        """
        if self.about.get("plain"):
            return None
        path = self.path / _KEY
        try:
            sealed = path.read_bytes()
            if take:
                path.unlink()
            text = Vault(settings.SECRET_KEY).decrypt(sealed, _origin(self.name))
            if text.startswith(_PASSPHRASE_MARK):
                return text.removeprefix(_PASSPHRASE_MARK)
            return base64.b64decode(text.removeprefix(_KEY_MARK))
        except (OSError, Unreadable, ValueError) as error:
            raise BackupRefused(
                "The passphrase is needed once more: its key is kept for "
                f"{retention.in_words(retention.BACKUP_KEY)} at most. Nothing "
                "was changed. Begin again."
            ) from error

    def drop_key(self) -> None:
        (self.path / _KEY).unlink(missing_ok=True)

    def drop(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def new(account: Account | None, **facts: Any) -> Place:
    """Make a folder that only *account* can access.

    Raises:
        WriteFailed: the disk refuses.
    """
    return _made(secrets.token_hex(16), account, facts)


def named(name: str, account: Account) -> Place | None:
    """Find the folder by name; ``None`` when it is another account's or expired."""
    if not _ID.fullmatch(name):
        return None
    place = Place(settings.JENNY_DATA.backups / name)
    if place.about.get("account") != account.pk or _age(place) > retention.BACKUP:
        return None
    return place


def arriving(name: str, account: Account) -> Place:
    """Return the folder of an upload; the sender chooses *name*.

    Raises:
        BackupRefused: the name is invalid, or another account's.
        WriteFailed: the disk refuses.
    """
    if not _ID.fullmatch(name):
        raise BackupRefused("This is no piece of a backup. Nothing was stored.")
    found = named(name, account)
    if found is not None and found.about.get("arriving"):
        return found
    if (settings.JENNY_DATA.backups / name).exists():
        raise BackupRefused("This is no piece of your backup. Nothing was stored.")
    return _made(name, account, {"arriving": True})


def refused(account: Account) -> Place | None:
    """Return the account's newest file whose passphrase was wrong, so that another can be tried."""
    found = [place for place in map(Place, _places()) if place.about.get("refused")]
    mine = [one for one in found if named(one.name, account) is not None and one.is_whole]
    return min(mine, key=_age, default=None)


def checked(account: Account, workspace: str) -> list[Place]:
    """List the account's files that were checked for *workspace* and wait for a decision, the
    newest first."""
    found = [place for place in map(Place, _places()) if place.about.get("workspace") == workspace]
    mine = [one for one in found if named(one.name, account) is not None and one.is_whole]
    return sorted((one for one in mine if "preview" in one.about), key=_age)


def by_name(name: str) -> Place:
    """Return the folder that a job names."""
    if not _ID.fullmatch(name):
        raise BackupRefused("There is no such backup any more. Nothing was changed.")
    return Place(settings.JENNY_DATA.backups / name)


def clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def drop_of(account: int) -> None:
    """Remove everything of an account that is deleted."""
    for path in _places():
        place = Place(path)
        if place.about.get("account") == account:
            place.drop()


def tidy() -> None:
    """Delete expired backups. It may run at any time and concurrently."""
    now = time.time()
    for path in _places():
        place = Place(path)
        with contextlib.suppress(OSError):
            if now - (path / _KEY).stat().st_mtime > retention.BACKUP_KEY.total_seconds():
                place.drop_key()
        is_held = (path / _HELD).exists()
        if _age(place) > (retention.INTERRUPTED_IMPORT if is_held else retention.BACKUP):
            place.drop()


def _places() -> list[Path]:
    try:
        return [path for path in settings.JENNY_DATA.backups.iterdir() if path.is_dir()]
    except FileNotFoundError:
        return []


def _made(name: str, account: Account | None, facts: dict[str, Any]) -> Place:
    if facts.get("arriving") and account is not None:
        waiting = (Place(path).about for path in _places())
        of_account = sum(one.get("account") == account.pk and "arriving" in one for one in waiting)
        if of_account >= _MOST_WAITING:
            raise BackupRefused(
                f"{_MOST_WAITING} backups that you sent are waiting already. This one was not "
                "stored. Bring one of them in or remove it, or send this one tomorrow."
            )
    place = Place(settings.JENNY_DATA.backups / name)
    try:
        place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.path.mkdir(mode=0o700)
        place.note(account=account.pk if account else None, **facts)
    except OSError as error:
        message = f"There is no room for a backup: {reason_of(error)}. Nothing was changed."
        raise WriteFailed(message) from error
    return place


def _age(place: Place) -> timedelta:
    try:
        return timedelta(seconds=time.time() - (place.path / _ABOUT).stat().st_mtime)
    except OSError:
        return timedelta.max


def _origin(name: str) -> str:
    """Return the context to which a stored key is bound, so that it opens no other file."""
    return f"backup {name}"


def _write(folder: Path, name: str, data: bytes) -> None:
    temp = folder / f"{name}.{secrets.token_hex(4)}.tmp"
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)
    temp.rename(folder / name)


# Progress of backup jobs, and detection of dead ones on this machine.


_SECONDS = 0.4
# Full length of a progress bar: a number of bytes would not fit the column.
WHOLE = 1_000

type Progress = Callable[[int, int, str], None]


def job_progress(job: Job) -> Progress:
    """Return a callback that stores progress no more often than a page shows it."""
    last = 0.0

    def report(step: int, steps: int, doing: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS or step >= steps:
            last = now
            job.progress(WHOLE * step // steps if steps else job.step, WHOLE, doing)

    return report


def part(progress: Progress, start: int, end: int) -> Progress:
    """Map the progress of one step to the range *start* to *end* of ``WHOLE``."""

    def report(step: int, steps: int, doing: str) -> None:
        done = (end - start) * min(step, steps) // steps if steps else 0
        progress(start + done, WHOLE, doing)

    return report


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


# The passphrase of a backup: asked in the terminal, and one key derived from one at a time on this
# machine.
#
# Each derivation takes up to 256 MB, so several at once could use up the memory. The web process
# derives none; it stores the passphrase for the job.


_LOCK = ".deriving"


@contextlib.contextmanager
def lock_key_derivation() -> Iterator[None]:
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
PASSPHRASE_ABOUT = (
    f"The passphrase comes from {VARIABLE} or the file {VARIABLE}_FILE, or is "
    "asked for (read from standard input where there is no terminal)."
)


def ask_passphrase(*, twice: bool) -> str:
    given = env.secret("JENNY_BACKUP_PASSPHRASE")
    if not given:
        given = _typed(twice=twice) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    if not given:
        raise BackupRefused(f"No passphrase was given. Nothing was done. {PASSPHRASE_ABOUT}")
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
