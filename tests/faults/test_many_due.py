"""Very many workspaces are due at the same moment."""

import threading

from tests.model_server import ModelServer
from tests.support import many
from tests.support.chance import seed
from tests.support.client import Client, text_of
from tests.support.stack import OWNER, PASSWORD, environment_for, start
from tests.support.waiting import wait_until

COUNT = 24


def test_many_due_at_once_drain_without_a_second_run(scratch, model_server: ModelServer):
    """Two dispatchers look at the same moment, on top of the one that beat starts: each workspace
    has one run. Somebody who writes a message meanwhile has an answer before they are through."""
    many.answer(model_server)
    stack = start(scratch / "many", **environment_for(model_server.url))
    try:
        stack.manage("create_owner", "--username", OWNER, JENNY_OWNER_PASSWORD=PASSWORD)
        owner = Client(stack.url).login(OWNER, PASSWORD)
        chat = owner.begin("/status")
        count = COUNT + seed() % 3
        many.make(stack, OWNER, count)
        many.come_due(stack)
        looks = [
            threading.Thread(target=stack.manage, args=("shell", "-v", "0", "-c", many.LOOK))
            for _ in range(2)
        ]
        for look in looks:
            look.start()
        model_server.script("An answer in between.", when=lambda r: b"Are you there?" in r.body)
        owner.send(chat, "Are you there?")
        wait_until(lambda: "An answer in between." in text_of(owner.thread(chat)), 60, "the answer")
        for look in looks:
            look.join()
        found = wait_until(
            lambda: all_over if len(all_over := over(stack)) == count else None, 90, "all runs"
        )
        assert set(found.values()) == {("nothing_new",)}, found
    finally:
        stack.end()


def over(stack):
    """The workspaces all of whose runs are over, with how they ended."""
    return {slug: tuple(statuses) for slug, statuses in many.runs(stack).items() if all(statuses)}
