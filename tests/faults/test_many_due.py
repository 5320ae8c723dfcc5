"""Very many workspaces are due at the same moment."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_server import ModelServer
from tests.support import many
from tests.support.chance import seed
from tests.support.client import Client, text_of
from tests.support.stack import OWNER, PASSWORD, Stack, environment_for, start
from tests.support.waiting import wait_until

COUNT = 24 + seed() % 3


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """A model of these tests' own: it is done with whatever Dream shows it."""
    with ModelServer() as server:
        many.answer(server)
        yield server


@pytest.fixture(scope="module")
def stack(scratch: Path, model: ModelServer) -> Iterator[Stack]:
    """An instance with many workspaces, of which each has something to read."""
    stack = start(scratch / "many", has_owner=True, **environment_for(model.url))
    try:
        many.make(stack, OWNER, COUNT)
        yield stack
    finally:
        stack.end()


def test_many_due_at_once_drain_without_a_second_run(stack: Stack, model: ModelServer):
    """Two dispatchers look at the same moment, on top of the one that beat starts: each workspace
    has one run. Somebody who writes a message meanwhile has an answer before they are through."""
    owner = Client(stack.url).login(OWNER, PASSWORD)
    chat = owner.begin("/status")
    many.come_due(stack)
    looks = [
        threading.Thread(target=stack.manage, args=("shell", "-v", "0", "-c", many.LOOK))
        for _ in range(2)
    ]
    for look in looks:
        look.start()
    model.script("An answer in between.", when=lambda r: b"Are you there?" in r.body)
    owner.send(chat, "Are you there?")
    wait_until(lambda: "An answer in between." in text_of(owner.thread(chat)), 90, "the answer")
    for look in looks:
        look.join()
    found = wait_until(lambda: over(stack, 1), 180, "all runs")
    assert set(found.values()) == {("nothing_new",)}, found


def test_beat_begins_what_is_due_and_is_restarted_in_between(stack: Stack):
    """Nobody but beat and the workers starts anything; beat is killed before it comes to it, and
    once more while the runs drain. Each workspace has one more run."""
    stack.manage("shell", "-v", "0", "-c", _EVERY_SECOND)
    many.come_due(stack)
    stack.kill("beat")
    wait_until(lambda: any(len(one) > 1 for one in many.runs(stack).values()), 180, "a run")
    stack.kill("beat")
    found = wait_until(lambda: over(stack, 2), 180, "all runs")
    assert set(found.values()) == {("nothing_new", "nothing_pending")}, found


_EVERY_SECOND = """
from django_celery_beat.models import IntervalSchedule, PeriodicTask, PeriodicTasks
second, _ = IntervalSchedule.objects.get_or_create(every=1, period="seconds")
PeriodicTask.objects.filter(task="memory.due").update(interval=second)
PeriodicTasks.update_changed()
"""


def over(stack: Stack, runs: int):
    """How the runs of each workspace ended, once all have so many and all of them are over."""
    found = {slug: tuple(statuses) for slug, statuses in many.runs(stack).items()}
    is_over = all(len(row) >= runs and all(row) for row in found.values())
    return found if len(found) == COUNT and is_over else None
