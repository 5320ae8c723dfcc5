"""What GitHub, Pandoc and Obsidian add to Markdown looks as it does there."""

import pytest

from jenny.markdown.comments import without_comments
from jenny.markdown.render import render
from jenny.markdown.sections import Sections
from jenny.markdown.streaming import StreamRenderer
from tests.markdown.page import Page
from tests.support.html import Seen


def bare(source: str) -> str:
    """The HTML without the attribute that most blocks have."""
    return render(source).replace(' dir="auto"', "")


@pytest.mark.parametrize(
    ("source", "html"),
    [
        (
            "> [!NOTE]\n> Read *this*.",
            (
                '<div class="callout note"><p class="callout-title">Note</p>\n'
                "<p>Read <em>this</em>.</p>\n</div>\n"
            ),
        ),
        (
            "> [!warning] Mind **this**",
            (
                '<div class="callout warning"><p class="callout-title">'
                '<span class="callout-kind">Warning</span> Mind <strong>this</strong></p>\n</div>\n'
            ),
        ),
        (
            "> [!faq]- Why?\n> - so",
            (
                '<details class="callout question"><summary class="callout-title">'
                '<span class="callout-kind">Faq</span> Why?</summary>\n'
                "<ul><li>so</li>\n</ul>\n</details>\n"
            ),
        ),
        (
            "> [!tip|noicon]+\n>\n> > [!bug] In it",
            (
                '<details class="callout tip" open="">'
                '<summary class="callout-title">Tip</summary>\n'
                '<div class="callout danger"><p class="callout-title">'
                '<span class="callout-kind">Bug</span> In it</p>\n</div>\n</details>\n'
            ),
        ),
        (
            "> [!my-own] x",
            (
                '<div class="callout note"><p class="callout-title">'
                '<span class="callout-kind">My own</span> x</p>\n</div>\n'
            ),
        ),
        ("> [!]\n> x", "<blockquote><p>[!]\nx</p>\n</blockquote>\n"),
        ("> a\n> [!note]", "<blockquote><p>a\n[!note]</p>\n</blockquote>\n"),
        ("[!note] x", "<p>[!note] x</p>\n"),
    ],
)
def test_callouts(source: str, html: str) -> None:
    """GitHub's alerts and Obsidian's callouts say their kind in words; folding ones open and
    close; others are quotes."""
    assert bare(source) == html


def test_a_callout_is_a_callout_while_it_streams() -> None:
    """From the line on that makes it one."""
    renderer = StreamRenderer("> [!note]- A tit")
    assert "<details" in renderer.snapshot()[1]
    renderer.feed("le\n> and words")
    assert renderer.finish() == render("> [!note]- A title\n> and words")


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("a ==b *c*== d", "a <mark>b <em>c</em></mark> d"),
        ("**==x==**", "<strong><mark>x</mark></strong>"),
        ("これは==重要==です", "これは<mark>重要</mark>です"),
        ("if x==1 and y==2", "if x==1 and y==2"),
        ("a == b == c", "a == b == c"),
        ("===x===", "===x==="),
        ("`==x==` \\==x==", "<code>==x==</code> ==x=="),
        ("H~2~O and x^2^, 1^st^", "H<sub>2</sub>O and x<sup>2</sup>, 1<sup>st</sup>"),
        ("10^-3^ CO~2~~x~", "10<sup>-3</sup> CO<sub>2</sub>~x~"),
        ("~~a~~ ~b~ c", "<s>a</s> ~b~ c"),
        ("^_^ (^o^)/ ~/a,~/b ~5 km, ~6 km", "^_^ (^o^)/ ~/a,~/b ~5 km, ~6 km"),
        ("[^1][^2]", "[^1][^2]"),
        ("a^b c^", "a^b c^"),
        ("a\\[\\]b \\[ \\] $$ $$", "a[]b [ ] $$ $$"),
    ],
)
def test_marks_of_words(source: str, html: str) -> None:
    """Highlights, sub- and superscript, and what only looks like one; an empty formula is none."""
    assert bare(source) == f"<p>{html}</p>\n"


@pytest.mark.parametrize("source", ["\\[\\]", "\\[ \\]", "\\[\n\\]", "$$\n$$", "$$$$"])
def test_an_empty_formula_is_none(source: str) -> None:
    """As a block, too."""
    assert "<math" not in render(source)


def test_definition_lists() -> None:
    """A definition is right below its term; more terms may follow, each behind a blank line."""
    two = "Term *a*\n: One\n: Two\n\nTerm b\n:   Three\n\n    more"
    assert bare(two) == (
        "<dl><dt>Term <em>a</em></dt>\n<dd><p>One</p>\n</dd>\n<dd><p>Two</p>\n</dd>\n"
        "<dt>Term b</dt>\n<dd><p>Three</p>\n<p>more</p>\n</dd>\n</dl>\n"
    )
    assert bare("Term\n: One\n\nProse") == (
        "<dl><dt>Term</dt>\n<dd>One</dd>\n</dl>\n<p>Prose</p>\n"
    )
    assert bare("a\n: b\n # c\n\n: d") == (
        "<dl><dt>a</dt>\n<dd>b</dd>\n</dl>\n<h3>c</h3>\n<p>: d</p>\n"
    )
    inside = bare("a\n: b\n  - c\n\n  > d\n\n  e\n  : f\n\ng\n: h")
    assert inside.startswith("<dl>")
    assert inside.count("<dl>") == 2
    assert inside.endswith("</dl>\n")
    for source in ("Prose\n\n: no", ": no", "a\n:b", "a\nb\n: c"):
        assert "<dl" not in render(source)


@pytest.mark.parametrize(
    "end",
    [
        "\nProse that goes on",
        "\nTerm b\n: d",
        "\n: more",
        "\n    more",
        *("# A", " # A\n\n: d", " > A\n\n: d", " ---\n\n: d", " - A\n\n: d", "   ***\n\n: d"),
        *("$$\n\n: d", "\\[\n\n: d", "[^1]: A\n\n: d", "  - A\n\n: d", " : d\n  # A\n\n: e"),
        "  : c\nlazy\n\n: d",
    ],
)
def test_a_definition_list_ends_where_a_stream_sees_it(end: str) -> None:
    """Whatever the pieces, the page shows at each moment what a stored text shows."""
    source = f"Term a\n: One\n{end}\n\nlast"
    renderer, page = StreamRenderer(), Page()
    for at, char in enumerate(source):
        page.apply(renderer.feed(char))
        assert page.html() == render(source[: at + 1])


@pytest.mark.parametrize("value", [r'["\ud800"]', r'{"\udfff": 1}', r'{"a": {"\ud83d": "\ud83d"}}'])
def test_half_a_character_in_data_breaks_nothing(value: str) -> None:
    """It is shown as one that is unknown, also in an answer that arrives."""
    source = f"a\n\n```json\n{value}\n```\n\nthe end"
    renderer, page = StreamRenderer(), Page()
    for char in source:
        page.apply(renderer.feed(char))
    assert page.html() == render(source)
    seen = Seen(render(source))
    assert "\N{REPLACEMENT CHARACTER}" in seen.text
    assert "the end" in seen.text


def test_data_makes_no_long_page() -> None:
    """Rows of nothing, or a text of many, are no table; the others of the text still are."""
    empty = "```csv\n" + "," * 39 + "\n" + ",\n" * 200 + "```\n"
    assert "<td" not in render(empty)
    few = "```csv\n" + "," * 39 + "\n" + ",\n" * 9 + "```\n"
    assert "<td" in render(few)
    html = render(few * 50 + f"```csv\n{CSV}```\n")
    assert html.count("<table") < 10
    assert "<td" in html[-1_000:]


CSV = 'name,age\nAna,3\n<script>,"4\n5"\n'


def test_data_is_a_table_or_a_tree_too() -> None:
    """The source stays; a table and a tree hold its words, and open beside it."""
    seen = Seen(render(f"```csv\n{CSV}```"))
    assert seen.faults == []
    assert seen.tags.count("th") == 2
    assert seen.tags.count("td") == 4
    assert seen.text.count("<script>") == 2
    html = render('```json\n{"a": [1.50, null, {"<b>": "x"}], "a": {}}\n```')
    seen = Seen(html)
    assert seen.faults == []
    assert "1.50" in seen.text
    assert html.count("<code>{}</code>") == 1
    assert seen.tags.count("summary") == 3
    for source in (
        "```json\n{no}\n```",
        "```json\n3\n```",
        "```csv\none\n```",
        '```csv\na,"b\n```',
    ):
        assert "<details" not in render(source)


def test_large_data_is_shown_in_part() -> None:
    """Of many rows and values the first are shown, and it is said; deep and huge ones end."""
    rows = render("```csv\na,b\n" + "1,2\n" * 5_000 + "```")
    assert rows.count("<tr>") == 201
    assert "Only the first 200 rows are shown." in rows
    values = render(f"```json\n[{','.join(map(str, range(5_000)))}]\n```")
    assert values.count("<li") == 1_000
    assert "Only the first 1,000 values are shown." in values
    for source in ("[" * 40_000, "[" * 200 + "1" + "]" * 200, '{"a":' * 900 + "1" + "}" * 900):
        assert Seen(render(f"```json\n{source}\n```")).faults == []
    assert "<details" not in render("```csv\n" + "a,b\n" * 20_000 + "```")


TEXT = """# Top

One %%hidden%% two `%%code%%`.

%%
A whole

block
%%

100%% sure

- item ^first
  - deeper

| a |
|---|
| 1 |

^table

## Part

Inside ^p-1

### Below

## Next
"""


def test_comments_between_percent_signs_are_hidden_in_pages() -> None:
    """Within a line and over blank lines; not in code, not without an end, not in messages."""
    text = without_comments(TEXT, is_page=True)
    assert "One  two `%%code%%`." in text
    assert "block" not in text
    assert "100%% sure" in text
    assert without_comments(TEXT) == TEXT


@pytest.mark.parametrize(
    ("written", "part"),
    [
        ("Part", "## Part\n\nInside ^p-1\n\n### Below\n\n"),
        ("Part#Below", "### Below\n\n"),
        ("next", "## Next\n"),
        ("^first", "- item ^first\n  - deeper\n"),
        ("^table", "| a |\n|---|\n| 1 |\n"),
        ("^p-1", "Inside ^p-1\n"),
        ("^nobody", None),
        ("Nothing", None),
    ],
)
def test_a_part_is_found_by_its_heading_or_id(written: str, part: str | None) -> None:
    """A heading with what is below it; an item, a paragraph, or the block above a lone id."""
    found = Sections(TEXT).find(written)
    assert (found and found.rstrip("\n")) == (part and part.rstrip("\n"))
