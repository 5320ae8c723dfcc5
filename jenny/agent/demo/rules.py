"""The demo model's rules, in the order in which they are tried: the first that fits answers."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from jenny.agent.demo import asides, dreaming, reviewing, talk, tidying, tooling
from jenny.agent.demo.asked import Asked, Piece
from jenny.agent.demo.talk import has


@dataclass(frozen=True, slots=True)
class Rule:
    """When it fits (a pattern in the person's words, or a look at the request), and its answer."""

    fits: re.Pattern[str] | Callable[[Asked], bool]
    answer: Callable[[Asked], Iterator[Piece]]

    def matches(self, asked: Asked) -> bool:
        """Whether it is this rule's turn."""
        if isinstance(self.fits, re.Pattern):
            return self.fits.search(asked.words) is not None
        return self.fits(asked)


RULES = (
    # What the product asks for itself.
    Rule(asides.is_title, asides.title),
    Rule(asides.is_summary, asides.summary),
    Rule(reviewing.is_review, reviewing.review),
    Rule(dreaming.is_dream, dreaming.dream),
    Rule(tidying.is_tidying, tidying.tidy),
    # What a person asks for.
    Rule(lambda asked: bool(asked.done), tooling.report),
    Rule(has("what did i (?:say|tell you)", "do you (?:know|remember)"), talk.recall),
    Rule(has("what have i (?:said|told you)"), talk.recall),
    Rule(tooling.is_wish, tooling.call),
    Rule(has("all formatting", "markdown", "formatting"), talk.markup),
    Rule(has("tables?"), talk.table),
    Rule(has("code", "program", "script"), talk.code),
    Rule(has("maths?", "formulas?", "equations?"), talk.maths),
    Rule(has("long (?:answer|reply|text|story)", "at length"), talk.long),
    Rule(has("think about", "think hard", "thinking"), talk.thought),
    Rule(has("what time", "what day", "which day", "today'?s date", "the date"), talk.clock),
    Rule(has("what is jenny", "who is jenny", "about jenny", "what's jenny"), talk.jenny),
    Rule(
        has("who are you", "what are you", "are you (?:real|an ai|human|a person)", "what can you"),
        talk.oneself,
    ),
    Rule(has("which model", "what model", "demo", "help"), talk.oneself),
    Rule(has("thanks", "thank you", "goodbye", "bye"), talk.thanks),
    Rule(re.compile(r"^(?:hi|hello|hey|good (?:morning|evening|afternoon))\b"), talk.hello),
    Rule(lambda _: True, talk.anything),
)


def answer(asked: Asked) -> list[Piece]:
    """What the demo model answers."""
    rule = next(rule for rule in RULES if rule.matches(asked))
    return list(rule.answer(asked))
