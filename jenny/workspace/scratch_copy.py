"""Copy a part of a workspace for a trial whose result is discarded."""

import contextlib
import shutil
import stat
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from jenny.workspace.errors import WriteFailed, reason_of

# A copy of a killed process is removed when the next one is made after this time.
_STALE_SECONDS = 6 * 3600


@contextlib.contextmanager
def copied(
    root: Path,
    beside: Path,
    *,
    folders: Collection[str],
    files: Collection[str],
    without: Collection[str] = (),
) -> Iterator[Path]:
    """Yield a copy of these *folders* and *files* of the workspace, without the paths *without*.

    It is in a folder of the same name below *beside* and is deleted when the block ends. Only plain
    files and folders are copied, and no link is followed.

    Raises:
        WriteFailed: it cannot be copied; the copy is removed.
    """
    _sweep(beside.parent)
    target = beside / root.name
    try:
        try:
            target.mkdir(mode=0o700, parents=True)
            for name in folders:
                if stat.S_ISDIR(_mode(root / name)):
                    _copy(root, root / name, target / name, frozenset(without))
            for name in files:
                if stat.S_ISREG(_mode(root / name)):
                    (target / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(root / name, target / name, follow_symlinks=False)
        except OSError as error:
            message = f"The workspace could not be copied: {reason_of(error)}. Nothing was changed."
            raise WriteFailed(message) from error
        yield target
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _copy(root: Path, source: Path, target: Path, without: frozenset[str]) -> None:
    target.mkdir()
    for path in source.iterdir():
        mode = _mode(path)
        if path.relative_to(root).as_posix() in without:
            continue
        if stat.S_ISDIR(mode):
            _copy(root, path, target / path.name, without)
        elif stat.S_ISREG(mode):
            # A file that vanishes meanwhile was replaced or deleted.
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(path, target / path.name, follow_symlinks=False)


def _sweep(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for left in list(folder.iterdir()):
            if time.time() - left.lstat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0
