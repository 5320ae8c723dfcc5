"""Facts that a person states, found by rule and put into the third person."""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from jenny.agent.clock import MONTHS
from jenny.text_normalisation import case_key

# What people write before that which is to be remembered, forgotten or done.
POLITE = (
    r"^\s*(?:(?:hi|hello|hey|ok|so|well)\b(?: there| jenny)?[\s,.!]*)?(?:jenny[\s,:]+)?"
    r"(?:(?:can|could|would|will) you )?(?:please[\s,:]+)?"
)
# Both apostrophes, as keyboards and phones write them.
_NOT = r"(?:n['\u2019]t| not)"
ASKED = re.compile(
    rf"{POLITE}(?:remember|do{_NOT} forget|keep in mind|note|write down|save|learn)\b"
    r"(?: (?:this|for me|down))?(?: in \S+\.md)?(?: that\b)?[\s:,]+(?P<fact>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_GREETING = re.compile(r"^(?:hi|hello|hey)(?: there| jenny)?[\s,!]+", re.IGNORECASE)
# A full stop behind a German day, as in "5. Mai", ends nothing.
_GERMAN_MONTHS = "Jan|Feb|März|Apr|Mai|Juni|Juli|Aug|Sep|Okt|Nov|Dez"
_SENTENCE = re.compile(
    rf"(?:[^.!?。！？\n]|\.(?=\w)|(?<=\bDr)\.|(?<=\d)\.(?= (?:{_GERMAN_MONTHS})))+[.!?。！？]*"
)
_KANA = re.compile(r"[\u3040-\u30ff]")
_ABOUT_ONESELF = re.compile(
    r"\b(?:I|I['\u2019](?:m|ve)|my|mine|we|our)\b|\bcall me\b|^\s*(?:please )?remember\b"
    r"|\b(?:ich|mein\w{0,2}|wir|unser\w{0,2})\b|私|僕",
    re.IGNORECASE,
)
_OF_THE_MOMENT = re.compile(
    r"^\s*(?:can|could|would|will|please|show|tell|let|do|did|should|shall|may|what|who|how|where"
    r"|when|why|which|is|are|give|make|write|find|list|forget|delete|translate|help|explain)\b"
    r"|\bI (?:asked|ask|wonder|see|mean|think|guess|said|told)\b"
    rf"|\bI (?:do{_NOT}|can{_NOT}|cannot) (?:know|understand|see|find)\b"
    r"|\bI(?: want| need|['\u2019]d like| would like) (?:you|help|to (?:see|know|ask|try|test))\b"
    r"|\bI have (?:a |some |another )?(?:questions?|problem)\b"
    r"|\bI(?:['\u2019]m| am) (?:just |only )?(?:back|bored|confused|done|fine|good|here|hungry|lost"
    r"|not sure|ok|okay|ready|sorry|testing|tired|trying)\b"
    r"|^\s*(?:was|wer|wie|wo|wann|warum|kann|kannst|bitte|danke|vergiss)\b|忘れて|^ありがとう|か[。？]?$"
    # A line of a pasted conversation, list or heading.
    r"|^\s*[\[#*-]",
    re.IGNORECASE,
)
_TAGS = (
    (
        "correction",
        re.compile(
            r"\b(?:no longer|not any ?more|actually|instead of)\b"
            r"|\b(?:nicht|keinen?) .{0,30}mehr\b|ではなく|もう.+(?:ません|ない)",
            re.IGNORECASE,
        ),
    ),
    (
        "permanent",
        re.compile(r"\b(?:remember|always|never|immer|nie)\b|必ず|いつも", re.IGNORECASE),
    ),
    (
        "ephemeral",
        re.compile(
            r"\b(?:today|tonight|tomorrow|this (?:morning|week|weekend)|heute|morgen)\b"
            r"|今日|今夜|明日",
            re.IGNORECASE,
        ),
    ),
)
_TODAY = re.compile(r"^Now: \w+, (\d{1,2}) (\w+) (\d{4}),", re.MULTILINE)
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS = "|".join(_WEEKDAYS)
_RELATIVE = re.compile(
    rf"\b(?:(?:on|this|by) (?={_DAYS})|(?=tomorrow))({_DAYS}|tomorrow)\b", re.IGNORECASE
)
_OFTEN = r"(?:always|never|often|usually|mostly|sometimes|also|really|no longer)"
_VERBS = (
    "like|love|hate|dislike|prefer|enjoy|live|work|use|want|need|play|speak|own|drive|drink|eat"
    "|cook|bake|run|read|keep|grow|study|teach|watch|collect|sleep|walk|ride|travel|commute|park"
    "|wear|take|avoid|go|do|come|sing|paint|plan|hope|follow|write|build"
)
_VERB = re.compile(rf"\bI ((?:{_OFTEN} )?)({_VERBS})\b(?!{_NOT})", re.IGNORECASE)
# Replacements from the first to the third person, in this order.
_PERSONS = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"^(?:you (?:can|may) )?(?:just )?call me\b", "the user wants to be called"),
        (r"\bI(?:['\u2019]m| am)\b", "the user is"),
        (r"\bI(?:['\u2019]ve| have)\b", "the user has"),
        (rf"\bI do{_NOT}\b", "the user does not"),
        (r"\bI\b", "the user"),
        (r"\b(?:my|our)\b", "the user's"),
        (r"\bme\b", "the user"),
        (r"\bmine\b", "the user's"),
    )
)


def stated_facts(text: str, said: date | None = None) -> Iterator[tuple[str, str]]:
    """Yield the facts about the person in *text*, each with its tag. Questions and requests are
    none. *said* is the day on which it was said.
    """
    for found in _SENTENCE.finditer(text):
        sentence = _GREETING.sub("", found[0].strip())
        # In Japanese only the first of several sentences names its subject. Several lines are
        # more likely a document than a message about oneself.
        is_whole = _KANA.search(sentence) and "\n" not in text.strip()
        about = text if is_whole else sentence
        is_fact = _ABOUT_ONESELF.search(about) and not _OF_THE_MOMENT.search(sentence)
        if is_fact and not sentence.endswith("?"):
            tag = next((tag for tag, words in _TAGS if words.search(sentence)), "durable")
            sentence, day = _with_day(sentence, said)
            if day:
                tag = (
                    f"{tag}, dated {day}" if tag in ("correction", "permanent") else f"dated {day}"
                )
            yield tag, in_third_person(sentence)


def in_third_person(sentence: str) -> str:
    """Return the sentence with the person as "the user", without the words that ask to keep it."""
    asked = ASKED.match(sentence)
    fact = (asked["fact"] if asked else sentence).strip().rstrip(".!?。！ ")
    fact = _VERB.sub(lambda found: f"the user {found[1]}{_conjugated(found[2])}", fact)
    for person, words in _PERSONS:
        fact = person.sub(words, fact)
    fact = " ".join(fact.split())
    return f"{fact[:1].upper()}{fact[1:]}."


def _conjugated(verb: str) -> str:
    if verb.endswith(("o", "ch", "sh", "s", "x")):
        return f"{verb}es"
    if verb[-1] == "y" and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def day_of(text: str) -> date | None:
    found = _ISO_DAY.search(text)
    try:
        return date.fromisoformat(found[0]) if found else None
    except ValueError:  # there is no such day
        return None


def note_of(sentence: str, said: date | None) -> dict[str, str]:
    """Return the arguments of ``remember`` for a sentence: a day to come is named by its date."""
    text, day = _with_day(sentence, said)
    note = {"text": in_third_person(text)}
    return note | {"day": f"{day}"} if day else note


def today_of(context: str) -> date | None:
    """Return the day that the program puts behind a message."""
    found = _TODAY.search(context)
    if found is None or found[2] not in MONTHS:
        return None
    return date(int(found[3]), MONTHS.index(found[2]) + 1, int(found[1]))


def _with_day(sentence: str, said: date | None) -> tuple[str, date | None]:
    """Return the sentence with the date of the day that it names, and that date if it is in the
    future.
    """
    named = day_of(sentence)
    found = _RELATIVE.search(sentence)
    if named is None and found and said:
        word = case_key(found[1])
        ahead = 1 if word == "tomorrow" else (_WEEKDAYS.index(word) - said.weekday() - 1) % 7 + 1
        named = said + timedelta(ahead)
        sentence = f"{sentence[: found.end()]} {named}{sentence[found.end() :]}"
    return sentence, named if named and (said is None or named >= said) else None
