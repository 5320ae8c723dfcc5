"""A thousand workspaces due at once: how long until all have had their run, whether any had two,
and what a person who chats meanwhile notices of it.

The model answers at once, so this is all ours: dispatcher, queue, workers, snapshots, versions.
Each workspace has one entry that waits.
"""

import threading
import time

from bench.harness import Bar, Row, median, percentile
from bench.instance import Visitor, running, scratch_folder
from bench.scripted import SENT, Model
from tests.model_server import Request
from tests.support import many
from tests.support.stack import OWNER, Stack
from tests.support.waiting import wait_until

COUNT = 1_000
QUIET = 25
# The dispatcher looks once a minute; here it is started at once, as by beat.
PATIENCE_SECONDS = 1_800.0


class Chatting(Model):
    """The model of whoever chats meanwhile; Dream's requests are none of its."""

    def _is_long(self, request: Request) -> bool:
        return not many.has_batch(request) and super()._is_long(request)

    def _is_message(self, request: Request) -> bool:
        now = time.monotonic_ns()
        # Many messages are sent: older ones come back in the history.
        newest = max(map(int, SENT.findall(request.body)), default=0)
        if newest and not many.has_batch(request):
            self.asked.append((now - newest) / 1e6)
        return not many.has_batch(request)


def rows() -> list[Row]:
    """One instance serves them all."""
    with (
        scratch_folder() as scratch,
        Chatting() as model,
        running(scratch / "data", model.server.url) as stack,
    ):
        many.answer(model.server)
        visitor = Visitor(stack, OWNER)
        chat = visitor.client.begin("Hello")
        visitor.wait_idle(chat)
        many.make(stack, OWNER, COUNT)
        quiet = [_asked(model, visitor, chat) for _ in range(QUIET)]
        many.come_due(stack)
        began = time.monotonic()
        look = threading.Thread(
            target=stack.manage, args=("shell", "-v", "0", "-c", many.LOOK), daemon=True
        )
        look.start()
        busy = []
        while _left(stack) and time.monotonic() - began < PATIENCE_SECONDS:
            busy.append(_asked(model, visitor, chat))
            time.sleep(0.2)
        seconds = time.monotonic() - began
        look.join()
        twice = sum(len(statuses) > 1 for statuses in many.runs(stack).values())
    words = f"{COUNT:,} workspaces due at once"
    note = f"{len(busy)} messages meanwhile"
    return [
        Row(f"{words}: all have had their run", "s", round(seconds, 1)),
        Row(f"{words}: with a second run", "workspaces", float(twice), None, Bar(limit=0)),
        Row("message sent → request at the model, nobody dreams", "ms", median(quiet)),
        Row("… while they drain, median", "ms", median(busy), median(quiet), note=note),
        Row("… while they drain, p95", "ms", percentile(busy, 0.95), percentile(quiet, 0.95)),
    ]


def _asked(model: Model, visitor: Visitor, chat: str) -> float:
    visitor.connect()
    before = len(model.asked)
    visitor.send(chat, f"sent {time.monotonic_ns()}.")
    wait_until(lambda: len(model.asked) > before, 60, "the request")
    visitor.wait_idle(chat)
    return model.asked[-1]


def _left(stack: Stack) -> int:
    found = many.runs(stack)
    return COUNT - sum(all(statuses) for statuses in found.values())
