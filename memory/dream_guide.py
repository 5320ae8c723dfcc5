"""The guide: what Dream keeps, where, and in which words; a workspace may have its own.

``prompts/dream.md`` takes the place of the built-in editorial text. What keeps the memory safe
stands before it and cannot be replaced: headings of the guide that are named like ours lose
their place.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from jenny.markdown.comments import without_comments
from jenny.workspace import diffs, names
from jenny.workspace.content import read_text
from jenny.workspace.errors import FileMissing, VersionMismatch, WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from memory import files

PATH = files.GUIDE
MAX_CHARS = 32_000
# Of the text, so much is shown in a chat.
_SHOWN_CHARS = 8_000
_PROMPTS = Path(__file__).with_name("prompts")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]*(.*?)[ \t]*#*[ \t]*$")
_UNDERLINE = re.compile(r"[ \t]{0,3}(?:=+|-+)[ \t]*$")
# The headings of Dream's prompt (``memory.dream.prompt``), its rules included.
PROMPT_HEADINGS = (
    "Conversation History",
    "The files as they are now",
    "How full they are",
    "Pinned",
    "Skills there are",
    "The archive",
    "Before this run",
    "What you may do",
    "What you get",
    "What never goes into a file",
    "The guide",
    "What waits for the person's approval",
    "Rejected wordings",
    "Kept",
    "Taken back by the person",
    *files.BY_PATH,
)

type Kind = Literal["built-in", "own"]


@dataclass(frozen=True, slots=True)
class Guide:
    """The text in force, whether it is the workspace's own, and its status in a sentence or two."""

    text: str
    kind: Kind
    status: str
    is_cut: bool = False


@cache
def load_built_in_guide() -> str:
    return (_PROMPTS / "dream.md").read_text(encoding="utf-8").strip()


def read_guide(root: Path) -> Guide:
    """The guide of the workspace at *root*."""
    found = read_text(root, PATH)
    if found.is_missing:
        return _default(f"There is no {PATH}, so Dream follows its built-in guide.")
    if found.problem:
        why = found.problem
        if (root / PATH).is_dir():
            why = f"{PATH} is a folder."
        return _default(f"{why} So Dream follows its built-in guide.")
    text = without_comments(found.text.replace("\0", "")).strip("\ufeff \t\r\n")
    if not text:
        what = "has only comments in it" if found.text.strip("\ufeff \t\r\n") else "is empty"
        return _default(f"{PATH} {what}, so Dream follows its built-in guide.")
    status = f"Dream follows this workspace's own guide, {PATH} ({len(text):,} characters)."
    if text == load_built_in_guide():
        status += " It says the same as the built-in one."
    kept, is_cut = _cut(text)
    if is_cut:
        status += (
            f" Only the first {len(kept):,} characters are used, since a guide has at most "
            f"{MAX_CHARS:,}; shorten it."
        )
    defused = _defused(kept)
    if defused != kept:
        status += " Headings named like those of Dream's own prompt are taken as plain text."
    return Guide(defused, "own", status, is_cut)


def create_guide(root: Path, actor: Actor) -> str:
    """Make the workspace's own guide from the built-in text; what was done, or why not.

    What is not blank is never overwritten.
    """
    workspace = open_workspace(root, actor)
    try:
        there = workspace.read(PATH)
    except FileMissing:
        there = None
    except WorkspaceError as error:
        return f"Nothing was written: {error.message}"
    if there is not None and there.data.strip(b"\xef\xbb\xbf \t\r\n\0"):
        return (
            f"Nothing was written: {PATH} has something in it. Edit it as it is, or delete it "
            "first to begin from the built-in text again."
        )
    try:
        workspace.write(
            PATH,
            f"{load_built_in_guide()}\n".encode(),
            expect=there.version if there else None,
        )
    except VersionMismatch:
        return f"Nothing was written: {PATH} was changed just now by somebody else."
    except WorkspaceError as error:
        return f"Nothing was written: {error.message}"
    return (
        f"{PATH} is there now, with the built-in text, for you to edit. Dream follows it from its "
        "next run on. Delete it, or leave it empty, to go back to the built-in guide."
    )


def guide_status(root: Path) -> str:
    """The answer to ``/dream-prompt``: the status, and the text in force."""
    found = read_guide(root)
    cure = "`/dream-prompt init` makes one to edit, from the built-in text."
    if found.kind == "own":
        cure = f"Delete {PATH}, or leave it empty, to go back to the built-in guide."
    return "\n\n".join(
        [
            diffs.plain_path(found.status),
            cure,
            "What keeps the memory safe stands before it in every run and cannot be replaced.",
            diffs.fenced(diffs.bounded(found.text, _SHOWN_CHARS), "markdown"),
        ]
    )


def _default(status: str) -> Guide:
    return Guide(load_built_in_guide(), "built-in", status)


def _cut(text: str) -> tuple[str, bool]:
    """At most so many characters, ending with a whole line where there is one."""
    if len(text) <= MAX_CHARS:
        return text, False
    kept = text[:MAX_CHARS]
    end = kept.rfind("\n")
    return (kept[:end] if end > MAX_CHARS // 2 else kept).rstrip(), True


def _defused(text: str) -> str:
    """The text without headings that could pass for the prompt's own."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        heading = _HEADING.match(line)
        if heading and _is_ours(heading[1]):
            lines[at] = f"(in the guide) {heading[1].strip()}"
        elif at + 1 < len(lines) and _is_ours(line) and _UNDERLINE.match(lines[at + 1]):
            lines[at] = f"(in the guide) {line.strip()}"
    return "\n".join(lines)


def _is_ours(title: str) -> bool:
    plain = " ".join(names.disguised(re.sub(r"[*_`\\:#]", "", title)).split())
    return any(plain == " ".join(names.disguised(ours).split()) for ours in PROMPT_HEADINGS)
