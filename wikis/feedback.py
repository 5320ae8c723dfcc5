"""Store feedback on passages of pages: one Markdown file each below ``audit/``, until it is
resolved.

A file names the page, the passage, and the text around it, so that the passage is found again after
the page was edited. A resolved one is in ``audit/resolved/``; it is written there before the open
one is deleted.
"""

import datetime as dt
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import unescape
from itertools import takewhile
from typing import Any, Literal

from jenny.markdown import front_matter
from jenny.workspace.errors import FileMissing, WorkspaceError
from jenny.workspace.files import Workspace
from wikis import pages
from wikis.errors import WikiError
from wikis.pages import Wiki

type Severity = Literal["info", "suggest", "warn", "error"]
SEVERITIES: dict[Severity, str] = {
    "info": "Note",
    "suggest": "Suggestion",
    "warn": "Doubt",
    "error": "Mistake",
}
FOLDER = pages.AUDIT
RESOLVED = f"{FOLDER}/resolved"
AROUND_CHARS = 80
PASSAGE_CHARS = 2_000
COMMENT_CHARS = 4_000
MOST_FILES = 2_000
FILE_BYTES = 100_000
# Characters that YAML refuses, even in quotes.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)
_APART = re.compile(r"</?(?:p|div|h[1-6]|li|ul|ol|tr|t[dh]|pre|blockquote|section|br)\b[^<>]*>")
_TAG = re.compile(r"<[^<>]*>")
_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A passage as read (without marks, single spaces), and the text before and after it."""

    before: str
    text: str
    after: str


@dataclass(frozen=True, slots=True)
class Feedback:
    """A comment on a passage.

    ``page`` from the wiki's folder; ``created`` in ISO, UTC; ``answer`` the text given when it was
    resolved.
    """

    id: str
    page: str
    severity: Severity
    anchor: Anchor
    comment: str
    created: str
    author: str
    is_open: bool = True
    answer: str = ""

    @property
    def label(self) -> str:
        return SEVERITIES[self.severity]

    @property
    def path(self) -> str:
        """The path of its file, from the wiki's folder."""
        return f"{FOLDER if self.is_open else RESOLVED}/{self.id}.md"


@dataclass(frozen=True, slots=True)
class Kept:
    """All feedback of a wiki, newest first; ``skipped``: files that are not feedback."""

    open: tuple[Feedback, ...]
    resolved: tuple[Feedback, ...]
    skipped: tuple[str, ...]


def words_of(html: str) -> str:
    """Return the text of a page without tags, in which passages are searched."""
    return unescape(_TAG.sub("", _APART.sub(" ", html)))


def squeezed(text: str) -> str:
    """Replace white space by single spaces, the form in which passages are compared."""
    return " ".join(text.replace("\0", " ").split())


def anchor(text: str, passage: str, before: str = "") -> Anchor | None:
    """Return the anchor of *passage* in a page with this *text*; ``None``: it is not there.

    *before* chooses one of several occurrences.
    """
    whole, wanted = squeezed(text), squeezed(passage)[:PASSAGE_CHARS]
    at = _find(whole, wanted, squeezed(before)) if wanted else -1
    if at < 0:
        return None
    end = at + len(wanted)
    return Anchor(whole[max(0, at - AROUND_CHARS) : at], wanted, whole[end : end + AROUND_CHARS])


def stands(text: str, anchor: Anchor) -> bool:
    """True when the passage is still in a page with this *text*."""
    return anchor.text in squeezed(text)


def add(workspace: Workspace, wiki: Wiki, feedback: Feedback) -> Feedback:
    """Save feedback as a file.

    Raises:
        WikiError: it is empty.
        WorkspaceError: it could not be written.
    """
    if not feedback.comment.strip():
        raise WikiError("Say in a few words what there is to say. Nothing was kept.")
    workspace.write(wiki.path(feedback.path), as_file(feedback), expect=None)
    return feedback


def new_id(now: dt.datetime) -> str:
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def resolve(workspace: Workspace, wiki: Wiki, id_: str, answer: str) -> Feedback:
    """Resolve feedback: the resolved copy is written first, then the open one is deleted.

    Raises:
        FileMissing: there is no open one of that id.
        WorkspaceError: it could not be written; it is still open.
    """
    found = one(workspace, wiki, id_)
    if not found.is_open:
        return found
    done = replace(found, is_open=False, answer=answer.strip()[:COMMENT_CHARS])
    workspace.write_many({wiki.path(done.path): as_file(done), wiki.path(found.path): None})
    return done


def one(workspace: Workspace, wiki: Wiki, id_: str) -> Feedback:
    """Return the feedback with that id; the resolved one if both copies exist.

    Raises:
        FileMissing: there is none.
    """
    if _ID.fullmatch(id_):
        for is_open in (False, True):
            if (found := _read(workspace, wiki, id_, is_open=is_open)) is not None:
                return found
    raise FileMissing("There is no such feedback any more. Nothing was changed.")


def kept(workspace: Workspace, wiki: Wiki, page: str = "") -> Kept:
    rows: dict[bool, list[Feedback]] = {True: [], False: []}
    skipped: list[str] = []
    seen: set[str] = set()
    for is_open, folder in ((False, RESOLVED), (True, FOLDER)):
        for id_, path in _listed(workspace, wiki, folder):
            found = _read(workspace, wiki, id_, is_open=is_open) if id_ else None
            if found is None:
                skipped.append(path)
            elif id_ not in seen and page in ("", found.page):
                rows[is_open].append(found)
            seen.add(id_)
    newest = {key: tuple(sorted(found, key=_by_id, reverse=True)) for key, found in rows.items()}
    return Kept(newest[True], newest[False], tuple(skipped))


def _by_id(feedback: Feedback) -> str:
    return feedback.id


def _listed(workspace: Workspace, wiki: Wiki, folder: str) -> Sequence[tuple[str, str]]:
    """List the Markdown files of a folder: (id, or "" for a name that is not one, path)."""
    try:
        entries = workspace.list(wiki.path(folder))
    except WorkspaceError:
        return ()
    files = [entry for entry in entries if entry.kind == "file" and pages.is_page(entry.name)]
    rows = []
    for entry in files[-MOST_FILES:]:
        stem = pages.without_ending(entry.name)
        rows.append((stem if _ID.fullmatch(stem) else "", f"{folder}/{entry.name}"))
    return rows


def _read(workspace: Workspace, wiki: Wiki, id_: str, *, is_open: bool) -> Feedback | None:
    """Read one file; ``None``: it does not exist, or is not feedback."""
    try:
        path = wiki.path(f"{FOLDER if is_open else RESOLVED}/{id_}.md")
        header = front_matter.read_front_matter(workspace.read(path, limit=FILE_BYTES).text)
    except WorkspaceError:
        return None
    values = header.values
    severity = values.get("severity")
    anchor_of = values.get("anchor")
    if (
        not isinstance(severity, str)
        or severity not in SEVERITIES
        or not isinstance(anchor_of, dict)
    ):
        return None
    comment, answer = header.body, ""
    if not is_open and "\n## Resolved\n" in comment:
        # The last one: the comment may contain such a heading, too.
        comment, _, answer = comment.rpartition("\n## Resolved\n")
    return Feedback(
        id_,
        _text(values.get("target")),
        severity,
        Anchor(*(_text(anchor_of.get(key)) for key in ("before", "text", "after"))),
        comment.strip(),
        _text(values.get("created")),
        _text(values.get("author")),
        is_open=is_open,
        answer=answer.strip(),
    )


def _text(value: Any) -> str:
    return "" if value is None else str(value)[:PASSAGE_CHARS]


def as_file(feedback: Feedback) -> bytes:
    """Encode the file. Values are JSON strings, which are valid YAML whatever they contain."""
    lines = [
        "---",
        f"id: {feedback.id}",
        f"target: {_quoted(feedback.page)}",
        f"severity: {feedback.severity}",
        f"status: {'open' if feedback.is_open else 'resolved'}",
        f"created: {_quoted(feedback.created)}",
        f"author: {_quoted(feedback.author)}",
        "anchor:",
        f"  before: {_quoted(feedback.anchor.before)}",
        f"  text: {_quoted(feedback.anchor.text)}",
        f"  after: {_quoted(feedback.anchor.after)}",
        "---",
        "",
        feedback.comment.strip(),
        "",
    ]
    if not feedback.is_open:
        lines += ["## Resolved", "", feedback.answer, ""]
    return "\n".join(lines).encode("utf-8", "replace")


def _quoted(text: str) -> str:
    return json.dumps(_UNPRINTABLE.sub(" ", text), ensure_ascii=False)


def _find(whole: str, wanted: str, before: str) -> int:
    """Return where *wanted* is; of several, the one whose preceding text is most like *before*."""
    best, most, at = -1, -1, whole.find(wanted)
    tail = before[-AROUND_CHARS:].rstrip()[::-1]
    while at >= 0:
        here = whole[max(0, at - AROUND_CHARS) : at].rstrip()[::-1]
        same = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(here, tail, strict=False))
        )
        if same > most:
            best, most = at, same
        at = whole.find(wanted, at + 1)
    return best
