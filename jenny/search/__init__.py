"""Ranked full-text search over passages of text.

``words`` turns text into words of the index, ``bm25`` ranks passages, ``store`` keeps them
(FTS5; ``postgres`` for ``tsvector``), ``index`` follows the sources. The sources themselves belong
to the packages that own what is searched.
"""

from jenny.search.index import Hit, Index, Results
from jenny.search.store import (
    Document,
    IndexBusy,
    IndexLost,
    Key,
    Passage,
    PassageStore,
    SqliteStore,
)

__all__ = [
    "Document",
    "Hit",
    "Index",
    "IndexBusy",
    "IndexLost",
    "Key",
    "Passage",
    "PassageStore",
    "Results",
    "SqliteStore",
]
