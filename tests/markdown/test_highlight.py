"""Code is coloured without styles, keeps its characters, and hides nothing."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pygments.lexers import get_all_lexers

from jenny.markdown import limits
from jenny.markdown.highlight import code, highlight, label
from jenny.markdown.render import render
from tests.support.html import Seen

LANGUAGES = [
    "python", "js", "ts", "json", "html", "css", "bash", "sql", "yaml", "toml", "c", "cpp", "rust",
    "go", "java", "kotlin", "ruby", "php", "diff", "latex", "markdown", "ini", "xml", "perl", "r",
    "dockerfile", "makefile", "lua", "swift", "haskell",
]  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=st.text(max_size=60))
@example(text="\ufeff")
@example(text="a\n\n\tb  \n")
def test_every_character_is_kept(language: str, text: str) -> None:
    """Colouring changes no character of the code, in any language, for any text."""
    text = text.replace("\r", "\n")
    seen = Seen(f"<code>{highlight(text, language)}</code>")
    marked = Seen(f"<code>{code(text)}</code>")
    assert seen.text == marked.text
    assert seen.faults == []


@pytest.mark.parametrize(
    "text", ["\ufeff", "a\n\n\tb  \n", "<a b='1'>&</a> {{ x }}\n\u2028$ ls\n>>> 1\n"]
)
def test_every_language(text: str) -> None:
    """No language that there is loses a character or fails, however odd the text."""
    plain = Seen(f"<code>{code(text)}</code>").text
    for _, aliases, _, _ in get_all_lexers():
        for alias in aliases[:1]:
            assert Seen(f"<code>{highlight(text, alias)}</code>").text == plain, alias


def test_classes_instead_of_styles() -> None:
    """Colours come from the page's style sheet, in light and dark."""
    html = highlight("def f(): return 1  # one", "python")
    assert '<span class="k">def</span>' in html
    assert '<span class="c1"># one</span>' in html
    assert "style" not in html


@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("py", "Python"),
        ("PYTHON", "Python"),
        ("", "Code"),
        ("nosuch", "nosuch"),
        ("x" * 99, "x" * 30),
    ],
)
def test_label(language: str, name: str) -> None:
    """A block says its language by the name that people use, or as the text has it."""
    assert label(language) == name


@pytest.mark.parametrize(
    "mark", "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
)
@pytest.mark.parametrize(
    "frame", ["```python\na = 1 # {}\n```", "`a{}b`", "    a{}b", "$$\\nope {}$$"]
)
def test_direction_marks_show(mark: str, frame: str) -> None:
    """Marks that make code read other than it runs are made visible (CVE-2021-42574)."""
    html = render(frame.replace("{}", mark))
    assert mark not in html
    assert f'<span class="direction-mark">U+{ord(mark):04X}</span>' in html


@pytest.mark.parametrize("word", ["csharp", "cs", "c#", "java", "groovy"])
def test_stand_in(word: str) -> None:
    """Languages whose own lexers can be made to hang are coloured by a like one's, at its cost."""
    assert '<span class="k">return</span>' in highlight("class A { int f() { return 1; } }", word)
    letters = "a\n" * 10_000
    assert Seen(f"<code>{highlight(letters, word)}</code>").text == letters


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("c", "\n " * 5_000),
        ("c", "//" * 5_000),
        ("python", "\n " * 5_000),
        ("cpp", "x" * 5_000),
        ("terraform", "<<A\n" * 5_000),
        ("boogie", "{" * 5_000),
        ("abap", "<" * 5_000),
    ],
)
def test_what_lexers_are_slow_at_is_plain(word: str, text: str) -> None:
    """Code that would hold up every chat of the process is shown whole, without colours."""
    assert highlight(text, word) == code(text)


@pytest.mark.parametrize(
    ("word", "name", "coloured"),
    [
        ("kt", "Kotlin", True),
        ("jsonc", "JSON", True),
        ("json5", "JSON5", True),
        ("patch", "Diff", True),
        ("plaintext", "Text", False),
        ("boogie", "Boogie", False),
        ("yml", "YAML", True),
        ("dockerfile", "Docker", True),
    ],
)
def test_words_on_fences(word: str, name: str, coloured: bool) -> None:
    """Words that people put on fences are understood; any language keeps its name."""
    assert label(word) == name
    text = '{"a": 1} + - # FROM x\n- a: b\n'
    assert ("<span" in highlight(text, word)) is coloured


def test_long_code_is_plain() -> None:
    """Code beyond the limit is shown whole, without colours."""
    text = "def f(): pass\n" * (limits.HIGHLIGHT // 10)
    assert highlight(text, "python") == text
