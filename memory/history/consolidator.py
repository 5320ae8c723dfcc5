"""Turns a slice of a conversation into history entries.

The caller loads the messages, stores the entries, and moves the conversation's pointers only
after that. What cannot be summarised becomes a raw entry of exactly that slice; nothing is lost
because a model failed.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from functools import cache
from pathlib import Path

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import OVERRUN, AgentError, Cancelled, ProviderFault
from jenny.agent.limits import Limits
from jenny.agent.messages import Text, ToolUse, text_message
from jenny.agent.prompt import Block, SystemPrompt, assemble
from jenny.agent.provider import Provider
from jenny.agent.reply import Counted, StepEnd
from jenny.agent.tokens import Usage
from jenny.workspace.redact import redact
from memory.history import summary_answer, transcript
from memory.history.entries import Kind, NewHistoryEntry
from memory.history.transcript import Spoken

logger = logging.getLogger(__name__)

ANSWER_TOKENS = 4_096
LIMITS = Limits(max_steps=1, max_output_tokens=ANSWER_TOKENS, seconds=180, retries=0)
# One request and one retry.
ATTEMPTS = 2
# A longer answer ignores the limit and is no summary.
_MOST_CHARS = 16 * ANSWER_TOKENS
# Characters of a conversation in one request when the model's window is unknown.
CHUNK_CHARS = 60_000
_PROMPT = Path(__file__).parents[1] / "prompts" / "consolidator.md"
_RECORDED_NOTE = '* Under "Already recorded": facts that are in the record already, oldest first.\n'


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    stop_reason: str
    has_calls: bool = False
    usage: Usage = field(default_factory=Usage)


type Ask = Callable[[SystemPrompt, str], Reply]
"""Asks a model once.

Raises:
    AgentError: there is no reply.
    Cancelled: the process is ending.
"""


@dataclass(frozen=True, slots=True)
class Consolidated:
    entries: tuple[NewHistoryEntry, ...]
    messages: tuple[int, int]
    failures: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    untagged: int = 0
    # What the person asked to have forgotten.
    forget: tuple[str, ...] = ()


def consolidate(
    messages: Sequence[Spoken],
    ask: Ask,
    *,
    conversation: str,
    recorded: str = "",
    zone: tzinfo = UTC,
    chunk_chars: int = CHUNK_CHARS,
    prompt_visible: bool = True,
) -> Consolidated:
    """Summarise a slice, in parts that fit the model.

    *recorded* are facts that need not be extracted again. A part without an answer after two
    requests is kept raw; when the model cannot be reached twice, so is the rest.

    Raises:
        ValueError: there are no messages.
        Cancelled: the process is ending; no pointer may move.
    """
    anchor = (messages[0].id, messages[-1].id) if messages else None
    if anchor is None:
        raise ValueError("There is nothing to consolidate.")
    made = _Made(ask, prompt(has_recorded=bool(recorded)), recorded)
    kept = _Kept(zone, recorded)
    for part, text in transcript.chunks(messages, zone, chars=chunk_chars):
        answer = made.answer(f"{transcript.calendar(part, zone)}\n{text}".strip())
        is_refused = answer is None and made.was_refused
        rest = tuple(message for message in part if not message.is_refused)
        if is_refused and len(rest) < len(part):
            # The summariser would decline what a provider declined: the other messages are
            # summarised without it.
            if rest:
                said = "\n".join(transcript.formatted(message, zone) for message in rest)
                kept.add(rest, made.answer(f"{transcript.calendar(rest, zone)}\n{said}".strip()))
            part = tuple(message for message in part if message.is_refused)  # noqa: PLW2901
        kept.add(part, answer, is_refused=is_refused)
    entries = tuple(
        NewHistoryEntry(
            content,
            kind=kind,
            conversation=conversation,
            messages=anchor,
            prompt_visible=prompt_visible and is_visible,
        )
        for kind, content, is_visible in kept.contents()
    )
    return Consolidated(
        entries, anchor, tuple(made.failures), made.usage, made.untagged, tuple(made.forget)
    )


def without_asking(
    messages: Sequence[Spoken],
    *,
    conversation: str,
    zone: tzinfo = UTC,
    prompt_visible: bool = True,
) -> Consolidated:
    """Return the slice as raw entries, for a model's hard limit. Dream has them digested later."""
    anchor = (messages[0].id, messages[-1].id)
    kept = _Kept(zone)
    for message in messages:
        kept.add((message,), None, is_refused=message.is_refused)
    entries = tuple(
        NewHistoryEntry(
            content,
            kind=kind,
            conversation=conversation,
            messages=anchor,
            prompt_visible=prompt_visible and is_visible,
        )
        for kind, content, is_visible in kept.contents()
    )
    return Consolidated(entries, anchor)


def digest(
    text: str, ask: Ask, *, recorded: str = ""
) -> summary_answer.Answer | summary_answer.NoAnswer:
    """Summarise the text of a raw entry in one request, for Dream.

    Raises:
        AgentError: there was no reply.
        Cancelled: the process is ending.
    """
    made = _Made(ask, prompt(has_recorded=bool(recorded)), recorded)
    return made.once(text)


def asking(provider: Provider, watch: CancellationToken, limits: Limits = LIMITS) -> Ask:
    """Return a function that asks *provider* within the limits and until it is cancelled."""

    def ask(system: SystemPrompt, text: str) -> Reply:
        usage = Usage()
        events = provider.stream(
            system=system.wire(),
            messages=[text_message("user", text)],
            tools=[],
            watch=watch,
            limits=limits,
        )
        for event in events:
            if isinstance(event, Counted):
                usage = event.usage
            elif isinstance(event, StepEnd):
                return Reply(
                    "".join(part.text for part in event.parts if isinstance(part, Text)),
                    event.stop_reason,
                    any(isinstance(part, ToolUse) for part in event.parts),
                    event.usage,
                )
        return Reply("", "", usage=usage)

    return ask


@cache
def prompt(*, has_recorded: bool) -> SystemPrompt:
    text = _PROMPT.read_text(encoding="utf-8")
    note = _RECORDED_NOTE if has_recorded else ""
    return assemble([Block("consolidator", text.replace("{recorded_note}\n", note).strip())])


class _Made:
    """The requests about one slice and their results so far."""

    def __init__(self, ask: Ask, system: SystemPrompt, recorded: str) -> None:
        self._ask = ask
        self._system = system
        self._recorded = recorded
        self._is_reachable = True
        # Why the newest request got no answer.
        self.was_refused = False
        self.failures: list[str] = []
        self.usage = Usage()
        self.untagged = 0
        self.forget: list[str] = []

    def answer(self, text: str) -> str | None:
        """Return the facts of a part (empty without any), or ``None`` without an answer. A part
        that is too long for the model is split once."""
        try:
            return self._answer(text)
        except _TooLong as error:
            reason = error.args[0]
        try:
            answers = [self._answer(half) for half in halves(text)]
        except _TooLong:
            answers = [None]
            self.failures.append(reason)
        # One half alone must not stand for the whole.
        return None if None in answers else "\n".join(filter(None, answers))

    def _answer(self, text: str) -> str | None:
        reason = "the model could not be reached before"
        faults = 0
        self.was_refused = False
        for _ in range(ATTEMPTS if self._is_reachable else 0):
            try:
                found = self.once(text)
            except AgentError as error:
                logger.info("consolidator.no_reply", extra={"cause": error.kind})
                faults += 1
                reason = error.message
                if isinstance(error, ProviderFault):
                    reason = error.what
                    self.was_refused = error.kind == "refused"
                    if error.kind in OVERRUN:
                        raise _TooLong(reason) from error
                    if not error.retryable:
                        break
                continue
            if isinstance(found, summary_answer.Answer):
                self.untagged += found.untagged
                self.forget += found.forget
                return found.text
            reason, self.was_refused = found.reason, found.is_refusal
        self._is_reachable &= faults < ATTEMPTS
        self.failures.append(reason)
        return None

    def once(self, text: str) -> summary_answer.Answer | summary_answer.NoAnswer:
        """Send one request.

        Raises:
            AgentError: there is no reply.
        """
        try:
            reply = self._ask(self._system, self._request(text))
        except Cancelled as error:
            if error.reason != "time":
                raise
            return summary_answer.NoAnswer("it took too long")
        self.usage += reply.usage
        if len(reply.text) > _MOST_CHARS:
            return summary_answer.NoAnswer("it said far more than it was asked for")
        return summary_answer.parse_answer(reply.text, reply.stop_reason, has_calls=reply.has_calls)

    def _request(self, text: str) -> str:
        """Build the request; secrets are redacted once more."""
        parts = [f"# Already recorded\n\n{self._recorded}"] if self._recorded else []
        parts.append(f"# The conversation\n\n{text}")
        return redact("\n\n".join(parts)).text


def halves(text: str) -> tuple[str, str]:
    """Split *text* in two at a line end near the middle, if there is one."""
    middle = len(text) // 2
    at = text.rfind("\n", middle // 2, middle) + 1 or middle
    return text[:at], text[at:]


class _TooLong(Exception):
    """The text is longer than the model can read at once."""


class _Kept:
    """The results of a slice in order: summaries, and raw texts for parts without an answer. Raw
    texts that a provider declined are shown in no prompt."""

    def __init__(self, zone: tzinfo, recorded: str = "") -> None:
        self._zone = zone
        self._recorded = recorded
        self._contents: list[tuple[Kind, str, bool]] = []
        self._failed: list[Spoken] = []
        self._is_refused = False
        self._raw: set[int] = set()

    def add(self, part: Sequence[Spoken], answer: str | None, *, is_refused: bool = False) -> None:
        """Add a part with its answer; ``None`` keeps it raw."""
        if answer is not None or is_refused != self._is_refused:
            self._flush()
        if answer is None:
            self._is_refused = is_refused
            # The pieces of one long message arrive one by one; its raw form holds it once.
            self._failed += [message for message in part if message.id not in self._raw]
            self._raw.update(message.id for message in part)
        elif answer:
            day = transcript.last_day(part, self._zone)
            text = summary_answer.note_repeated(answer, self._recorded, day)
            self._contents.append(("summary", text, True))

    def contents(self) -> list[tuple[Kind, str, bool]]:
        """Return kind, text, and whether prompts may show it."""
        self._flush()
        return self._contents

    def _flush(self) -> None:
        if self._failed:
            text = transcript.raw(self._failed, self._zone)
            self._contents.append(("raw", text, not self._is_refused))
            self._failed.clear()
