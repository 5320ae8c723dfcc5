"""The demo model's rules; the first one that fits answers."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from jenny.agent.demo import background_runs, replies, tool_requests
from jenny.agent.demo.replies import has
from jenny.agent.demo.request import DemoRequest, Piece


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition (a pattern for the person's words, or a function of the request), and its
    answer.
    """

    fits: re.Pattern[str] | Callable[[DemoRequest], bool]
    answer: Callable[[DemoRequest], Iterator[Piece]]

    def matches(self, asked: DemoRequest) -> bool:
        if isinstance(self.fits, re.Pattern):
            return self.fits.search(asked.words) is not None
        return self.fits(asked)


RULES = (
    # Requests of the product itself.
    Rule(background_runs.is_title, background_runs.title),
    Rule(background_runs.is_summary, background_runs.summary),
    Rule(background_runs.is_review, background_runs.review),
    Rule(background_runs.is_dream, background_runs.dream),
    Rule(background_runs.is_tidying, background_runs.tidy),
    # Requests of a person.
    Rule(lambda asked: bool(asked.done), tool_requests.report),
    Rule(lambda asked: bool(asked.attachments), replies.attachments),
    Rule(
        has(
            r"what did i (?:say|tell you)",
            r"what have i (?:said|told you)",
            r"do you (?:know|remember)",
            r"who am i",
            r"(?:what|who|when|where|how old)(?: is|['\u2019]s| are| was) my (?!data\b|files?\b)",
            r"where do i",
            r"what do i (?:like|drink|eat|prefer|own|do for)",
            r"how old am i",
            r"what (?:you know|you remember)",
        ),
        replies.recall,
    ),
    Rule(
        has(
            r"(?:forget|delete|erase) (?:everything|all|me|my (?:data|memory|memories))",
            r"delete (?:it )?all",
        ),
        replies.everything_gone,
    ),
    Rule(
        has(
            r"how (?:does|do|is) (?:your|the|jenny'?s) memory",
            r"where (?:is|are|do you (?:keep|store|save))",
            r"how do you remember",
            r"privacy",
            r"is (?:it|this|my data|everything) (?:private|safe|secure)",
        ),
        replies.memory,
    ),
    Rule(tool_requests.is_wish, tool_requests.call),
    Rule(replies.is_statement, replies.note_facts),
    Rule(has("all formatting", "markdown", "formatting"), replies.markup),
    Rule(has("tables?"), replies.table),
    Rule(has("code", "program", "script"), replies.code),
    Rule(has("maths?", "formulas?", "equations?"), replies.maths),
    Rule(has("long (?:answer|reply|text|story)", "at length"), replies.long),
    Rule(has("think about", "think hard", "thinking"), replies.thought),
    Rule(has("what time", "what day", "which day", "today'?s date", "the date"), replies.clock),
    Rule(
        has(
            r"(?:what|who)(?: is|['\u2019]s) (?:jenny|this)",
            r"about jenny",
            r"how (?:does|do) (?:this|it|i|you) \w+",
            r"(?:get|getting) started",
            r"what (?:can|should|do) i (?:do|ask|say|try|type)",
        ),
        replies.jenny,
    ),
    Rule(
        has(
            r"who are you",
            r"what are you",
            r"are you \w+",
            r"what can you",
            r"(?:what is|what['\u2019]s) your name",
            r"(?:which|what) model",
            r"demo",
            r"help",
        ),
        replies.oneself,
    ),
    Rule(re.compile(r"^\W*$"), replies.oneself),
    Rule(
        has(
            r"jokes?",
            r"weather",
            r"poems?",
            r"story",
            r"translate",
            r"news",
            r"recipes?",
            r"e-?mail",
            r"letter",
            r"explain",
            r"recommend",
            r"summari[sz]e",
            r"plan",
        ),
        replies.beyond,
    ),
    Rule(has("thanks", "thank you", "goodbye", "bye"), replies.thanks),
    Rule(
        re.compile(r"^(?:hi|hello|hey|good (?:morning|evening|afternoon)|nice to|how are|test)\b"),
        replies.hello,
    ),
    Rule(lambda _: True, replies.anything),
)


def answer(asked: DemoRequest) -> list[Piece]:
    rule = next(rule for rule in RULES if rule.matches(asked))
    return list(rule.answer(asked))
