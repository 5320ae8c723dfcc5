"""What the person wants done with tools, and what is said about what they gave."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from jenny.agent.demo.asked import Asked, Call, Done, Piece, Say

_SHOWN_LINES = 40
# Tools whose results are words for a person, and what is said before them.
_QUOTED = {
    "note": "This came of it:",
    "remember": "This came of it:",
    "forget": "This came of it:",
    "recall": "This is on record:",
}
_NUMBERED = re.compile(r"^\s*\d+\t", re.MULTILINE)
# Both apostrophes, as keyboards and phones write them.
_WHAT_IS = r"what(?: is|['\u2019]s)"
_OPERATORS = r"-+*/^%x\u00d7\u00f7"
_NUMBER = rf"[{_OPERATORS}().,\d\s]*"
_PLACES = frozenset({"my", "the", "this", "workspace", "here", "it", "there", "."})


@dataclass(frozen=True, slots=True)
class Wish:
    """Something a person may want done: with which tool, in which words, how it is announced,
    and the call's arguments by what the words say.
    """

    tool: str
    before: str
    words: re.Pattern[str]
    arguments: Callable[[re.Match[str]], dict[str, Any]]


def _sum(found: re.Match[str]) -> dict[str, Any]:
    text = found["sum"].strip().replace(",", "").replace("^", "**")
    return {"code": f"print({re.sub('[x\u00d7]', '*', text).replace('\u00f7', '/')})"}


def _note(found: re.Match[str]) -> dict[str, Any]:
    text = found["note"].strip()
    name = "-".join(re.findall(r"[a-z0-9]+", text.lower())[:5]) or "note"
    return {"path": f"output/notes/{name}.md", "content": f"# Note\n\n{text}\n"}


def _glob(found: re.Match[str]) -> dict[str, Any]:
    glob = found["glob"].rstrip(".")
    return {"pattern": glob if set(glob) & set("*?") else f"*{glob}*"}


def _searched(found: re.Match[str]) -> dict[str, Any]:
    words = re.sub(r"([.^$*+?{}\[\]\\|()])", r"\\\1", found["words"].strip())
    return {"pattern": words, "ignore_case": True}


def _folder(found: re.Match[str]) -> dict[str, Any]:
    folder = (found["folder"] or "").rstrip(".")
    return {"path": "" if folder.lower() in _PLACES else folder}


# In the order in which they are tried.
WISHES = (
    Wish(
        "note",
        "I'll note it in the project's log.",
        re.compile(
            r"^\s*(?:please )?(?:note|remember)(?: that)?[\s:,]+(?P<fact>.+)",
            re.IGNORECASE | re.DOTALL,
        ),
        lambda found: {"fact": " ".join(found["fact"].split())},
    ),
    Wish(
        "remember",
        "I'll note it.",
        re.compile(
            r"^\s*(?:please )?remember(?: that)?[\s:,]+(?P<text>.+)", re.IGNORECASE | re.DOTALL
        ),
        lambda found: {"text": found["text"].strip()},
    ),
    Wish(
        "forget",
        "I'll take it out.",
        re.compile(
            r"^\s*(?:please )?forget(?: that| about)?[\s:,]+(?P<text>.+?)[.!\s]*$",
            re.IGNORECASE | re.DOTALL,
        ),
        lambda found: {"text": found["text"]},
    ),
    Wish(
        "python_exec",
        "I'll run that in the sandbox.",
        re.compile(r"```(?:python|py)\s*\n(?P<code>.*?)```", re.DOTALL),
        lambda found: {"code": found["code"]},
    ),
    Wish(
        "python_exec",
        "I'll work it out in the sandbox.",
        re.compile(
            rf"(?:compute|calculate|work out|how much is|{_WHAT_IS})\s+"
            rf"(?P<sum>[-(\d]{_NUMBER}[{_OPERATORS}]{_NUMBER}\d\)*)",
            re.IGNORECASE,
        ),
        _sum,
    ),
    Wish(
        "write_file",
        "I'll write it down.",
        re.compile(
            r"\b(?:write|make|take|save|create)\b.{0,20}\bnote\b(?:\s+(?:that|saying|about|of))?"
            r"[\s:,]*(?P<note>.+)",
            re.IGNORECASE | re.DOTALL,
        ),
        _note,
    ),
    Wish(
        "find_files",
        "I'll look for them.",
        re.compile(
            r"\bfind\b.{0,20}\bfiles?\b.{0,12}\b(?:named|called|like|matching)\s+"
            r"[`\"'\u201c]?(?P<glob>[\w*?./-]+)",
            re.IGNORECASE,
        ),
        _glob,
    ),
    Wish(
        "grep",
        "I'll search the workspace.",
        re.compile(
            r"\b(?:search|grep|look)\b(?:\s+(?:my|the|in|through|all)\b|\s+(?:files?|workspace))*"
            r"\s+for\s+[`\"'\u201c]?(?P<words>[^`\"'\u201d\n?]+)",
            re.IGNORECASE,
        ),
        _searched,
    ),
    Wish(
        "read_file",
        "I'll read it.",
        re.compile(
            rf"\b(?:read|open|print|cat|show(?: me)?|{_WHAT_IS}|what does)\b(?:\s+in)?"
            r"(?:\s+(?:the|my))?(?:\s+file)?\s+"
            r"[`\"'\u201c]?(?P<path>\w[\w./ -]*?\.\w{1,8})[`\"'\u201d]?(?=[\s?!,.]|$)",
            re.IGNORECASE,
        ),
        lambda found: {"path": found["path"].strip()},
    ),
    Wish(
        "list_dir",
        "I'll look at the folder.",
        re.compile(
            r"\b(?:list|show|which|what)\b.{0,30}\b(?:files?|folders?|directory|workspace)\b"
            r"(?:.{0,20}?\bin\s+(?:the\s+)?(?:folder\s+)?[`\"'\u201c]?(?P<folder>[\w./-]+))?",
            re.IGNORECASE | re.DOTALL,
        ),
        _folder,
    ),
)


def is_wish(asked: Asked) -> bool:
    """Whether the person wants something done that takes a tool."""
    return next(_wishes(asked), None) is not None


def call(asked: Asked) -> Iterator[Piece]:
    """Make the call, or say that there is no tool for it here."""
    wish, found = next(_wishes(asked))
    if wish.tool in asked.tools:
        yield Say(wish.before)
        yield Call(wish.tool, wish.arguments(found))
    else:
        yield Say(f"That takes the tool `{wish.tool}`, which is not at hand here.")


def _wishes(asked: Asked) -> Iterator[tuple[Wish, re.Match[str]]]:
    """What the words may mean; a note is made only where there is a log to make it in."""
    for wish in WISHES:
        found = wish.words.search(asked.said)
        if found and (wish.tool != "note" or wish.tool in asked.tools):
            yield wish, found


def report(asked: Asked) -> Iterator[Piece]:
    """Say what the calls gave."""
    for done in asked.done:
        yield Say(_report(done) + "\n\n")


def _report(done: Done) -> str:
    path = str(done.call.arguments.get("path") or "")
    if not done.ok:
        return f"That did not work. `{done.call.name}` says:\n\n{_quote(done.result)}"
    match done.call.name:
        case "read_file":
            return f"This is what `{path}` says:\n\n{_fence(_NUMBERED.sub('', done.result))}"
        case "list_dir":
            where = f"`{path}`" if path else "your workspace"
            return f"This is in {where}:\n\n{_fence(done.result)}"
        case "python_exec" if "\n" not in done.result.strip():
            return f"The result is **{done.result.strip()}**."
        case "write_file":
            return f"It is in `{path}` now."
    quoted = _QUOTED.get(done.call.name)
    body = _quote(done.result) if quoted else _fence(done.result)
    return f"{quoted or f'`{done.call.name}` found:'}\n\n{body}"


def _fence(text: str) -> str:
    """The text as a code block whose fence nothing in it can close."""
    lines = text.rstrip().splitlines()
    rest = len(lines) - _SHOWN_LINES
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    shown = "\n".join(lines[:_SHOWN_LINES])
    after = f"\n\n… and {rest} more lines." if rest > 0 else ""
    return f"{fence}text\n{shown}\n{fence}{after}"


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip().splitlines()[:_SHOWN_LINES])
