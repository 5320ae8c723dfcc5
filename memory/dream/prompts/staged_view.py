"""The memory files as a run of Dream is shown them: with what waits for a person's approval, where
the run's own writes wait, too; and what it must know of that.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from jenny.agent.prompt import one_line
from jenny.workspace import config
from jenny.workspace.content import Reading, read_text
from memory import budgets
from memory.approvals import overlay
from memory.approvals.values import SETTING, Waiting
from memory.budgets import Gauge
from memory.suppression import tombstones

_STAGED = 200
_WORDINGS = 30
_CHARS = 160


def reading(root: Path, path: str) -> Reading:
    """A memory file, as the run goes on from it."""
    found = read_text(root, path)
    if found.problem or not _waits(root):
        return found
    before = None if found.is_missing else found.text
    text = overlay.applied(overlay.waiting(root), path, before)
    if text is None or text == before:
        return found
    return replace(found, text=text, data=text.encode(), is_missing=False)


def gauges(root: Path) -> tuple[Gauge, ...]:
    """How full the memory files are, as the run goes on from them."""
    measured = budgets.gauge(root)
    if not _waits(root) or not overlay.waiting(root).staged:
        return measured
    return tuple(
        gauge
        if gauge.chars is None
        else replace(gauge, chars=budgets.characters(reading(root, gauge.file.path).data))
        for gauge in measured
    )


def sections(root: Path) -> Iterator[str]:
    """What waits for the person, and what they did not want, for the prompt. What was forgotten is
    none of it."""
    state = tombstones.state(root)
    found = overlay.waiting(root)
    shown = [row for row in found.staged if not overlay.is_forgotten(state, row.piece)]
    found = replace(found, staged=tuple(shown))
    rows = list(overlay.listed(found))
    if rows:
        where = (
            "in the files above, as if it stood there: go on from it"
            if _waits(root)
            else "not in the files above"
        )
        about = f"Earlier runs proposed this, and the person has not decided yet. It is {where}."
        yield _section(
            "What waits for the person's approval", f"{about} Do not propose it again.", rows
        )
    unwanted: Waiting = overlay.unwanted(root)
    if rejected := [_line(text) for text in unwanted.rejected if state.match(text) is None]:
        about = "The person did not want these words in the files. Do not write them again."
        yield _section("Rejected wordings", about, rejected, _WORDINGS)
    if kept := [_line(text) for text in unwanted.kept if state.match(text) is None]:
        about = "The person was asked to let these go, and keeps them. Leave them as they are."
        yield _section("Kept", about, kept, _WORDINGS)


def _waits(root: Path) -> bool:
    return bool(config.load_config(root).get(SETTING) != "off")


def _line(text: str) -> str:
    return f"* {one_line(text, _CHARS)}"


def _section(title: str, about: str, rows: list[str], most: int = _STAGED) -> str:
    more = [f"… and {len(rows) - most:,} more."] if len(rows) > most else []
    return "\n".join([f"## {title}", "", about, "", *rows[:most], *more])
