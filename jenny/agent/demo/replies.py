"""Replies of the demo model in a conversation."""

import itertools
import re
import textwrap
from collections.abc import Iterator

from jenny.agent.demo.facts import in_third_person, note_of, stated_facts, today_of
from jenny.agent.demo.request import Call, DemoRequest, Piece, Say, Think, known_facts

_LABEL = (
    "I am Jenny's demo model: a set of rules, with no language model behind them. "
    "To talk to a real one, connect it under Settings → Models."
)
_CAN = """\
What I can do by rule:

- **memory**: “My name is Ana”, “Remember that I drink tea”, “What do you know about me?”,
  “Forget that I drink tea”
- **files**: “list my files”, “read USER.md”, “search for tea”, “find files named *.md”
- **notes**: “write a note: water the plants on Friday”
- **sums**: “what is 12 * 37?”, “15 % of 86.40”, or a block of Python
- **charts**: “draw a chart of 3, 5, 8”
- **looks**: “show me a table”, “… some code”, “… a formula”, “… all formatting”, “… a long answer”
- **recall**: “what did I say about tea?”
"""
_JENNY = """\
Jenny is a personal assistant that you host yourself. What she knows about you lies in plain text
files that you own: `SOUL.md` says how she is, `USER.md` who you are, `memory/MEMORY.md` what is
worth keeping. You can read them, edit them and take them with you.
"""
_MEMORY = """\
What you tell me to remember is noted at once, and every chat knows it. A clean-up of memory,
called Dream, later moves it to the files where it belongs. **Memory** in the menu shows every line,
where it comes from, and how to change, forget or bring back any of it.

All of it stays in your workspace on this machine. The demo model sends nothing anywhere. A model
that you connect gets what you say and the memory files; Settings → Privacy says what goes to whom.
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
_ATTACHMENT = re.compile(
    r'<attachment path="[^"]*" name="(?P<name>[^"]*)" type="(?P<type>[^"]*)"[^>]*?'
    r"(?: />|>\n(?P<text>.*?)\n</attachment>)",
    re.DOTALL,
)
_QUOTED_LINES = 5
_LONG_PARTS = 24
_RECALLED = 6
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """
    what when where which about did does have know remember said tell told that this with your
    from them they were been will would could there user users the and are for who how old much many
    everything anything yet still all
""",
    )
)
# People ask by one word for what is said in another.
_SAME = {"name": "called", "old": "born", "job": "work", "eat": "food"}
_STATED_CHARS = 500
_MOST_FACTS = 5
_NAME = re.compile(r"^The user(?:'s name| wants to be called)? (?:is )?(?P<name>[A-Z]\w*)")
_ABOUT = re.compile(
    r"\bwhat (?:did i (?:say|tell you)|do you (?:know|remember)|have i (?:said|told you))\b"
    r"(?:.*?\b(?:about|of)\b)?\s*(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)


def has(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.IGNORECASE)


def hello(_: DemoRequest) -> Iterator[Piece]:
    yield Say(f"Hello! {_LABEL}\n\n{_CAN}")


def oneself(_: DemoRequest) -> Iterator[Piece]:
    yield Say(f"{_LABEL} I understand a few phrases and nothing else.\n\n{_CAN}")


def jenny(_: DemoRequest) -> Iterator[Piece]:
    yield Say(f"{_JENNY}\n{_LABEL}\n\n{_CAN}")


def thanks(_: DemoRequest) -> Iterator[Piece]:
    yield Say("You're welcome.")


def table(_: DemoRequest) -> Iterator[Piece]:
    yield Say(f"A table, made up by the demo model:\n\n{_TABLE}")


def code(_: DemoRequest) -> Iterator[Piece]:
    yield Say(f"Some code, always the same:\n\n{_CODE}")


def maths(_: DemoRequest) -> Iterator[Piece]:
    yield Say(f"Some formulas, always the same ones:\n\n{_MATHS}")


def markup(_: DemoRequest) -> Iterator[Piece]:
    """Answer with every feature of Markdown."""
    yield Say(f"All formatting at once:\n\n{_MARKUP}")


def thought(_: DemoRequest) -> Iterator[Piece]:
    yield Think(
        "This is where a model that thinks would think. The demo model only shows the place."
    )
    yield Say("I thought about it, in a manner of speaking: open the block above to see.")


def long(_: DemoRequest) -> Iterator[Piece]:
    yield Say(f"A long answer in {_LONG_PARTS} parts, to see how one streams.\n\n")
    for number in range(1, _LONG_PARTS + 1):
        yield Say(
            f"### Part {number}\n\nThe words come in small pieces, and finished paragraphs stay "
            "as they are while the open one grows. You can scroll, stop, reload, or open a "
            "second tab: all of them show the same.\n\n"
        )


def clock(asked: DemoRequest) -> Iterator[Piece]:
    lines = [line for line in asked.context.splitlines() if re.search(r"\d:\d\d", line)]
    if lines:
        yield Say(f"This came with your message:\n\n> {lines[0].strip()}")
    else:
        yield Say("Your message came without the time, and I have no clock of my own.")


def attachments(asked: DemoRequest) -> Iterator[Piece]:
    """Say of each file what a model would get of it."""
    for found in _ATTACHMENT.finditer(asked.attachments):
        name, kind, text = found["name"], found["type"], (found["text"] or "").strip()
        if "picture" in kind and not text:
            yield Say(f"**{name}**: a picture. I see nothing; a model that sees is shown it.\n\n")
            continue
        # Notes of the program are in brackets, and pages have a line before them.
        notes = " ".join(re.findall(r"^\[(.*)\]$", text, re.MULTILINE))
        rows = (line for line in text.splitlines() if line.strip())
        lines = [line for line in rows if not line.startswith(("[", "--- page "))]
        quoted = "\n>\n".join(
            f"> {textwrap.shorten(line, 200, placeholder=' …')}" for line in lines[:_QUOTED_LINES]
        )
        more = f"It begins:\n\n{quoted}" if quoted else f"{notes} A model gets its path.".strip()
        yield Say(f"**{name}** ({kind}). {more}\n\n")
    yield Say(f"I can do no more with files than this. {_LABEL}")


def recall(asked: DemoRequest) -> Iterator[Piece]:
    """Answer from earlier messages and the memory, by the words of the question."""
    found = _ABOUT.search(asked.said)
    what = found["what"] if found else asked.said
    wanted = words_of(what)
    said = [line for text in asked.earlier for line in _fitting(text.splitlines(), wanted)]
    known = known_facts(asked.system)
    kept = list(_fitting(known, wanted)) or ([] if said else known)
    looks_further = "recall" in asked.tools and bool(wanted) and "do you know" in asked.words
    for heading, lines in (("You said", said), ("I know", kept)):
        if lines:
            yield Say(f"{heading}:\n\n" + "\n".join(f"> {line}" for line in lines) + "\n\n")
    if not said and not kept:
        yield Say(
            "I know nothing about you yet. Tell me something, such as “My name is Ana” or "
            "“Remember that I drink green tea”. "
        )
    if looks_further:
        yield Say("I'll look at what is on record, too.")
        yield Call("recall", {"query": " ".join(_significant(what))})


def is_statement(asked: DemoRequest) -> bool:
    facts = list(stated_facts(asked.said)) if len(asked.said) <= _STATED_CHARS else []
    return 0 < len(facts) <= _MOST_FACTS


def note_facts(asked: DemoRequest) -> Iterator[Piece]:
    """Remember what the person states about themselves."""
    facts = [fact for _, fact in stated_facts(asked.said)]
    name = next((found["name"] for fact in facts if (found := _NAME.match(fact))), "")
    greeting = f"Nice to meet you, {name}." if name else "Good to know."
    if "remember" not in asked.tools:
        yield Say(f"{greeting} I cannot keep that from this chat: it leaves no memory.")
        return
    yield Say(f"{greeting} I'll note it.")
    # The text is a fact already, so it only gets its day.
    for fact in facts:
        yield Call("remember", note_of(fact, today_of(asked.context)))


def memory(_: DemoRequest) -> Iterator[Piece]:
    yield Say(f"{_MEMORY}\n{_LABEL}")


def everything_gone(_: DemoRequest) -> Iterator[Piece]:
    yield Say(
        "I take out one thing at a time: “forget that I drink tea”. To take out more, open "
        "**Memory** and choose the lines. Settings → Workspaces deletes a whole workspace."
    )


def beyond(_: DemoRequest) -> Iterator[Piece]:
    yield Say(f"That takes a language model. {_LABEL}\n\n{_CAN}")


def anything(asked: DemoRequest) -> Iterator[Piece]:
    said = " ".join(asked.said.split())
    heard = f"You wrote: “{textwrap.shorten(said, 120, placeholder=' …')}”" if said else ""
    yield Say(f"{heard}\n\nI have no rule for that. {_LABEL}\n\n{_CAN}".strip())


def words_of(text: str) -> frozenset[str]:
    """Return the significant words of a text, without the endings that people vary."""
    words = _significant(text)
    return frozenset(word if word.endswith("ss") else word.rstrip("s") for word in words)


def _significant(text: str) -> list[str]:
    return [word for word in re.findall(r"\w{3,}", text.lower()) if word not in _COMMON]


def fitting_facts(asked: DemoRequest, text: str) -> list[str]:
    """List the known facts that share most words with *text*; several fit equally well."""
    wanted = words_of(in_third_person(text))
    ranked = [(len(words_of(fact) & wanted), fact) for fact in known_facts(asked.system)]
    most = max((count for count, _ in ranked), default=0)
    return [fact for count, fact in ranked if count == most and 2 * count >= len(wanted) > 0]


def _fitting(lines: list[str], wanted: frozenset[str]) -> Iterator[str]:
    wanted |= {_SAME[word] for word in wanted if word in _SAME}
    fits = (line.strip().lstrip("-*# ") for line in lines if wanted & words_of(line))
    yield from itertools.islice(fits, _RECALLED)
