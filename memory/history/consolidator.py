"""A slice of a conversation becomes entries of the history.

Values in, entries out: whoever calls loads the messages, adds the entries to the history, and only
then moves the conversation's pointers. What cannot be summarised becomes a raw text of exactly
that slice; nothing is left out because a model failed.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from functools import cache
from pathlib import Path

from jenny.agent.errors import AgentError, Cancelled, ProviderFault
from jenny.agent.events import Counted, StepEnd
from jenny.agent.limits import Limits
from jenny.agent.messages import Text, ToolUse, said
from jenny.agent.prompt import Block, SystemPrompt, assemble
from jenny.agent.provider import Provider
from jenny.agent.tokens import Usage
from jenny.agent.watch import Watch
from jenny.workspace.redact import redact
from memory.history import marks, transcript
from memory.history.entries import Kind, NewEntry
from memory.history.transcript import Spoken

logger = logging.getLogger(__name__)

ANSWER_TOKENS = 4_096
LIMITS = Limits(max_steps=1, max_output_tokens=ANSWER_TOKENS, seconds=180, retries=0)
# Asked once, and once more.
ATTEMPTS = 2
# A provider that sends more than so many characters keeps to no limit; that is no summary.
_MOST_CHARS = 16 * ANSWER_TOKENS
# Characters of a conversation that are asked about at once, where the model's window is not known.
CHUNK_CHARS = 60_000
_PROMPT = Path(__file__).parents[1] / "prompts" / "consolidator.md"
_RECORDED_NOTE = '* Under "Already recorded": facts that are in the record already, oldest first.\n'


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model sent back, whole."""

    text: str
    stop_reason: str
    has_calls: bool = False
    usage: Usage = field(default_factory=Usage)


type Ask = Callable[[SystemPrompt, str], Reply]
"""Asks a model once. Raises ``AgentError`` when there is no reply, and ``Cancelled`` to end all of
it."""


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What became of a slice: entries to add as one act, the first and last message that they
    are about, why parts of it are raw (a few words each), and what it cost.

    No entries: there was nothing worth keeping, and the pointers may move.
    """

    entries: tuple[NewEntry, ...]
    messages: tuple[int, int]
    failures: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


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

    *recorded* are facts that need not be extracted again. Each part that gets no answer twice is
    kept raw; when the model cannot be reached twice, so is all that follows.

    Raises:
        ValueError: there are no messages.
        Cancelled: the process is to end; nothing may be advanced.
    """
    anchor = (messages[0].id, messages[-1].id) if messages else None
    if anchor is None:
        raise ValueError("There is nothing to consolidate.")
    made = _Made(ask, prompt(has_recorded=bool(recorded)), recorded)
    failed: list[Spoken] = []
    kept_raw: set[int] = set()
    contents: list[tuple[Kind, str]] = []
    for part, text in transcript.chunks(messages, zone, chars=chunk_chars):
        answer = made.answer(f"{transcript.calendar(part, zone)}\n{text}".strip())
        if answer is None:
            # Pieces of one long message come one by one; its raw form holds it once.
            failed += [message for message in part if message.id not in kept_raw]
            kept_raw.update(message.id for message in part)
            continue
        _flush(contents, failed, zone)
        if answer:
            contents.append(("summary", answer))
    _flush(contents, failed, zone)
    entries = tuple(
        NewEntry(
            content,
            kind=kind,
            conversation=conversation,
            messages=anchor,
            prompt_visible=prompt_visible,
        )
        for kind, content in contents
    )
    return Consolidated(entries, anchor, tuple(made.failures), made.usage)


def without_asking(
    messages: Sequence[Spoken],
    *,
    conversation: str,
    zone: tzinfo = UTC,
    prompt_visible: bool = True,
) -> Consolidated:
    """The slice as it is, without asking anybody: at a model's hard limit. Dream has it digested
    later."""
    anchor = (messages[0].id, messages[-1].id)
    entry = NewEntry(
        transcript.raw(messages, zone),
        kind="raw",
        conversation=conversation,
        messages=anchor,
        prompt_visible=prompt_visible,
    )
    return Consolidated((entry,), anchor)


def digest(text: str, ask: Ask, *, recorded: str = "") -> marks.Answer | marks.NoAnswer:
    """Summarise the text of a raw entry; one try. For Dream, when it reaches such an entry.

    Raises:
        AgentError: there was no reply.
        Cancelled: the process is to end.
    """
    made = _Made(ask, prompt(has_recorded=bool(recorded)), recorded)
    return made.once(text)


def asking(provider: Provider, watch: Watch, limits: Limits = LIMITS) -> Ask:
    """Asks *provider*; the watch may end it, and its time is the limits'."""

    def ask(system: SystemPrompt, text: str) -> Reply:
        usage = Usage()
        events = provider.stream(
            system=system.wire(),
            messages=[said("user", text)],
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
    """The summariser's system prompt."""
    text = _PROMPT.read_text(encoding="utf-8")
    note = _RECORDED_NOTE if has_recorded else ""
    return assemble([Block("consolidator", text.replace("{recorded_note}\n", note).strip())])


class _Made:
    """The asking about one slice, and what came of it so far."""

    def __init__(self, ask: Ask, system: SystemPrompt, recorded: str) -> None:
        self._ask = ask
        self._system = system
        self._recorded = recorded
        self._is_reachable = True
        self.failures: list[str] = []
        self.usage = Usage()

    def answer(self, text: str) -> str | None:
        """The facts of a part, empty when there are none worth keeping; ``None``: no answer."""
        reason = "the model could not be reached before"
        faults = 0
        for _ in range(ATTEMPTS if self._is_reachable else 0):
            try:
                found = self.once(text)
            except AgentError as error:
                logger.info("consolidator.no_reply", extra={"cause": error.kind})
                faults += 1
                reason = error.sentence
                if isinstance(error, ProviderFault):
                    reason = error.what
                    if not error.retryable:
                        break
                continue
            if isinstance(found, marks.Answer):
                return found.text
            reason = found.reason
        self._is_reachable &= faults < ATTEMPTS
        self.failures.append(reason)
        return None

    def once(self, text: str) -> marks.Answer | marks.NoAnswer:
        """Ask one time. Raises ``AgentError`` when there is no reply."""
        try:
            reply = self._ask(self._system, self._request(text))
        except Cancelled as error:
            if error.reason != "time":
                raise
            return marks.NoAnswer("it took too long")
        self.usage += reply.usage
        if len(reply.text) > _MOST_CHARS:
            return marks.NoAnswer("it said far more than it was asked for")
        return marks.read(reply.text, reply.stop_reason, has_calls=reply.has_calls)

    def _request(self, text: str) -> str:
        """What the model is sent: no secret leaves for it once more."""
        parts = [f"# Already recorded\n\n{self._recorded}"] if self._recorded else []
        parts.append(f"# The conversation\n\n{text}")
        return redact("\n\n".join(parts)).text


def _flush(contents: list[tuple[Kind, str]], failed: list[Spoken], zone: tzinfo) -> None:
    """Let the messages that got no answer become one raw text, in their place."""
    if failed:
        contents.append(("raw", transcript.raw(failed, zone)))
        failed.clear()
