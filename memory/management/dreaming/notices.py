"""What stands on every page about Dream, until its cause is gone."""

from dataclasses import dataclass
from typing import Literal

from jenny.accounts.models import Workspace
from memory.dream import outcomes
from memory.models import DreamEntry, DreamRun, DreamState


@dataclass(frozen=True)
class Notice:
    """A sentence for a person, and how much it matters."""

    kind: Literal["error", "warning"]
    text: str


def of(workspace: Workspace) -> list[Notice]:
    """The notices of a workspace: counts that have reached the alarm, entries that were given up,
    and a run that seems dead."""
    rows = DreamState.objects.filter(workspace=workspace).values_list("alarms", flat=True)
    found = [Notice("error", alarm["sentence"]) for alarms in rows for alarm in alarms]
    aside = DreamEntry.objects.filter(workspace=workspace, place=DreamEntry.Place.SET_ASIDE)
    cursors = list(aside.order_by("cursor").values_list("cursor", flat=True)[:1000])
    if sentence := outcomes.set_aside_notice(cursors):
        found.append(Notice("warning", sentence))
    if DreamRun.dead().filter(workspace=workspace).exists():
        found.append(Notice("warning", outcomes.SEEMS_DEAD))
    return found
