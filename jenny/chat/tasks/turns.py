"""Runs a turn: claim, prompt, loop, end. A turn is run at most once, whatever the queue does."""

import logging
import time

from celery import shared_task
from django.core.exceptions import ObjectDoesNotExist, ObjectNotUpdated
from django.db import transaction
from django.db.models.functions import Now

from jenny.accounts.access import model_for
from jenny.agent import loop, messages
from jenny.agent.errors import AgentError, CallsPaused, CallsSpent, Cancelled
from jenny.agent.limits import Limits
from jenny.agent.pricing import Prices
from jenny.agent.provider import Provider
from jenny.agent.watch import Watch
from jenny.chat import history
from jenny.chat.meter import meter
from jenny.chat.models import Turn
from jenny.chat.tasks.answers import answer_of
from jenny.chat.tasks.changed import note_changes
from jenny.chat.tasks.consolidation import after_turn
from jenny.chat.tasks.overrun import fitting
from jenny.chat.tasks.publish import Publisher, hand_over
from jenny.chat.tasks.pulse import PULSE
from jenny.chat.tasks.recorder import Recorder
from jenny.chat.tasks.restated import hear
from jenny.chat.tasks.said import said_in
from jenny.chat.tasks.taking import Claimed, claim, note_context, take
from jenny.chat.tasks.titles import make_title
from jenny.chat.toolset import toolbox_for
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError

log = logging.getLogger(__name__)

# Another process has ended the turn, or its conversation was deleted with all its rows.
LOST = (Cancelled, ObjectDoesNotExist, ObjectNotUpdated)
# How an ending of the loop stands in the turn's row.
STATES = {
    "stopped": Turn.State.STOPPED,
    "shutdown": Turn.State.INTERRUPTED,
    "paused": Turn.State.INTERRUPTED,
    "spent": Turn.State.INTERRUPTED,
    "failed": Turn.State.FAILED,
}


@shared_task(name="chat.run_turn")
def run_turn(turn_id: int) -> None:
    """Run a queued turn. A turn that somebody has, or had, is left alone."""
    execute(turn_id)


def queue_turn(turn_id: int) -> None:
    """Hand a stored turn to the workers. Without a broker it waits for ``chat.reap``."""
    hand_over(run_turn, turn_id)


def execute(turn_id: int) -> Turn | None:
    """Claim and run a turn in this process; ``None`` when it was not to be had."""
    claimed = claim(turn_id)
    if claimed is None:
        return None
    with Watch() as watch:
        recorder = Recorder(claimed.turn, watch)
        recorder.took(claimed.rows)
        return _guarded(claimed, recorder, watch)


def _guarded(claimed: Claimed, recorder: Recorder, watch: Watch) -> Turn:
    """Run a claimed turn; whatever happens, it ends."""
    turn = claimed.turn
    started = time.monotonic()
    PULSE.add(recorder)
    try:
        outcome = _outcome(claimed, recorder, watch)
        _end(turn, recorder, outcome)
    except LOST:
        # Another process has ended the turn, or its conversation was deleted.
        log.info("turn.lost", extra={"turn": turn.pk})
        return turn
    finally:
        PULSE.remove(recorder)
    facts = {"turn": turn.pk, "ending": outcome.ending, "steps": outcome.steps}
    log.info("turn.ended", extra=facts | {"seconds": round(time.monotonic() - started, 3)})
    return turn


def _outcome(claimed: Claimed, recorder: Recorder, watch: Watch) -> loop.Outcome:
    """The task's outermost edge: what breaks in between is an outcome, too."""
    try:
        return _run(claimed, recorder, watch)
    except LOST:
        raise
    except Exception:
        log.exception("turn.broke", extra={"turn": claimed.turn.pk})
        error = AgentError("broken", "Something in Jenny itself broke. What was written is kept.")
        return loop.Outcome(ending="failed", error=error)


def _run(claimed: Claimed, recorder: Recorder, watch: Watch) -> loop.Outcome:
    """What happens between claim and end."""
    turn = claimed.turn
    conversation = turn.conversation
    row = conversation.workspace
    hear(conversation, claimed.rows)
    try:
        config = workspace_config.load(row.root)
        zone = config.get("agents.defaults.timezone") or row.owner.time_zone
        note_context(claimed.rows, zone)
        endpoint, preset = model_for(row, conversation.preset)
        limits = limits_of(config)
        toolbox = toolbox_for(
            conversation.kind,
            row.root,
            run=f"turn:{turn.pk}",
            watch=watch,
            account=row.owner_id,
            zone=row.owner.time_zone,
            project=conversation.project,
        )
    except (WorkspaceError, AgentError) as error:
        if isinstance(error, CallsPaused):
            said = error if isinstance(error, CallsSpent) else None
            return loop.Outcome(ending="spent" if said else "paused", error=said)
        return loop.Outcome(ending="failed", error=AgentError("workspace", error.sentence))
    turn.model, turn.preset, turn.is_demo = preset.model, preset.name, endpoint.is_demo
    recorder.prices = preset.prices
    recorder.window = (
        config.get("agents.defaults.contextWindowTokens"),
        config.get("agents.defaults.maxTokens"),
    )
    system = fitting(turn, claimed.rows, toolbox, config)

    def inbox(step: int) -> list[messages.Message]:
        if step == 1:
            # Those that waited were taken a moment ago.
            return []
        if rows := take(turn, step, zone):
            hear(conversation, rows)
            recorder.took(rows)
        return [history.user_message(row.text, row.context) for row in rows]

    return loop.run(
        provider=Provider(endpoint, preset),
        system=system.wire(),
        history=history.messages(said_in(conversation)),
        toolbox=toolbox,
        listener=recorder,
        inbox=inbox,
        watch=watch,
        limits=limits,
    )


def limits_of(config: workspace_config.Config) -> Limits:
    """A chat turn's limits."""
    return Limits(
        max_steps=config.get("agents.defaults.maxToolIterations"),
        max_result_chars=config.get("agents.defaults.maxToolResultChars"),
    )


def _end(turn: Turn, recorder: Recorder, outcome: loop.Outcome) -> None:
    """Store how the turn ended, tell the page, and queue the next one when messages wait."""
    if outcome.ending == "lost":
        return
    recorder.end()
    if not recorder.answers:
        recorder.answers.append(answer_of(turn))
    note_changes(turn)
    _describe(turn, outcome, recorder.prices)
    with transaction.atomic():
        conversation = turn.conversation.locked()
        won = Turn.objects.filter(pk=turn.pk, state=Turn.State.RUNNING, worker=turn.worker).update(
            ended_at=Now(), **{name: getattr(turn, name) for name in ENDED_FIELDS}
        )
        if not won:
            return
        follower = turn.follow()
    publisher = Publisher(turn.conversation)
    parts = [publisher.item(answer) for answer in recorder.answers]
    if turn.context_tokens:
        gauge = meter(
            turn.context_tokens,
            window=recorder.window[0],
            max_tokens=recorder.window[1],
        )
        parts.append(publisher.gauge(gauge.sentence, gauge.percent))
    if follower is not None:
        queue_turn(follower.pk)
    publisher.tell(*parts, publisher.state())
    if follower is not None:
        return
    after_turn(turn)
    if turn.state == Turn.State.DONE and not conversation.titled_by_hand:
        _title_first_exchange(turn)


def _title_first_exchange(turn: Turn) -> None:
    """Have a title made, once a conversation; without a broker the first words stay."""
    if turn.conversation.turns.filter(state=Turn.State.DONE).exclude(pk=turn.pk).exists():
        return
    hand_over(make_title, str(turn.conversation_id))


ENDED_FIELDS = (
    "state",
    "reason",
    "sentence",
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
    """Write the outcome into the turn's fields."""
    turn.state = STATES.get(outcome.ending, Turn.State.DONE)
    turn.reason = "" if outcome.ending == "done" else outcome.ending
    if outcome.error is not None:
        turn.reason = outcome.error.kind
    turn.sentence = outcome.sentence
    turn.can_retry = outcome.can_retry
    turn.steps = outcome.steps
    turn.context_tokens = outcome.context_tokens
    usage = outcome.usage
    turn.cost = prices.cost(usage) if prices else None
    turn.input_tokens, turn.output_tokens = usage.input, usage.output
    turn.cache_read_tokens, turn.cache_write_tokens = usage.cache_read, usage.cache_write
