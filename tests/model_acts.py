"""What a script of the tests' model server can do."""

import contextlib
import json
from dataclasses import dataclass, field
from typing import Any, override

from tests.model_answer import Answer, Over


class Act:
    """Something a script does."""

    def play(self, answer: Answer) -> None:
        """Do it."""
        raise NotImplementedError


@dataclass
class Say(Act):
    """A delta of text; several in a row belong to one block."""

    text: str

    @override
    def play(self, answer: Answer) -> None:
        answer.into("text", {"type": "text", "text": ""})
        answer.delta({"type": "text_delta", "text": self.text})


@dataclass
class Think(Act):
    """A whole block of thinking."""

    text: str
    signature: str = "signed"

    @override
    def play(self, answer: Answer) -> None:
        answer.into("", {"type": "thinking", "thinking": "", "signature": ""})
        answer.delta({"type": "thinking_delta", "thinking": self.text})
        if self.signature:
            answer.delta({"type": "signature_delta", "signature": self.signature})


@dataclass
class Call(Act):
    """A call of a tool. *raw* replaces the arguments' JSON, well-formed or not."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    raw: str | None = None

    @override
    def play(self, answer: Answer) -> None:
        id_ = answer.server.new_id("toolu") if self.id is None else self.id
        answer.into("", {"type": "tool_use", "id": id_, "name": self.name, "input": {}})
        text = json.dumps(self.arguments) if self.raw is None else self.raw
        middle = len(text) // 2
        for piece in (text[:middle], text[middle:]):
            answer.delta({"type": "input_json_delta", "partial_json": piece})
        answer.stop_reason = "tool_use"


@dataclass
class Stop(Act):
    """The end, with its reason and the tokens that went out."""

    reason: str | None = "end_turn"
    output_tokens: int = 7

    @override
    def play(self, answer: Answer) -> None:
        answer.stop(self.reason, self.output_tokens)


@dataclass
class Usage(Act):
    """The counts that ``message_start`` tells; only before anything else."""

    input_tokens: int = 10
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0

    @override
    def play(self, answer: Answer) -> None:
        answer.usage = dict(vars(self))


@dataclass
class Gate(Act):
    """Waits until the test opens the gate of that name."""

    name: str

    @override
    def play(self, answer: Answer) -> None:
        answer.wait(answer.server.gate(self.name))


@dataclass
class Silence(Act):
    """Says nothing any more, until the client leaves or the server is closed."""

    @override
    def play(self, answer: Answer) -> None:
        answer.wait(answer.server.closing)
        raise Over


@dataclass
class Headers(Act):
    """The answer's headers alone, by themselves or of another kind."""

    content_type: str = "text/event-stream"
    status: int = 200
    extra: dict[str, str] = field(default_factory=dict)

    @override
    def play(self, answer: Answer) -> None:
        answer.headers(self.status, {"content-type": self.content_type, **self.extra})


@dataclass
class Raw(Act):
    """Bytes of the body, as they are."""

    data: bytes

    @override
    def play(self, answer: Answer) -> None:
        answer.write(self.data)


@dataclass
class Event(Act):
    """An event of the stream, well-formed but of any content."""

    data: Any
    name: str | None = None

    @override
    def play(self, answer: Answer) -> None:
        answer.event(self.data, self.name)


@dataclass
class Pause(Act):
    """Takes that long, in seconds: for the pace of a reply, not for waiting on something."""

    seconds: float

    @override
    def play(self, answer: Answer) -> None:
        with contextlib.suppress(TimeoutError):
            answer.wait(answer.server.closing, self.seconds)


@dataclass
class Cut(Act):
    """Ends the body cleanly, in the middle of the reply."""

    @override
    def play(self, answer: Answer) -> None:
        answer.begin()
        answer.end_body()
        raise Over


@dataclass
class Drop(Act):
    """Breaks the connection off (a reset)."""

    @override
    def play(self, answer: Answer) -> None:
        answer.drop()
        raise Over


@dataclass
class Fail(Act):
    """An error in place of a reply. *body* replaces the API's own form of it."""

    status: int
    type: str = "api_error"
    message: str = "Something went wrong."
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"

    @override
    def play(self, answer: Answer) -> None:
        error = {"type": "error", "error": {"type": self.type, "message": self.message}}
        body = json.dumps(error).encode() if self.body is None else self.body
        length = {"content-length": str(len(body)), "content-type": self.content_type}
        answer.headers(self.status, length | self.headers, is_chunked=False)
        answer.send(body)
        raise Over
