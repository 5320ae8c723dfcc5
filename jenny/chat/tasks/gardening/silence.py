"""A listener of a run that nobody watches: what its tools did is told by who began it."""

from typing import Any


class Silence:
    """``jenny.agent.loop.Listener`` that tells nobody."""

    def step_started(self, step: int) -> None:
        """Nobody is shown it."""

    def text(self, delta: str) -> None:
        """Nobody is shown it."""

    def thinking(self, delta: str) -> None:
        """Nobody is shown it."""

    def tool_started(self, call: Any) -> None:
        """Nobody is shown it."""

    def tool_finished(self, call: Any, result: Any, seconds: float) -> None:
        """Nobody is shown it."""

    def step_finished(self, step: int, parts: Any, stop_reason: str, usage: Any) -> None:
        """Nobody is shown it."""

    def step_failed(self, step: int, sentence: str, retry_in: float | None) -> None:
        """Nobody is shown it."""

    def note(self, sentence: str) -> None:
        """Nobody is shown it."""
