"""Merges the ledgers of two states of a workspace, so that none is ever rewound.

What was said (the history and its segments), what left the memory (the archive) and what the
person had forgotten are known on both sides; a restore or an import keeps all of it. Dream's
cursor stays; entries whose facts are no longer in the files are in ``Merged.reoffer``.
"""

from memory.merge.ledgers import Merged, is_history, is_ledger, merge_ledgers

__all__ = ["Merged", "is_history", "is_ledger", "merge_ledgers"]
