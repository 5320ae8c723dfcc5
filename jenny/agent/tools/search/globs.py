"""Paths that a glob matches, in time that grows with the path and not with its powers."""

import fnmatch
import re


class Glob:
    """``*.md`` (any folder), ``wikis/*/AGENTS.md``, ``memory/**/*.md``; case counts.

    Without a slash the pattern is for the name alone. ``**`` stands for any number of folders.
    """

    def __init__(self, pattern: str) -> None:
        parts = [part for part in pattern.strip().split("/") if part not in {"", "."}]
        if "/" not in pattern.strip().strip("/"):
            parts = ["**", *parts]
        if parts and parts[-1] == "**":
            parts.append("*")
        # fnmatch makes patterns that do not backtrack into what a star has taken.
        self._parts = [
            None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts
        ]

    def matches(self, path: str) -> bool:
        """Whether the path (from the workspace or folder, parted by ``/``) is one of these."""
        # Which beginnings of the pattern fit the names so far.
        alive = {0}
        for name in path.split("/"):
            alive = self._skipped(alive)
            following: set[int] = set()
            for at in alive:
                if at == len(self._parts):
                    continue
                part = self._parts[at]
                if part is None:
                    following.add(at)
                elif part.match(name):
                    following.add(at + 1)
            alive = following
        return len(self._parts) in alive

    def _skipped(self, alive: set[int]) -> set[int]:
        """With every ``**`` that may stand for no folder passed over."""
        skipped = set(alive)
        for at in sorted(alive):
            step = at
            while step < len(self._parts) and self._parts[step] is None:
                step += 1
                skipped.add(step)
        return skipped
