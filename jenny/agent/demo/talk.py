"""What the demo model says in a conversation."""

import re
import textwrap
from collections.abc import Iterator

from jenny.agent.demo.asked import Asked, Call, Piece, Say, Think

_LABEL = (
    "I am Jenny's demo model: a set of rules, with no language model behind them. "
    "To talk to a real one, connect it under Settings → Models."
)
_CAN = """\
What I can do by rule:

- **files**: “list my files”, “read USER.md”, “search for tea”, “find files named *.md”
- **notes**: “write a note: water the plants on Friday”
- **sums**: “what is 12 * 37?”, or a block of Python
- **looks**: “show me a table”, “… some code”, “… a formula”, “… all formatting”, “… a long answer”
- **memory**: “remember that I drink tea”, “what do you know about tea?”, “forget that I drink tea”
- **recall**: “what did I say about tea?”
"""
_JENNY = """\
Jenny is a personal assistant that you host yourself. What she knows about you lies in plain text
files that you own: `SOUL.md` says how she is, `USER.md` who you are, `memory/MEMORY.md` what is
worth keeping. You can read them, edit them and take them with you.
"""
_TABLE = """\
| Drink  | Water  | Minutes |
|:-------|-------:|--------:|
| Green  |  75 °C |       2 |
| Oolong |  90 °C |       3 |
| Black  | 100 °C |       4 |
"""
_CODE = """\
```python
def primes(limit: int) -> list[int]:
    \"\"\"All primes below limit, by Eratosthenes' sieve.\"\"\"
    sieve = [True] * limit
    for number in range(2, int(limit**0.5) + 1):
        if sieve[number]:
            sieve[number * number :: number] = [False] * len(sieve[number * number :: number])
    return [number for number in range(2, limit) if sieve[number]]
```
"""
_MATHS = """\
The roots of $ax^2 + bx + c = 0$ are

$$
x = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}
$$

and $\\sum_{k=1}^{n} k = \\frac{n(n+1)}{2}$.
"""
_MARKUP = f"""\
## A heading

Some **strong** words, some *stressed* ones, `code`, ~~gone~~ and a [link](https://example.org/).

1. First
2. Second
   - a point
   - another

- [x] done
- [ ] to do

> A quotation,
> in two lines.

{_TABLE}
{_CODE}
{_MATHS}
A claim with a footnote.[^1]

[^1]: And this is it.
"""
_LONG_PARTS = 24
_RECALLED = 6
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """
    what when where which about did does have know remember said tell told that this with your
    from them they were been will would could there
""",
    )
)
_ABOUT = re.compile(
    r"\bwhat (?:did i (?:say|tell you)|do you (?:know|remember)|have i (?:said|told you))\b"
    r"(?:.*?\b(?:about|of)\b)?\s*(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)


def has(*patterns: str) -> re.Pattern[str]:
    """A pattern of whole words, any of these."""
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.IGNORECASE)


def hello(_: Asked) -> Iterator[Piece]:
    """A greeting."""
    yield Say(f"Hello! {_LABEL}\n\n{_CAN}")


def oneself(_: Asked) -> Iterator[Piece]:
    """What it is."""
    yield Say(f"{_LABEL} I understand a few phrases and nothing else.\n\n{_CAN}")


def jenny(_: Asked) -> Iterator[Piece]:
    """What Jenny is."""
    yield Say(f"{_JENNY}\n{_LABEL}")


def thanks(_: Asked) -> Iterator[Piece]:
    """An answer to thanks and goodbyes."""
    yield Say("You're welcome.")


def table(_: Asked) -> Iterator[Piece]:
    """A sample table."""
    yield Say(f"A table, made up by the demo model:\n\n{_TABLE}")


def code(_: Asked) -> Iterator[Piece]:
    """Sample code."""
    yield Say(f"Some code, always the same:\n\n{_CODE}")


def maths(_: Asked) -> Iterator[Piece]:
    """Sample formulas."""
    yield Say(f"Some formulas, always the same ones:\n\n{_MATHS}")


def markup(_: Asked) -> Iterator[Piece]:
    """Everything that Markdown can do here."""
    yield Say(f"All formatting at once:\n\n{_MARKUP}")


def thought(_: Asked) -> Iterator[Piece]:
    """An answer with thinking before it."""
    yield Think(
        "This is where a model that thinks would think. The demo model only shows the place."
    )
    yield Say("I thought about it, in a manner of speaking: open the block above to see.")


def long(_: Asked) -> Iterator[Piece]:
    """A long answer, for seeing one stream."""
    yield Say(f"A long answer in {_LONG_PARTS} parts, to see how one streams.\n\n")
    for number in range(1, _LONG_PARTS + 1):
        yield Say(
            f"### Part {number}\n\nThe words come in small pieces, and finished paragraphs stay "
            "as they are while the open one grows. You can scroll, stop, reload, or open a "
            "second tab: all of them show the same.\n\n"
        )


def clock(asked: Asked) -> Iterator[Piece]:
    """The time, when the request tells it."""
    lines = [line for line in asked.context.splitlines() if re.search(r"\d:\d\d", line)]
    if lines:
        yield Say(f"This came with your message:\n\n> {lines[0].strip()}")
    else:
        yield Say("Your message came without the time, and I have no clock of my own.")


def recall(asked: Asked) -> Iterator[Piece]:
    """What was said before, and what the memory files say, by the words in question."""
    found = _ABOUT.search(asked.said)
    what = found["what"] if found else asked.said
    wanted = {word for word in re.findall(r"\w{3,}", what.lower()) if word not in _COMMON}
    said = [line for text in asked.earlier for line in _lines(text, wanted)]
    kept = list(_lines(asked.system, wanted))
    looks_further = "recall" in asked.tools and bool(wanted) and "do you know" in asked.words
    if not said and not kept and not looks_further:
        yield Say(
            "I find nothing about that, neither in this conversation nor in what I was given."
        )
    for heading, lines in (("You said", said), ("Your files say", kept)):
        if lines:
            yield Say(f"{heading}:\n\n" + "\n".join(f"> {line}" for line in lines) + "\n\n")
    if looks_further:
        yield Say("I'll look at what is on record, too.")
        yield Call("recall", {"query": " ".join(sorted(wanted))})


def anything(asked: Asked) -> Iterator[Piece]:
    """What is said when no rule fits."""
    said = " ".join(asked.said.split())
    heard = f"You wrote: “{textwrap.shorten(said, 120, placeholder=' …')}”" if said else ""
    yield Say(f"{heard}\n\nI have no rule for that. {_LABEL}\n\n{_CAN}".strip())


def _lines(text: str, wanted: set[str]) -> Iterator[str]:
    count = 0
    for line in text.splitlines():
        words = set(re.findall(r"\w{3,}", line.lower()))
        if wanted & words and count < _RECALLED:
            count += 1
            yield line.strip().lstrip("-*# ")
