"""Notices that a model goes in a circle."""

import hashlib
import json
from dataclasses import replace

from jenny.agent.messages import ToolUse
from jenny.agent.tools import ToolOutcome

_HINT = (
    "\n\n[This same call was made {count} times in a row. "
    "Do something else, or say what you found.]"
)
# Circles of two and three calls are looked for too; longer ones meet the step cap.
_LONGEST_CIRCLE = 3


class Repeats:
    """The calls of one run. The same call *limit* times in a row is a circle whatever it gives;
    two or three calls taking turns are one when their results are the same each time as well.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._calls: list[str] = []
        self._results: list[str] = []

    def add(self, call: ToolUse, outcome: ToolOutcome) -> ToolOutcome:
        """Note a call and what it gave; gives what the model should see of it: before a circle
        is closed it is told.
        """
        arguments = json.dumps(call.arguments, sort_keys=True, ensure_ascii=False)
        self._calls.append(f"{call.name} {arguments}{call.problem}")
        self._results.append(hashlib.sha256(outcome.content.encode()).hexdigest())
        longest = self._limit * _LONGEST_CIRCLE
        del self._calls[:-longest], self._results[:-longest]
        if 1 < self._in_a_row == self._limit - 1:
            hint = _HINT.format(count=self._in_a_row)
            return replace(outcome, content=outcome.content + hint)
        return outcome

    @property
    def is_circle(self) -> bool:
        """Whether the run goes in a circle."""
        if self._in_a_row >= self._limit:
            return True
        pairs = list(zip(self._calls, self._results, strict=True))
        for length in range(2, _LONGEST_CIRCLE + 1):
            tail = pairs[-length * self._limit :]
            if len(tail) == length * self._limit and tail[length:] == tail[:-length]:
                return True
        return False

    @property
    def _in_a_row(self) -> int:
        """How often the last call was made in a row."""
        count = 0
        for call in reversed(self._calls):
            if call != self._calls[-1]:
                break
            count += 1
        return count
