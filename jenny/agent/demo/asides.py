"""Answers to requests that no person wrote: a title, the facts of a conversation."""

import re
from collections.abc import Iterator

from jenny.agent.demo.asked import Asked, Piece, Say

_TITLE_WORDS = 6
_WANTS_TITLE = re.compile(r"\b(?:give|write|make|find)\b.{0,80}\btitle\b", re.IGNORECASE)
_WANTS_SUMMARY = re.compile(r"\bsummari[sz]e\b|\bconsolidate\b|\bdurable\b", re.IGNORECASE)
_SPEAKER = re.compile(
    r"^(?:\[[^\]]*\]\s*)?(?:\*\*)?(?P<who>user|human|jenny|assistant|tool)\b[^:\n]{0,40}:(?:\*\*)?\s*",
    re.IGNORECASE | re.MULTILINE,
)
_POLITE = re.compile(
    r"^(?:hi|hello|hey|please|thanks|ok|so|well)\b[\s,.!]*|^(?:can|could|would|will) you\s+"
    r"|^(?:please|i(?:'d| would) like(?: you)? to|i want(?: you)? to)\s+",
    re.IGNORECASE,
)
_GREETING = re.compile(r"^(?:hi|hello|hey)(?: jenny)?[\s,!]+", re.IGNORECASE)
# What a title should not end with.
_LOOSE_END = re.compile(r"\s(?:a|an|and|at|by|for|in|is|my|of|on|or|that|the|to|with|your)$")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_ABOUT_ONESELF = re.compile(
    r"\b(?:I|I['\u2019](?:m|ve)|my|mine|we|our)\b|^\s*(?:please )?remember\b", re.IGNORECASE
)
_OF_THE_MOMENT = re.compile(
    r"^\s*(?:can|could|would|will|please|show|tell|let|do|what|who|how|where|when|why|is|are)\b"
    r"|\bI (?:asked|ask|wonder|see|mean|think|guess)\b",
    re.IGNORECASE,
)
_TAGS = (
    (
        "correction",
        re.compile(r"\b(?:no longer|not any ?more|actually|instead of)\b", re.IGNORECASE),
    ),
    ("permanent", re.compile(r"\b(?:remember|always|never)\b", re.IGNORECASE)),
    (
        "ephemeral",
        re.compile(r"\b(?:today|tonight|tomorrow|this (?:morning|week|weekend))\b", re.IGNORECASE),
    ),
)
_VERBS = (
    "like|love|hate|prefer|live|work|use|want|need|play|speak|own|drive|drink|eat|cook|run|read|"
    "keep|grow"
)
# The first person made the third, in this order.
_PERSONS = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"^\s*(?:please )?remember(?: that)?\s+", ""),
        (r"\bI(?:['\u2019]m| am)\b", "the user is"),
        (r"\bI(?:['\u2019]ve| have)\b", "the user has"),
        (rf"\bI (always |never |often |usually |no longer )?({_VERBS})\b", r"the user \1\2s"),
        (r"\bI\b", "the user"),
        (r"\bmy\b", "the user's"),
        (r"\bme\b", "the user"),
        (r"\bmine\b", "the user's"),
    )
)


def is_title(asked: Asked) -> bool:
    """Whether a title is wanted."""
    return not asked.tools and bool(_WANTS_TITLE.search(asked.system))


def title(asked: Asked) -> Iterator[Piece]:
    """The first words of what the person said first."""
    first = next(_of_the_user(asked.said), "").strip() or asked.said.strip()
    line = first.splitlines()[0] if first else ""
    while (shorter := _POLITE.sub("", line)) != line:
        line = shorter
    words = re.sub(r"[#*`_>\[\]]", "", line).split()[:_TITLE_WORDS]
    text = " ".join(words).rstrip(".,;:!?") or "Conversation"
    while (shorter := _LOOSE_END.sub("", text)) != text:
        text = shorter
    yield Say(text[0].upper() + text[1:])


def is_summary(asked: Asked) -> bool:
    """Whether the facts of a conversation are wanted."""
    return not asked.tools and bool(_WANTS_SUMMARY.search(asked.system))


def summary(asked: Asked) -> Iterator[Piece]:
    """What the person stated about themselves, a bullet each."""
    facts = dict.fromkeys(fact for text in _of_the_user(asked.said) for fact in _facts(text))
    yield Say("\n".join(facts) or "(nothing)")


def _of_the_user(text: str) -> Iterator[str]:
    """What the user says in a conversation that is written down with its speakers."""
    turns = list(_SPEAKER.finditer(text))
    for index, turn in enumerate(turns):
        end = turns[index + 1].start() if index + 1 < len(turns) else len(text)
        if turn["who"].lower() in {"user", "human"}:
            yield text[turn.end() : end].strip()


def _facts(text: str) -> Iterator[str]:
    for found in _SENTENCE.finditer(text):
        sentence = found[0].strip()
        is_fact = _ABOUT_ONESELF.search(sentence) and not _OF_THE_MOMENT.search(sentence)
        if is_fact and not sentence.endswith("?"):
            tag = next((tag for tag, words in _TAGS if words.search(sentence)), "durable")
            fact = _GREETING.sub("", sentence.rstrip(".! "))
            for person, words in _PERSONS:
                fact = person.sub(words, fact)
            fact = re.sub(r"\s+", " ", fact).strip()
            yield f"- [{tag}] {fact[:1].upper()}{fact[1:]}."
