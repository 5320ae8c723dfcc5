"""Loading ``config.json`` and changing it; nothing else writes it.

A change is: lock → re-read → change → no write when nothing differs → the old file to ``.bak`` if
it could be read → atomic replace. A file that cannot be read is first copied aside.
"""

import copy
import os
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import acts, paths
from jenny.workspace.config import document, stored, values
from jenny.workspace.config.document import Raw
from jenny.workspace.config.fields import BY_KEY
from jenny.workspace.config.stored import BACKUP, KEPT, NAME, Stored
from jenny.workspace.config.values import Config, Reading
from jenny.workspace.errors import ConfigRefused, ConfirmationNeeded, WriteFailed, reason_of

# A file changed this recently may change again without a new stamp: the clock of a disk is coarse.
_COARSE_SECONDS = 0.05
_CACHE_SIZE = 4_096


@dataclass(frozen=True)
class _Cached:
    stamps: tuple[paths.Stamp | None, ...]
    variables: dict[str, str | None]
    config: Config


_cache: dict[Path, _Cached] = {}
_cache_lock = threading.Lock()


def load(root: Path) -> Config:
    """The settings of the workspace at *root*, as they are on disk now.

    Takes no lock. A file that cannot be read does not stop anything: earlier values serve, or
    the defaults, and ``notices`` says which. Values that are wrong are in ``problems``.

    Raises:
        FileMissing: there is no workspace folder.
    """
    return load_real(paths.real_root(root))


def load_real(real: Path) -> Config:
    """The same of a workspace whose real folder is known already."""
    stamps = stored.stamps(real)
    cached = _cache.get(real)
    if cached and cached.stamps == stamps and _same_variables(cached.variables):
        return cached.config
    state = stored.look(real)
    reading = values.read(state.raw, state.earlier)
    config = _config(real, state, reading)
    if state.origin == "file" and not config.problems and state.data is not None:
        stored.keep(real, state.data)
        stamps = (*stamps[:-1], stored.stamps(real)[-1])
    if not _is_fresh(stamps) and stamps == stored.stamps(real):
        with _cache_lock:
            if len(_cache) >= _CACHE_SIZE:
                _cache.clear()
            _cache[real] = _Cached(stamps, reading.variables, config)
    return config


def change(root: Path, mutate: Callable[[Raw], None], *, confirmed: Collection[str] = ()) -> bool:
    """Change the settings; whether anything was written.

    *mutate* changes the file's object in place (camelCase keys; ``${JENNY_VAR_…}`` as written).
    *confirmed*: keys whose risky value the person has confirmed (``Field.confirm_below``).

    Raises:
        ConfigRefused: a value is wrong, or the file is from a newer version; nothing is written.
        ConfirmationNeeded: a risky value was not confirmed; nothing is written.
        PathRefused, LockTimeout, WriteFailed: nothing is written.
    """
    real = paths.real_root(root)
    with acts.locked(real):
        paths.check_writable(paths.locate(real, NAME))
        state = stored.look(real)
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
        if not values.read(after).problems:
            stored.keep(real, document.render(after))
    return True


def is_old(root: Path) -> bool:
    """Whether the settings are a file of an older version that ``migrate`` would write anew."""
    state = stored.look(paths.real_root(root))
    return state.origin == "file" and state.version < document.CURRENT_VERSION


def migrate(root: Path) -> bool:
    """Write a file of an older version in the current form; whether it was written.

    Raises:
        ConfigRefused: it is from a newer version.
    """
    real = paths.real_root(root)
    with acts.locked(real):
        state = stored.look(real)
        _refuse_newer(state)
        if state.origin != "file" or state.version == document.CURRENT_VERSION:
            return False
        _write(real, state, state.raw)
    return True


def _config(root: Path, state: Stored, reading: Reading) -> Config:
    """The value for the rest of the program."""
    return Config(
        values=reading.values,
        presets=reading.presets,
        problems=reading.problems,
        unknown=tuple(document.unknown(state.raw)),
        origin=state.origin,
        notices=tuple(_notices(root, state)),
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
    """Sentences about the file as a whole."""
    if state.fault:
        copied = ""
        if state.data is not None:
            try:
                copied = f", and copied to {stored.set_aside(root, state.data)}"
            except OSError as error:
                copied = f"; a copy could not be made ({reason_of(error)})"
        sentence = (
            f"{NAME} cannot be read: {state.fault}. It is left as it is{copied}. "
            f"{_SERVES[state.source]} Correct the file, or save any setting to replace it."
        )
        return [sentence]
    if state.origin == "bak":
        sentence = (
            f"{NAME} is missing. {_SERVES[BACKUP]} Save any setting to write it again; "
            f"remove {BACKUP} too to begin with the defaults."
        )
        return [sentence]
    if state.is_newer:
        sentence = (
            f"{NAME} was written by a newer version of Jenny (configVersion {state.version}; "
            f"this one knows {document.CURRENT_VERSION}). What is understood is used; "
            "nothing can be changed until Jenny is updated."
        )
        return [sentence]
    return []


def _refuse_newer(state: Stored) -> None:
    if state.is_newer:
        message = (
            f"{NAME} was written by a newer version of Jenny (configVersion {state.version}). "
            "Nothing was changed, so that nothing is lost. Update Jenny."
        )
        raise ConfigRefused(message)


def _refuse_wrong(state: Stored, after: Raw) -> None:
    """Refuse what this change would make wrong; what was wrong before may stay."""
    old = values.read(state.raw, state.earlier).problems
    wrong = {
        key: sentence
        for key, sentence in values.read(after).problems.items()
        if key not in old or not _untouched(state.raw, after, key)
    }
    for key in set(values.secrets_in(after)) - set(values.secrets_in(state.raw)):
        wrong[key] = f"{key} would keep a secret in {NAME}; enter keys in Settings instead."
    if wrong:
        message = f"{' '.join(wrong.values())} Nothing was changed."
        raise ConfigRefused(message, wrong)


def _untouched(before: Raw, after: Raw, key: str) -> bool:
    """Whether the change left the value at *key* as it was."""
    path = tuple(key.split("."))
    if path[0] == "modelPresets":
        return before.get(path[0]) == after.get(path[0])
    return repr(document.lookup(before, path)) == repr(document.lookup(after, path))


def _refuse_unconfirmed(state: Stored, after: Raw, confirmed: Collection[str]) -> None:
    """Refuse a risky value that the person has not said yes to; one that was there may stay."""
    old, new = values.read(state.raw, state.earlier).values, values.read(after).values
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
    """Write the new file, keeping the old one."""
    try:
        if state.data is not None and state.origin == "file":
            stored.put(root, BACKUP, state.data)
        elif state.data is not None:
            stored.set_aside(root, state.data)
        stored.put(root, NAME, document.render(after))
    except OSError as error:
        message = f"{NAME} could not be written: {reason_of(error)}. It is as it was before."
        raise WriteFailed(message) from error


def _same_variables(variables: dict[str, str | None]) -> bool:
    """Whether the environment still says what it said."""
    return all(os.environ.get(name) == value for name, value in variables.items())


def _is_fresh(stamps: tuple[paths.Stamp | None, ...]) -> bool:
    """Whether a file changed so recently that its stamp may not tell it from the next change."""
    now = time.time_ns()
    return any(
        stamp is not None and abs(now - max(stamp[:2])) < _COARSE_SECONDS * 1e9 for stamp in stamps
    )
