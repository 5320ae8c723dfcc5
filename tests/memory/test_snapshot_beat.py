"""Beat, a worker and the ten quiet minutes, as they run for a user."""

import contextlib
import json
import sqlite3

from tests.support.waiting import wait_until

# What beat does every five minutes is done every second here.
QUICKER = """
from django_celery_beat.models import IntervalSchedule, PeriodicTask
row = PeriodicTask.objects.get(name="memory.snapshots")
row.interval, _ = IntervalSchedule.objects.get_or_create(every=1, period="seconds")
row.save()
"""
LATER = "update memory_snapshotstate set $ = datetime($, '-10 minutes')"


def test_a_change_is_saved_by_itself(start_stack):
    """Started as a user starts it: the workspace is saved at once, and an edit made outside is
    saved after ten quiet minutes, without anybody asking for it."""
    stack = start_stack(has_owner=True)
    stack.manage("shell", "-v", "0", "-c", QUICKER)

    def ask(words: str) -> int:
        with contextlib.closing(sqlite3.connect(stack.data.database, timeout=30)) as database:
            row = database.execute(words).fetchone()
            database.commit()
            return row[0] if row else 0

    def later(column: str) -> None:
        """Ten minutes pass: what the looks compare the clock with lies further back."""
        ask(LATER.replace("$", column))

    def shots() -> list[str]:
        return [path.name for path in stack.data.snapshots.glob("*.git/refs/snapshots/*-????????")]

    wait_until(shots, 60, "the first snapshot")
    (file,) = stack.data.workspaces.glob("*/USER.md")
    file.write_text("# Ana\n")

    def is_seen() -> int:
        later("next_scan_at")
        return ask("select count(*) from memory_snapshotstate where changed_at is not null")

    wait_until(is_seen, 60, "the change to be seen")
    assert len(shots()) == 1
    later("changed_at")
    later("next_scan_at")
    wait_until(lambda: len(shots()) > 1, 60, "the second one")
    listed = json.loads(stack.manage("snapshot", "list", "--json"))["snapshots"]
    assert [row["trigger"] for row in listed] == ["auto", "daily"]
    assert listed[0]["changes"] == {"added": 0, "changed": 1, "removed": 0}
