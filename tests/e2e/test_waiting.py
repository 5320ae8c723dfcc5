"""Tests that drive the browser wait for what a press brings about before they go on."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
FILES = [path for path in TESTS.rglob("*.py") if "playwright" in path.read_text()]
# A press returns at once, whatever it leads to.
PRESSES = {"click", "dblclick"}
# These return once something is so, or once the page is another.
WAITS = {"expect", "follow", "idle", "expect_navigation", "expect_response", "expect_request"}
# What meets a page in the middle of being left.
TOO_EARLY = {"reload", "goto", "evaluate", "evaluate_handle", "inner_html", "inner_text", "count"}
TOO_EARLY |= {"bounding_box", "close", "faults", "overflow", "told"}


def called(node: ast.AST) -> set[str]:
    """The names of what *node* calls or hands on to be called."""
    names = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            names.add(getattr(part.func, "attr", getattr(part.func, "id", "")))
            if getattr(part.func, "attr", "") == "press" and "Enter" in ast.unparse(part):
                names.add("click")
    return names


def steps(body: list[ast.stmt]) -> Iterator[set[str]]:
    """What each statement calls, in the order in which they are written."""
    for statement in body:
        if isinstance(statement, ast.With):
            yield {name for item in statement.items for name in called(item)} | called(statement)
        elif isinstance(statement, ast.For | ast.If | ast.Try):
            yield from steps(statement.body)
        elif not isinstance(statement, ast.FunctionDef):
            yield called(statement)


def hasty(body: list[ast.stmt]) -> bool:
    """Whether something is looked at after a press without a wait in between."""
    is_pressed = False
    for names in steps(body):
        has_waited = names & WAITS or any(name.startswith("wait_for") for name in names)
        if is_pressed and names & TOO_EARLY and not has_waited:
            return True
        is_pressed = (is_pressed or bool(names & PRESSES)) and not has_waited
    return False


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_a_press_is_followed_by_a_wait(path: Path) -> None:
    """No test reloads, leaves or examines a page that it may just be leaving (see ``follow``)."""
    functions = [
        node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)
    ]
    assert [one.name for one in functions if hasty(one.body)] == []


def test_haste_is_seen() -> None:
    """The rule knows the case that it is for, also with something else in between."""
    press = 'page.get_by_role("button").click()\n'
    assert hasty(ast.parse(press + "page.reload()").body)
    assert hasty(ast.parse(press + "owner.answer(chat)\npage.reload()").body)
    assert not hasty(ast.parse(press + "expect(field).to_be_visible()\npage.reload()").body)
    assert not hasty(ast.parse("follow(page, button.click)\npage.reload()").body)
