"""Snapshots of the instance's workspaces: when they are taken, and what is said when not."""

import shutil
import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jenny.accounts import access
from jenny.accounts.models import Account, Workspace
from jenny.workspace import config
from jenny.workspace.errors import FileMissing
from jenny.workspace.snapshots import reader
from memory.models import SnapshotState
from memory.models.snapshot_state import SCAN_EVERY
from memory.services import snapshots
from memory.services.notices import row_findings
from tests.memory.services.conftest import START

pytestmark = pytest.mark.django_db

FIVE = timedelta(minutes=5)


def taken(workspace: Workspace) -> list[str]:
    """Why each snapshot was taken, newest first."""
    return [shot.trigger for shot in reader.list_snapshots(snapshots.store_of(workspace))]


def scan(monkeypatch, now) -> None:
    """The task of beat at that time."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    snapshots.scan_due_workspaces()


def test_a_change_and_ten_quiet_minutes(workspace, monkeypatch):
    """From nothing: the first scan saves the workspace; an edit is saved by the scan that finds
    it unchanged for ten minutes; without an edit a day passes until the next look, which finds
    nothing new."""
    scan(monkeypatch, START)
    assert taken(workspace) == ["daily"]
    (workspace.root / "USER.md").write_text("# Ana\n")
    now = START
    for _ in range(2):
        now += FIVE
        scan(monkeypatch, now)
        assert taken(workspace) == ["daily"]
    (workspace.root / "USER.md").write_text("# Ana and Bo\n")
    for _ in range(2):
        now += FIVE
        scan(monkeypatch, now)
        assert taken(workspace) == ["daily"]
    now += FIVE
    scan(monkeypatch, now)
    assert taken(workspace) == ["auto", "daily"]
    for _ in range(4):
        now += FIVE
        scan(monkeypatch, now)
    scan(monkeypatch, now + timedelta(days=1))
    assert taken(workspace) == ["auto", "daily"]
    row = SnapshotState.objects.get(workspace=workspace)
    assert row.taken_at == now + timedelta(days=1)


def test_only_those_whose_turn_it_is(workspace, monkeypatch):
    """A scan asks the database for those due by an index, and looks at no other workspace."""
    scan(monkeypatch, START)
    (workspace.root / "USER.md").write_text("changed")
    before = SnapshotState.objects.get(workspace=workspace).fingerprint
    scan(monkeypatch, START + SCAN_EVERY - timedelta(seconds=1))
    assert SnapshotState.objects.get(workspace=workspace).fingerprint == before
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert SnapshotState.due(START, most=10) == []
    assert len(asked) == 1
    plan = SnapshotState.objects.filter(next_scan_at__lte=START).order_by("next_scan_at").explain()
    assert "INDEX" in plan


def test_rows_are_made_for_workspaces_with_a_folder(workspace, monkeypatch):
    """A workspace that nobody opened yet has nothing to save; a deleted one is left alone."""
    unopened = Account.objects.make_account("unopened", "a good long password", "UTC")
    gone = access.made_workspace(
        Account.objects.make_account("gone", "a good long password", "UTC")
    )
    gone.deleted_at = START
    gone.save()
    scan(monkeypatch, START)
    assert taken(workspace) == ["daily"]
    rows = SnapshotState.objects.filter(workspace=unopened.current_workspace)
    assert not rows.exists()
    assert taken(gone) == []


def test_one_failing_workspace_does_not_stop_the_others(workspace, monkeypatch):
    """A workspace whose folder is lost is noted as such; the next one is saved all the same."""
    lost = access.made_workspace(
        Account.objects.make_account("lost", "a good long password", "UTC")
    )
    shutil.rmtree(lost.root)
    scan(monkeypatch, START)
    assert taken(workspace) == ["daily"]
    row = SnapshotState.objects.get(workspace=lost)
    assert row.failed_at == START
    assert "There is no workspace folder" in row.failure
    sentences = [found.message for found in row_findings(lost, repair=False)]
    told = "The last snapshot failed (2026-03-01 12:00): "
    assert [message.startswith(told) for message in sentences].count(True) == 1
    assert row_findings(workspace, repair=False) == []


def test_a_failure_is_forgotten_when_it_works_again(workspace, monkeypatch):
    """What was wrong is no longer said once a snapshot was taken."""
    elsewhere = workspace.root.with_name("elsewhere")
    workspace.root.rename(elsewhere)
    scan(monkeypatch, START)
    assert row_findings(workspace, repair=False)
    elsewhere.rename(workspace.root)
    scan(monkeypatch, START + FIVE)
    assert taken(workspace) == ["daily"]
    assert row_findings(workspace, repair=False) == []


def test_before_a_dream_run(workspace):
    """The snapshot before a run is taken when something changed, and counts for the rest."""
    first = snapshots.before_dream(workspace, now=START)
    assert first.outcome.is_new
    assert "was taken before a memory update" in first.message
    again = snapshots.before_dream(workspace, now=START + FIVE)
    assert not again.outcome.is_new
    assert again.message.startswith("Nothing has changed since the newest snapshot")
    row = SnapshotState.objects.get(workspace=workspace)
    assert row.taken_at == START + FIVE
    assert row.changed_at is None


def test_a_failure_before_a_dream_run_is_a_value(workspace):
    """A run is never stopped by its snapshot: the outcome says that there is none, and why."""
    store = snapshots.store_of(workspace)
    store.path.parent.mkdir(parents=True, exist_ok=True)
    store.path.write_text("in the way")
    found = snapshots.before_dream(workspace, now=START)
    store.path.unlink()
    assert found.outcome is None
    assert found.message.startswith("There is no snapshot of the state before this run.")
    shutil.rmtree(workspace.root)
    assert snapshots.before_dream(workspace, now=START).outcome is None
    with pytest.raises(FileMissing):
        snapshots.take_snapshot(workspace, "manual", now=START)


@pytest.mark.django_db(transaction=True)
def test_two_workers_take_one(monkeypatch):
    """Two workers that scan at the same moment look once at each workspace."""
    rows = []
    for number in range(4):
        name = f"twice{number}"
        account = (Account.objects.make_account if number else Account.objects.make_owner)(
            name, "a good long password", "UTC"
        )
        rows.append(access.made_workspace(account))
    looks: list[str] = []
    real = snapshots.take_due_snapshots

    def counted(row, now):
        looks.append(row.workspace.slug)
        return real(row, now)

    monkeypatch.setattr(snapshots, "take_due_snapshots", counted)
    together = threading.Barrier(2)

    def work() -> None:
        together.wait()
        try:
            # Past the lock of one process, as two processes are.
            snapshots._scan_due_workspaces()
        finally:
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(looks) == sorted(row.slug for row in rows)
    assert [taken(row) for row in rows] == [["daily"]] * 4


def test_a_long_scan_is_not_joined_by_the_next(workspace, monkeypatch):
    """A scan that takes longer than five minutes holds one thread of the queue, never all of
    them: what else is in it (turns whose worker is gone) is not kept waiting."""
    with snapshots._SCANNING:
        scan(monkeypatch, START)
    assert taken(workspace) == []
    scan(monkeypatch, START)
    assert taken(workspace) == ["daily"]


def old_snapshots(workspace, count=25) -> None:
    """One a day, beginning long ago."""
    for number in range(count):
        (workspace.root / "count.md").write_text(str(number))
        snapshots.take_snapshot(workspace, "manual", now=START - timedelta(days=400 - number))


def test_thinning_needs_nobody(workspace, monkeypatch):
    """What the rules let go under the agreed horizon goes with the daily look."""
    for number in range(30):
        (workspace.root / "count.md").write_text(str(number))
        snapshots.take_snapshot(
            workspace, "manual", now=START - timedelta(days=40, minutes=-number)
        )
    scan(monkeypatch, START)
    # The newest 20, of which the daily one is the newest, and none of the 11 before.
    assert len(taken(workspace)) == 20


def test_a_shortened_horizon_waits_for_a_yes(workspace, monkeypatch):
    """Who shortens the horizon in the file loses nothing before having been told what goes."""
    old_snapshots(workspace)
    scan(monkeypatch, START)
    config.change_config(workspace.root, lambda raw: raw.update(snapshots={"keepFor": "week"}))
    scan(monkeypatch, START + timedelta(days=1))
    count = len(taken(workspace))
    assert count >= 26
    (found,) = row_findings(workspace, repair=False)
    assert found.level == "note"
    assert "The horizon was shortened. To be deleted:" in found.message
    plan = snapshots.plan(workspace, now=START + timedelta(days=1))
    assert len(plan.expired) == count - 20
    done = snapshots.prune(workspace, plan, now=START + timedelta(days=1))
    assert len(done.deleted) == count - 20
    assert row_findings(workspace, repair=False) == []
    # From now on the shorter horizon is kept to without asking.
    old = SnapshotState.objects.get(workspace=workspace)
    assert old.agreed_keep_for == "week"
    for number in range(3):
        (workspace.root / "count.md").write_text(f"more {number}")
        snapshots.take_snapshot(workspace, "manual", now=START + timedelta(days=10 + number))
    scan(monkeypatch, START + timedelta(days=20))
    assert len(taken(workspace)) == 20


def test_a_broken_store_is_said_and_repaired(workspace):
    """``check_workspace`` names what is damaged; repair saves anew what the workspace has."""
    snapshots.take_snapshot(workspace, "manual", now=START)
    for path in (snapshots.store_of(workspace).path / "objects/pack").iterdir():
        path.unlink()
    found = row_findings(workspace, repair=False)
    assert found
    assert all(row.is_open for row in found)
    assert found[0].path == f"snapshots/{workspace.pk}.git"
    row_findings(workspace, repair=True)
    store = snapshots.store_of(workspace)
    newest = reader.list_snapshots(store)[0]
    assert newest.label == "repair"
    assert newest.files > 3


def test_before_an_upgrade(workspace):
    """Every workspace is saved before the database is migrated, by reading no table that the
    migration may make or change; what fails is a sentence and stops nothing."""
    bad = access.made_workspace(Account.objects.make_account("bad", "a good long password", "UTC"))
    store = snapshots.store_of(bad)
    store.path.parent.mkdir(parents=True, exist_ok=True)
    store.path.write_text("in the way")
    with CaptureQueriesContext(connection) as asked:
        (trouble,) = snapshots.before_upgrade(START)
    store.path.unlink()
    assert trouble.startswith(f"{bad.slug}: The snapshot could not be taken.")
    assert taken(workspace) == ["upgrade"]
    assert [row["sql"].count("snapshotstate") for row in asked] == [0]


def test_rules_that_cannot_be_kept_are_said(workspace, monkeypatch):
    """When old snapshots cannot be let go, ``check_workspace`` says so, and it is tried daily."""
    snapshots.take_snapshot(workspace, "manual", now=START)
    packs = snapshots.store_of(workspace).path / "objects/pack"
    (index,) = packs.glob("*.idx")
    index.chmod(0o600)
    right = index.read_bytes()
    index.write_bytes(b"")
    scan(monkeypatch, START + FIVE)
    row = SnapshotState.objects.get(workspace=workspace)
    assert row.failure
    assert row.pruned_at == START + FIVE
    index.write_bytes(right)
    scan(monkeypatch, START + timedelta(days=1, minutes=10))
    (workspace.root / "USER.md").write_text("more")
    snapshots.take_snapshot(workspace, "manual", now=START + timedelta(days=1, minutes=15))
    assert row_findings(workspace, repair=False) == []


def test_a_horizon_that_is_none_deletes_nothing(workspace, monkeypatch):
    """A value that nobody offers is reported by the settings and means the default: for ever."""
    old_snapshots(workspace)
    raw = '{"snapshots": {"keepFor": "a fortnight"}}'
    (workspace.root / "config.json").write_text(raw)
    assert snapshots.plan(workspace, now=START).keep_for == "forever"
    scan(monkeypatch, START)
    assert len(taken(workspace)) == 26
