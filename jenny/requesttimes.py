"""How long requests took, counted in this process for ``/metrics``."""

import threading
from bisect import bisect_left
from collections import Counter

# Upper edges in seconds.
EDGES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Times:
    """A histogram of durations, and how many requests ended with each class of status."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lock = threading.Lock()
        self._buckets = [0] * (len(EDGES) + 1)
        self._statuses: Counter[str] = Counter()
        self._seconds = 0.0

    def add(self, status: int, seconds: float) -> None:
        """Count one request."""
        with self._lock:
            self._buckets[bisect_left(EDGES, seconds)] += 1
            self._statuses[f"{status // 100}xx" if status else "none"] += 1
            self._seconds += seconds

    def read(self) -> tuple[list[int], float, dict[str, int]]:
        """How many took at most each edge (and any time at all), all seconds, by status."""
        with self._lock:
            total, sums = 0, []
            for count in self._buckets:
                total += count
                sums.append(total)
            return sums, self._seconds, dict(self._statuses)


TIMES = Times()
