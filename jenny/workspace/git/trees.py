"""Whole trees: flat lists of files, differences, and new trees that reuse what did not change."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jenny.workspace.git.objects import FOLDER, TreeEntry
from jenny.workspace.git.store import Batch, Repository


@dataclass(frozen=True, slots=True)
class Difference:
    """One file that differs between two trees; the ids of its contents, ``None``: no file."""

    path: str
    old: str | None
    new: str | None


def files(repo: Repository, tree: str | None) -> dict[str, str]:
    """Every plain file below *tree*: its path, and the id of its content."""
    return dict(_files(repo, tree, "")) if tree else {}


def _files(repo: Repository, tree: str, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in repo.tree(tree):
        if entry.is_folder:
            yield from _files(repo, entry.sha, f"{prefix}{entry.name}/")
        elif entry.is_file:
            yield prefix + entry.name, entry.sha


def entry_at(repo: Repository, tree: str | None, path: str) -> TreeEntry | None:
    """What *tree* has at *path*; ``None``: nothing."""
    *folders, name = path.split("/")
    for part in folders:
        inner = _named(repo, tree, part)
        if inner is None or not inner.is_folder:
            return None
        tree = inner.sha
    return _named(repo, tree, name)


def file_at(repo: Repository, tree: str | None, path: str) -> str | None:
    """The id of a plain file's content in *tree*; ``None``: there is no such file."""
    found = entry_at(repo, tree, path)
    return found.sha if found is not None and found.is_file else None


def _named(repo: Repository, tree: str | None, name: str) -> TreeEntry | None:
    if tree is None:
        return None
    return next((entry for entry in repo.tree(tree) if entry.name == name), None)


def differences(repo: Repository, old: str | None, new: str | None) -> list[Difference]:
    """The plain files that differ between two trees, by path. Equal folders are not opened."""
    return sorted(_differences(repo, old, new, ""), key=lambda row: row.path)


def _differences(
    repo: Repository, old: str | None, new: str | None, prefix: str
) -> Iterator[Difference]:
    if old == new:
        return
    before = {entry.name: entry for entry in repo.tree(old)} if old else {}
    after = {entry.name: entry for entry in repo.tree(new)} if new else {}
    for name in before.keys() | after.keys():
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        path = prefix + name
        yield from _differences(repo, _folder(was), _folder(now), f"{path}/")
        if _file(was) != _file(now):
            yield Difference(path, _file(was), _file(now))


def _folder(entry: TreeEntry | None) -> str | None:
    return entry.sha if entry is not None and entry.is_folder else None


def _file(entry: TreeEntry | None) -> str | None:
    return entry.sha if entry is not None and entry.is_file else None


def write(
    batch: Batch, repo: Repository, base: str | None, changes: Mapping[str, str | None]
) -> str:
    """The tree that *base* becomes when files get new contents (ids; ``None``: removed).

    Folders in which nothing changes are taken over as they are; those that become empty go. A
    file that is to stand where a folder was takes its place, and the other way round.
    """
    return _write(batch, repo, base, changes) or batch.tree([])


def _write(
    batch: Batch, repo: Repository, base: str | None, changes: Mapping[str, str | None]
) -> str | None:
    """The new tree; ``None`` when it is empty."""
    rows = {entry.name: entry for entry in repo.tree(base)} if base else {}
    inner: dict[str, dict[str, str | None]] = {}
    for path, sha in changes.items():
        name, _, rest = path.partition("/")
        if rest:
            inner.setdefault(name, {})[rest] = sha
        elif sha is not None:
            rows[name] = TreeEntry(name, sha)
        elif name in rows and not rows[name].is_folder:
            del rows[name]
    for name, below in inner.items():
        there = rows.get(name)
        if there is not None and not there.is_folder and not any(below.values()):
            continue
        made = _write(batch, repo, _folder(there), below)
        if made is not None:
            rows[name] = TreeEntry(name, made, FOLDER)
        else:
            rows.pop(name, None)
    return batch.tree(list(rows.values())) if rows else None
