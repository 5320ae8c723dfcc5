"""What differs between two snapshots, or between one and the workspace as it is now."""

from collections.abc import Callable, Iterator

from jenny.workspace.git.objects import TreeEntry
from jenny.workspace.snapshots.naming import from_stored
from jenny.workspace.snapshots.values import Difference

type Trees = Callable[[str], tuple[TreeEntry, ...]]


def between(trees: Trees, old: str | None, new: str | None) -> list[Difference]:
    """The files that differ between two trees of files, by path; equal folders are not opened.

    A file whose content is the same and whose right to be run is not counts as changed.
    """
    return sorted(_between(trees, old, new, ""), key=lambda row: row.path)


def _between(trees: Trees, old: str | None, new: str | None, prefix: str) -> Iterator[Difference]:
    if old == new:
        return
    before = {row.name: row for row in trees(old)} if old else {}
    after = {row.name: row for row in trees(new)} if new else {}
    for name in before.keys() | after.keys():
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        path = prefix + from_stored(name)
        yield from _between(trees, _folder(was), _folder(now), f"{path}/")
        was, now = _file(was), _file(now)
        if was is not None or now is not None:
            yield _difference(path, was, now)


def _difference(path: str, was: TreeEntry | None, now: TreeEntry | None) -> Difference:
    old = was.sha if was is not None else None
    new = now.sha if now is not None else None
    what = "added" if was is None else "removed" if now is None else "changed"
    return Difference(path, what, old, new)  # type: ignore[arg-type]  # one of its kinds, by what is there


def _folder(row: TreeEntry | None) -> str | None:
    return row.sha if row is not None and row.is_folder else None


def _file(row: TreeEntry | None) -> TreeEntry | None:
    return row if row is not None and row.is_file else None
