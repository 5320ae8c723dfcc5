"""The model of the benchmarks: notes when it is asked, and says when it speaks.

Messages hold the time at which they were sent ("sent 123."), and each word of an answer
the time at which it left the model, so that whoever gets one knows how long it took. Times
are nanoseconds of the system's monotonic clock, which processes of one machine share.
"""

import re
import time
from dataclasses import dataclass
from typing import Self

from tests.model_answer import Answer
from tests.model_server import Act, ModelServer, Pause, Request

SENT = re.compile(rb"sent (\d+)\.")
FIRST = re.compile(r"first(\d+)e")
LATER = re.compile(r"later(\d+)e")


@dataclass
class Stamp(Act):
    """A word that tells when it left."""

    name: str

    def play(self, answer: Answer) -> None:
        """Say it."""
        answer.into("text", {"type": "text", "text": ""})
        text = f"{self.name}{time.monotonic_ns()}e "
        answer.delta({"type": "text_delta", "text": text})


class Model:
    """A scripted model; *asked* has the milliseconds from a message to its request."""

    def __init__(self) -> None:
        self.server = ModelServer()
        self.asked: list[float] = []
        self.server.always(self._is_title, "A title")
        self.server.always(self._is_long, *long_answer(50, 0.1))
        self.server.always(self._is_message, Stamp("first"), Stamp("later"))

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.__exit__()

    def _is_title(self, request: Request) -> bool:
        return not request.json.get("tools")

    def _is_long(self, request: Request) -> bool:
        return b"at length" in request.body and self._is_message(request)

    def _is_message(self, request: Request) -> bool:
        now = time.monotonic_ns()
        found = SENT.findall(request.body)
        if found:
            self.asked.append((now - int(found[-1])) / 1e6)
        return True


def long_answer(words: int, seconds: float) -> list[Act]:
    """An answer of *words* words, one each *seconds*."""
    acts: list[Act] = [Stamp("first")]
    for _ in range(words - 1):
        acts += [Pause(seconds), Stamp("later")]
    return acts
