"""Load ``config.json`` and change it, with the copies that replace it when it cannot be read.

* ``config.json.bak``: the file as it was before the last change, if it could be read.
* ``.jenny/config.json``: a copy of the last file without problems, kept by every reader, so that
  a mistake in an editor costs nothing.
* ``config.corrupt-<UTC>.json``: copies of files that could not be read.

A change is: lock → re-read → change → no write when nothing differs → the old file to ``.bak`` if
it could be read → atomic replace. A file that cannot be read is first copied aside.
"""

import contextlib
import copy
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import atomic, paths, transactions
from jenny.workspace.config import document, fields
from jenny.workspace.config.document import Config, Origin, Raw, Reading, Unreadable
from jenny.workspace.config.fields import BY_KEY, Settings
from jenny.workspace.errors import (
    ConfigRefused,
    ConfirmationNeeded,
    FileMissing,
    WorkspaceError,
    WriteFailed,
    reason_of,
)
from jenny.workspace.locks import OWN_FOLDER
from jenny.workspace.stat_signature import StatSignature, is_racy, signature_of

CONFIG_FILE = "config.json"
BACKUP = "config.json.bak"
KEPT = f"{OWN_FOLDER}/{CONFIG_FILE}"
QUARANTINE = "config.corrupt-"
MODE = 0o600


@dataclass(frozen=True)
class Stored:
    """The settings on disk. ``raw``: the object that counts, migrated; ``source``: its file's name.

    ``earlier``: older objects, used for values that are wrong in ``raw``. ``fault``: why
    ``config.json`` cannot be read, empty when it can (or does not exist). ``kept``: keys of
    settings that have a former default.
    """

    raw: Raw
    source: str
    earlier: tuple[Raw, ...]
    data: bytes | None
    fault: str
    version: int
    kept: tuple[str, ...]

    @property
    def origin(self) -> Origin:
        """The source of the settings: the file itself, a copy of it, or the defaults."""
        if not self.source:
            return "defaults"
        return "file" if self.source == CONFIG_FILE else "bak"

    @property
    def is_newer(self) -> bool:
        return self.version > document.CURRENT_VERSION


def read_disk(root: Path) -> Stored:
    """Read the settings on disk at *root* (the real folder)."""
    data, fault = _bytes(root, CONFIG_FILE)
    raw = None
    if data is not None:
        try:
            raw = document.parse_document(data)
        except Unreadable as error:
            fault = str(error)
    kept, backup = _object(root, KEPT), _object(root, BACKUP)
    if raw is not None:
        candidates = [(CONFIG_FILE, raw), (KEPT, kept), (BACKUP, backup)]
    elif fault:
        candidates = [(KEPT, kept), (BACKUP, backup)]
    else:  # somebody removed it: the reader's copy is no reason to undo that
        candidates = [(BACKUP, backup)]
    found = [(name, candidate) for name, candidate in candidates if candidate is not None]
    source, first = found[0] if found else ("", {})
    written_for = document.version(first)
    for _, candidate in found:
        document.migrate(candidate)
    former = document.keep_defaults(first)
    earlier = tuple(candidate for _, candidate in found[1:])
    return Stored(first, source, earlier, data, fault, written_for, former)


def config_signatures(root: Path) -> tuple[StatSignature | None, ...]:
    return tuple([_signature(f"{root}/{name}") for name in (CONFIG_FILE, BACKUP, KEPT)])


def _signature(path: str) -> StatSignature | None:
    try:
        return signature_of(os.stat(path))  # noqa: PTH116  (asked often: no object is made of a name)
    except OSError:
        return None


def set_aside(root: Path, data: bytes) -> str:
    """Copy an unreadable file beside it, once, and return the copy's name.

    Raises:
        OSError: it cannot be written.
    """
    for name in quarantined(root):
        with contextlib.suppress(OSError):
            if (root / name).read_bytes() == data:
                return name
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for name in _names(moment):
        if not (root / name).exists():
            with paths.open_folder(root, ()) as folder:
                atomic.replace(folder, name, data, mode=MODE)
            return name
    raise AssertionError  # _names is infinite


def quarantined(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.match(f"{QUARANTINE}*.json"))


def keep_copy(root: Path, data: bytes) -> None:
    """Keep a copy of a file in which everything is right; errors are ignored."""
    with contextlib.suppress(OSError):
        if root.joinpath(OWN_FOLDER, CONFIG_FILE).read_bytes() == data:
            return
    with contextlib.suppress(OSError), paths.open_folder(root, (OWN_FOLDER,), make=True) as folder:
        atomic.replace(folder, CONFIG_FILE, data, mode=MODE)


def write_settings(root: Path, name: str, data: bytes) -> None:
    """Replace ``config.json`` or its backup.

    Raises:
        OSError: it cannot be written.
    """
    with paths.open_folder(root, ()) as folder:
        atomic.replace(folder, name, data, mode=MODE)


def _names(moment: str) -> Iterator[str]:
    """Yield file names for a copy made at *moment*."""
    yield f"{QUARANTINE}{moment}.json"
    number = 2
    while True:
        yield f"{QUARANTINE}{moment}-{number}.json"
        number += 1


def _bytes(root: Path, name: str) -> tuple[bytes | None, str]:
    """Return a file's bytes, or why it cannot be read; both empty when there is no file."""
    try:
        parts = tuple(name.split("/"))
        fd = paths.open_file(paths.Place(root, parts, None))
        with os.fdopen(fd, "rb") as file:
            return file.read(document.MAX_BYTES + 1), ""
    except FileMissing:
        return None, ""
    except (WorkspaceError, OSError) as error:
        if isinstance(error, WorkspaceError):
            return None, "it is a link, a folder, or may not be opened"
        return None, f"the disk says: {error.strerror}"


def _object(root: Path, name: str) -> Raw | None:
    """Return the object in a copy, if it can be read and is not from a newer version."""
    data, _ = _bytes(root, name)
    if data is None:
        return None
    try:
        raw = document.parse_document(data)
    except Unreadable:
        return None
    return raw if document.version(raw) <= document.CURRENT_VERSION else None


_CACHE_SIZE = 4_096


@dataclass(frozen=True)
class _Cached:
    signatures: tuple[StatSignature | None, ...]
    variables: dict[str, str | None]
    config: Config


_cache: dict[Path, _Cached] = {}
_cache_lock = threading.Lock()


def load_config(root: Path) -> Config:
    """Load the settings of the workspace at *root* from disk.

    Takes no lock. If the file cannot be read, earlier values or the defaults are used, and
    ``notices`` says which. Wrong values are in ``problems``.

    Raises:
        FileMissing: there is no workspace folder.
    """
    return load_real(paths.real_root(root))


def load_real(real: Path) -> Config:
    """Load the settings of a workspace whose real folder is known."""
    signatures = config_signatures(real)
    cached = _cache.get(real)
    if cached and cached.signatures == signatures and _same_variables(cached.variables):
        return cached.config
    state = read_disk(real)
    reading = document.read_config(state.raw, state.earlier)
    config = _config(real, state, reading)
    if state.origin == "file" and not config.problems and state.data is not None:
        keep_copy(real, state.data)
        signatures = (*signatures[:-1], config_signatures(real)[-1])
    is_racy_now = any(one is not None and is_racy(one, time.time_ns()) for one in signatures)
    if not is_racy_now and signatures == config_signatures(real):
        with _cache_lock:
            if len(_cache) >= _CACHE_SIZE:
                _cache.clear()
            _cache[real] = _Cached(signatures, reading.variables, config)
    return config


def change_config(
    root: Path, mutate: Callable[[Raw], None], *, confirmed: Collection[str] = ()
) -> bool:
    """Change the settings and return True when anything was written.

    *mutate* changes the file's object in place (camelCase keys; ``${JENNY_VAR_…}`` as written).
    *confirmed*: keys whose risky value the person has confirmed (``Field.confirm_below``).

    Raises:
        ConfigRefused: a value is wrong, or the file is from a newer version; nothing is written.
        ConfirmationNeeded: a risky value was not confirmed; nothing is written.
        PathRefused, LockTimeout, WriteFailed: nothing is written.
    """
    real = paths.real_root(root)
    with transactions.lock_workspace(real):
        paths.check_writable(paths.locate(real, CONFIG_FILE))
        state = read_disk(real)
        _refuse_newer(state)
        after = copy.deepcopy(state.raw)
        mutate(after)
        after[document.VERSION_KEY] = document.CURRENT_VERSION
        before = {**state.raw, document.VERSION_KEY: document.CURRENT_VERSION}
        if document.same(before, after) and state.origin in ("file", "defaults"):
            return False
        _refuse_wrong(state, after)
        _refuse_unconfirmed(state, after, confirmed)
        _write(real, state, after)
        if not document.read_config(after).problems:
            keep_copy(real, document.render_document(after))
    return True


def accept_defaults(root: Path, *, is_new: bool = False) -> bool:
    """Write the former defaults that the workspace has as its own values, and that they were seen.

    A new workspace has no former ones; only that is written.

    Raises:
        ConfigRefused, PathRefused, LockTimeout, WriteFailed: nothing is written.
    """

    def mutate(raw: Raw) -> None:
        if is_new:
            raw.clear()
        if fields.CHANGED_DEFAULTS:
            raw[document.DEFAULTS_KEY] = len(fields.CHANGED_DEFAULTS)

    return change_config(root, mutate)


def is_old(root: Path) -> bool:
    """True when ``migrate_config`` would rewrite the file."""
    state = read_disk(paths.real_root(root))
    return state.origin == "file" and state.version < document.CURRENT_VERSION


def migrate_config(root: Path) -> bool:
    """Rewrite a file of an older version in the current form; return True when it was written.

    Raises:
        ConfigRefused: it is from a newer version.
    """
    real = paths.real_root(root)
    with transactions.lock_workspace(real):
        state = read_disk(real)
        _refuse_newer(state)
        if state.origin != "file" or state.version == document.CURRENT_VERSION:
            return False
        _write(real, state, state.raw)
    return True


def _config(root: Path, state: Stored, reading: Reading) -> Config:
    return Config.model_construct(
        **document.typed(Settings, reading.values),
        values=reading.values,
        presets=reading.presets,
        problems=reading.problems,
        unknown=tuple(document.unknown(state.raw)),
        origin=state.origin,
        notices=tuple(_notices(root, state)),
        kept_defaults=state.kept,
        set_keys=frozenset(
            key for key in BY_KEY if document.lookup(state.raw, tuple(key.split(".")))[0]
        ),
    )


_SERVES = {
    KEPT: "The last settings that were in order serve meanwhile.",
    BACKUP: f"The settings in {BACKUP} serve meanwhile.",
    "": "The defaults serve meanwhile.",
}


def _notices(root: Path, state: Stored) -> list[str]:
    if state.fault:
        copied = ""
        if state.data is not None:
            try:
                copied = f", and copied to {set_aside(root, state.data)}"
            except OSError as error:
                copied = f"; a copy could not be made ({reason_of(error)})"
        message = (
            f"{CONFIG_FILE} cannot be read: {state.fault}. It is left as it is{copied}. "
            f"{_SERVES[state.source]} Correct the file, or save any setting to replace it."
        )
        return [message]
    if state.origin == "bak":
        message = (
            f"{CONFIG_FILE} is missing. {_SERVES[BACKUP]} Save any setting to write it again; "
            f"remove {BACKUP} too to begin with the defaults."
        )
        return [message]
    if state.is_newer:
        message = (
            f"{CONFIG_FILE} was written by a newer version of Jenny "
            f"(configVersion {state.version}; "
            f"this one knows {document.CURRENT_VERSION}). What is understood is used; "
            "nothing can be changed until Jenny is updated."
        )
        return [message]
    return []


def _refuse_newer(state: Stored) -> None:
    if state.is_newer:
        message = (
            f"{CONFIG_FILE} was written by a newer version of Jenny "
            f"(configVersion {state.version}). "
            "Nothing was changed, so that nothing is lost. Update Jenny."
        )
        raise ConfigRefused(message)


def _refuse_wrong(state: Stored, after: Raw) -> None:
    """Refuse values that this change makes wrong; those that were wrong before may stay."""
    old = document.read_config(state.raw, state.earlier).problems
    wrong = {
        key: sentence
        for key, sentence in document.read_config(after).problems.items()
        if key not in old or not _untouched(state.raw, after, key)
    }
    for key in set(document.secrets_in(after)) - set(document.secrets_in(state.raw)):
        wrong[key] = f"{key} would keep a secret in {CONFIG_FILE}; enter keys in Settings instead."
    if wrong:
        message = f"{' '.join(wrong.values())} Nothing was changed."
        raise ConfigRefused(message, wrong)


def _untouched(before: Raw, after: Raw, key: str) -> bool:
    """True when the change left the value at *key* as it was."""
    path = tuple(key.split("."))
    if path[0] == "modelPresets":
        return before.get(path[0]) == after.get(path[0])
    return repr(document.lookup(before, path)) == repr(document.lookup(after, path))


def _refuse_unconfirmed(state: Stored, after: Raw, confirmed: Collection[str]) -> None:
    """Refuse a risky value that the person has not confirmed; an existing one may stay."""
    old, new = (
        document.read_config(state.raw, state.earlier).values,
        document.read_config(after).values,
    )
    risky = {
        key: f"{row.label} {new[key]} {row.unit}: below {row.confirm_below} this needs a yes."
        for key, row in BY_KEY.items()
        if row.confirm_below is not None
        and key not in confirmed
        and new[key] != old[key]
        and isinstance(value := new[key], int)
        and value < row.confirm_below
    }
    if risky:
        message = f"{' '.join(risky.values())} Nothing was changed."
        raise ConfirmationNeeded(message, risky)


def _write(root: Path, state: Stored, after: Raw) -> None:
    try:
        if state.data is not None and state.origin == "file":
            write_settings(root, BACKUP, state.data)
        elif state.data is not None:
            set_aside(root, state.data)
        write_settings(root, CONFIG_FILE, document.render_document(after))
    except OSError as error:
        message = f"{CONFIG_FILE} could not be written: {reason_of(error)}. It is as it was before."
        raise WriteFailed(message) from error


def _same_variables(variables: dict[str, str | None]) -> bool:
    return all(os.environ.get(name) == value for name, value in variables.items())
