"""Recognises requests for tools, and words the answers from their results."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from jenny.agent.demo.facts import ASKED, POLITE, in_third_person, note_of, today_of
from jenny.agent.demo.replies import fitting_facts
from jenny.agent.demo.request import Call, DemoRequest, Done, Piece, Say

_SHOWN_LINES = 40
# Tools whose results are shown to the person, and the words before them.
_QUOTED = {
    "note": "Done:",
    "plot": "Here it is:",
    "remember": "Done:",
    "forget": "Done:",
    "recall": "This is on record:",
}
_MISSING = {
    "remember": "I cannot remember anything from this chat: it leaves no memory.",
    "forget": "I cannot forget anything from this chat. Open Memory in the menu, or say it in an "
    "ordinary chat.",
}
_NUMBERED = re.compile(r"^[ ]{0,12}\d+\t", re.MULTILINE)
# Both apostrophes, as keyboards and phones write them.
_WHAT_IS = r"what(?: is|['\u2019]s)"
_OPERATORS = r"-+*/^%x\u00d7\u00f7"
_NUMBER = rf"[{_OPERATORS}().,\d\s]*"
_PLACES = frozenset({"my", "the", "this", "workspace", "here", "it", "there", "."})


@dataclass(frozen=True, slots=True)
class Wish:
    """A request that a tool can do: the tool, the pattern, the announcement, and the call's
    arguments.
    """

    tool: str
    before: str
    words: re.Pattern[str]
    arguments: Callable[[re.Match[str]], dict[str, Any]]


def _sum(found: re.Match[str]) -> dict[str, Any]:
    text = found["sum"].strip().replace(",", "").replace("^", "**")
    return {"code": f"print({re.sub('[x\u00d7]', '*', text).replace('\u00f7', '/')})"}


def _share_of(found: re.Match[str]) -> dict[str, Any]:
    share, whole = (found[name].replace(",", "") for name in ("share", "whole"))
    return {"code": f"print(round({whole} * {share} / 100, 10))"}


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


def _chart(found: re.Match[str]) -> dict[str, Any]:
    kind = next((name for name in ("line", "pie") if name in found["kind"].lower()), "bar")
    values = [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", found["values"])]
    names = [f"{number}." for number in range(1, len(values) + 1)]
    return {
        "kind": kind,
        "title": f"{len(values)} numbers",
        "series": [{"name": "Numbers", "values": values}],
        "labels": names,
    }


# They are tried in this order.
WISHES = (
    Wish(
        "note",
        "I'll note it in the project's log.",
        ASKED,
        lambda found: {"fact": " ".join(found["fact"].split())},
    ),
    Wish(
        "remember",
        "I'll note it.",
        ASKED,
        lambda found: {"text": in_third_person(found["fact"])},
    ),
    Wish(
        "forget",
        "I'll take it out.",
        re.compile(
            rf"{POLITE}forget(?: that| about)?[\s:,]+(?P<text>.+)"
            r"|^\s*(?:bitte )?vergiss[\s:,]+(?:dass )?(?P<german>.+)"
            r"|^(?P<japanese>.+?)(?:(?:だ)?という)?ことは?忘れて",
            re.IGNORECASE | re.DOTALL,
        ),
        lambda found: {
            "text": next(filter(None, found.group("text", "german", "japanese"))).rstrip(".!? \t\n")
        },
    ),
    Wish(
        "python_exec",
        "I'll run that in the sandbox.",
        re.compile(r"```(?:python|py)[ \t]*\n(?P<code>.*?)```", re.DOTALL),
        lambda found: {"code": found["code"]},
    ),
    Wish(
        "plot",
        "I'll draw it.",
        re.compile(
            r"\b(?:draw|plot|make|show)\b(?P<kind>.{0,30})\b(?:chart|plot|graph)\b\D{0,30}?"
            r"(?P<values>-?\d[-\d.,;\s]*(?:and\s+-?\d[\d.]*)?)",
            re.IGNORECASE,
        ),
        _chart,
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
        "python_exec",
        "I'll work it out in the sandbox.",
        re.compile(rf"^\s*(?P<sum>[-(\d]{_NUMBER}[{_OPERATORS}]{_NUMBER}\d\)*)\s*[=?]*\s*$"),
        _sum,
    ),
    Wish(
        "python_exec",
        "I'll work it out in the sandbox.",
        re.compile(
            r"(?P<share>\d[\d,]*(?:\.\d+)?)\s*(?:%|per ?cent)\s+of\s+(?P<whole>\d[\d,]*(?:\.\d+)?)",
            re.IGNORECASE,
        ),
        _share_of,
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
            r"[`\"'\u201c]?(?P<path>\w[\w./ -]{0,200}?\.\w{1,8})[`\"'\u201d]?(?=[\s?!,.]|$)",
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


def is_wish(asked: DemoRequest) -> bool:
    return next(_wishes(asked), None) is not None


def call(asked: DemoRequest) -> Iterator[Piece]:
    """Make the call, or say that the tool is not available."""
    wish, found = next(_wishes(asked))
    if wish.tool not in asked.tools:
        yield Say(_MISSING.get(wish.tool, f"That takes the tool `{wish.tool}`, which is off here."))
        return
    arguments = wish.arguments(found)
    if wish.tool == "remember":
        arguments = note_of(found["fact"], today_of(asked.context))
    if wish.tool == "forget":
        lines = fitting_facts(asked, arguments["text"])
        if len(lines) > 1:
            shown = "\n".join(f"> {line}" for line in lines[:_SHOWN_LINES])
            yield Say(f"Several lines fit. Say which one I should forget:\n\n{shown}")
            return
        arguments["text"] = lines[0] if lines else in_third_person(arguments["text"])
    yield Say(wish.before)
    yield Call(wish.tool, arguments)


def _wishes(asked: DemoRequest) -> Iterator[tuple[Wish, re.Match[str]]]:
    """Yield the possible requests; a note needs a log."""
    for wish in WISHES:
        found = wish.words.search(asked.said)
        if found and (wish.tool != "note" or wish.tool in asked.tools):
            yield wish, found


def report(asked: DemoRequest) -> Iterator[Piece]:
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
    if done.call.name == "plot":
        # The line that shows the picture.
        body = done.result.rpartition("\n\n")[2]
    return f"{quoted or f'`{done.call.name}` found:'}\n\n{body}"


def _fence(text: str) -> str:
    """Return the text as a code block with a fence that the text cannot close."""
    lines = text.rstrip().splitlines()
    rest = len(lines) - _SHOWN_LINES
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    shown = "\n".join(lines[:_SHOWN_LINES])
    after = f"\n\n… and {rest} more lines." if rest > 0 else ""
    return f"{fence}text\n{shown}\n{fence}{after}"


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip().splitlines()[:_SHOWN_LINES])
