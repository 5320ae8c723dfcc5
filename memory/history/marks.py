"""What a summariser may answer: facts, each with a mark, or ``(nothing)``.

``- [permanent|durable|ephemeral|correction|skip] fact``, one bullet a fact. Whatever else comes
back (an error's text, a page, a JSON object, an apology, nothing) is no answer; storing it as one
would put it into the memory.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MARKS = ("permanent", "durable", "ephemeral", "correction", "skip")
# Facts with one of these are to be kept beyond the moment.
KEPT_MARKS = frozenset({"permanent", "durable", "correction"})
NATURAL_STOPS = frozenset({"end_turn", "stop_sequence", "stop"})

_BULLET = re.compile(
    rf"(?:[-*+•–]|\d{{1,3}}[.)])?[ \t]*[*_`]{{0,3}}\[({'|'.join(MARKS)})\][*_`:]{{0,4}}[ \t]*(.*)",
    re.IGNORECASE,
)
_PLAIN_BULLET = re.compile(r"(?:[-*+•–]|\d{1,3}[.)])[ \t]+(\S.*)")
_NOTHING = re.compile(r"[-*_`\s]*\(nothing\)[.*_`\s]*", re.IGNORECASE)
_FENCE = re.compile(r"(?:`{3,}|~{3,})[\w-]*")
_OTHER = re.compile(r"[{]|\[\s*[{]|<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
# Where a model thinks aloud. A tag in backticks is spoken of, not used.
_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad"
_TAG = re.compile(rf"(?<!`)<(/?)(?:antml:)?(?:{_NAMES})(?:\s[^<>]*)?>(?!`)", re.IGNORECASE)
_CHANNEL = re.compile(
    r"<\|channel\|>\s*(?:analysis|commentary)\b.*?(?=<\|channel\|>\s*final\b|<\|(?:end|return)\|>|\Z)",
    re.DOTALL,
)
_CONTROL = re.compile(r"<\|[a-z_]{1,24}\|>(?:\s*final\b)?")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a summariser answered; *text* has a bullet a line, and is empty for ``(nothing)``."""

    text: str


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why what came back is no answer, in a few words."""

    reason: str


def read(text: str, stop_reason: str, *, has_calls: bool = False) -> Answer | NoAnswer:
    """Take an answer for what it is. *stop_reason* as the Messages API says it."""
    if has_calls:
        return NoAnswer("it called a tool")
    if stop_reason not in NATURAL_STOPS:
        return NoAnswer(f"it ended with {stop_reason or 'no reason'}")
    said, unended = _parted(text)
    if said and any(is_marked for is_marked, _ in _facts(unended)):
        # Perhaps a fact only speaks of such a tag: then what comes behind it is no thought.
        return NoAnswer("it did not end its thoughts")
    if _NOTHING.fullmatch(said):
        return Answer("")
    facts = list(_facts(said))
    if any(is_marked for is_marked, _ in facts) and not _OTHER.match(said):
        return Answer("\n".join(fact for _, fact in facts))
    return NoAnswer(_what_it_is(text, said))


def _what_it_is(text: str, said: str) -> str:
    """What came instead of an answer."""
    if not said:
        return "it only thought aloud" if text.strip() else "it said nothing"
    if other := _OTHER.match(said):
        return "it sent a page" if other[0].startswith("<") else "it sent a JSON object"
    return "it has no marked fact"


def strip_reasoning(text: str) -> str:
    """*text* without what the model thought aloud: closed tags with what is in them, everything
    behind one that is never closed, and everything before a closing one that was never opened."""
    return _parted(text)[0]


def _parted(text: str) -> tuple[str, str]:
    """What was said, and what stands behind a tag that is never closed."""
    text = _CONTROL.sub("", _CHANNEL.sub("", text))
    kept: list[str] = []
    depth = at = opened = 0
    for tag in _TAG.finditer(text):
        if tag[1] and not depth:
            kept.clear()
        elif not tag[1] and not depth:
            kept.append(text[at : tag.start()])
            opened = tag.end()
        depth = max(depth - 1, 0) if tag[1] else depth + 1
        at = tag.end()
    if not depth:
        kept.append(text[at:])
    return "".join(kept).strip(), text[opened:] if depth else ""


def mark_of(line: str) -> str:
    """The mark of a line that is a fact; empty when it has none."""
    match = _BULLET.fullmatch(line.strip())
    return match[1].lower() if match else ""


def is_kept(text: str) -> bool:
    """Whether an entry's text has a fact that is to be kept beyond the moment."""
    return any(mark_of(line) in KEPT_MARKS for line in text.splitlines())


def _facts(said: str) -> Iterator[tuple[bool, str]]:
    """Each bullet, written as all of them are, and whether it has a mark. Lines right below a
    bullet belong to it, and those that are set in; what is around the bullets (a greeting, a fence)
    is dropped."""
    fact, is_marked, is_apart = "", False, False
    for line in said.splitlines():
        plain, was_apart = line.strip(), is_apart
        is_apart = bool(not plain or _FENCE.fullmatch(plain) or _NOTHING.fullmatch(plain))
        if is_apart:
            continue
        marked, bullet = _BULLET.fullmatch(plain), _PLAIN_BULLET.fullmatch(plain)
        is_set_in = line[:1] in (" ", "\t")
        if marked and marked[2].strip(" *_`"):
            if fact:
                yield is_marked, fact
            fact, is_marked = f"- [{marked[1].lower()}] {marked[2].strip()}", True
        elif fact and (is_set_in or not (was_apart or marked or bullet)):
            fact = f"{fact}\n  {plain}"
        elif bullet and not marked:
            if fact:
                yield is_marked, fact
            fact, is_marked = f"- {bullet[1]}", False
        elif fact:
            yield is_marked, fact
            fact = ""
    if fact:
        yield is_marked, fact
