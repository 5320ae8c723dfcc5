"""Define how much Markdown is formatted; the rest is shown as it was written.

The limits are far above what a model or a person writes on purpose. They keep the cost of malicious
text proportional to its length. Lengths are in characters.
"""

SOURCE = 500_000
"""Text after the last line that ends before this offset is not formatted."""

LINES = 20_000
"""Text after this many lines is not formatted: each line may be a block of its own."""

BLOCK = 200_000
"""Longest formatted top-level block; fenced code is exempt, since it is plain anyway."""

INLINE = 40_000
"""Longest paragraph, heading or cell whose inline marks are parsed."""

INLINE_MARKS = 2_000
"""Most characters in one of these that could begin or end a mark."""

DEPTH = 24
"""Nesting depth of quotes and lists (a list and its item are two)."""

HIGHLIGHT = 12_000
"""Longest highlighted code."""

FORMULA = 4_000
"""Longest typeset formula."""

IMAGE = 700_000
"""Longest ``data:`` address of an image: about 512 KB of picture."""

REFERENCE_TARGETS = 200_000
"""Characters that addresses of reference links may add to one text, as each use repeats them."""

DATA = 50_000
"""Longest code block of data that is also shown as a table or a tree."""

TABLE_SLACK = 500
"""Cells a table may have beyond two for each of its characters: short rows are filled up."""

VIEW_SLACK = 20_000
"""Characters of HTML that the tables and trees of one text may have beyond proportion."""
