"""What stands on every page about Dream, until its cause is gone."""

from collections.abc import Iterator

from jenny.accounts.management.notices import Notice
from jenny.accounts.models import Workspace
from memory.dream.reporting import outcomes
from memory.models import DreamEntry, DreamRun, DreamState


def of(workspace: Workspace) -> Iterator[Notice]:
    """The notices of a workspace: counts that have reached the alarm, entries that were given up,
    and a run that seems dead. A source (``jenny.accounts.management.notices``)."""
    rows = DreamState.objects.filter(workspace=workspace).values_list("alarms", flat=True)
    for alarm in [alarm for alarms in rows for alarm in alarms]:
        yield Notice(
            key=f"dream:{alarm['kind']}",
            kind="error",
            text=alarm["sentence"],
            href="/memory/",
            link="See the runs",
        )
    aside = DreamEntry.objects.filter(workspace=workspace, place=DreamEntry.Place.SET_ASIDE)
    cursors = list(aside.order_by("cursor").values_list("cursor", flat=True)[:1000])
    if sentence := outcomes.set_aside_notice(cursors):
        yield Notice(
            key="dream:set_aside",
            kind="warning",
            text=sentence,
            href="/memory/#aside",
            link="Look at it" if len(cursors) == 1 else "Look at them",
        )
    if DreamRun.dead().filter(workspace=workspace).exists():
        yield Notice(key="dream:dead", kind="warning", text=outcomes.SEEMS_DEAD, href="/memory/")
