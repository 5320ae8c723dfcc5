"""What bringing something back means for each file; nothing is written by finding out."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from jenny.workspace import locks, names
from jenny.workspace.snapshots.restoring.present import Present
from jenny.workspace.snapshots.scan import Found
from jenny.workspace.snapshots.values import FileRow, Skipped, counted, sized

_LOCKS = frozenset(locks.LOCK_FILES.values())
_OWN_GIT = "memory/.git"


@dataclass(frozen=True)
class Plan:
    """What a restore would do.

    ``changed``, ``added``: files that get another content or come back, as they are to be;
    ``removed``: files that are there now and were not then; ``left``: what stays as it is though
    it differs, and why; ``ledgers``: files that are put together from both sides. ``made``,
    ``gone``, ``modes``: folders. ``same``: how many files are right already. *there*: what stands
    at each path now.
    """

    changed: tuple[FileRow, ...] = ()
    added: tuple[FileRow, ...] = ()
    removed: tuple[Found, ...] = ()
    left: tuple[Skipped, ...] = ()
    ledgers: tuple[str, ...] = ()
    made: tuple[FileRow, ...] = ()
    gone: tuple[tuple[str, int], ...] = ()
    modes: tuple[tuple[FileRow, int], ...] = ()
    same: int = 0
    there: dict[str, Found] = field(default_factory=dict, repr=False)

    @property
    def is_nothing(self) -> bool:
        """Whether everything that is covered is as it was then, ledgers apart."""
        rows = (self.changed, self.added, self.removed, self.made, self.gone, self.modes)
        return not any(rows)

    @property
    def size(self) -> int:
        """Bytes that are to be written."""
        return sum(row.size for row in (*self.changed, *self.added))

    @property
    def token(self) -> str:
        """What changes when other files would be touched than these."""
        digest = hashlib.sha256()
        for mark, rows in (("~", self.changed), ("+", self.added), ("-", self.removed)):
            for row in rows:
                digest.update(f"{mark}{row.path}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    @property
    def sentence(self) -> str:
        """What it did, in words."""
        return self._told(("changed", "brought back", "removed"))

    @property
    def forecast(self) -> str:
        """What it would do, in words."""
        told = self._told(("gets its old content back", "comes back", "goes"), is_verb=True)
        if self.same and not self.is_nothing:
            stays = "1 file stays as it is" if self.same == 1 else f"{self.same:,} files stay"
            told += f" {stays}."
        return told

    def _told(self, verbs: tuple[str, str, str], *, is_verb: bool = False) -> str:
        rows = zip((self.changed, self.added, self.removed), verbs, strict=True)
        parts = [
            f"{counted(len(found), 'file')} {_many(verb, len(found)) if is_verb else verb}"
            for found, verb in rows
            if found
        ]
        if not parts:
            return "Every file is as it was then."
        told = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
        size = self.size
        return f"{told} ({sized(size)} written)." if size and not is_verb else f"{told}."


_MANY = {
    "gets its old content back": "get their old content back",
    "comes back": "come back",
    "goes": "go",
}


def _many(verb: str, count: int) -> str:
    """The verb for so many."""
    return verb if count == 1 else _MANY[verb]


def plan(
    present: Present,
    rows: Iterable[FileRow],
    *,
    path: str = "",
    is_ledger: Callable[[str], bool] | None = None,
) -> Plan:
    """What it takes for what is at *path* (empty: everything) to be as *rows* say.

    *is_ledger*: which files are put together instead (``memory.merging``).
    """
    wanted = {row.path: row for row in rows}
    return _Planning(present, wanted, path.strip("/"), is_ledger or _no_ledger).plan()


def _no_ledger(path: str) -> bool:
    """Nothing is put together."""
    del path
    return False


class _Planning:
    """One plan in the making."""

    def __init__(
        self,
        present: Present,
        wanted: dict[str, FileRow],
        path: str,
        is_ledger: Callable[[str], bool],
    ) -> None:
        self._now = present
        self._files = {at: row for at, row in wanted.items() if not row.is_folder}
        self._folders = {at: row for at, row in wanted.items() if row.is_folder}
        self._path = path
        self._is_ledger = is_ledger
        self._left: dict[str, Skipped] = {}
        ledgers = (at for at in present.files if is_ledger(at))
        self._above_wanted = _above(self._files) | _above(ledgers)
        uncovered = (*present.uncovered, *present.repositories, _OWN_GIT, *_LOCKS)
        self._above_uncovered = _above(uncovered)

    def plan(self) -> Plan:
        """Look at every file and folder on either side."""
        changed, added, same = [], [], 0
        ledgers = {at for at in self._files if self._is_ledger(at)}
        for at, row in sorted(self._files.items()):
            if at in ledgers or self._stays(at):
                continue
            now = self._now.files.get(at)
            if now is None:
                added.append(row)
            elif now[1] != row.sha or now[0].mode != row.mode:
                changed.append(row)
            else:
                same += 1
        removed = [
            found
            for at, (found, _) in sorted(self._now.files.items())
            if self._is_meant(at)
            and at not in self._files
            and not self._is_ledger(at)
            and not self._stays(at)
        ]
        return Plan(
            changed=tuple(changed),
            added=tuple(added),
            removed=tuple(removed),
            ledgers=tuple(sorted(ledgers)),
            made=tuple(self._made()),
            gone=tuple(self._gone()),
            modes=tuple(self._modes()),
            left=tuple(self._left[at] for at in sorted(self._left)),
            same=same,
            there={at: found for at, (found, _) in self._now.files.items()},
        )

    def _is_meant(self, at: str) -> bool:
        return not self._path or at == self._path or at.startswith(f"{self._path}/")

    def _stays(self, at: str) -> bool:
        """Whether something is left as it is, and note why."""
        if at in _LOCKS or any(names.is_own(part) or names.is_git(part) for part in at.split("/")):
            return True
        for repository in self._now.repositories:
            if at == repository or at.startswith(f"{repository}/"):
                why = "is a git repository of its own; all of it stays as it is."
                self._leave(repository, f"{names.shown(repository)} {why}")
                return True
        for above in (*_folders_above(at), at):
            if above in self._now.uncovered:
                self._leave(at, _in_the_way(at, above))
                return True
            if above != at and above in self._now.files and not self._is_meant(above):
                self._leave(
                    at, f"{names.shown(at)} cannot come back: {names.shown(above)} is a file now."
                )
                return True
        if at in self._files and at in self._now.folders and at in self._above_uncovered:
            why = "was a file then and is a folder now, with things in it that no snapshot covers"
            self._leave(at, f"{names.shown(at)} {why}; it stays as it is.")
            return True
        return False

    def _leave(self, at: str, sentence: str) -> None:
        self._left.setdefault(at, Skipped(at, sentence))

    def _made(self) -> Iterator[FileRow]:
        """Folders that are to be made, those above first."""
        for at, row in sorted(self._folders.items()):
            if at not in self._now.folders and not self._stays(at):
                yield row

    def _gone(self) -> Iterator[tuple[str, int]]:
        """Folders that go if nothing is left in them, those below first."""
        for at, folder in sorted(self._now.folders.items(), reverse=True):
            is_kept = at in self._folders or at in self._above_wanted or at in self._above_uncovered
            if self._is_meant(at) and not is_kept and not self._stays(at):
                yield at, folder.mode

    def _modes(self) -> Iterator[tuple[FileRow, int]]:
        """Folders that get other permissions."""
        for at, row in sorted(self._folders.items()):
            now = self._now.folders.get(at)
            if now is not None and now.mode != row.mode and not self._stays(at):
                yield row, now.mode


def _in_the_way(at: str, above: str) -> str:
    if at == above:
        return f"{names.shown(at)} is no plain file or folder now; it stays as it is."
    what = "no plain folder now, and stays as it is"
    return f"{names.shown(at)} cannot come back: {names.shown(above)} is {what}."


def _folders_above(path: str) -> list[str]:
    """The folders on the way to a path, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _above(every: Iterable[str]) -> set[str]:
    """All folders on the way to any of these."""
    return {folder for path in every for folder in _folders_above(path)}
