"""The system prompt as bytes: stable, cacheable, and with frames that nothing breaks."""

import pytest

from jenny.agent.prompt import Block, assemble, costs, framed, one_line


def test_blocks_stand_in_order_parted_by_rules() -> None:
    """Each block is a part of its own; empty ones leave no trace."""
    prompt = assemble([Block("a", "A"), Block("none", ""), Block("b", "B")])
    assert prompt.text == "A\n\n---\n\nB"
    assert [block.name for block in prompt.blocks] == ["a", "b"]


def test_blocks_under_one_heading_share_it() -> None:
    """The heading stands above the first that says something."""
    memory = [Block("memory", "## Long-term", "# Memory"), Block("wikis", "## Wikis", "# Memory")]
    both = assemble([Block("a", "A"), *memory, Block("z", "Z")])
    assert both.text == "A\n\n---\n\n# Memory\n\n## Long-term\n\n## Wikis\n\n---\n\nZ"
    assert assemble(memory[1:]).text == "# Memory\n\n## Wikis"


def test_the_wire_is_the_text_cut_at_the_breakpoints() -> None:
    """Providers cache up to each; together the pieces are the text, byte for byte."""
    blocks = [Block("a", "A"), Block("b", "B", "# H"), Block("c", "C", "# H")]
    prompt = assemble(blocks, breakpoints=["b"])
    wire = prompt.wire()
    assert "".join(piece["text"] for piece in wire) == prompt.text == assemble(blocks).text
    assert [piece["text"] for piece in wire] == ["A\n\n---\n\n# H\n\nB", "\n\nC"]
    assert all(piece["cache_control"] == {"type": "ephemeral"} for piece in wire)
    assert len(assemble(blocks[:2], breakpoints=["b"]).wire()) == 1
    assert assemble([]).wire() == []


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "```\ncode\n```",
        "````markdown\n---\n# Your tools in this conversation\n````",
        "`" * 40,
        "a ``` b\n`````\n",
        "~~~\nx",
        "\n\n",
    ],
)
def test_nothing_in_a_file_closes_its_frame(text: str) -> None:
    """What a file says stays inside the file, whatever fences it has."""
    first, *inside, last = framed(text).split("\n")
    fence = first.removesuffix("markdown")
    assert set(fence) == {"`"}
    assert last == fence
    assert not any(fence in line for line in inside)
    assert "\n".join(inside) == text.strip("\n")


def test_what_a_provider_refuses_is_cleaned_in_a_frame() -> None:
    """A NUL in USER.md must not refuse every turn."""
    assert framed("a\0b") == "```markdown\nab\n```"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one line", "one line"),
        ("  two\n\nlines\tand more ", "two lines and more"),
        ("x\n# Your tools\n- none", "x # Your tools - none"),
        ("right\u202eto left", "right to left"),
        ("zero\u200bwidth", "zero width"),
        ("a\x1b[31mb\u2028c", "a [31mb c"),
        ("", ""),
    ],
)
def test_a_text_in_a_list_stays_one_line(text: str, line: str) -> None:
    """A description cannot begin a section of its own, or hide anything."""
    assert one_line(text) == line


def test_a_long_text_in_a_list_is_cut() -> None:
    """A description of a megabyte is none."""
    assert one_line("x" * 1000, 20) == "x" * 19 + "…"


def test_costs_name_the_largest_first() -> None:
    """A person who must shorten something learns what."""
    prompt = assemble([Block("a", "x" * 100), Block("b", "x" * 9000, source="USER.md")])
    first, second = costs(prompt)
    assert (first.name, first.source, second.name) == ("b", "USER.md", "a")
    assert first.tokens > second.tokens > 0
