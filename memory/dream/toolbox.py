"""Dream's toolbox: its context, the tools that read and edit files, and their form in a review.

Every call is on record. A review was shown no entries, so no call names any.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from jenny.agent.errors import ToolProblem
from jenny.agent.messages import clean
from jenny.agent.tools import Tool, Toolbox, ToolContext, ToolOutcome, file_tools, text_match
from jenny.agent.tools.toolbox import object_schema
from jenny.workspace.errors import PathRefused
from memory import archive, budgets, facts, files, sections, skills, text_similarity
from memory.dream import rules
from memory.dream.drafts import EditStep, Landed
from memory.dream.write_session import WriteSession

# What a model sent is repeated in a refusal, up to so many characters.
_SENTENCE_CHARS = 4_000
# Of a change, so many lines are told, each so far.
_LINES = 20
_SHOWN_CHARS = 300


@dataclass(slots=True)
class DreamToolContext(ToolContext):
    """The tools' context in a Dream run."""

    session: WriteSession = field(kw_only=True)


class DreamToolbox(Toolbox):
    """Dream's toolbox: a call that writes and came to nothing is always on record."""

    def __init__(
        self, tools: Sequence[Tool], ctx: DreamToolContext, *, writers: frozenset[str]
    ) -> None:
        super().__init__(tools, ctx)
        self._session = ctx.session
        self._writers = writers

    def call(self, name: str, arguments: object) -> ToolOutcome:
        """Run a tool, as every toolbox does."""
        session = self._session
        before = len(session.attempts)
        outcome = super().call(name, arguments)
        if not outcome.ok and len(outcome.content) > _SENTENCE_CHARS:
            # What the model sent is repeated in it.
            outcome = replace(outcome, content=f"{outcome.content[:_SENTENCE_CHARS]}…")
        if name in self._writers and not outcome.ok and len(session.attempts) == before:
            session.refuse(name, _path_in(arguments), "edit", outcome.content)
        return outcome

    def _spill(self, name: str, text: str) -> str:
        """Nothing is kept beside the files that Dream may write."""
        del name, text
        return ""


def _path_in(arguments: object) -> str:
    """The one path that a call named which could not be read; empty: none, or several."""
    if not isinstance(arguments, dict):
        return ""
    edits = arguments.get("edits")
    rows = edits if isinstance(edits, list) else [arguments]
    paths = {row.get("path") for row in rows if isinstance(row, dict)}
    path = paths.pop() if len(paths) == 1 else ""
    return path if isinstance(path, str) else ""


def format_landed(landed: Sequence[Landed], session: WriteSession) -> str:
    """Format a write for the model: the lines that came and went, and how full the file is."""
    parts = []
    for row in landed:
        lines = [f"- {line[:_SHOWN_CHARS]}" for line in row.attempt.removed[:_LINES]]
        lines += [f"+ {line[:_SHOWN_CHARS]}" for line in row.attempt.added[:_LINES]]
        verb = "Made" if row.old is None else "Changed"
        if row.waits:
            verb = "Noted for the person's approval, and done as far as this run goes:"
        parts.append("\n".join([f"{verb} {row.path}:", *lines, *_gauge(row, session)]))
    return "\n\n".join([*parts, *_left_elsewhere(landed, session)])


def _gauge(row: Landed, session: WriteSession) -> list[str]:
    """Measure a memory file after a write. Room is asked for only where a file grew; a review
    adds nothing, and whoever makes a file smaller is making room."""
    for measured in budgets.gauge(session.workspace.root):
        if measured.file.path == row.path:
            gauge = replace(measured, chars=budgets.characters(row.new.encode()))
            has_grown = (gauge.chars or 0) > budgets.characters((row.old or "").encode())
            asks = gauge.near and has_grown and session.kind == "dream"
            return [f"{gauge.message}.{' Make room before you add more.' if asks else ''}"]
    return []


def _left_elsewhere(landed: Sequence[Landed], session: WriteSession) -> list[str]:
    """Find where a line just taken out or reworded still stands, word for word or nearly so."""
    came = text_similarity.Index(line for row in landed for line in row.attempt.added)
    gone = [line for row in landed for line in row.attempt.removed if came.find(line) is None]
    if not gone:
        return []
    sources = {cursor for row in landed for cursor in row.attempt.sources}
    own: list[str] = []
    if any("correction" in row.tags for row in session.batch.entries if row.cursor in sources):
        own = [skill.path for skill in skills.all_skills(session.workspace.root) if skill.by_dream]
    stated = [
        (path, fact)
        for path in (*files.BY_PATH, *own)
        for fact in facts.facts(session.text(path) or "")
        if fact.has_content
    ]
    index = text_similarity.Index(fact.text for _, fact in stated)
    found = dict.fromkeys(at for line in gone[:_LINES] if (at := index.find(line)) is not None)
    return [
        f"The old wording still stands in {stated[at][0]}, line {stated[at][1].first}: "
        f"“{stated[at][1].text[:_SHOWN_CHARS]}”. If it is no longer true, change it there, too."
        for at in found
    ]


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

    step = EditStep(path, change, lines)
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
    leaving = EditStep(path, take, removed=removed)
    if to.strip().lower() in ("archive", rules.ARCHIVE, f"{rules.ARCHIVE}/"):
        steps = [EditStep(path, partial(_archivable, path), removed=removed), leaving]
    elif to == path:
        raise ToolProblem(f"Nothing was written: {path} is where the entry stands already.")
    else:
        steps = [EditStep(to, put, added=removed), leaving]
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


def _replacing(context: DreamToolContext, path: str, old_text: str, new_text: str) -> EditStep:
    old, new = _bounded(old_text), sections.unmarked(_bounded(new_text))

    def change(text: str | None) -> str:
        if text is None:
            raise ToolProblem("there is no such file; apply_patch with add makes a memory file")
        return text_match.replace(text, old, new, shown=context.view(path, text)).text

    return EditStep(path, change, tuple(new.splitlines()), tuple(old.splitlines()))


def _adding(edit: Edit) -> EditStep:
    """The step that adds lines under a heading."""
    lines = sections.as_lines(_bounded(edit.new_text))

    def change(text: str | None) -> str:
        if not any(line.strip() for line in lines):
            raise ToolProblem("new_text is empty; give the lines to add")
        old = _existing(edit.path, text)
        return sections.added(old, clean(edit.heading), lines, path=edit.path)

    return EditStep(edit.path, change, tuple(lines))


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
    """Return the model's answer to a call that did not fail."""
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


_FILE_READ = file_tools.read_file


def read_file(
    context: DreamToolContext, path: str, offset: int = 1, limit: int = 2000
) -> ToolOutcome:
    """Read one of the memory files, a skill, or a text of the archive. Lines come numbered.

    path: such as USER.md, skills/<slug>/SKILL.md, or memory/archive/<id> for an archived text
    offset: the first line to read, from 1; a negative one counts from the end
    limit: how many lines to read at most
    """
    try:
        if path.startswith(f"{rules.ARCHIVE}/"):
            path = _archived(context, path)
        real = rules.readable_path(context.workspace, path)
    except PathRefused as error:
        raise ToolProblem(error.message) from error
    if (text := _overlaid(context, real)) is not None:
        return _shown(context, real, context.view(real, text), offset, limit)
    return _FILE_READ(context, real, offset, limit)


def _overlaid(context: DreamToolContext, path: str) -> str | None:
    """A file's text with what waits for it; ``None`` where nothing does."""
    staging = context.session.staging
    if staging is None or not staging.is_on or not staging.found.of(path):
        return None
    return context.session.text(path)


def _shown(context: DreamToolContext, path: str, text: str, offset: int, limit: int) -> ToolOutcome:
    """Lines of a text, numbered as those of a file."""
    lines = file_tools.lines_of(text)
    first = max(len(lines) + offset, 0) if offset < 0 else max(offset, 1) - 1
    rows = [f"{number}\t{line}" for number, line in enumerate(lines, 1)][first:]
    shown: list[str] = []
    room = context.max_result_chars - 500
    for row in rows[: max(limit, 1)]:
        room -= len(row) + 1
        if room < 0 and shown:
            break
        shown.append(row)
    if len(shown) == len(lines) and context.session.staging is not None:
        context.session.staging.read[path] = text
    last = first + len(shown)
    more = [f"[Go on with offset={last + 1}.]"] if last < len(lines) else []
    content = "\n".join([*shown, *more]) or f"{path} is empty."
    return ToolOutcome(ok=True, content=content, data={"path": path, "lines": len(lines)})


def _archived(context: DreamToolContext, path: str) -> str:
    """The path of an archived text that may be named by the first digits of its id."""
    name = path.removeprefix(f"{rules.ARCHIVE}/")
    root = context.workspace.root
    found = () if "/" in name or "." in name else archive.find(root, name)
    if len(found) == 1:
        return found[0].path
    return path


READ_FILE = Tool.of(read_file)


_SOURCES = "sources"
# Not asked for, and not held against a model that sends it all the same.
_PASSED_BY = frozenset({_SOURCES, "entries"})


class ReviewBox(DreamToolbox):
    """The toolbox of a review pass."""

    def call(self, name: str, arguments: object) -> ToolOutcome:
        """Run a tool, as every toolbox does."""
        if isinstance(arguments, dict):
            arguments = {key: value for key, value in arguments.items() if key not in _PASSED_BY}
        return super().call(name, arguments)


def without_entries(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """The tools without the parameter that names entries."""
    return tuple(_without(tool) for tool in tools)


def finish(context: DreamToolContext) -> ToolOutcome:
    """End the review. Call it last, once; at once when nothing is to be done."""
    context.session.has_finished = True
    return ToolOutcome(ok=True, content="The review is over.", ends_run=True)


def _without(tool: Tool) -> Tool:
    fields = tuple(field for field in tool.fields if field.name != _SOURCES)
    if len(fields) == len(tool.fields):
        return tool
    return Tool(
        name=tool.name,
        description=tool.description,
        fields=fields,
        function=partial(tool.function, sources=[]),
        schema={**tool.schema, "input_schema": object_schema(fields)},
    )


FINISH_REVIEW = Tool.of(finish)
