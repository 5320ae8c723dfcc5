"""The files of a version's tree by path, built upon what the last look found."""

from dataclasses import dataclass

from jenny.workspace.git import trees
from jenny.workspace.git.store import Repository
from jenny.workspace.stamped import Kept
from jenny.workspace.versions import tracked


@dataclass(frozen=True, slots=True)
class _Flat:
    """The files of one tree."""

    tree: str
    files: dict[str, str]


_flat: Kept[_Flat] = Kept(32)


def files_of(repo: Repository, tree: str | None) -> dict[str, str]:
    """The tracked files of a tree, by path; what the last call found is built upon."""
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
            elif tracked.is_tracked(row.path):
                found[row.path] = row.new
    else:
        every = trees.files(repo, tree)
        found = {path: sha for path, sha in every.items() if tracked.is_tracked(path)}
    remember(repo, tree, found)
    return dict(found)


def remember(repo: Repository, tree: str, files: dict[str, str]) -> None:
    """Keep the files of a tree that was just made."""
    _flat.put(str(repo.git_dir), _Flat(tree, files))
