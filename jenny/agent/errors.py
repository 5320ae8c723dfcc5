"""Errors of a run, split by whom they are for.

    AgentError                 the person: a sentence, and whether trying again helps
    ├── CallsPaused            somebody paused all calls; no fault, and nothing is lost
    │   └── CallsSpent         the day's limit is used up; the same until tomorrow
    └── ProviderFault          the provider or the way to it; FAULTS is the table of kinds
    ToolProblem                the model: what happened and what to do instead
    NoAddress                  whoever typed it: what can be no model's address, in a sentence
    Malformed                  nobody: the provider makes a fault of it
    Cancelled                  nobody: stop, and say nothing more (ENDINGS has the sentences)

What goes wrong inside a tool is for the model and never an exception out of the loop: a
``ToolProblem`` ends at the toolbox, as a ``ToolOutcome``.
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
    """Something the person should know. The message of the exception is the sentence."""

    def __init__(self, kind: str, sentence: str, *, can_retry: bool = True) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence
        self.can_retry = can_retry


PAUSED = "All model calls are paused in this workspace (Settings → Privacy)."


SPENT = "Today's limit on what models may use is reached (Settings → Usage)."


class CallsPaused(AgentError):
    """Somebody paused all calls to models: no fault, and nothing is lost by it."""

    reason: CancelReason = "paused"

    def __init__(self, sentence: str = "") -> None:
        said = sentence or f"{PAUSED} Resume them there; then this goes on."
        super().__init__(self.reason, said)


class CallsSpent(CallsPaused):
    """The day's limit on what models may use is reached. *sentence* says which one, and until
    when."""

    reason: CancelReason = "spent"


# Why no model is asked for now, in a sentence, by the reason that ends a run.
WAITS: dict[CancelReason, str] = {"paused": PAUSED, "spent": SPENT}


class ToolProblem(Exception):
    """Something the model should know: why its call did nothing, and what to do instead."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class NoAddress(Exception):
    """What was given can be no address of a model's server; *sentence* says why."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class Malformed(Exception):
    """What came from a server is not what the Messages API sends."""


class Cancelled(Exception):
    """The run was told to end, or its time is over."""

    def __init__(self, reason: CancelReason) -> None:
        super().__init__(reason)
        self.reason: CancelReason = reason


@dataclass(frozen=True, slots=True)
class FaultKind:
    """What is said about one kind of fault; ``{host}`` and ``{model}`` are filled in.

    *retryable*: another attempt may succeed without anybody doing something.
    """

    what: str
    cure: str
    retryable: bool = field(default=False, kw_only=True)


_LATER = "Try again in a little while."
_KEY = "Check the key in Settings → Models, then try again."
_MODEL = "Check the model and the address in Settings → Models, then try again."

FAULTS: dict[str, FaultKind] = {
    "unreachable": FaultKind(
        "{host} could not be reached.",
        f"See whether it runs and is connected. {_LATER}",
        retryable=True,
    ),
    "bad_address": FaultKind("The address of this model is none that can be asked.", _MODEL),
    "insecure": FaultKind(
        "The connection to {host} is not secure (its certificate is refused).", _MODEL
    ),
    "dropped": FaultKind("The connection to {host} broke off.", _LATER, retryable=True),
    "cut_off": FaultKind("{host} ended the reply in the middle.", _LATER, retryable=True),
    "silent": FaultKind("{host} said nothing for {seconds} seconds.", _LATER, retryable=True),
    "malformed": FaultKind("{host} sent something that is not a reply.", _MODEL, retryable=True),
    "too_long": FaultKind("{host} sent more than a reply can hold.", _MODEL),
    "not_the_api": FaultKind("{host} answers, but not as a model does.", _MODEL),
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
    "too_large": FaultKind(
        "The request was too large for {host}.", "Start a new conversation with /new."
    ),
    "context_overflow": FaultKind(
        "The conversation is longer than “{model}” can read at once.",
        "Start a new conversation with /new, or choose a model that reads more.",
    ),
    "refused": FaultKind(
        "“{model}” declined to answer this.", "Say it in another way, or leave it."
    ),
    "bad_request": FaultKind("{host} refused the request as it is.", _MODEL),
}

# A shorter wait is over before it is read.
_WORTH_SAYING_SECONDS = 90.0

KEPT = "Your message and what was written so far are kept."


class ProviderFault(AgentError):
    """A fault of the provider, of the way to it, or of what was asked of it.

    *what* says only what happened (shown while it is tried again), *sentence* also what was
    kept and what to do, *advice* the same where no message was at stake. None of them holds
    anything a provider or a key said.
    """

    def __init__(
        self,
        kind: str,
        *,
        host: str = "The model's server",
        model: str = "the model",
        seconds: float = 0.0,
        retry_after: float | None = None,
    ) -> None:
        row = FAULTS[kind]
        self.what = row.what.format(host=host, model=model, seconds=f"{seconds:g}")
        cure = row.cure
        if retry_after is not None and retry_after >= _WORTH_SAYING_SECONDS:
            cure = f"Try again in about {math.ceil(retry_after / 60)} minutes, as it asks."
        super().__init__(kind, f"{self.what} {KEPT} {cure}")
        self.advice = f"{self.what} {cure}"
        self.retryable = row.retryable
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class EndingKind:
    """What is said about a run that ended in that way, and whether going on is offered."""

    sentence: str
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
        "write “go on” to continue, or raise the limit in the settings.",
    ),
    "repeat": EndingKind(
        "Ended because the same call was made again and again. What was done is kept; "
        "say what to do differently.",
    ),
    "cut": EndingKind(
        "The reply reached its length limit. What was written is kept; write “go on” to continue.",
    ),
    "time": EndingKind(
        "Ended because the turn took as long as one may. What was done is kept; "
        "write “go on” to continue.",
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
