"""Errors of a run, split by whom they are for.

    AgentError                 the person: a sentence, and whether trying again helps
    ├── CallsPaused            a person paused all calls; no fault, and nothing is lost
    │   └── CallsSpent         the day's limit is used up; the same until tomorrow
    └── ProviderFault          the provider or the way to it; FAULTS is the table of kinds
    ToolProblem                the model: what happened and what to do instead
    NoAddress                  the person who typed it: why it is no model's address
    Malformed                  nobody: the provider makes a fault of it
    Cancelled                  nobody: stop, and say nothing more (ENDINGS has the sentences)

Errors inside a tool are for the model and never leave the loop as exceptions: the toolbox turns a
``ToolProblem`` into a ``ToolOutcome``.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

type CancelReason = Literal["stop", "shutdown", "lost", "time", "paused", "spent"]
type Ending = Literal[
    "done",
    "stopped",
    "shutdown",
    "lost",
    "step_cap",
    "repeat",
    "cut",
    "failed",
    "time",
    "tokens",
    "paused",
    "spent",
]


class AgentError(Exception):
    """An error that the person should know about. The exception's message is the sentence."""

    def __init__(self, kind: str, message: str, *, can_retry: bool = True) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.can_retry = can_retry


PAUSED = "All model calls are paused in this workspace (Settings → Privacy)."


SPENT = "Today's limit on what models may use is reached (Settings → Usage)."


class CallsPaused(AgentError):
    """A person paused all calls to models: no fault, and nothing is lost."""

    reason: CancelReason = "paused"

    def __init__(self, message: str = "") -> None:
        said = message or f"{PAUSED} Resume them there; then this goes on."
        super().__init__(self.reason, said)


class CallsSpent(CallsPaused):
    """The daily limit of model use is reached. *message* says which one, and until when."""

    reason: CancelReason = "spent"


# The sentence about waiting, by the reason that ends a run.
WAITS: dict[CancelReason, str] = {"paused": PAUSED, "spent": SPENT}


class ToolProblem(Exception):
    """Tells the model why its call did nothing, and what to do instead."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NoAddress(Exception):
    """The text cannot be the address of a model server; *message* says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Malformed(Exception):
    """A server's data does not follow the Messages API."""


class Cancelled(Exception):
    """The run was cancelled, or its time is over."""

    def __init__(self, reason: CancelReason) -> None:
        super().__init__(reason)
        self.reason: CancelReason = reason


@dataclass(frozen=True, slots=True)
class FaultKind:
    """The texts about one kind of fault; ``{host}`` and ``{model}`` are filled in.

    *retryable*: another attempt may succeed without anybody doing something.
    """

    what: str
    cure: str
    retryable: bool = field(default=False, kw_only=True)


_LATER = "Try again in a little while."
_KEY = "Check the key in Settings → Models, then try again."
_MODEL = "Check the model and the address in Settings → Models, then try again."
_TOO_LONG = (
    "Shorten what is sent (the message, or the files that go with every one), or choose a model "
    "that reads more."
)

FAULTS: dict[str, FaultKind] = {
    "unreachable": FaultKind(
        "{host} could not be reached.",
        f"See whether it runs and is connected. {_LATER}",
        retryable=True,
    ),
    "bad_address": FaultKind("The address of this model is none that can be asked.", _MODEL),
    "refused_address": FaultKind(
        "{host} leads to an address that is never asked (link-local, or where clouds hand out "
        "credentials), so nothing was sent.",
        _MODEL,
    ),
    "insecure": FaultKind(
        "The connection to {host} is not secure (its certificate is refused).", _MODEL
    ),
    "dropped": FaultKind("The connection to {host} broke off.", _LATER, retryable=True),
    "cut_off": FaultKind("{host} ended the reply in the middle.", _LATER, retryable=True),
    "silent": FaultKind("{host} said nothing for {seconds} seconds.", _LATER, retryable=True),
    "malformed": FaultKind("{host} sent something that is not a reply.", _MODEL, retryable=True),
    "too_long": FaultKind("{host} sent more than a reply can hold.", _MODEL),
    "not_the_api": FaultKind(
        "{host} answers, but not as a server of Claude, Ollama or LM Studio does.", _MODEL
    ),
    "redirected": FaultKind("{host} points to another address, which is not followed.", _MODEL),
    "rate_limited": FaultKind("{host} is asked too often at the moment.", _LATER, retryable=True),
    "overloaded": FaultKind("{host} is overloaded.", _LATER, retryable=True),
    "server_error": FaultKind("{host} had an internal error.", _LATER, retryable=True),
    "no_key": FaultKind("{host} wants a key, and none is set for it.", _KEY),
    "key_refused": FaultKind("{host} refused the key.", _KEY),
    "forbidden": FaultKind("{host} does not allow this key to use “{model}”.", _KEY),
    "billing": FaultKind(
        "{host} wants its account paid first.", "See to its billing, then try again."
    ),
    "not_found": FaultKind("{host} does not know the model “{model}”.", _MODEL),
    "too_large": FaultKind("The request was too large for {host}.", _TOO_LONG),
    "context_overflow": FaultKind(
        "The request is longer than “{model}” can read at once.", _TOO_LONG
    ),
    "refused": FaultKind(
        "“{model}” declined to answer this.",
        "It is not sent again with later messages: edit it to say it in another way, or leave it.",
    ),
    "bad_request": FaultKind("{host} refused the request as it is.", _MODEL),
}

# A shorter wait is over before the sentence is read.
_WORTH_SAYING_SECONDS = 90.0

KEPT = "Your message and what was written so far are kept."


class ProviderFault(AgentError):
    """A fault of the provider, of the connection to it, or of the request.

    *what* only says what happened (shown during retries), *message* also what was kept and what to
    do, *advice* the same where there was no message. The latter two contain the server's own
    *words* (short, without secrets).

    *window*: how many tokens the model reads at once, where its server named that.
    """

    def __init__(
        self,
        kind: str,
        *,
        host: str = "The model's server",
        model: str = "the model",
        seconds: float = 0.0,
        retry_after: float | None = None,
        words: str = "",
        window: int | None = None,
    ) -> None:
        row = FAULTS[kind]
        self.what = row.what.format(host=host, model=model, seconds=f"{seconds:g}")
        cure = row.cure
        if retry_after is not None and retry_after >= _WORTH_SAYING_SECONDS:
            cure = f"Try again in about {math.ceil(retry_after / 60)} minutes, as it asks."
        said = f" The server’s words: “{words}”." if words else ""
        super().__init__(kind, f"{self.what}{said} {KEPT} {cure}")
        self.advice = f"{self.what}{said} {cure}"
        self.words = words
        self.window = window
        self._said = f"{self.what}{said}"
        self.retryable = row.retryable
        self.retry_after = retry_after

    def advise(self, cure: str) -> None:
        """Set *cure* as what to do, where more is known than the kind of fault."""
        self.message = f"{self._said} {KEPT} {cure}"
        self.advice = f"{self._said} {cure}"


# Kinds of faults for a request that was too long.
OVERRUN = frozenset({"context_overflow", "too_large"})


@dataclass(frozen=True, slots=True)
class EndingKind:
    """The text about a run that ended in that way, and whether continuing is offered."""

    message: str
    can_retry: bool = False


ENDINGS: dict[Ending, EndingKind] = {
    "done": EndingKind(""),
    "stopped": EndingKind("Stopped. What was written so far is kept."),
    "shutdown": EndingKind(
        "Jenny was shut down in the middle. What was written so far is kept; try again.",
        can_retry=True,
    ),
    "lost": EndingKind(
        "The worker was lost in the middle. What was written so far is kept; try again.",
        can_retry=True,
    ),
    "step_cap": EndingKind(
        "Ended after as many steps as one turn may take. What was done is kept; "
        "press Continue, or raise the limit in the settings.",
    ),
    "repeat": EndingKind(
        "Ended because the same call was made again and again. What was done is kept; "
        "say what to do differently.",
    ),
    "cut": EndingKind(
        "The reply reached its length limit. What was written is kept; press Continue.",
    ),
    "time": EndingKind(
        "Ended because the turn took as long as one may. What was done is kept; press Continue.",
    ),
    "tokens": EndingKind(
        "Ended because the run used as many tokens as it may. What was done is kept.",
    ),
    "paused": EndingKind(
        f"{PAUSED} What you wrote and what was answered so far are kept; the answer is made "
        "when they are resumed.",
        can_retry=True,
    ),
    "spent": EndingKind(
        f"{SPENT} What you wrote and what was answered so far are kept; try again tomorrow, or "
        "raise the limit there.",
        can_retry=True,
    ),
    "failed": EndingKind("", can_retry=True),
}
