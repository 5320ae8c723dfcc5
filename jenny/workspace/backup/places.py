"""Which paths a backup may hold: those that work on every machine, and each once."""

from jenny.workspace import locks, names
from jenny.workspace.snapshots.scan import DEEPEST

_LOCKS = frozenset(locks.LOCK_FILES.values())
_OWN_GIT = "memory/.git"


class Places:
    """The paths of one backup, as they come."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        self._files: dict[str, str] = {}

    def problem(self, path: str, *, is_folder: bool = False) -> str:
        """Why this path cannot be in a backup beside those that came before, as the end of a
        sentence; empty: it can, and counts from now on."""
        parts = path.split("/")
        why = _unfit(path) or self._clash(parts if is_folder else parts[:-1])
        return why or ("" if is_folder else self._taken(path))

    def _clash(self, folders: list[str]) -> str:
        """Why these folders cannot be, one in the other."""
        here = ""
        for part in folders:
            here = f"{here}/{part}" if here else part
            plain = names.folded(here)
            if plain in self._files:
                return "lies in what is a file"
            if self._folders.setdefault(plain, here) != here:
                return "differs only in case or accents from another name"
        return ""

    def _taken(self, path: str) -> str:
        """Why there cannot be a file."""
        plain = names.folded(path)
        if plain in self._folders:
            return "is a folder as well"
        if plain in self._files:
            is_twin = self._files[plain] == path
            return "is there twice" if is_twin else "differs only in case or accents from another"
        self._files[plain] = path
        return ""


def _unfit(path: str) -> str:
    if why := names.unusable(path):
        return why
    parts = path.split("/")
    if len(parts) > DEEPEST:
        return "lies too deep"
    if why := next(filter(None, map(_unfit_name, parts)), ""):
        return why
    is_lock = names.folded(path) in _LOCKS
    return "is a lock file" if is_lock or names.folded(path) == _OWN_GIT else ""


def _unfit_name(name: str) -> str:
    if name in ("", ".", ".."):
        return "leads out of its folder"
    if names.is_own(name):
        return "belongs to Jenny's own bookkeeping"
    return "lies in a git folder" if names.is_git(name) else names.unfit(name)
