"""An upgrade of the database, as the start of Jenny does it."""

import json

from tests.support.stack import give_owner, manage

MIGRATE = "from jenny.runtime.upgrade import migrate_database; migrate_database(print)"


def test_workspaces_are_saved_before_the_database_changes(tmp_path):
    """Starting a newer version on older tables backs the database up, takes a snapshot of every
    workspace, and only then migrates; a start with nothing to migrate takes none."""
    give_owner(tmp_path)
    # Tables of before there were snapshots.
    manage(tmp_path, "migrate", "memory", "zero", "-v", "0")
    said = manage(tmp_path, "shell", "-v", "0", "-c", f"{MIGRATE}; {MIGRATE}")
    assert said.count("Backed up the database") == 1
    assert "No snapshot" not in said
    listed = json.loads(manage(tmp_path, "snapshot", "list", "--json"))["snapshots"]
    assert [row["trigger"] for row in listed] == ["upgrade"]
