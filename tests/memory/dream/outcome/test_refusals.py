"""Which refused writes are open at the end of a run."""

from typing import Any

import pytest

from memory.dream.rules import open_refusals
from memory.dream.values import Attempt

FACT = "- Ana prefers the train to Vienna on Mondays."
OTHER = "- The boat lies in Rovinj until May 2027."


def refused(rule: str = "budget", *lines: str, path: str = "USER.md", **more: Any) -> Attempt:
    """A write that was refused."""
    return Attempt("apply_patch", path, (1,), ok=False, rule=rule, added=lines, **more)


def landed(*lines: str, path: str = "USER.md", **more: Any) -> Attempt:
    """A write that landed."""
    return Attempt("apply_patch", path, (1,), ok=True, added=lines, **more)


@pytest.mark.parametrize(
    ("attempts", "is_open"),
    [
        ([refused("budget", FACT)], True),
        ([refused("budget", FACT), landed(FACT)], False),
        ([landed(FACT), refused("budget", FACT)], True),
        ([refused("budget", FACT, OTHER), landed(OTHER)], False),
        ([refused("budget", FACT), landed(FACT, path="memory/MEMORY.md")], True),
        ([refused("budget", FACT), landed(FACT, path="skills/x/SKILL.md")], True),
        ([refused("budget", FACT), landed("- Ana, train.", removed=("- A long line.",))], True),
        ([refused("budget", FACT), landed(FACT.upper().rstrip("."))], False),
        ([refused("budget", FACT), refused("budget", OTHER), landed(FACT)], True),
        ([refused("budget"), landed(OTHER)], False),
        ([refused("pinned", FACT)], False),
        ([refused("forgotten", FACT)], False),
        ([refused("protected", FACT, path="AGENTS.md")], False),
        ([refused("skill", FACT, path="skills/x/SKILL.md")], False),
        ([refused("edit", FACT)], True),
        ([refused("edit", FACT), landed(FACT)], False),
        ([refused("edit", FACT), landed(OTHER)], True),
        ([refused("edit", FACT), landed(FACT, path="SOUL.md")], True),
        ([refused("edit", "by train"), landed("- Ana goes by train.")], False),
        ([refused("edit", OTHER, removed=(FACT,)), landed("x", removed=(FACT[:-1],))], False),
        ([landed(FACT), refused("edit", FACT)], False),
        ([refused("edit", path=""), landed(OTHER)], False),
        ([refused("edit", FACT, path="")], True),
    ],
)
def test_open_or_closed(attempts: list[Attempt], *, is_open: bool) -> None:
    """A budget's refusal ends when one of its lines lands in the same file, an edit's when the same
    target is edited; other rules' are final."""
    assert bool(open_refusals(attempts)) == is_open
