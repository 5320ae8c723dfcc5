"""Models of the memory pipeline."""

from memory.models.approval import LargePrune, StagedHunk
from memory.models.dream import DreamDigest, DreamEntry, DreamRun, DreamSchedule, DreamState
from memory.models.origin import LineOrigin, TurnChange
from memory.models.snapshot_state import SnapshotState

__all__ = [
    "DreamDigest",
    "DreamEntry",
    "DreamRun",
    "DreamSchedule",
    "DreamState",
    "LargePrune",
    "LineOrigin",
    "SnapshotState",
    "StagedHunk",
    "TurnChange",
]
