"""What workers do for conversations."""

import threading

from celery.signals import worker_ready, worker_shutting_down
from celery.worker.consumer import Consumer

from jenny.agent.provider import warm
from jenny.agent.tools import sandbox
from jenny.chat.tasks.claims import WATCHES
from jenny.chat.tasks.consolidation import consolidate, sweep
from jenny.chat.tasks.publish import hand_over
from jenny.chat.tasks.pulse import PULSE
from jenny.chat.tasks.reap import reap
from jenny.chat.tasks.resuming import sweep as resume
from jenny.chat.tasks.tidying import garden, tidy
from jenny.chat.tasks.titles import make_title
from jenny.chat.tasks.turns import run_turn

__all__ = ["consolidate", "garden", "make_title", "reap", "resume", "run_turn", "sweep", "tidy"]


@worker_shutting_down.connect
def _end_turns(**_signal: object) -> None:
    """Let the running turns end as interrupted, with their text kept, before the process goes."""
    PULSE.cancel_all("shutdown")
    WATCHES.end()


@worker_ready.connect
def _begin(sender: Consumer, **_signal: object) -> None:
    """What died with an earlier worker is marked as soon as the next one is there; and the
    worker that talks to models loads its client, for which the first turn would wait."""
    hand_over(reap)
    if "chat" in sender.app.amqp.queues.consume_from:
        threading.Thread(target=_warm, name="warm", daemon=True).start()


def _warm() -> None:
    """Load what the first turn needs: the model's client, and the sandbox."""
    warm()
    sandbox.unavailable()
