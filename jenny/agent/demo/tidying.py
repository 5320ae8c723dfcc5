"""Tidying by rule: every line of a project's log goes into one page, once."""

import re
from collections.abc import Iterator

from jenny.agent.demo.asked import Asked, Call, Piece, Say

_LINE = re.compile(r"^(\d+)\. \[(log/\S+?)\] (?:[-*] )?(?:\d\d:\d\d — )?(.+)$", re.MULTILINE)
_TITLE = "From the log"
_PAGE = re.compile(
    r"^### (wiki/from-the-log\.md)\n\n(?P<fence>`{3,})\w*\n(?P<text>.*?)\n(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_WORD = re.compile(r"\w+")


def is_tidying(asked: Asked) -> bool:
    """Whether a project's log is to be made into pages."""
    return "finish_tidying" in asked.tools


def tidy(asked: Asked) -> Iterator[Piece]:
    """The next step: the page, then the account, then a word."""
    called = [done.call.name for done in asked.done]
    if "finish_tidying" in called:
        yield Say("Done.")
        return
    lines = [(found[1], found[2], found[3].strip()) for found in _LINE.finditer(asked.whole)]
    page = _PAGE.search(asked.system)
    there = {_folded(row) for row in (page["text"].splitlines() if page else ())}
    new = [row for row in lines if _folded(row[2]) not in there]
    if not called and new:
        bullets = "\n".join(f"- {text}" for _, _, text in new)
        yield _added(page["text"].splitlines()[-1], bullets) if page else _made(bullets, new)
        return
    known = [f"{number}: it stands there" for number, _, text in lines if _folded(text) in there]
    yield Call(
        "finish_tidying",
        {"summary": "The demo model put each line into one page.", "left_out": known},
    )


def _made(bullets: str, new: list[tuple[str, str, str]]) -> Call:
    return Call(
        "add_page",
        {"title": _TITLE, "text": bullets, "state": "open", "source": new[0][1]},
    )


def _added(last: str, bullets: str) -> Call:
    return Call(
        "edit_file",
        {"path": "wiki/from-the-log.md", "old_text": last, "new_text": f"{last}\n{bullets}"},
    )


def _folded(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))
