"""Alarms on every page, in the chat and in the log, once a counter has reached four."""

import logging
from collections.abc import Sequence
from dataclasses import asdict

from memory.dream.outcome.counters import Alarm
from memory.dream.reports import notifications
from memory.models import DreamRun, DreamState

log = logging.getLogger(__name__)


def store_alarms(run: DreamRun, standing: Sequence[Alarm], raised: Sequence[Alarm]) -> None:
    """Store the *standing* alarms for the pages, and send those that a run *raised*."""
    rows = [asdict(alarm) for alarm in standing]
    DreamState.objects.filter(workspace=run.workspace_id).update(alarms=rows)
    for alarm in raised:
        log.error(
            "dream.alarm",
            extra={"run": run.pk, "workspace": str(run.workspace_id), "alarm": alarm.kind},
        )
        try:
            notifications.announce_outcome(
                str(run.workspace_id), f"{run.name}:{alarm.kind}", alarm.message
            )
        except Exception:  # the outermost edge: the alarm stands on every page all the same
            log.exception("dream.not_announced", extra={"run": run.pk})
