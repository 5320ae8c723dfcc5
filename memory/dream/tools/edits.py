"""Dream's tools that change the memory files and skills.

An edit applies exactly and once, or not at all; what it applies to is read under the lock.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from jenny.agent.errors import ToolProblem
from jenny.agent.messages import clean
from jenny.agent.tools import Tool, ToolOutcome, file_tools, text_match
from memory import files
from memory.dream.tools import allowed_paths, sections
from memory.dream.tools.drafts import Landed, Step
from memory.dream.tools.dream_toolbox import DreamToolContext, format_landed
from memory.dream.tools.write_session import WriteSession

_EDITS = 40
_TEXT_CHARS = 64_000


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a patch.

    path: the file
    action: replace a piece of text, or add lines under a heading
    old_text: for replace: the text to replace, exactly as it stands there, and once
    new_text: what to put there, or the lines to add, one fact each; nothing takes old_text out
    heading: for add: the heading to add under; one that is not there is made
    """

    path: str
    action: Literal["replace", "add"] = "replace"
    old_text: str = ""
    new_text: str = ""
    heading: str = ""


def edit_file(
    context: DreamToolContext, path: str, old_text: str, new_text: str, sources: list[int]
) -> ToolOutcome:
    """Replace a piece of text in a file by another. The old text must stand there exactly and once.

    path: a memory file, or the file of a skill that Dream made
    old_text: the text to replace, exactly as it stands in the file, without line numbers
    new_text: what to put there; nothing takes the old text out
    sources: the numbers of the entries that this change rests on
    """
    step = _replacing(context, path, old_text, new_text)
    return _outcome(context.session, context.session.write("edit_file", [step], sources))


def apply_patch(context: DreamToolContext, edits: list[Edit], sources: list[int]) -> ToolOutcome:
    """Make several changes, in one file or in several, as one act: all of them or none.

    edits: the changes, in order; a later one sees what the earlier ones did
    sources: the numbers of the entries that these changes rest on
    """
    session = context.session
    if not 1 <= len(edits) <= _EDITS:
        raise ToolProblem(
            f"Nothing was written: a patch has 1 to {_EDITS} edits, not {len(edits)}."
        )
    steps = [
        _adding(edit)
        if edit.action == "add"
        else _replacing(context, edit.path, edit.old_text, edit.new_text)
        for edit in edits
    ]
    landed = session.write("apply_patch", steps, sources)
    return _outcome(session, landed)


def write_file(
    context: DreamToolContext, path: str, content: str, sources: list[int], noted: str = ""
) -> ToolOutcome:
    """Make a skill, or replace one that Dream made and that you have read whole in this run.

    A skill is skills/<slug>/SKILL.md: a header with a description that says when it is to be used,
    then its steps as a list. It is made only of a workflow that was seen at least twice.

    path: skills/<slug>/SKILL.md, the slug in small letters, digits and single hyphens
    content: the whole text of the file
    sources: the numbers of the entries that this change rests on
    noted: for a new skill whose workflow was noted before this run: the line of the memory file
    """
    text = _bounded(content)
    lines = tuple(text.splitlines())

    def change(old: str | None) -> str:
        if path in files.BY_PATH or path.removeprefix("./") in files.BY_PATH:
            raise ToolProblem(
                "write_file makes and replaces skills only; change this file with edit_file or "
                "apply_patch, in the places that are meant"
            )
        if old is not None:
            if old == text:
                raise ToolProblem("the file says exactly that already; nothing would change")
            _must_have_read(context, path, old)
        return text

    step = Step(path, change, lines)
    landed = context.session.write("write_file", [step], sources, noted=noted)
    context.seen.pop(path, None)
    return _outcome(context.session, landed)


def move_entry(
    context: DreamToolContext,
    path: str,
    entry: str,
    to: str,
    *,
    sources: list[int],
    heading: str = "",
    reason: str = "",
) -> ToolOutcome:
    """Move one entry (a bullet with what is set in below it, or a paragraph) out of a file: to the
    archive, from where it can be asked back, or to another file. One act: it is never in neither.

    path: the file that has it
    entry: the entry's text, as it stands there
    to: archive, or the file to move it to
    sources: the numbers of the entries that this change rests on
    heading: for another file: the heading to add it under; one that is not there is made
    reason: why, in a few words; for the archive
    """
    session = context.session
    gone: list[str] = []

    def take(old: str | None) -> str:
        if old is None:
            raise ToolProblem(f"there is no file {path}")
        found = sections.taken(old, clean(entry))
        gone[:] = [found.entry]
        return found.text

    def put(old: str | None) -> str:
        source = session.text(path)
        if source is None:
            raise ToolProblem(f"there is no file {path}")
        lines = sections.taken(source, clean(entry)).entry.split("\n")
        return sections.added(_existing(to, old), clean(heading), lines, path=to)

    removed = tuple(clean(entry).splitlines())
    leaving = Step(path, take, removed=removed)
    if to.strip().lower() in ("archive", allowed_paths.ARCHIVE, f"{allowed_paths.ARCHIVE}/"):
        steps = [Step(path, partial(_archivable, path), removed=removed), leaving]
    elif to == path:
        raise ToolProblem(f"Nothing was written: {path} is where the entry stands already.")
    else:
        steps = [Step(to, put, added=removed), leaving]
    landed = session.write("move_entry", steps, sources, reason=clean(reason))
    return _outcome(session, landed)


def _archivable(path: str, old: str | None) -> str:
    """The file as it is, if what leaves it is kept in the archive."""
    file = files.BY_PATH.get(path.removeprefix("./"))
    if file is None or not file.archived:
        raise ToolProblem(
            f"what leaves {path} is not kept in the archive; move the entry to another file, or "
            "change it with edit_file (its versions keep the old wording)"
        )
    if old is None:
        raise ToolProblem(f"there is no file {path}")
    return old


def _replacing(context: DreamToolContext, path: str, old_text: str, new_text: str) -> Step:
    old, new = _bounded(old_text), sections.unmarked(_bounded(new_text))

    def change(text: str | None) -> str:
        if text is None:
            raise ToolProblem("there is no such file; apply_patch with add makes a memory file")
        return text_match.replace(text, old, new, shown=context.view(path, text)).text

    return Step(path, change, tuple(new.splitlines()), tuple(old.splitlines()))


def _adding(edit: Edit) -> Step:
    """The step that adds lines under a heading."""
    lines = sections.as_lines(_bounded(edit.new_text))

    def change(text: str | None) -> str:
        if not any(line.strip() for line in lines):
            raise ToolProblem("new_text is empty; give the lines to add")
        old = _existing(edit.path, text)
        return sections.added(old, clean(edit.heading), lines, path=edit.path)

    return Step(edit.path, change, tuple(lines))


def _existing(path: str, text: str | None) -> str | None:
    if text is None and path not in files.BY_PATH:
        raise ToolProblem("there is no such skill; make it with write_file")
    return text


def _must_have_read(context: DreamToolContext, path: str, old: str) -> None:
    """A skill is replaced whole only when it was read whole, as it is for this run.

    Raises:
        ToolProblem: it was not.
    """
    workspace, staging = context.workspace, context.session.staging
    now = None
    if workspace.exists(path):
        now = workspace.read(path, limit=file_tools.READ_BYTES)
    if now is not None and now.data == old.encode():
        if now.data:
            file_tools.must_have_read(context, now)
    elif staging is None or staging.read.get(workspace.relative(path)) != old:
        raise ToolProblem("you have not read all of it in this run; read it first")


def _bounded(text: str) -> str:
    if len(text) > _TEXT_CHARS:
        raise ToolProblem(
            f"Nothing was written: a text of {len(text):,} characters is too long for one call."
        )
    return clean(text)


def _outcome(session: WriteSession, landed: Sequence[Landed]) -> ToolOutcome:
    """What the model is told of a call that did not fail."""
    parts = (
        [format_landed(landed, session)]
        if landed
        else ["Nothing was written: there was nothing to change."]
    )
    if session.known:
        parts.append(
            "Not added once more:\n"
            + "\n".join(f"- {row}" for row in session.known[:10])
            + "\nAccount for an entry that holds nothing else as already_known."
        )
    return ToolOutcome(
        ok=True, content="\n\n".join(parts), data={"paths": [r.path for r in landed]}
    )


EDIT_FILE = Tool.of(edit_file)
APPLY_PATCH = Tool.of(apply_patch)
WRITE_FILE = Tool.of(write_file)
MOVE_ENTRY = Tool.of(move_entry)
