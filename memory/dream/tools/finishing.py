"""Dream's tool that ends a run: what became of every entry; and the reminder for who forgets it."""

from dataclasses import dataclass
from typing import Literal

from jenny.agent.messages import Message, Part, ToolUse, said
from jenny.agent.tools import Tool, ToolOutcome
from memory import known
from memory.dream.tools.box import Desk
from memory.dream.tools.hand import Hand
from memory.dream.values import EntryVerdict

_REASON_CHARS = 300
_TOLD = 10


@dataclass(frozen=True, slots=True)
class Account:
    """What became of one entry.

    cursor: the entry's number
    verdict: saved (a write that names it landed), already_known (the files say it all already), or
        not_kept (nothing in it is worth keeping)
    reason: for not_kept: why, in a few words; else where it stands
    """

    cursor: int
    verdict: Literal["saved", "already_known", "not_kept"]
    reason: str = ""


def finish(context: Desk, entries: list[Account]) -> ToolOutcome:
    """End the run by accounting for every entry that was shown. Call it last, once.

    entries: one for each entry that was shown
    """
    hand = context.hand
    hand.has_finished = True
    problems = [sentence for account in entries if (sentence := _problem(hand, account))]
    for account in entries:
        if not _problem(hand, account):
            reason = " ".join(account.reason.split())[:_REASON_CHARS]
            hand.verdicts[account.cursor] = EntryVerdict(account.cursor, account.verdict, reason)
    if left := hand.unaccounted:
        shown = ", ".join(map(str, left[:_TOLD])) + (" …" if len(left) > _TOLD else "")
        problems.append(f"Not accounted for yet: {shown}.")
    notes = _notes(hand)
    if problems:
        told = [*problems[:_TOLD], *notes, "Put that right, then call finish again."]
        return ToolOutcome(ok=False, content="\n".join(told))
    told = [f"All {len(hand.batch.entries)} entries are accounted for.", *notes]
    return ToolOutcome(ok=True, content="\n".join([*told, "Nothing more is to be done."]))


def _problem(hand: Hand, account: Account) -> str:
    """Why an account is not accepted; empty when it is."""
    if account.cursor not in hand.batch.cursors:
        return f"Entry {account.cursor} was not shown in this run."
    is_saved = any(account.cursor in row.sources for row in hand.landed)
    if account.verdict == "saved" and not is_saved:
        return (
            f"Entry {account.cursor} is not saved: no write that names it in sources has landed. "
            "Write it, or say already_known or not_kept."
        )
    if account.verdict == "not_kept" and not account.reason.strip():
        return f"Entry {account.cursor}: not_kept needs a reason."
    return ""


def _notes(hand: Hand) -> list[str]:
    """What the model may have overlooked, though it may leave it so."""
    notes = []
    texts = known.Texts(hand.text(path) for path in hand.before)
    for row in hand.batch.entries:
        verdict = hand.verdicts.get(row.cursor)
        if verdict and verdict.kind == "already_known" and (new := texts.unknown(row.text)):
            notes.append(
                f"Entry {row.cursor} is accounted for as already_known, but no file says: "
                f"“{new[0][:160]}”. If that is news, write it."
            )
    notes += [
        f"A change of {path} was refused and never made good; so the entries come back."
        for path in dict.fromkeys(row.path for row in hand.open_refusals)
    ]
    return notes[:_TOLD]


class Reminder:
    """Reminds a model once that ends its answer without having called ``finish``.

    The run's listener tells it of every step; the loop's inbox asks it.
    """

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._ends = False
        self.was_given = False

    def step_finished(self, parts: tuple[Part, ...]) -> None:
        """A reply is whole: without a call in it, the answer is about to end."""
        self._ends = not any(isinstance(part, ToolUse) for part in parts)

    def inbox(self, step: int) -> list[Message]:
        """What is folded in before the step with that number."""
        if step == 1 or not self._ends or self.was_given or self._hand.finished:
            return []
        self.was_given = True
        left = ", ".join(map(str, self._hand.unaccounted[:40]))
        return [
            said(
                "user",
                "You ended without accounting for every entry. Nothing that you only say is kept: "
                "what is to be remembered must be written with a tool. Do what is left to do, then "
                f"call finish. Not accounted for: {left or 'call finish with no entries'}.",
            )
        ]


FINISH = Tool.of(finish)
