"""The work that a text takes grows with its length: no text of one person stops the others.

Python holds its interpreter while an expression matches, so that a text of a certain make could
stop a whole process. Each entry point below reads text of people, models or files. It gets texts
of many makes, in two lengths: four times the text may take about four times the work. Compared is
the processor's time, the best of some tries, and only where it is long enough to be measured.
"""

import time
from collections.abc import Callable

import pytest

from jenny.agent.demo import background_runs, tool_requests
from jenny.agent.tools import text_match
from jenny.logs import KEY_SHAPES
from jenny.markdown import comments, front_matter
from jenny.markdown.highlight import highlight
from jenny.markdown.render import render
from jenny.workspace import redact, texts
from memory import (
    dates,
    dream_guide,
    facts,
    injection_scan,
    paraphrases,
    prompt_files,
    text_similarity,
    turned_negations,
)
from memory.history import summary_answer, transcript
from settings_ui import file_browser
from wikis import links, pages
from wikis.feedback import words_of

SHORT = 6_000
TIMES = 4
# Linear work takes four times as long, quadratic work sixteen times.
MOST = 9
# Seconds of the processor; what takes less cannot be told from noise.
MEASURABLE = 0.03

MAKES = {
    ascii(piece): piece
    for piece in (
        *("<!--", "-->", "<!-- -->", "a <!--", "<!--\n", "- <!--\n", "```\n<!--\n```\n"),
        *("[", "[[", "![", "[a](", "[[a|", "[^a]", "[a]: b\n", "](", "[a][", "[\n", "[a"),
        *("*a_", "**a ", "_a*", "~~a", "`", "`a", "``` `", "$a ", "$$", "\\(", "\\["),
        *("> ", "> > a\n", "- ", "- a\n", "  - a\n", "1. a\n", "# a\n", "a\n---\n", "|a|b"),
        *("|\n", "|-|\n", "<a ", "<b>", "<", "&amp;", "&", "https://a", "https://", "://a:"),
        *(" ", "\n", " \n", "\t", "\t\n", "\r\n", "\\", "a", "ab ", "A_", "a.b@", "1", "1,"),
        *("1.", "2026-", "a: b\n", "---\n", '"', "'", '{"a":', "[1,", "é", "不。", "a\u0301"),
        *("sk-", "key=", "TOKEN_", "Bearer ", "password=a;", "-----BEGIN PRIVATE KEY-----"),
        *("## a.md\n", "## a.md\n```markdown\n", "### wiki/from-the-log.md\n\n```a", "~~~\n"),
        *("<think>", "<|channel|>analysis", "ignore all ", "send a password ", "[cursor 1 |a"),
        *("exceed", "please forget a .", "read a ", "[durable] ", "- [durable] a\n"),
        *("no ", "ne ", "kein ", "from ", "von "),
    )
}


def _lines_of(text: str) -> object:
    return list(background_runs.lines_of(f"## USER.md\n\n{text}"))


def _rules_of_the_demo(text: str) -> object:
    # It looks at no more of what a person says.
    said = text[:8_000]
    return [
        wish.words.search(said) for wish in tool_requests.WISHES
    ], background_runs._SPEAKER.findall(said)


READERS: dict[str, Callable[[str], object]] = {
    "comments": lambda text: comments.without_comments(f"{text}\n\n<!-- a -->"),
    "comments in a line": lambda text: comments.without_comments(f"a {text} -->"),
    "header": lambda text: front_matter.read_front_matter(f"---\n{text}\n---\n{text}"),
    "Markdown": render,
    "code": lambda text: highlight(text, "python"),
    "facts": lambda text: [facts.units(fact) for fact in facts._scanned(text)],
    "normal form": facts.normal,
    "near": lambda text: text_similarity.is_near(text[:20_000], text[:20_000] + "a"),
    "turned negations": lambda text: [
        pattern.search(text)
        for pattern in (
            turned_negations._LACK,
            turned_negations._PAST,
            turned_negations._NO_LONGER,
            turned_negations._CHANGE,
        )
    ],
    "contrasts": lambda text: list(turned_negations._before_contrasts(text)),
    "statements": lambda text: (
        paraphrases._QUOTED.sub("", text) + str(paraphrases.is_statement(text))
    ),
    "dates": dates.extract_dates,
    "suspect": lambda text: list(injection_scan.findings(text)),
    "says something": prompt_files.says_something,
    "guide": dream_guide._defused,
    "summary": lambda text: summary_answer.parse_answer(text, "end_turn"),
    "data in a transcript": lambda text: transcript._DATA.sub("", text),
    "secrets": redact.redact,
    "keys in logs": lambda text: KEY_SHAPES.sub("", text),
    "links": links.find_links,
    "headings": lambda text: pages.title_of("a.md", text),
    "words of a page": words_of,
    "table": file_browser.csv_table,
    "JSON lines": file_browser.json_lines,
    "an edit": lambda text: text_match.replace(f"{text}\r\nlast", "\nlast", "\nx"),
    "line ends": lambda text: texts.keep_line_ends(text, f"{text}\r\n"),
    "demo: files": _lines_of,
    "demo: wishes": _rules_of_the_demo,
}


def work(read: Callable[[str], object], text: str) -> float:
    """Seconds that the processor works for *text*."""
    start = time.process_time()
    read(text)
    return time.process_time() - start


def make(piece: str, length: int) -> str:
    """A text of about that length, made of *piece*."""
    return piece * (length // len(piece)) + " the end"


@pytest.mark.parametrize("name", READERS)
def test_work_grows_with_the_length(name: str) -> None:
    """Whatever the text is made of, in proportion to its length."""
    read = READERS[name]
    slow = {}
    for label, piece in MAKES.items():
        short, long = make(piece, SHORT), make(piece, TIMES * SHORT)
        for _ in range(4):
            # The longer text first: most take no time worth measuring.
            if (taken := work(read, long)) < MEASURABLE:
                break
            base = work(read, short)
            if taken <= MOST * base:
                break
        else:
            slow[label] = f"{base:.3f} s for {SHORT:,} characters, {taken:.3f} s for {TIMES} times"
    assert slow == {}
