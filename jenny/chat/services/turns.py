"""Runs a turn: claim, prompt, loop, end. A turn is run at most once, whatever the queue does."""

import logging
import sqlite3
import time
from collections.abc import Callable, Sequence

from django.core.exceptions import ObjectDoesNotExist, ObjectNotUpdated
from django.db import DatabaseError, transaction
from django.db.models.functions import Now

from jenny.accounts.access import model_for
from jenny.agent import loop, messages
from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import AgentError, CallsPaused, CallsSpent, Cancelled
from jenny.agent.limits import Limits
from jenny.agent.prompt import one_line
from jenny.agent.provider import Provider, warm
from jenny.agent.run_kinds import RUN_KINDS
from jenny.agent.tokens import Prices
from jenny.agent.tools import sandbox
from jenny.broker import enqueue
from jenny.chat.attachment_texts import AttachedFile
from jenny.chat.models import Attachment, Conversation, Message, Turn
from jenny.chat.services import model_context
from jenny.chat.services.attachment_pictures import make_missing_pictures
from jenny.chat.services.consolidation import after_turn
from jenny.chat.services.context_trim import fitting, room_for
from jenny.chat.services.context_window import meter
from jenny.chat.services.memory_links import record_changes, unsuppress_restated
from jenny.chat.services.model_context import Said, load_files, load_history
from jenny.chat.services.publish import Publisher
from jenny.chat.services.recorder import Recorder
from jenny.chat.services.search import find_related, hide_forgotten, search_for
from jenny.chat.services.turn_claims import (
    HEARTBEAT,
    Claimed,
    answer_of,
    claim_turn,
    note_context,
    take_messages,
)
from jenny.chat.tools import toolbox_for
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError
from memory.recall import FoundPassage, describe_place
from wikis.project import folder_of

log = logging.getLogger(__name__)

# Another process has ended the turn, or its conversation was deleted with all its rows.
LOST = (Cancelled, ObjectDoesNotExist, ObjectNotUpdated)
# Of each earlier line that is named below an answer.
_SHOWN_CHARS = 120
_NO_PICTURES = "“{preset}” is set to take no pictures; their names and paths were sent instead."
# Maps an ending of the loop to the state of the turn's row.
STATES = {
    "stopped": Turn.State.STOPPED,
    "shutdown": Turn.State.INTERRUPTED,
    "paused": Turn.State.INTERRUPTED,
    "spent": Turn.State.INTERRUPTED,
    "failed": Turn.State.FAILED,
}


def queue_turn(turn_id: int) -> None:
    """Enqueue a stored turn. Without a broker it waits for ``chat.reap``."""
    enqueue("chat.run_turn", turn_id)


def run_turn(turn_id: int) -> Turn | None:
    """Claim and run a turn in this process. ``None``: another worker has or had it."""
    claimed = claim_turn(turn_id)
    if claimed is None:
        return None
    watch = CancellationToken()
    recorder = Recorder(claimed.turn, watch)
    recorder.took(claimed.rows)
    return _guarded(claimed, recorder, watch)


def _guarded(claimed: Claimed, recorder: Recorder, watch: CancellationToken) -> Turn:
    """Run a claimed turn and end it in every case."""
    turn = claimed.turn
    started = time.monotonic()
    HEARTBEAT.add(recorder)
    try:
        outcome = _outcome(claimed, recorder, watch)
        _end(turn, recorder, outcome)
    except LOST:
        # Another process has ended the turn, or its conversation was deleted.
        log.info("turn.lost", extra={"turn": turn.pk})
        return turn
    finally:
        HEARTBEAT.remove(recorder)
    facts = {"turn": turn.pk, "ending": outcome.ending, "steps": outcome.steps}
    log.info("turn.ended", extra=facts | {"seconds": round(time.monotonic() - started, 3)})
    return turn


def _outcome(claimed: Claimed, recorder: Recorder, watch: CancellationToken) -> loop.Outcome:
    """Run the turn; an unexpected error becomes an outcome, too."""
    try:
        return _run(claimed, recorder, watch)
    except LOST:
        raise
    except Exception:
        log.exception("turn.broke", extra={"turn": claimed.turn.pk})
        error = AgentError("broken", "Something in Jenny itself broke. What was written is kept.")
        return loop.Outcome(ending="failed", error=error)


def _run(claimed: Claimed, recorder: Recorder, watch: CancellationToken) -> loop.Outcome:
    turn = claimed.turn
    conversation = turn.conversation
    row = conversation.workspace
    unsuppress_restated(conversation, claimed.rows)
    try:
        config = workspace_config.load_config(row.root)
        zone = config.agents.defaults.timezone or row.owner.time_zone
        note_context(claimed.rows, zone)
        endpoint, preset = model_for(
            row, conversation.preset, kind=RUN_KINDS[conversation.kind].usage_name
        )
        limits = limits_of(config)
        toolbox = toolbox_for(
            conversation.kind,
            row.root,
            run=f"turn:{turn.pk}",
            watch=watch,
            account=row.owner_id,
            zone=row.owner.time_zone,
            project=conversation.project,
            search=search_for(conversation),
        )
    except (WorkspaceError, AgentError) as error:
        return _not_begun(error)
    related = _add_related(claimed, config, zone, toolbox.names)
    turn.model, turn.preset, turn.is_demo = preset.model, preset.name, endpoint.is_demo
    recorder.prices = preset.prices
    recorder.window = (
        config.agents.defaults.context_window_tokens,
        config.agents.defaults.max_tokens,
    )
    provider = Provider(endpoint, preset)
    system, spoken = fitting(turn, toolbox, config, provider.window)
    if any(_lacks_picture(file) for row in spoken for file in row.files):
        make_missing_pictures(conversation)
        spoken = load_history(conversation)
    spoken = hide_forgotten(conversation, spoken)
    folder = folder_of(conversation.project) if conversation.project else ""

    if not preset.takes_pictures and _has_pictures(turn, spoken):
        recorder.note(_NO_PICTURES.format(preset=preset.name))
    outcome = loop.run(
        provider=provider,
        system=system.wire(),
        history=model_context.messages(spoken, folder),
        toolbox=toolbox,
        listener=recorder,
        inbox=_inbox_of(turn, recorder, zone, folder),
        watch=watch,
        limits=limits,
        make_room=room_for(turn, spoken, toolbox, config),
    )
    if related and outcome.ending != "lost":
        recorder.note(_describe_related(related))
    return outcome


def _inbox_of(
    turn: Turn, recorder: Recorder, zone: str, folder: str
) -> Callable[[int], list[messages.Message]]:
    """Return the function that takes in the messages of a step, with paths from *folder*."""
    conversation = turn.conversation

    def inbox(step: int) -> list[messages.Message]:
        if step == 1:
            # The waiting messages were taken a moment ago.
            return []
        rows = take_messages(turn, step, zone)
        if not rows:
            return []
        unsuppress_restated(conversation, rows)
        recorder.took(rows)
        files = load_files(conversation, rows[0].pk)
        return [
            model_context.user_message(row.text, row.context, files.get(row.pk, ()), folder)
            for row in rows
        ]

    return inbox


def _describe_related(related: Sequence[FoundPassage]) -> str:
    rows = (f"{describe_place(one)}: {one_line(one.text, _SHOWN_CHARS)}" for one in related)
    return f"Also looked at: {'; '.join(rows)}"


def _lacks_picture(file: AttachedFile) -> bool:
    return file.form == Attachment.Form.PICTURE and not file.picture


def _has_pictures(turn: Turn, spoken: Sequence[Said]) -> bool:
    """True when a message that *turn* answers came with a picture."""
    files = (file for row in spoken if row.turn == turn.pk for file in row.files)
    return any(file.form == Attachment.Form.PICTURE for file in files)


def _not_begun(error: WorkspaceError | AgentError) -> loop.Outcome:
    if isinstance(error, CallsPaused):
        said = error if isinstance(error, CallsSpent) else None
        return loop.Outcome(ending="spent" if said else "paused", error=said)
    return loop.Outcome(ending="failed", error=AgentError("workspace", error.message))


def _add_related(
    claimed: Claimed, config: workspace_config.Config, zone: str, tools: Sequence[str]
) -> list[FoundPassage]:
    """Put the earlier lines that fit the newest message of a personal chat behind it. Without the
    search the turn goes on without them."""
    conversation = claimed.turn.conversation
    is_personal = conversation.kind == Conversation.Kind.PERSONAL
    if not claimed.rows or not is_personal or not config.agents.defaults.related_lines:
        return []
    try:
        related = find_related(conversation, claimed.rows[-1].text, tools)
    except (DatabaseError, sqlite3.Error, OSError, WorkspaceError) as error:
        facts = {"turn": claimed.turn.pk, "cause": type(error).__name__}
        log.warning("turn.related_lines_failed", extra=facts)
        return []
    if related:
        note_context(claimed.rows, zone, [f"{describe_place(one)}: {one.text}" for one in related])
    return related


def limits_of(config: workspace_config.Config) -> Limits:
    return Limits(
        max_steps=config.agents.defaults.max_tool_iterations,
        max_result_chars=config.agents.defaults.max_tool_result_chars,
    )


def _end(turn: Turn, recorder: Recorder, outcome: loop.Outcome) -> None:
    """Store the outcome, publish it, and queue the next turn when messages wait."""
    if outcome.ending == "lost":
        return
    recorder.end()
    if not recorder.answers:
        recorder.answers.append(answer_of(turn))
    record_changes(turn)
    _describe(turn, outcome, recorder.prices)
    with transaction.atomic():
        conversation = turn.conversation.locked()
        won = Turn.objects.filter(pk=turn.pk, state=Turn.State.RUNNING, worker=turn.worker).update(
            ended_at=Now(), **{name: getattr(turn, name) for name in ENDED_FIELDS}
        )
        if not won:
            return
        follower = turn.follow(conversation)
    publisher = Publisher(turn.conversation)
    shown = list(recorder.answers)
    if turn.is_refused:
        # Their items say from now on that they are not sent again.
        shown += turn.messages.filter(kind=Message.Kind.USER, is_current=True)
    parts = [publisher.item(message) for message in shown]
    if turn.context_tokens:
        gauge = meter(
            turn.context_tokens,
            window=recorder.window[0],
            max_tokens=recorder.window[1],
        )
        parts.append(publisher.gauge(gauge.message, gauge.percent))
    if follower is not None:
        queue_turn(follower.pk)
    publisher.publish(*parts, publisher.state())
    if follower is not None:
        return
    after_turn(turn)
    if turn.state == Turn.State.DONE and not conversation.titled_by_hand:
        _title_first_exchange(turn)


def _title_first_exchange(turn: Turn) -> None:
    """Enqueue a title, once for each conversation; without a broker the first words stay."""
    if turn.conversation.turns.filter(state=Turn.State.DONE).exclude(pk=turn.pk).exists():
        return
    enqueue("chat.make_title", str(turn.conversation_id))


ENDED_FIELDS = (
    "state",
    "reason",
    "message",
    "can_retry",
    "model",
    "preset",
    "is_demo",
    "steps",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "context_tokens",
    "cost",
)


def _describe(turn: Turn, outcome: loop.Outcome, prices: Prices | None) -> None:
    turn.state = STATES.get(outcome.ending, Turn.State.DONE)
    turn.reason = "" if outcome.ending == "done" else outcome.ending
    if outcome.error is not None:
        turn.reason = outcome.error.kind
    turn.message = outcome.message
    turn.can_retry = outcome.can_retry
    turn.steps = outcome.steps
    turn.context_tokens = outcome.context_tokens
    usage = outcome.usage
    turn.cost = prices.cost(usage) if prices else None
    turn.input_tokens, turn.output_tokens = usage.input, usage.output
    turn.cache_read_tokens, turn.cache_write_tokens = usage.cache_read, usage.cache_write


def load_model_client() -> None:
    """Load what the first turn of a process would otherwise wait for."""
    warm()
    sandbox.unavailable()
