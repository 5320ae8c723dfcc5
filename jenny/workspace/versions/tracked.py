"""Which files have versions: one constant, from which everything else is read."""

from jenny.workspace import names

CURSOR = "memory/.dream_cursor"
GUIDE = "prompts/dream.md"
TRACKED_FILES: tuple[str, ...] = ("SOUL.md", "USER.md", "memory/MEMORY.md", CURSOR, GUIDE)
TRACKED_FOLDERS: tuple[str, ...] = ("skills",)

# Files that git itself reads when a tree is checked out: nobody's words are taken for its orders.
_GITS_OWN = frozenset({".gitmodules", ".gitattributes", "gitmod~1", "gitatt~1"})


def is_tracked(path: str) -> bool:
    """Whether versions of the file at *path* (from the workspace, parted by ``/``) are kept."""
    if path in TRACKED_FILES:
        return True
    first, *rest = path.split("/")
    return first in TRACKED_FOLDERS and bool(rest) and not any(map(is_left_out, rest))


def is_left_out(name: str) -> bool:
    """Whether nothing of this name has versions, wherever it lies: git's own, and ours."""
    plain = names.disguised(name)
    return names.is_git(name) or names.is_own(name) or plain in _GITS_OWN
