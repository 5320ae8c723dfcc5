"""The documents name the periods for which things are kept."""

from pathlib import Path

import pytest

from jenny.workspace import retention
from jenny.workspace.retention import in_words

DOCS = Path(__file__).resolve().parents[2] / "docs"

SENTENCES = [
    ("files.md", f"outside the workspace, for {in_words(retention.TRASH)}."),
    ("memory.md", f"keeps it for {in_words(retention.TRASH)}"),
    ("security.md", f"rows stay for {in_words(retention.DELETED_WORKSPACE)}"),
    ("commands.md", f"For {in_words(retention.DELETED_WORKSPACE)} `--bring-back`"),
    ("backup.md", f"downloaded for {in_words(retention.BACKUP)}"),
    ("memory.md", f"can be undone for {in_words(retention.PAGE_CHANGE)}"),
    ("memory.md", f"the newest {retention.NEWEST_SNAPSHOTS} always"),
    ("memory.md", f"those older than {in_words(retention.EACH_SNAPSHOT)} one a day"),
]


@pytest.mark.parametrize(("name", "message"), SENTENCES)
def test_a_document_names_the_period_that_holds(name: str, message: str) -> None:
    """A period that is changed in the code must be changed in the documents."""
    assert message in " ".join((DOCS / name).read_text(encoding="utf-8").split())


def test_a_period_is_given_in_words() -> None:
    """Whole days and hours are named as a person would."""
    periods = [retention.TRASH, retention.BACKUP, retention.BACKUP_KEY]
    assert [in_words(period) for period in periods] == ["30 days", "a day", "an hour"]
