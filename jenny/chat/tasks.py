"""Celery tasks of the chat. Each calls a service; the database says what is to be done."""

import threading

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from celery.worker.consumer import Consumer

from jenny.agent.cancellation import OPEN_TOKENS
from jenny.broker import enqueue
from jenny.chat.services import consolidation, gardener, search, titles, turn_recovery, turns
from jenny.chat.services.turn_claims import HEARTBEAT


@shared_task(name="chat.run_turn")
def run_turn(turn_id: int) -> None:
    turns.run_turn(turn_id)


@shared_task(name="chat.make_title")
def make_title(conversation_id: str) -> None:
    titles.make_title(conversation_id)


@shared_task(name="chat.reap")
def recover_turns() -> None:
    turn_recovery.recover_turns()


@shared_task(name="chat.sweep")
def enqueue_due_consolidations() -> None:
    consolidation.enqueue_due()


@shared_task(name="chat.consolidate")
def consolidate(conversation_id: str, trigger: consolidation.Trigger, reply_id: int = 0) -> None:
    consolidation.consolidate(conversation_id, trigger, reply_id)


@shared_task(name="chat.take_in")
def summarise_and_run(run_id: int) -> None:
    consolidation.summarise_and_run(run_id)


@shared_task(name="chat.resume")
def resume_waiting() -> None:
    turn_recovery.resume_where_possible()


@shared_task(name="chat.update_search_index")
def update_search_index(workspace_id: str, part: str = "") -> None:
    search.update_index(workspace_id, part)


@shared_task(name="chat.update_search_indexes")
def update_search_indexes() -> None:
    search.enqueue_updates()


@shared_task(name="chat.tidy")
def tidy_project(job_id: int) -> None:
    gardener.run_tidy_job(job_id)


@shared_task(name="chat.garden")
def tidy_due_projects() -> None:
    gardener.request_due_tidying()


@worker_shutting_down.connect
def _end_turns(**_signal: object) -> None:
    """End the running turns as interrupted, with their text kept, before the process exits."""
    HEARTBEAT.cancel_all("shutdown")
    OPEN_TOKENS.cancel_all(is_ending=True)


@worker_ready.connect
def _start(sender: Consumer, **_signal: object) -> None:
    """Recover turns of a dead worker, and load the model client before the first turn needs it."""
    enqueue("chat.reap")
    if "chat" in sender.app.amqp.queues.consume_from:
        threading.Thread(target=turns.load_model_client, name="warm", daemon=True).start()
