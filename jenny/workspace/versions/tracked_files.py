"""Define which files have versions, and list them with their content ids, on disk and in a version.

Every file's status is read, but only files with a changed signature are read, so that 2,000 files
cost 2,000 stat calls. Links are never followed.
"""

import os
import stat
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from jenny.workspace import names, paths
from jenny.workspace.content import WRITE_BYTES
from jenny.workspace.errors import reason_of
from jenny.workspace.file_cache import Kept
from jenny.workspace.git import trees
from jenny.workspace.git.objects import id_of
from jenny.workspace.git.store import Repository
from jenny.workspace.names import unusable
from jenny.workspace.stat_signature import StatSignature, is_racy, signature_of

CURSOR = "memory/.dream_cursor"
GUIDE = "prompts/dream.md"
TRACKED_FILES: tuple[str, ...] = ("SOUL.md", "USER.md", "memory/MEMORY.md", CURSOR, GUIDE)
TRACKED_FOLDERS: tuple[str, ...] = ("skills",)

# Files that git reads when a tree is checked out: their content must not become configuration.
_GITS_OWN = frozenset({".gitmodules", ".gitattributes", "gitmod~1", "gitatt~1"})


def is_tracked(path: str) -> bool:
    """True when the file at *path* (from the workspace, separated by ``/``) has versions."""
    if path in TRACKED_FILES:
        return True
    first, *rest = path.split("/")
    return first in TRACKED_FOLDERS and bool(rest) and not any(map(is_left_out, rest))


def is_left_out(name: str) -> bool:
    """True when no file of this name has versions, in any folder: git's own, and ours."""
    plain = names.disguised(name)
    return names.is_git(name) or names.is_own(name) or plain in _GITS_OWN


_KEPT_WORKSPACES = 32


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder without new versions, and the reason (words for a sentence)."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Disk:
    """The tracked files: content ids by path. Those in ``skipped`` are unknown."""

    files: dict[str, str]
    skipped: tuple[Skipped, ...]

    def is_unknown(self, path: str) -> bool:
        """True when *path* or one of its folders was skipped."""
        return bool(self.skipped) and any(
            path == row.path or path.startswith(f"{row.path}/") for row in self.skipped
        )


@dataclass(frozen=True, slots=True)
class _Folder:
    """The contents of a folder: paths, and names that are skipped."""

    signature: StatSignature
    children: tuple[str, ...]
    skipped: tuple[Skipped, ...]


@dataclass(slots=True)
class _Known:
    """The results of the last scan, each with its signature.

    Left out are files that had changed so recently that the next change might leave the signature
    the same.
    """

    files: dict[str, tuple[StatSignature, str]] = field(default_factory=dict)
    folders: dict[str, _Folder] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


_known: Kept[_Known] = Kept(_KEPT_WORKSPACES)


def scan_tracked_files(root: Path, only: Collection[str] | None = None) -> Disk:
    """Scan every tracked file of the workspace at *root* (its real folder).

    *only*: the paths scanned in the tracked folders; the tracked files are always scanned.
    """
    known = _known.get(str(root))
    if known is None:
        known = _Known()
        _known.put(str(root), known)
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with known.lock:
            look = _Look(root, fd, known)
            below = TRACKED_FOLDERS if only is None else only
            for path in dict.fromkeys((*TRACKED_FILES, *below)):
                look.from_the_top(path)
            if only is None:
                known.files, known.folders = look.now.files, look.now.folders
    finally:
        os.close(fd)
    return Disk(look.files, tuple(look.skipped))


def read_tracked_file(root: Path, path: str) -> bytes | None:
    """Return the content of a plain file at *path*, no link followed; ``None``: there is none.

    Raises:
        OSError: it cannot be read.
    """
    *folders, name = path.split("/")
    try:
        with paths.open_folder(root, tuple(folders)) as folder:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
                return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


class _Look:
    """One scan of the tracked files, from the workspace's open folder."""

    def __init__(self, root: Path, fd: int, known: _Known) -> None:
        self.root = root
        self.known = known
        self.now = _Known()
        self.files: dict[str, str] = {}
        self.skipped: list[Skipped] = []
        self._fd = fd
        self._started = time.time_ns()

    def from_the_top(self, path: str) -> None:
        """Scan a file or folder, and check its parent folders for links."""
        if any(self.root.joinpath(folder).is_symlink() for folder in Path(path).parents):
            self._skip(path, "lies behind a link")
        else:
            self._at(path)

    def _at(self, path: str) -> None:
        """Scan a file or folder in a plain folder."""
        try:
            status = os.lstat(path, dir_fd=self._fd)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self._skip(path, f"cannot be looked at: {reason_of(error)}")
            return
        mode, signature = status.st_mode, signature_of(status)
        known = self.known.files.get(path)
        if known is not None and known[0] == signature:
            self.files[path] = known[1]
            self.now.files[path] = known
        elif stat.S_ISREG(mode):
            self._file(path, signature, status.st_size)
        elif not stat.S_ISDIR(mode):
            self._skip(path, "is a link" if stat.S_ISLNK(mode) else "is no plain file")
        elif path in TRACKED_FILES:
            self._skip(path, "is a folder")
        else:
            self._folder(path, signature)

    def _folder(self, path: str, signature: StatSignature) -> None:
        found = self.known.folders.get(path)
        if found is None or found.signature != signature:
            try:
                found = _Folder(signature, *_children(self.root, path))
            except OSError as error:
                self._skip(path, f"cannot be read: {reason_of(error)}")
                return
        if not is_racy(signature, self._started):
            self.now.folders[path] = found
        self.skipped += found.skipped
        for inner in found.children:
            self._at(inner)

    def _file(self, path: str, signature: StatSignature, size: int) -> None:
        if size > WRITE_BYTES:
            self._skip(path, f"has {size:,} bytes")
            return
        try:
            data = read_tracked_file(self.root, path)
        except OSError:
            self._skip(path, "cannot be read")
            return
        if data is not None:
            self.files[path] = id_of("blob", data)
            if not is_racy(signature, self._started):
                self.now.files[path] = (signature, self.files[path])

    def _skip(self, path: str, why: str) -> None:
        self.skipped.append(Skipped(path, why))


def _children(root: Path, path: str) -> tuple[tuple[str, ...], tuple[Skipped, ...]]:
    """Return the paths in a folder, and the names that are skipped."""
    found, skipped = [], []
    for name in sorted(os.listdir(f"{root}/{path}")):  # noqa: PTH208  (names are wanted)
        inner = f"{path}/{name}"
        if is_left_out(name):
            continue
        if why := unusable(inner):
            skipped.append(Skipped(inner, f"has a name that {why}"))
        else:
            found.append(inner)
    return tuple(found), tuple(skipped)


@dataclass(frozen=True, slots=True)
class _Flat:
    tree: str
    files: dict[str, str]


_flat: Kept[_Flat] = Kept(32)


def list_tree(repo: Repository, tree: str | None) -> dict[str, str]:
    """Return a tree's tracked files by path; only changes since the last call's tree are read."""
    if tree is None:
        return {}
    known = _flat.get(str(repo.git_dir))
    if known is not None and known.tree == tree:
        return dict(known.files)
    if known is not None and repo.has(known.tree):
        found = dict(known.files)
        for row in trees.differences(repo, known.tree, tree):
            if row.new is None:
                found.pop(row.path, None)
            elif is_tracked(row.path):
                found[row.path] = row.new
    else:
        every = trees.files(repo, tree)
        found = {path: sha for path, sha in every.items() if is_tracked(path)}
    remember_tree(repo, tree, found)
    return dict(found)


def remember_tree(repo: Repository, tree: str, files: dict[str, str]) -> None:
    """Cache the files of a tree that was just written."""
    _flat.put(str(repo.git_dir), _Flat(tree, files))
