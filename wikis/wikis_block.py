"""Make the ``## Wikis`` block: one line for each folder below ``wikis/``, as it is on disk now.

It names the wikis and their scopes; the model reads their pages when a question needs them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jenny.agent.prompt import Block, one_line
from jenny.markdown import front_matter
from jenny.workspace.content import Reading
from jenny.workspace.file_cache import StampedFolder

# A value that begins like a list, a block or a reference is more than a plain line.
_SUMMARY = re.compile(r"^summary:[ \t]+(?![\[{|>&*!])(\S.*)$", re.MULTILINE)
NO_SCOPE = "(no scope set)"

_ABOUT = (
    "## Wikis\n\n"
    "Folders of pages on one subject each, kept by the person: name, scope, path of the index. "
    "Open a wiki's index before you answer on its subject. When asked whether something is "
    "recorded, grep wikis/."
)


@dataclass(frozen=True, slots=True)
class Wiki:
    """A folder below ``wikis/``. *scope* is one line, empty when none is set."""

    name: str
    scope: str
    problem: str = ""

    @property
    def index(self) -> str:
        return f"wikis/{self.name}/wiki/index.md"


@dataclass(frozen=True, slots=True)
class Wikis:
    """All wikis of a workspace, and their prompt block."""

    all: tuple[Wiki, ...]
    block: Block


def listing(root: Path) -> tuple[Wiki, ...]:
    """Return the wikis of the workspace at *root*, by name."""
    return _WIKIS.read(root).all


def block(root: Path) -> Block:
    """Return the ``## Wikis`` block; its text is empty when there are none."""
    return _WIKIS.read(root).block


def parse(name: str, text: str) -> Wiki:
    """Parse the AGENTS.md *text* of the wiki in a folder of that name."""
    header = front_matter.read_front_matter(text)
    problem = f"wikis/{name}/AGENTS.md: {header.problem}." if header.problem else ""
    summary = _plain_summary(header.raw) if problem else header.values.get("summary")
    if not isinstance(summary, str):
        return Wiki(name, "", problem)
    scope = one_line(summary)
    # A scaffold's placeholder is not a scope.
    return Wiki(name, "" if scope.startswith("<") and scope.endswith(">") else scope, problem)


def _plain_summary(header: str) -> str | None:
    """Return the one summary line of a header that is invalid YAML (often a colon in the value)."""
    lines = _SUMMARY.findall(header)
    return lines[0].strip(" \t\"'") if len(lines) == 1 else None


def _read(name: str, reading: Reading) -> Wiki:
    if reading.problem:
        return Wiki(name, "", reading.problem)
    return parse(name, reading.text)


def _gather(wikis: Sequence[Wiki]) -> Wikis:
    # A name that must be altered to fit in a line would give a wrong path.
    fit = [wiki for wiki in wikis if one_line(wiki.name) == wiki.name]
    problems = [wiki.problem for wiki in wikis if wiki.problem]
    if len(fit) < len(wikis):
        problems.append(
            "A folder in wikis/ has a name with invisible characters and is not listed. Rename it."
        )
    if not fit:
        return Wikis(tuple(wikis), Block("wikis", ""))
    rows = [f"- {wiki.name}: {wiki.scope or NO_SCOPE} — {wiki.index}" for wiki in fit]
    text = "\n".join([_ABOUT, "", *rows])
    return Wikis(
        tuple(wikis),
        Block("wikis", text, heading="# Memory", source="wikis/", problem=_shortened(problems)),
    )


def _shortened(problems: Sequence[str]) -> str:
    more = f" {len(problems) - 1} more like this." if len(problems) > 1 else ""
    return f"{problems[0]}{more}" if problems else ""


_WIKIS: StampedFolder[Wiki, Wikis] = StampedFolder("wikis", "AGENTS.md", _read, _gather)
