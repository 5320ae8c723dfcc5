"""Where backups lie while they are made, fetched or taken in: a folder each, outside every
workspace, for a day. And how a key gets from whoever knows the passphrase to the worker.

A passphrase is never stored. The web process derives the file's key from it, and leaves that key
alone, encrypted under the instance's secret, beside the file; the worker takes it away.
"""

import base64
import contextlib
import json
import os
import re
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from jenny.accounts.models import Account
from jenny.accounts.vault import Unreadable, Vault
from jenny.workspace.errors import BackupRefused, WriteFailed, reason_of

KEPT_SECONDS = 24 * 3600
KEY_SECONDS = 3600
# An import that died is settled within minutes of the next start.
_HELD_DAYS = 30
_ID = re.compile(r"[0-9a-f]{32}")
_FILE, _KEY, _ABOUT, _HELD = "file", "key", "about.json", "held"


@dataclass(frozen=True)
class Place:
    """The folder of one backup."""

    path: Path

    @property
    def name(self) -> str:
        """What it is called by: 32 digits of hex, which nobody guesses."""
        return self.path.name

    @property
    def file(self) -> Path:
        """The backup."""
        return self.path / _FILE

    @property
    def about(self) -> dict[str, Any]:
        """What was noted of it; empty when nothing was."""
        try:
            found = json.loads((self.path / _ABOUT).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def is_whole(self) -> bool:
        """Whether the backup is there."""
        return self.file.is_file()

    def note(self, **facts: Any) -> None:
        """Note more of it, durably."""
        _write(self.path, _ABOUT, json.dumps(self.about | facts).encode())

    def hold(self) -> None:
        """Keep it for longer than a day: an import that died still needs it."""
        _write(self.path, _HELD, b"")

    def leave_key(self, key: bytes) -> None:
        """Leave the file's key for the worker."""
        text = base64.b64encode(key).decode()
        _write(self.path, _KEY, Vault(settings.SECRET_KEY).encrypt(text, _origin(self.name)))

    def key(self, *, take: bool) -> bytes | None:
        """The key that was left; ``None``: the backup is not encrypted. *take*: it is gone then.

        Raises:
            BackupRefused: it is not there any more.
        """
        if self.about.get("plain"):
            return None
        path = self.path / _KEY
        try:
            sealed = path.read_bytes()
            if take:
                path.unlink()
            return base64.b64decode(Vault(settings.SECRET_KEY).decrypt(sealed, _origin(self.name)))
        except (OSError, Unreadable, ValueError) as error:
            raise BackupRefused(
                "The passphrase is needed once more: its key is kept for an hour at most. Nothing "
                "was changed. Begin again."
            ) from error

    def drop_key(self) -> None:
        """Let nobody have the key any more."""
        (self.path / _KEY).unlink(missing_ok=True)

    def drop(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self.path, ignore_errors=True)


def new(account: Account | None, **facts: Any) -> Place:
    """A new folder. *account*: who alone may see it.

    Raises:
        WriteFailed: the disk refuses.
    """
    return _made(secrets.token_hex(16), account, facts)


def named(name: str, account: Account) -> Place | None:
    """The folder of that name, if it is the account's and not too old."""
    if not _ID.fullmatch(name):
        return None
    place = Place(settings.JENNY_DATA.backups / name)
    if place.about.get("account") != account.pk or _age(place) > KEPT_SECONDS:
        return None
    return place


def arriving(name: str, account: Account) -> Place:
    """The folder of a file that arrives in pieces; *name* is the sender's choice.

    Raises:
        BackupRefused: the name is none, or another's.
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


def by_name(name: str) -> Place:
    """The folder that a job was given."""
    if not _ID.fullmatch(name):
        raise BackupRefused("There is no such backup any more. Nothing was changed.")
    return Place(settings.JENNY_DATA.backups / name)


def clear(folder: Path) -> None:
    """Remove what was unpacked."""
    shutil.rmtree(folder, ignore_errors=True)


def drop_of(account: int) -> None:
    """Remove all that is an account's: it is deleted."""
    for path in _places():
        place = Place(path)
        if place.about.get("account") == account:
            place.drop()


def tidy() -> None:
    """Let go of what nobody fetched or confirmed in time. Safe at any time, and twice at once."""
    now = time.time()
    for path in _places():
        place = Place(path)
        with contextlib.suppress(OSError):
            if now - (path / _KEY).stat().st_mtime > KEY_SECONDS:
                place.drop_key()
        if _age(place) > KEPT_SECONDS * (_HELD_DAYS if (path / _HELD).exists() else 1):
            place.drop()


def _places() -> list[Path]:
    try:
        return [path for path in settings.JENNY_DATA.backups.iterdir() if path.is_dir()]
    except FileNotFoundError:
        return []


def _made(name: str, account: Account | None, facts: dict[str, Any]) -> Place:
    place = Place(settings.JENNY_DATA.backups / name)
    try:
        place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.path.mkdir(mode=0o700)
        place.note(account=account.pk if account else None, **facts)
    except OSError as error:
        message = f"There is no room for a backup: {reason_of(error)}. Nothing was changed."
        raise WriteFailed(message) from error
    return place


def _age(place: Place) -> float:
    """Seconds since something was last done with it."""
    try:
        return time.time() - (place.path / _ABOUT).stat().st_mtime
    except OSError:
        return KEPT_SECONDS + 1.0


def _origin(name: str) -> str:
    """What a key is bound to, so that it is of no use for another file."""
    return f"backup {name}"


def _write(folder: Path, name: str, data: bytes) -> None:
    temp = folder / f"{name}.{secrets.token_hex(4)}.tmp"
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)
    temp.rename(folder / name)
