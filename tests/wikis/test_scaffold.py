"""A line put under a heading of a page."""

import pytest

from wikis.scaffold import add_line_below

LINE = "- [[pear]]"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("# Bees\n", "# Bees\n\n## Pages\n\n- [[pear]]\n"),
        ("# Bees\n\n## Pages\n", "# Bees\n\n## Pages\n\n- [[pear]]\n"),
        ("# B\n\n## Pages\n\n- [[a]]\n", "# B\n\n## Pages\n\n- [[a]]\n- [[pear]]\n"),
        ("# B\n\n## Pages\n\nWords.\n", "# B\n\n## Pages\n\nWords.\n\n- [[pear]]\n"),
        (
            "# B\n\n## pages\n\n- [[a]]\n\n\n## Open\n\n- why?\n",
            "# B\n\n## pages\n\n- [[a]]\n- [[pear]]\n\n## Open\n\n- why?\n",
        ),
        ("# B\n\n## Open\n\n- why?\n", "# B\n\n## Pages\n\n- [[pear]]\n\n## Open\n\n- why?\n"),
        ("", "\n\n## Pages\n\n- [[pear]]\n"),
    ],
)
def test_a_line_goes_to_the_end_of_its_section(text: str, after: str) -> None:
    """The section is found whatever its case, or made above the one that follows it; everything
    else stays as it is."""
    assert add_line_below(text, "Pages", LINE, before="Open") == after
