"""HTML comments in Markdown: only what the parser calls one, wherever texts are shown or read."""

import pytest

from jenny.agent.demo.background_runs import lines_of
from jenny.markdown.comments import blank_comments, comment_lines, find_comments, without_comments
from memory.facts import facts
from memory.prompt_files import says_something
from settings_ui import file_browser
from settings_ui.file_browser import shown

IN_CODE = "```\n<!--\n```\n\nThis stays.\n\n```\n-->\n```\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (IN_CODE, IN_CODE),
        ("`<!--` this stays `-->`", "`<!--` this stays `-->`"),
        ("~~~\n<!-- a -->\n~~~\n<!-- b -->\n", "~~~\n<!-- a -->\n~~~\n"),
        ("    <!-- indented code -->\n", "    <!-- indented code -->\n"),
        ("\\<!-- escaped -->", "\\<!-- escaped -->"),
        ("a\n<!-- b\n\nc -->\nd\n", "a\nd\n"),
        ("a <!-- b --> c\n", "a  c\n"),
        ("a <!-- b\n\nc --> d\n", "a <!-- b\n\nc --> d\n"),
        ("<!-- a --> <!-- b -->\r\nc\r\n", "c\r\n"),
        ("> <!-- a\n> b --> c\n", ">  c\n"),
        ("- a <!-- b -->\n  <!-- c -->\n- d\n", "- a \n- d\n"),
        ("| a | <!-- b --> |\n|---|---|\n| c | <!-- b --> |\n", "| a |  |\n|---|---|\n| c |  |\n"),
        ("<!-- never closed\n\n- fact\n", "<!-- never closed\n\n- fact\n"),
        ("<!-->a<!--->b", "ab"),
        ("# A <!-- b --> #\n", "# A  #\n"),
        ("# A\n\n```\n# B\n```\n<!-- c -->\n", "# A\n\n```\n# B\n```\n"),
        ("```\n\n# A\n<!-- c -->\n```\n", "```\n\n# A\n<!-- c -->\n```\n"),
    ],
)
def test_only_a_comment_goes(text: str, left: str) -> None:
    """Code and what is never closed stays; a line of nothing but comments goes as a whole."""
    assert without_comments(text) == left
    assert all(text[first:end].endswith("-->") for first, end in find_comments(text))


def test_lines_keep_their_numbers() -> None:
    """Where lines are counted, a comment leaves blanks."""
    text = "a\n<!-- b\nc --> d\n- e <!-- f -->\n"
    assert blank_comments(text).splitlines() == ["a", " " * 6, " " * 6 + "d", "- e" + " " * 11]
    assert comment_lines(text) == {1: 2}


def test_the_file_view_shows_what_stands_between_two_code_blocks() -> None:
    """A comment's marks in code hide nothing; a comment is not shown."""
    kind = file_browser.kind_of("a.md", b"# a")
    page = shown(kind, "a.md", f"{IN_CODE}\n<!-- hidden -->\n".encode())["html"]
    assert "This stays." in page
    assert "hidden" not in page


def test_memory_files_are_read_alike() -> None:
    """A fact between two code blocks is one, and so is what follows a comment without an end."""
    assert "This stays." in [fact.text for fact in facts(IN_CODE) if fact.kind == "paragraph"]
    kinds_ = [fact.kind for fact in facts("<!-- open\n\n- Likes tea.\n\n<!-- a\nb -->\n")]
    assert kinds_ == ["comment"]
    assert [fact.kind for fact in facts("<!-- open\n\n- Likes tea.\n")][-1] == "bullet"
    assert says_something(IN_CODE)
    assert not says_something("\ufeff<!-- only\n\na note -->\n\n")
    prompt = f"## USER.md\n\nAbout it.\n\n````markdown\n{IN_CODE}- Likes tea.\n````\n"
    assert list(lines_of(prompt)) == [("USER.md", "- Likes tea.")]
