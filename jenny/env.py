"""Typed readers of environment variables, whose errors name the cause.

Every variable is optional. A secret may also come from a file: ``NAME_FILE`` has its path
(``docs/settings.md`` lists them all).
"""

import contextlib
import hashlib
import ipaddress
import os
import secrets
import stat
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, quote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

# Networks of proxies in front of Jenny, unless the operator sets them.
PRIVATE_NETWORKS = "127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7"
DATABASES = ("postgres", "postgresql", "sqlite")
SOCKET_PATH_BYTES = 100
# The key that Jenny makes has 64 characters.
SHORTEST_KEY = 32
_KEY = "JENNY_SECRET_KEY"
_LOST_KEY = (
    "It holds the key that signs sessions and seals stored API keys. Put it back from a backup of "
    "the data folder. Without a backup, remove the file: a new key is made at the next start. Then "
    "everybody logs in once more, stored API keys are entered again, and second factors are set up "
    "anew (manage.py reset_two_factor). Files, memory and conversations stay as they are."
)


class EnvironmentProblem(ValueError):
    """A variable has an unusable value; the message names both."""


def text(name: str, default: str = "", env: Mapping[str, str] = os.environ) -> str:
    """Return the variable's value without outer white space, or *default* when unset or blank."""
    return env.get(name, "").strip() or default


def secret(name: str, env: Mapping[str, str] = os.environ) -> str:
    """Return the variable's value, or the content of the file that ``NAME_FILE`` names."""
    value = text(name, env=env)
    file = text(f"{name}_FILE", env=env)
    if value or not file:
        return value
    try:
        content = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f"{name}_FILE names {file}, which cannot be read: {error}."
        raise EnvironmentProblem(message) from error
    if has_control_characters(content):
        message = f"{name}_FILE names {file}, which holds more than one line of text."
        raise EnvironmentProblem(message)
    return content


def has_control_characters(value: str) -> bool:
    """True when *value* has line breaks, NULs and the like, or bytes that could not be decoded."""
    return any(unicodedata.category(character) in {"Cc", "Cs"} for character in value)


def integer(
    name: str, default: int, low: int, high: int, env: Mapping[str, str] = os.environ
) -> int:
    """Return the variable as a whole number from *low* to *high*."""
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
    """Return the variable as one of *choices*, ignoring case."""
    value = text(name, default, env=env).lower()
    if value not in choices:
        message = f"{name} is {value!r}; it takes one of {', '.join(choices)}."
        raise EnvironmentProblem(message)
    return value


def names(name: str, env: Mapping[str, str] = os.environ) -> list[str]:
    """Return the variable as a list: split at commas, blank items dropped."""
    return [item.strip() for item in text(name, env=env).split(",") if item.strip()]


def address(
    name: str, value: str, schemes: tuple[str, ...], *, is_secret: bool = False
) -> SplitResult:
    """Return the parts of *value*, the address in the variable *name*, with one of *schemes*.

    For a secret address the message repeats nothing: it may have a password.
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
    """Return ``DATABASE_URL``: empty, or the address of a database that Jenny can use."""
    value = secret("DATABASE_URL", env=env)
    if value:
        parts = address("DATABASE_URL", value, DATABASES, is_secret=True)
        if parts.scheme != "sqlite" and not parts.path.strip("/"):
            message = "DATABASE_URL names no database: it ends with /name."
            raise EnvironmentProblem(message)
    return value


def origins(name: str, env: Mapping[str, str] = os.environ) -> list[str]:
    """Return the variable as a list of origins, as in ``https://jenny.example.org``."""
    found = names(name, env=env)
    for origin in found:
        parts = address(name, origin, ("https", "http"))
        if parts.path or parts.query or parts.fragment:
            message = f"{name} has {origin!r}; an origin ends with the host, or the port."
            raise EnvironmentProblem(message)
    return found


type Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def networks(name: str, default: str, env: Mapping[str, str] = os.environ) -> list[Network]:
    """Return the variable as addresses and networks, as in ``127.0.0.1,10.0.0.0/8``."""
    try:
        return [ipaddress.ip_network(item) for item in names(name, env) or default.split(",")]
    except ValueError as error:
        message = f"{name} has {error}; it takes addresses and networks such as 10.0.0.0/8."
        raise EnvironmentProblem(message) from error


def zone(name: str, env: Mapping[str, str] = os.environ) -> str:
    """Return the variable as the name of a time zone; empty when unset."""
    value = text(name, env=env)
    try:
        return ZoneInfo(value).key if value else ""
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        message = f"{name} is {value!r}, which is no time zone; it takes one like Europe/Vienna."
        raise EnvironmentProblem(message) from error


@dataclass(frozen=True)
class DataFolder:
    """The folder with all data of this instance (``JENNY_DATA_DIR``)."""

    root: Path

    @property
    def database(self) -> Path:
        """The SQLite database, unless ``DATABASE_URL`` names another one."""
        return self.root / "db.sqlite3"

    @property
    def redis(self) -> Path:
        """The folder of the embedded server: socket, append-only file, log."""
        return self.root / "redis"

    @property
    def redis_url(self) -> str:
        """The address of that socket; characters such as # and ? in the path are escaped."""
        return f"unix://{quote(str(self.redis_socket))}"

    @property
    def redis_socket(self) -> Path:
        """The embedded server's Unix socket.

        Systems limit a socket's path to about 100 bytes; for a longer one it is in the temporary
        folder, under a name that belongs to this data folder.
        """
        path = self.redis / "redis.sock"
        if len(os.fsencode(path)) <= SOCKET_PATH_BYTES:
            return path
        mark = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"jenny-{os.getuid()}-{mark}" / "redis.sock"

    @property
    def workspaces(self) -> Path:
        """One folder per workspace, named by its slug."""
        return self.root / "workspaces"

    @property
    def snapshots(self) -> Path:
        """One store per workspace, named by the workspace's id and ``.git``."""
        return self.root / "snapshots"

    @property
    def trash(self) -> Path:
        """Deleted files of workspaces: one folder per workspace, named by its id."""
        return self.root / "trash"

    @property
    def cache(self) -> Path:
        """Files that can be recreated at any time, such as the wikis' search index."""
        return self.root / "cache"

    @property
    def backups(self) -> Path:
        """Backups that are being made, wait for download, or are being imported."""
        return self.root / "backups"

    @property
    def uploads(self) -> Path:
        """Files of unfinished uploads: one folder per account, named by its number."""
        return self.root / "uploads"

    @property
    def secret_key(self) -> Path:
        """The key that signs sessions and encrypts API keys; made once."""
        return self.root / "secret_key"

    @property
    def setup_token(self) -> Path:
        """The token that the first visitor needs; deleted once an owner exists."""
        return self.root / "setup_token"

    @property
    def running_lock(self) -> Path:
        """``manage.py up`` holds this lock, so that only one process serves the data folder."""
        return self.root / "running.lock"


def data_folder(env: Mapping[str, str] = os.environ) -> DataFolder:
    """Return the data folder, created when missing, readable by its owner only."""
    root = Path(text("JENNY_DATA_DIR", "data", env=env)).expanduser().resolve()
    if has_control_characters(str(root)):
        message = (
            f"JENNY_DATA_DIR names {str(root)!r}. Choose a folder without line breaks, control "
            "characters and bytes that are no text in its path."
        )
        raise EnvironmentProblem(message)
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        message = f"JENNY_DATA_DIR names {root}, which cannot be made: {error}."
        raise EnvironmentProblem(message) from error
    return DataFolder(root)


def secret_key(data: DataFolder, env: Mapping[str, str] = os.environ) -> str:
    """Return ``JENNY_SECRET_KEY``, or the key in the data folder, which is made once.

    :raises EnvironmentProblem: the file for the key has none.
    """
    file = text(f"{_KEY}_FILE", env=env)
    given = secret("JENNY_SECRET_KEY", env=env)
    if given:
        return given
    if file:
        message = f"JENNY_SECRET_KEY_FILE names {file}, which is empty. {_LOST_KEY}"
        raise EnvironmentProblem(message)
    path = data.secret_key
    try:
        key = kept_secret(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = "is no text" if isinstance(error, ValueError) else f"cannot be read ({error})"
        message = f"The file {path} {reason}. {_LOST_KEY}"
        raise EnvironmentProblem(message) from error
    if not key or key.strip("\0").strip() == "":
        message = f"The file {path} is empty, or holds NUL bytes only. {_LOST_KEY}"
    elif len(key) < SHORTEST_KEY or has_control_characters(key):
        message = (
            f"The file {path} does not hold a key: that is one line of at least {SHORTEST_KEY} "
            f"characters. {_LOST_KEY}"
        )
    else:
        return key
    raise EnvironmentProblem(message)


def kept_secret(path: Path, *, renew: bool = False) -> str:
    """Return the secret in *path*, made on first use; readable by its owner only.

    Several processes may start at once, and any may be killed: the file appears whole or not at
    all, and the first to link it wins. With *renew* it is made again.
    """
    if renew or not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8") as file:
            file.write(secrets.token_urlsafe(48) + "\n")
            file.flush()
            os.fsync(file.fileno())
            if renew:
                path.unlink(missing_ok=True)
            with contextlib.suppress(FileExistsError):
                os.link(file.name, path)
    return path.read_text(encoding="utf-8").strip()


# Removes other users' access to the data folder, also in folders of earlier versions.


_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def protect(data: DataFolder) -> list[Path]:
    """Remove others' rights from the data folder and from files that only Jenny reads.

    Returns the paths that stay open to others: they belong to another user, or the file system
    stores no rights. Files of workspaces keep their rights.
    """
    return [path for path in _private_paths(data) if not _close(path)]


def open_paths(data: DataFolder) -> list[Path]:
    """Return the folder, database and key that others may read. Changes nothing."""
    return [path for path in _most_private(data) if _is_open(path)]


def warning(path: Path) -> str:
    """Return a sentence about a path that stays open to others."""
    return (
        f"Other users of this machine can read {path}, and Jenny cannot change that: it belongs to "
        f"somebody else, or its file system keeps no rights. Run: chmod go-rwx '{path}', as its "
        "owner, or choose another folder with JENNY_DATA_DIR."
    )


def _most_private(data: DataFolder) -> list[Path]:
    database = data.database
    beside = [database.with_name(database.name + end) for end in ("-wal", "-shm", "-journal")]
    return [data.root, data.secret_key, data.setup_token, database, *beside]


def _private_paths(data: DataFolder) -> Iterator[Path]:
    yield from _most_private(data)
    for folder in (data.redis, data.backups):
        if folder.is_dir() and not folder.is_symlink():
            yield folder
            for parent, folders, files in os.walk(folder):
                yield from (Path(parent, name) for name in (*folders, *files))


def _is_open(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return bool(found.st_mode & _OTHERS) and not stat.S_ISLNK(found.st_mode)


def _close(path: Path) -> bool:
    if not _is_open(path):
        return True
    try:
        path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~_OTHERS)
    except OSError:
        return False
    return not _is_open(path)
