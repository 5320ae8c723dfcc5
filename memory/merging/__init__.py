"""Ledgers of two states of a workspace put together, so that none is ever rewound.

What was said (the history and its segments), what left the memory (the archive) and what the
person had forgotten are known on both sides; a restore or an import keeps all of it. How far Dream
has read stays; what that means for entries whose facts are not in the files any more is told by
``Merged.reoffer``.
"""

from memory.merging.ledgers import Merged, is_history, is_ledger, merge_ledgers

__all__ = ["Merged", "is_history", "is_ledger", "merge_ledgers"]
