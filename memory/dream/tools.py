"""Dream's tools in one table, and ``finish``, which accounts for every entry and ends a run.

They share a ``DreamToolContext``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from jenny.agent.errors import ToolProblem
from jenny.agent.messages import Message, Part, ToolUse, text_message
from jenny.agent.tools import Stop, Tool, ToolOutcome
from memory import sections, skills, suppression
from memory.dream import fact_checks
from memory.dream.drafts import EditStep
from memory.dream.fact_checks import EntryFact, FactStates, list_facts, list_kept
from memory.dream.toolbox import (
    APPLY_PATCH,
    EDIT_FILE,
    FINISH_REVIEW,
    MOVE_ENTRY,
    READ_FILE,
    WRITE_FILE,
    DreamToolbox,
    DreamToolContext,
    ReviewBox,
    without_entries,
)
from memory.dream.values import EntryVerdict, VerdictKind
from memory.dream.write_session import WriteSession

__all__ = [
    "REVIEW_TOOLS",
    "TOOLS",
    "WRITERS",
    "DreamToolContext",
    "DreamToolbox",
    "Reminder",
    "WriteSession",
    "toolbox",
]


_REASON_CHARS = 300
_SHOWN_CHARS = 160
_TOLD = 10
# Where a fact waits of which the model is not sure.
_UNSURE_PATH = "USER.md"


@dataclass(frozen=True, slots=True)
class Account:
    """What became of an entry, or of one of its facts.

    cursor: the entry's number
    verdict: saved (a write that names it landed), already_known (the files say it all already), or
        not_kept (nothing in it is worth keeping)
    reason: for not_kept: why, in a few words, which for a fact marked permanent, durable or
        correction begin with superseded, duplicate, asked_to_forget, not_about_the_person, expired
        or unsure (then the person is asked); else where it stands
    fact: for a single fact: its number behind the point (2 of 7.2); 0: all facts of the entry
    """

    cursor: int
    verdict: Literal["saved", "already_known", "not_kept"]
    reason: str = ""
    fact: int = 0


def finish(context: DreamToolContext, entries: list[Account]) -> ToolOutcome:
    """End the run by accounting for every entry that was shown. Call it last, once.

    entries: one for each entry that was shown, or one for each of its facts
    """
    session = context.session
    session.has_finished = True
    states = session.fact_states()
    problems = []
    for account in entries:
        if message := _problem(session, account, states):
            problems.append(message)
        else:
            _accept(session, account)
    if left := session.unaccounted:
        shown = ", ".join(map(str, left[:_TOLD])) + (" …" if len(left) > _TOLD else "")
        problems.append(f"Not accounted for yet: {shown}.")
    notes = _notes(session)
    if problems:
        lines = [*problems[:_TOLD], *notes, "Put that right, then call finish again."]
        return ToolOutcome(ok=False, content="\n".join(lines))
    if notes and not session.was_warned:
        # An accepted call ends the run, so the model hears of these before one is accepted.
        session.was_warned = True
        lines = [*notes, "Put right what is to be put right, then call finish again."]
        return ToolOutcome(ok=False, content="\n".join(lines))
    lines = [f"All {len(session.batch.entries)} entries are accounted for.", *notes]
    return ToolOutcome(
        ok=True, content="\n".join([*lines, "Nothing more is to be done."]), ends_run=True
    )


def _problem(session: WriteSession, account: Account, states: FactStates) -> str:
    """Explain why an account is not accepted; empty when it is."""
    if account.cursor not in session.batch.cursors:
        return f"Entry {account.cursor} was not shown in this run."
    facts = _facts_of(session, account)
    if account.fact and not facts:
        names = ", ".join(
            fact.name for fact in _facts_of(session, Account(account.cursor, "saved"))
        )
        return (
            f"Entry {account.cursor} has no fact {account.cursor}.{account.fact}. Its facts: "
            f"{names or 'none is numbered; account for the whole entry'}."
        )
    is_saved = any(account.cursor in row.sources for row in session.landed)
    is_covered = any(fact.is_kept for fact in facts) and account.cursor not in states.uncovered
    if account.verdict == "saved" and not account.fact and not is_saved and not is_covered:
        return (
            f"Entry {account.cursor} is not saved: no write that names it in sources has landed. "
            "Write it, or say already_known or not_kept."
        )
    if account.verdict != "not_kept":
        return ""
    if not account.reason.strip():
        return f"Entry {account.cursor}: not_kept needs a reason."
    missing = [fact for fact in states.uncovered.get(account.cursor, ()) if fact in facts]
    return next(filter(None, (_leave_out(session, fact, account.reason) for fact in missing)), "")


def _leave_out(session: WriteSession, fact: EntryFact, said: str) -> str:
    """Leave a fact out for the reason that was given; why not, or empty."""
    reason = fact_checks.parse_reason(said)
    if not reason:
        return (
            f"Fact {fact.name} is marked [{fact.tag}]: its reason for not_kept must begin with one "
            f"of {fact_checks.REASONS_TEXT}; more words may follow. Otherwise write it: "
            f"“{fact.text[:_SHOWN_CHARS]}”."
        )
    if reason == "duplicate":
        others = [
            row for row in list_kept(session.batch.entries) if row.name not in session.left_out
        ]
        if not fact_checks.is_stated_by(fact, others):
            return (
                f"Fact {fact.name} is no duplicate: neither a file nor another entry says "
                f"“{fact.text[:_SHOWN_CHARS]}”. Write it."
            )
    if reason == "unsure":
        return _let_wait(session, fact)
    session.left_out.add(fact.name)
    return ""


def _let_wait(session: WriteSession, fact: EntryFact) -> str:
    """Put a fact before the person; why that cannot be, or empty."""
    if session.staging is None:
        return ""

    def change(old: str | None) -> str:
        return sections.added(old, "", [f"- {fact.text}"], path=_UNSURE_PATH)

    try:
        step = EditStep(_UNSURE_PATH, change, added=(fact.text,))
        session.write("finish", [step], [fact.cursor], reason="unsure", waits=True)
    except ToolProblem as problem:
        return f"Fact {fact.name} cannot wait for the person: {problem.message}"
    session.left_out.add(fact.name)
    return ""


def _accept(session: WriteSession, account: Account) -> None:
    cursor = account.cursor
    reason = " ".join(account.reason.split())[:_REASON_CHARS]
    verdict = EntryVerdict(cursor, account.verdict, reason)
    if not account.fact:
        session.verdicts[cursor] = verdict
        return
    session.fact_verdicts[f"{cursor}.{account.fact}"] = verdict
    row = next(row for row in session.batch.entries if row.cursor == cursor)
    facts = list_facts(row)
    needed = [fact for fact in facts if fact.is_kept] or facts
    said = [session.fact_verdicts.get(fact.name) for fact in needed]
    if all(said):
        session.verdicts[cursor] = _together(cursor, [one for one in said if one])


def _together(cursor: int, said: Iterable[EntryVerdict]) -> EntryVerdict:
    """The account of an entry by those of its facts: what was written comes first."""
    order: list[VerdictKind] = ["saved", "already_known", "not_kept"]
    rows = sorted(said, key=lambda row: order.index(row.kind))
    reasons = "; ".join(dict.fromkeys(row.reason for row in rows if row.reason))
    return EntryVerdict(cursor, rows[0].kind, reasons[:_REASON_CHARS])


def _facts_of(session: WriteSession, account: Account) -> tuple[EntryFact, ...]:
    """The facts that an account is about."""
    rows = [row for row in session.batch.entries if row.cursor == account.cursor]
    facts = [fact for row in rows for fact in list_facts(row)]
    return tuple(fact for fact in facts if account.fact in (0, fact.number))


def _notes(session: WriteSession) -> list[str]:
    """Return notes on what the model may have overlooked, and may leave so."""
    states = session.fact_states()
    notes = [
        f"Fact {fact.name} ({_said_of(session, fact)}): "
        f"no file says: “{fact.text[:_SHOWN_CHARS]}”. "
        "Write it; or, if a line says it in other words, give that line word for word as the "
        "reason; or say not_kept with a reason of the list. Else its entry comes back."
        for cursor, missing in states.uncovered.items()
        if cursor in session.verdicts
        for fact in missing
    ]
    notes += [
        f"A change of {path} was refused and never made good; so the entries come back."
        for path in dict.fromkeys(
            row.path
            for row in session.open_refusals
            if row.rule == "budget" or not row.sources or not states.covered.issuperset(row.sources)
        )
    ]
    return notes[:_TOLD]


def _said_of(session: WriteSession, fact: EntryFact) -> str:
    said = session.fact_verdicts.get(fact.name) or session.verdicts[fact.cursor]
    return said.kind


class Reminder:
    """Reminds a model once that ends its answer without having called ``finish``.

    The run's listener tells it of every step; the loop's inbox asks it.
    """

    def __init__(self, session: WriteSession) -> None:
        self._session = session
        self._ends = False
        self.was_given = False

    def step_finished(self, parts: tuple[Part, ...]) -> None:
        """A reply is whole: without a call in it, the answer is about to end."""
        self._ends = not any(isinstance(part, ToolUse) for part in parts)

    def inbox(self, step: int) -> list[Message]:
        """Return the messages to add before the step with that number."""
        if step == 1 or not self._ends or self.was_given or self._session.finished:
            return []
        self.was_given = True
        left = ", ".join(map(str, self._session.unaccounted[:40]))
        return [
            text_message(
                "user",
                "You ended without accounting for every entry. Nothing that you only say is kept: "
                "what is to be remembered must be written with a tool. Do what is left to do, then "
                f"call finish. Not accounted for: {left or 'call finish with no entries'}.",
            )
        ]


FINISH = Tool.of(finish)


TOOLS: tuple[Tool, ...] = (READ_FILE, EDIT_FILE, APPLY_PATCH, WRITE_FILE, MOVE_ENTRY, FINISH)
REVIEW_TOOLS: tuple[Tool, ...] = (*without_entries(TOOLS[:-1]), FINISH_REVIEW)
WRITERS = frozenset(tool.name for tool in TOOLS) - {READ_FILE.name, FINISH.name}


def toolbox(
    session: WriteSession, *, watch: Stop | None = None, max_result_chars: int = 16_000
) -> DreamToolbox:
    """The box of a run, to be given to the loop."""
    ctx = DreamToolContext(
        session.workspace,
        watch=watch,
        max_result_chars=max_result_chars,
        shipped=skills.shipped_files(),
        session=session,
        view=suppression.view(session.workspace.root),
    )
    if session.kind == "review":
        return ReviewBox(REVIEW_TOOLS, ctx, writers=WRITERS)
    return DreamToolbox(TOOLS, ctx, writers=WRITERS)
