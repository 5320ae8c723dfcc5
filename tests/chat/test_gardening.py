"""When the gardener looks at a project by itself: by the database's clock, set back here."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.services import jobs
from jenny.chat.models import Conversation, Message, ProjectState, Turn
from jenny.chat.services import gardener

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(settings, tmp_path):
    """A workspace of its own with two projects, whose gardener is on."""
    from jenny.env import DataFolder

    settings.JENNY_DATA = DataFolder(tmp_path)
    owner = Account.objects.create_user("ann", password="a long password 1")
    row = Workspace.objects.create(owner=owner, name="Ann", slug="ann")
    for name in ("bees", "garden"):
        (row.root / f"wikis/{name}/wiki").mkdir(parents=True)
    switch(row, enabled=True)
    return row


def switch(workspace, **values) -> None:
    """Set the gardener's settings."""
    written = {"agents": {"defaults": {"gardener": values}}}
    (workspace.root / "config.json").write_text(json.dumps(written))


def due(workspace, name: str, *, attempted: float | None = None) -> ProjectState:
    """A project in which nothing happened for half an hour; tried so many hours ago."""
    now = timezone.now()
    row = ProjectState.of(workspace, name)
    row.due_at = now - timedelta(seconds=1)
    row.attempted_at = None if attempted is None else now - timedelta(hours=attempted)
    row.save()
    return row


def test_a_folder_that_is_called_like_a_log_is_named(workspace):
    """Nothing in it is read, and the report says so."""
    (workspace.root / "wikis/bees/log/20260301.md").mkdir(parents=True)
    job = Job.ask(workspace, workspace.owner, "tidy", {"project": "bees"})
    assert job.claim()
    ended = gardener.work(job)
    assert "log/20260301.md” is a folder and no file, so nothing in it was read" in ended.message


def asked() -> list[str]:
    """The projects that were asked for."""
    return [job.arguments["project"] for job in Job.objects.filter(kind="tidy").order_by("pk")]


def test_one_project_at_a_time(workspace):
    """Of two that are due, the one that waited longer; the other at a later tick."""
    due(workspace, "bees", attempted=7)
    due(workspace, "garden", attempted=9)
    gardener.request_due_tidying()
    assert asked() == ["garden"]


def test_off_means_off(workspace):
    """Switched off, as it is by default, nothing is asked for, and nothing is looked at again."""
    switch(workspace, enabled=False)
    row = due(workspace, "bees")
    gardener.request_due_tidying()
    row.refresh_from_db()
    assert asked() == []
    assert row.due_at is None


@pytest.mark.parametrize("state", [Turn.State.QUEUED, Turn.State.RUNNING])
def test_somebody_who_talks_is_left_alone(workspace, state):
    """A project in which an answer is being written waits for the next interval."""
    row = due(workspace, "bees")
    chat = Conversation.objects.create(workspace=workspace, kind="project", project="bees")
    Turn.objects.create(conversation=chat, state=state)
    gardener.request_due_tidying()
    row.refresh_from_db()
    assert asked() == []
    assert row.due_at > timezone.now() + timedelta(minutes=20)


def test_six_hours_between_attempts(workspace):
    """However the last one ended."""
    due(workspace, "bees", attempted=5.9)
    gardener.request_due_tidying()
    assert asked() == []
    due(workspace, "bees", attempted=6.1)
    gardener.request_due_tidying()
    assert asked() == ["bees"]


def test_nothing_happens_before_half_an_hour_of_rest(workspace):
    """What was said or logged sets the clock anew."""
    row = ProjectState.of(workspace, "bees")
    row.happened()
    row.refresh_from_db()
    assert row.due_at > timezone.now() + timedelta(minutes=29)
    gardener.request_due_tidying()
    assert asked() == []


def test_another_project_waits_for_the_interval(workspace):
    """One that was just tried keeps the others of its workspace for as long as the setting says;
    another workspace goes on."""
    due(workspace, "garden", attempted=0.2)
    ProjectState.objects.filter(name="garden").update(due_at=None)
    row = due(workspace, "bees")
    gardener.request_due_tidying()
    assert asked() == []
    switch(workspace, enabled=True, intervalMinutes=5)
    row = due(workspace, "bees")
    gardener.request_due_tidying()
    assert asked() == ["bees"]
    assert row.name == "bees"


def test_a_folder_that_is_gone_is_forgotten(workspace):
    """A project whose folder was deleted is not looked at again, and breaks nothing."""
    row = due(workspace, "nowhere")
    due(workspace, "bees")
    gardener.request_due_tidying()
    row.refresh_from_db()
    assert row.due_at is None
    assert asked() == ["bees"]


def test_the_clock_asks_one_indexed_query(workspace, django_assert_num_queries):
    """Projects in which nothing happened cost nothing."""
    ProjectState.objects.bulk_create(
        ProjectState(workspace=workspace, name=f"quiet {number}") for number in range(2_000)
    )
    with django_assert_num_queries(1):
        gardener.request_due_tidying()
    plan = ProjectState.objects.filter(due_at__lte=timezone.now()).explain()
    assert "projects_due" in plan


def test_a_pause_of_all_calls_holds_the_gardener(workspace):
    """Nothing is asked for while it lasts, and the project is looked at again later."""
    row = due(workspace, "bees")
    written = {
        "agents": {"defaults": {"gardener": {"enabled": True}}},
        "privacy": {"pauseModelCalls": True},
    }
    (workspace.root / "config.json").write_text(json.dumps(written))
    gardener.request_due_tidying()
    row.refresh_from_db()
    assert asked() == []
    assert row.due_at > timezone.now()


def test_the_reply_says_when_a_gardener_died(workspace, valkey):
    """Whoever asked with /tidy is not left with "Tidying…" when the process was killed."""
    chat = Conversation.objects.create(workspace=workspace, kind="project", project="bees")
    reply = Message.objects.create(conversation=chat, kind="reply", text="Tidying…")
    Job.objects.create(
        workspace=workspace,
        kind="tidy",
        arguments={"project": "bees", "reply": reply.pk},
        state=Job.State.RUNNING,
        heartbeat_at=timezone.now() - timedelta(minutes=3),
    )
    jobs.recover_jobs()
    reply.refresh_from_db()
    assert "The process that did it died" in reply.text
    assert "the same lines are read again next time" in reply.text
