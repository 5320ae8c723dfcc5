"""What a restore is made of, as values."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from jenny.workspace.snapshots.restoring.planning import Plan
from jenny.workspace.snapshots.restoring.present import Present
from jenny.workspace.snapshots.values import Snapshot
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.sieve import LeftOut
from memory.merging import Merged

# How far it is, of a hundred, and a sentence.
type Progress = Callable[[int, str], None]


@dataclass(frozen=True)
class Prepared:
    """What a restore would do now.

    ``plan``: what becomes of each file. ``texts``: files of the memory as they would be written,
    without what may not come back (``left_out``, by path). ``merged``: the ledgers put together.
    ``reoffer``: entries that Dream is to be shown again.
    """

    plan: Plan
    present: Present = field(repr=False)
    texts: dict[str, bytes] = field(default_factory=dict, repr=False)
    left_out: dict[str, tuple[LeftOut, ...]] = field(default_factory=dict)
    merged: Merged = field(default_factory=Merged)
    reoffer: tuple[int, ...] = ()
    touches_memory: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is to be written."""
        return self.plan.is_nothing and not self.merged.files


@dataclass(frozen=True, kw_only=True)
class Hands:
    """What only those can do who know the database. All are called under the workspace's lock.

    ``stop``: end a run of Dream that is under way; what there is to say of it. ``offer``: have
    entries shown to Dream again. ``void``: nothing waits for approval any more; how many changes
    did. ``unvoid``: they do wait, since nothing was changed after all. ``check``: raise when
    whoever asked has been given up meanwhile. ``hear``: told which files get another content, come
    back or go, before any of them does.
    """

    stop: Callable[[], str]
    offer: Callable[[tuple[int, ...]], None]
    void: Callable[[], int]
    check: Callable[[], None]
    hear: Callable[[Iterable[str]], None] = lambda _paths: None
    unvoid: Callable[[], None] = lambda: None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked for. ``path``: empty for everything. ``name``: what it is restored from, in a
    few words (``snapshot 12-1a2b3c4d``). ``expect``: the ``token`` of the plan that a person agreed
    to; empty: none was shown. ``is_same``: it comes from this very workspace."""

    name: str
    path: str = ""
    trigger: Literal["restore", "import"] = "restore"
    account: int | None = None
    expect: str = ""
    is_same: bool = True

    @property
    def label(self) -> str:
        """What the snapshot before is called."""
        return f"{self.path or 'everything'} from {self.name}"


@dataclass(frozen=True, kw_only=True)
class Restored:
    """What came of it. ``before``: the snapshot that holds what was there; ``version``: the
    version of the memory files that was made, if any of them changed."""

    prepared: Prepared
    before: Snapshot
    version: Version | None = None
    voided: int = 0
    notes: tuple[str, ...] = ()
