"""The alarm: on every page, in the chat and in the log, once a count has reached four."""

import logging
from collections.abc import Sequence
from dataclasses import asdict

from memory.dream.judging.counters import Alarm
from memory.dream.reporting import telling
from memory.models import DreamRun, DreamState

log = logging.getLogger(__name__)


def keep(run: DreamRun, standing: Sequence[Alarm], raised: Sequence[Alarm]) -> None:
    """Keep what is *standing* for the pages, and tell at once of what a run *raised*."""
    rows = [asdict(alarm) for alarm in standing]
    DreamState.objects.filter(workspace=run.workspace_id).update(alarms=rows)
    for alarm in raised:
        log.error(
            "dream.alarm",
            extra={"run": run.pk, "workspace": str(run.workspace_id), "alarm": alarm.kind},
        )
        try:
            telling.announce(str(run.workspace_id), f"{run.name}:{alarm.kind}", alarm.sentence)
        except Exception:  # the outermost edge: the alarm stands on every page all the same
            log.exception("dream.not_announced", extra={"run": run.pk})
