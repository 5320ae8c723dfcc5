"""Values of a restore."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from jenny.workspace.snapshots.restore_plan import CurrentState, Plan
from jenny.workspace.snapshots.values import Snapshot
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.undo import LeftOut
from memory.merge import Merged

# Percent done, and a sentence.
type Progress = Callable[[int, str], None]


@dataclass(frozen=True)
class Prepared:
    """The plan of a restore.

    ``plan`` has the change of each file. ``texts`` are the memory's files as they will be
    written, without the lines in ``left_out`` (by path). ``merged`` are the merged ledgers.
    ``reoffer`` are entries that Dream is shown again.
    """

    plan: Plan
    present: CurrentState = field(repr=False)
    texts: dict[str, bytes] = field(default_factory=dict, repr=False)
    left_out: dict[str, tuple[LeftOut, ...]] = field(default_factory=dict)
    merged: Merged = field(default_factory=Merged)
    reoffer: tuple[int, ...] = ()
    touches_memory: bool = False

    @property
    def is_nothing(self) -> bool:
        return self.plan.is_nothing and not self.merged.files


@dataclass(frozen=True, kw_only=True)
class RestoreServices:
    """Operations that need the database; all are called under the workspace's lock.

    ``stop`` ends a Dream run under way and returns a sentence about it. ``offer`` shows entries
    to Dream again. ``void`` invalidates pending changes and returns their count; ``unvoid``
    reverts that when nothing was changed. ``check`` raises when the job was given up. ``hear`` is
    told which files change before they do.
    """

    stop: Callable[[], str]
    offer: Callable[[tuple[int, ...]], None]
    void: Callable[[], int]
    check: Callable[[], None]
    hear: Callable[[Iterable[str]], None] = lambda _paths: None
    unvoid: Callable[[], None] = lambda: None


@dataclass(frozen=True, kw_only=True)
class RestoreRequest:
    """A request. ``path`` is empty for everything. ``name`` describes the source (``snapshot
    12-1a2b3c4d``). ``expect`` is the ``token`` of the confirmed plan, empty without one.
    ``is_same``: the source is of this workspace."""

    name: str
    path: str = ""
    trigger: Literal["restore", "import"] = "restore"
    account: int | None = None
    expect: str = ""
    is_same: bool = True

    @property
    def label(self) -> str:
        return f"{self.path or 'everything'} from {self.name}"


@dataclass(frozen=True, kw_only=True)
class Restored:
    """The result. ``before`` is the snapshot of the previous state; ``version`` is the new
    version of the memory files, if any of them changed."""

    prepared: Prepared
    before: Snapshot
    version: Version | None = None
    voided: int = 0
    notes: tuple[str, ...] = ()
