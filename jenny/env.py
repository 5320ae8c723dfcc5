"""Typed readers of environment variables, whose errors name what is wrong.

Every variable is optional. A secret may also come from a file: ``NAME_FILE``
holds its path (``docs/settings.md`` lists them all).
"""

import contextlib
import hashlib
import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DATABASES = ("postgres", "postgresql", "sqlite")
SOCKET_PATH_BYTES = 100


class EnvironmentProblem(ValueError):
    """A variable has a value that cannot be used; the message names both."""


def text(name: str, default: str = "", env: Mapping[str, str] = os.environ) -> str:
    """The variable's value without outer white space, or *default* when unset or blank."""
    return env.get(name, "").strip() or default


def secret(name: str, env: Mapping[str, str] = os.environ) -> str:
    """The variable's value, or the content of the file that ``NAME_FILE`` names."""
    value = text(name, env=env)
    file = text(f"{name}_FILE", env=env)
    if value or not file:
        return value
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f"{name}_FILE names {file}, which cannot be read: {error}."
        raise EnvironmentProblem(message) from error


def integer(
    name: str, default: int, low: int, high: int, env: Mapping[str, str] = os.environ
) -> int:
    """The variable as a whole number from *low* to *high*."""
    value = text(name, env=env)
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        number = low - 1
    if not low <= number <= high:
        message = f"{name} is {value!r}; it takes a whole number from {low} to {high}."
        raise EnvironmentProblem(message)
    return number


def choice(
    name: str, default: str, choices: tuple[str, ...], env: Mapping[str, str] = os.environ
) -> str:
    """The variable as one of *choices*, any case."""
    value = text(name, default, env=env).lower()
    if value not in choices:
        message = f"{name} is {value!r}; it takes one of {', '.join(choices)}."
        raise EnvironmentProblem(message)
    return value


def names(name: str, env: Mapping[str, str] = os.environ) -> list[str]:
    """The variable as a list: items parted by commas, blanks dropped."""
    return [item.strip() for item in text(name, env=env).split(",") if item.strip()]


def address(
    name: str, value: str, schemes: tuple[str, ...], *, is_secret: bool = False
) -> SplitResult:
    """The parts of *value*, the address that the variable *name* gave, with one of *schemes*.

    Of a secret one the message repeats nothing: a password may stand in it.
    """
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    # A socket has a path alone; so has a database that is reached by one.
    has_place = parts.hostname or (parts.path and not parts.scheme.startswith(("http", "redis")))
    if parts.scheme not in schemes or not has_place:
        shown = "not an address that can be used" if is_secret else repr(value)
        wanted = " or ".join(f"{scheme}://" for scheme in schemes)
        message = f"{name} is {shown}; it takes one that begins with {wanted}."
        raise EnvironmentProblem(message)
    return parts


def database_url(env: Mapping[str, str] = os.environ) -> str:
    """``DATABASE_URL``: empty, or the address of a database that Jenny can use."""
    value = secret("DATABASE_URL", env=env)
    if value:
        parts = address("DATABASE_URL", value, DATABASES, is_secret=True)
        if parts.scheme != "sqlite" and not parts.path.strip("/"):
            message = "DATABASE_URL names no database: it ends with /name."
            raise EnvironmentProblem(message)
    return value


def origins(name: str, env: Mapping[str, str] = os.environ) -> list[str]:
    """The variable as a list of origins, as in ``https://jenny.example.org``."""
    found = names(name, env=env)
    for origin in found:
        parts = address(name, origin, ("https", "http"))
        if parts.path or parts.query or parts.fragment:
            message = f"{name} has {origin!r}; an origin ends with the host, or the port."
            raise EnvironmentProblem(message)
    return found


def zone(name: str, env: Mapping[str, str] = os.environ) -> str:
    """The variable as the name of a time zone; empty when unset."""
    value = text(name, env=env)
    try:
        return ZoneInfo(value).key if value else ""
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        message = f"{name} is {value!r}, which is no time zone; it takes one like Europe/Vienna."
        raise EnvironmentProblem(message) from error


@dataclass(frozen=True)
class DataFolder:
    """Where everything of this instance lies (``JENNY_DATA_DIR``)."""

    root: Path

    @property
    def database(self) -> Path:
        """The SQLite database, unless ``DATABASE_URL`` names another."""
        return self.root / "db.sqlite3"

    @property
    def redis(self) -> Path:
        """The folder of the embedded server: socket, append-only file, log."""
        return self.root / "redis"

    @property
    def redis_socket(self) -> Path:
        """The embedded server's Unix socket.

        Systems take about 100 bytes for a socket's path; for a folder that lies deeper it
        is made in the temporary folder, under a name that belongs to this data folder.
        """
        path = self.redis / "redis.sock"
        if len(os.fsencode(path)) <= SOCKET_PATH_BYTES:
            return path
        mark = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"jenny-{os.getuid()}-{mark}" / "redis.sock"

    @property
    def workspaces(self) -> Path:
        """One folder a workspace, named by its slug."""
        return self.root / "workspaces"

    @property
    def snapshots(self) -> Path:
        """One store a workspace, named by the workspace's id and ``.git``."""
        return self.root / "snapshots"

    @property
    def trash(self) -> Path:
        """What people deleted from their workspaces: one folder a workspace, named by its id."""
        return self.root / "trash"

    @property
    def cache(self) -> Path:
        """What can be made again at any time, such as the wikis' search index."""
        return self.root / "cache"

    @property
    def backups(self) -> Path:
        """Backups that are being made, wait to be fetched, or are being taken in."""
        return self.root / "backups"

    @property
    def uploads(self) -> Path:
        """Files that are arriving in pieces: one folder an account, named by its number."""
        return self.root / "uploads"

    @property
    def secret_key(self) -> Path:
        """The key that signs sessions and encrypts API keys; made once."""
        return self.root / "secret_key"

    @property
    def setup_token(self) -> Path:
        """The token that the first visitor needs; gone once an owner exists."""
        return self.root / "setup_token"

    @property
    def running_lock(self) -> Path:
        """Held by ``manage.py up`` so that one data folder is served once."""
        return self.root / "running.lock"


def data_folder(env: Mapping[str, str] = os.environ) -> DataFolder:
    """The data folder, made when missing, readable by its owner only."""
    root = Path(text("JENNY_DATA_DIR", "data", env=env)).expanduser().resolve()
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        message = f"JENNY_DATA_DIR names {root}, which cannot be made: {error}."
        raise EnvironmentProblem(message) from error
    return DataFolder(root)


def kept_secret(path: Path) -> str:
    """The secret kept in *path*, made on first use; readable by its owner only.

    Several processes may start at once, and any may be killed: the file appears
    whole or not at all, and the first to link it decides.
    """
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8") as file:
            file.write(secrets.token_urlsafe(48) + "\n")
            file.flush()
            os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(file.name, path)
    return path.read_text(encoding="utf-8").strip()
