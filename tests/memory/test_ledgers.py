"""Ledgers of what people decided: the later word holds, by times that can be."""

import json
from pathlib import Path

from memory import ledgers


def write(root: Path, *rows: tuple[str, str]) -> None:
    """A ledger of what was said when."""
    lines = (json.dumps({"at": at, "said": said}) + "\n" for at, said in rows)
    (root / "some.jsonl").write_text("".join(lines))


def said(root: Path) -> list[str]:
    """What it says, in order."""
    return [row["said"] for row in ledgers.read_ledger(root, "some.jsonl").rows]


def test_the_later_word_holds_wherever_it_stands(tmp_path: Path) -> None:
    """Two copies put together line by line are read by their times."""
    write(tmp_path, ("2026-05-02T10:00:00", "second"), ("2026-05-01T10:00:00", "first"))
    assert said(tmp_path) == ["first", "second"]


def test_a_line_of_the_future_does_not_hold_for_ever(tmp_path: Path) -> None:
    """A time that cannot be counts as that of the line before it: what is decided later holds."""
    future = ("9999-12-31T00:00:00", "for ever")
    write(tmp_path, ("2026-05-01T10:00:00", "yes"), future, (ledgers.now(), "withdrawn"))
    assert said(tmp_path) == ["yes", "for ever", "withdrawn"]
