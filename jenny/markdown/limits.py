"""How far Markdown is formatted; what lies beyond is shown as it was written.

The limits are far above what a model or a person writes on purpose. They keep
the cost of hostile text in proportion to its length. Lengths are characters.
"""

SOURCE = 500_000
"""What follows the last line that ends before this many characters is not formatted."""

BLOCK = 200_000
"""Longest top-level block that is formatted; fenced code is exempt, being plain anyway."""

INLINE = 40_000
"""Longest paragraph, heading or cell whose inline marks are looked at."""

INLINE_MARKS = 2_000
"""Most characters in one of these that could begin or end a mark."""

DEPTH = 24
"""Levels of quotes and lists inside each other (a list and its item are two)."""

HIGHLIGHT = 12_000
"""Longest code that is coloured."""

FORMULA = 4_000
"""Longest formula that is typeset."""

IMAGE = 700_000
"""Longest ``data:`` address of an image: about 512 KB of picture."""

REFERENCE_TARGETS = 200_000
"""Characters that addresses of reference links may add to one text, as each use repeats them."""

TABLE_SLACK = 500
"""Cells a table may have beyond two for each of its characters: short rows are filled up."""
