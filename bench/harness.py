"""What a measurement is, how contestants take turns, and how results are shown and kept."""

import json
import platform
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

RESULTS = Path(__file__).with_name("results")


@dataclass(frozen=True)
class Bar:
    """What 10-bars.md asks for: at most *limit*, and at most *share* of the best peer; or at least
    *least*."""

    limit: float | None = None
    share: float | None = None
    least: float | None = None

    def met(self, ours: float, peer: float | None) -> bool | None:
        """Whether *ours* reaches it; ``None`` when it asks for nothing that was measured."""
        asked = []
        if self.limit is not None:
            asked.append(ours <= self.limit)
        if self.least is not None:
            asked.append(ours >= self.least)
        if self.share is not None and peer is not None:
            asked.append(ours <= self.share * peer)
        return all(asked) if asked else None

    def __str__(self) -> str:
        """As the table says it."""
        parts = []
        if self.limit is not None:
            parts.append(f"≤ {self.limit:g}")
        if self.least is not None:
            parts.append(f"≥ {self.least:g}")
        if self.share is not None:
            parts.append(f"≤ {self.share:.3g} × peer")
        return " and ".join(parts) or "–"


@dataclass(frozen=True)
class Row:
    """One line of the table. *ours* and *peer* are in *unit*; some work no peer does."""

    work: str
    unit: str
    ours: float
    peer: float | None = None
    bar: Bar = field(default_factory=Bar)
    note: str = ""

    @property
    def verdict(self) -> str:
        """Whether the bar was met, in a word."""
        met = self.bar.met(self.ours, self.peer)
        return "" if met is None else "met" if met else "missed"


def take_turns(runs: int, **contestants: Callable[[], float]) -> dict[str, list[float]]:
    """Call each contestant *runs* times, in turn, so that what disturbs one disturbs all; in an
    order that varies, so that nobody always comes after what another one left to the disk."""
    found: dict[str, list[float]] = {name: [] for name in contestants}
    order = random.Random(1)
    for _ in range(runs):
        for name in order.sample(list(contestants), len(contestants)):
            found[name].append(contestants[name]())
    return found


def median(values: Sequence[float]) -> float:
    """The median, to three figures or so."""
    return round(statistics.median(values), 3)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which *share* (0 to 1) of *values* lie."""
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)


def report(rows: Sequence[Row], versions: Mapping[str, str]) -> Path:
    """Print the table, and keep it with its versions as JSON; where it was kept."""
    lines = [
        ["work", "ours", "peer", "unit", "bar", "", "note"],
        *(
            [
                row.work,
                f"{row.ours:g}",
                "–" if row.peer is None else f"{row.peer:g}",
                row.unit,
                str(row.bar),
                row.verdict,
                row.note,
            ]
            for row in rows
        ),
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        )
    print("\n" + ", ".join(f"{name} {version}" for name, version in versions.items()))
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    machine = {"machine": platform.platform(), "processors": _processors()}
    facts = {**machine, "versions": dict(versions), "rows": [_as_json(row) for row in rows]}
    path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _as_json(row: Row) -> dict[str, object]:
    return {**asdict(row), "verdict": row.verdict}


def _processors() -> int:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8") if platform.system() == "Linux" else ""
    return text.count("processor\t")
