"""The tools that read and write files of the workspace, one or several in one transaction.

Every path is resolved by ``jenny.workspace`` and every write passes its rules. A write reports what
was written, never what was asked for.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from jenny.agent.errors import ToolProblem
from jenny.agent.messages import clean
from jenny.agent.tools import text_match
from jenny.agent.tools.toolbox import Seen, Tool, ToolContext, ToolOutcome
from jenny.documents import file_types
from jenny.documents.reader import read_data
from jenny.workspace import names, texts
from jenny.workspace.errors import FileMissing, VersionMismatch
from jenny.workspace.files import FileVersion

READ_BYTES = 20_000_000
# What read_file opens: as much as a file of a message may have (``attachments.maxFileMb``).
FILE_BYTES = 50_000_000
# Characters of a page that can be read, in as many results as that takes.
_PAGE_CHARS = 1_000_000
# Entries searched for a file that was probably meant.
_MEANT_AMONG = 5_000


def existing(context: ToolContext, path: str) -> FileVersion | None:
    try:
        return context.workspace.read(path, limit=READ_BYTES)
    except FileMissing:
        return None


def text_of(file: FileVersion) -> str:
    """Return the file's text; ``ToolProblem`` when it has none."""
    return decoded(file.path, file.data)


def decoded(path: str, data: bytes) -> str:
    """Decode *data*; ``ToolProblem`` when it is no text (not UTF-8, or with NUL in it)."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        message = (
            f"{path} is no text file ({len(data):,} bytes); it can be neither read nor edited."
        )
        raise ToolProblem(message)
    return text


def _is_text(data: bytes) -> bool:
    """True for UTF-8 without NUL that does not call itself a PDF."""
    if b"\0" in data or data.startswith(b"%PDF-"):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def lines_of(text: str) -> list[str]:
    """Split *text* into numbered lines: at LF only, the end of the last line does not begin
    another.
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def must_have_read(context: ToolContext, file: FileVersion) -> None:
    """Refuse to replace or delete a file unless all of its present text was read."""
    seen = context.seen.get(file.path)
    if seen is not None and seen.version != file.version:
        message = f"{file.path} has changed since you read it. Nothing was written. Read it again."
        raise ToolProblem(message)
    if seen is None or not seen.is_whole:
        message = (
            f"{file.path} exists, and you have not read all of it in this turn. Nothing was "
            "written. Read it first, or change a part of it with edit_file."
        )
        raise ToolProblem(message)


def missing(context: ToolContext, path: str) -> str:
    """Say that there is no such file, and name those that were probably meant."""
    name = path.rstrip("/").rsplit("/", 1)[-1]
    files = [
        entry.path
        for entry in islice(context.workspace.walk(), _MEANT_AMONG)
        if entry.kind == "file"
    ]
    meant = [each for each in files if names.folded(each.rsplit("/", 1)[-1]) == names.folded(name)]
    if not meant:
        folded = {names.folded(each): each for each in files}
        close = difflib.get_close_matches(names.folded(path), folded, n=3, cutoff=0.75)
        meant = [folded[each] for each in close]
    hint = f" There is {_listed(meant[:3])}." if meant else ""
    return f"There is no file {names.shown(path)}.{hint}"


def _listed(paths: Iterable[str]) -> str:
    return ", ".join(names.shown(path) for path in paths)


_ENTRIES = 500
_SNIPPET = 3


def read_file(
    context: ToolContext, path: str, offset: int = 1, limit: int = 2000, page: int = 0
) -> ToolOutcome:
    """Read a text file of the workspace, or a document (PDF, Word, Excel, PowerPoint, OpenDocument,
    e-mail). Each line of a text comes after its number and a tab; a document comes page by page.

    path: as this conversation writes paths, such as AGENTS.md
    offset: of a text: the first line to read, from 1; a negative one counts from the end; of a
        document: the first character of the page
    limit: of a text: how many lines to read at most
    page: of a document: the first page to read, from 1
    """
    file, text = _text(context, path, page=page)
    if text is None:
        return _read_pages(context, file, max(page, 1), max(offset, 1) - 1)
    whole, text = text, context.view(file.path, text)
    if not text:
        context.seen[file.path] = Seen(file.version, 0, is_whole=True)
        return ToolOutcome(ok=True, content=f"{file.path} is empty.", source=file.path)
    lines = lines_of(text)
    first = max(len(lines) + offset, 0) if offset < 0 else max(offset, 1) - 1
    if first >= len(lines):
        message = f"{file.path} has {len(lines):,} lines; there is no line {offset:,}."
        raise ToolProblem(message)
    shown, last, is_cut = _page(lines, first, max(limit, 1), context.max_result_chars - 500)
    _remember(context, file, (first, last, len(lines)), is_cut=is_cut or text != whole)
    notes = []
    if is_cut:
        notes.append(
            f"Line {first + 1:,} is {len(lines[first]):,} characters long and is cut here."
        )
    if last < len(lines):
        notes.append(f"Go on with offset={last + 1}.")
    if (first, last) != (0, len(lines)) or is_cut:
        notes.insert(0, f"Lines {first + 1:,}–{last:,} of {len(lines):,}.")
    content = "\n".join([*shown, *([f"[{' '.join(notes)}]"] if notes else [])])
    data = {"path": file.path, "lines": len(lines), "first": first + 1, "last": last}
    return ToolOutcome(ok=True, content=content, data=data, source=file.path)


def list_dir(context: ToolContext, path: str = "") -> ToolOutcome:
    """List what is in a folder of the workspace, folders first, with sizes.

    path: the folder; nothing means the one that paths start from
    """
    entries = context.workspace.list(path)
    marks = {"folder": "/", "link": " (a link)", "other": " (no plain file)", "file": ""}
    rows = [
        f"{entry.name}{marks[entry.kind]}"
        + (f"  {entry.size:,} bytes" if entry.kind == "file" else "")
        for entry in entries[:_ENTRIES]
    ]
    if len(entries) > _ENTRIES:
        rows.append(f"[{len(entries) - _ENTRIES:,} more are not listed; use find_files.]")
    return ToolOutcome(
        ok=True,
        content="\n".join(rows) or "The folder is empty.",
        data={"path": path, "entries": len(entries)},
    )


def write_file(context: ToolContext, path: str, content: str) -> ToolOutcome:
    """Make a text file, or replace all of one that you have read whole in this turn.

    Use edit_file for a change of a part. Missing folders are made.

    path: as this conversation writes paths, such as output/letter.md
    content: the whole text of the file
    """
    workspace = context.workspace
    old = existing(context, path)
    text = clean(content)
    if old is not None:
        text = texts.keep_line_ends(text, text_of(old))
    if old is not None and old.data == text.encode():
        return ToolOutcome(ok=True, content=f"{old.path} says exactly that already.")
    if old is not None and old.data:
        must_have_read(context, old)
    file = workspace.write(path, text.encode(), expect=old.version if old else None)
    count = len(lines_of(text))
    context.seen[file.path] = Seen(file.version, count, is_whole=True)
    verb = "Made" if old is None else "Replaced"
    return ToolOutcome(
        ok=True,
        content=f"{verb} {file.path}: {count:,} lines, {len(text):,} characters.",
        data={"path": file.path, "made": old is None, "version": file.version},
    )


def edit_file(
    context: ToolContext, path: str, old_text: str, new_text: str, *, every: bool = False
) -> ToolOutcome:
    """Replace a piece of text in a file by another. The old text must stand there exactly and once.

    path: as this conversation writes paths, such as AGENTS.md
    old_text: the text to replace, exactly as it stands in the file, without line numbers
    new_text: what to put there; nothing takes the old text out
    every: replace every place where the old text stands
    """
    done: list[text_match.Replaced] = []

    def change(data: bytes | None) -> bytes | None:
        done.clear()
        if data is None:
            return None
        text = decoded(path, data)
        old, new = clean(old_text), clean(new_text)
        shown = context.view(path, text)
        done.append(text_match.replace(text, old, new, every=every, shown=shown))
        return done[-1].text.encode()

    if existing(context, path) is None:
        raise ToolProblem(missing(context, path))
    try:
        file = context.workspace.edit(path, change)
    except ToolProblem as problem:
        message = f"Nothing was written to {path}: {problem.message}."
        raise ToolProblem(message) from problem
    if file is None or not done:
        raise ToolProblem(missing(context, path))
    context.seen.pop(file.path, None)
    made = done[-1]
    times = f", {made.count} places" if made.count > 1 else ""
    shown = replace(made, text=context.view(file.path, made.text))
    return ToolOutcome(
        ok=True,
        content=f"Edited {file.path}{times}. It now reads there:\n{_snippet(shown, new_text)}",
        data={"path": file.path, "count": made.count, "version": file.version},
    )


def _read_pages(context: ToolContext, file: FileVersion, first: int, at: int) -> ToolOutcome:
    """Read a document from the character *at* of page *first* on, as much as a result may have."""
    name = file.path.rpartition("/")[2]
    room = context.max_result_chars - 500
    found = read_data(
        file.data, name, first=first, chars=room, page_chars=_PAGE_CHARS, pictures=False
    )
    if not found.pages and found.page_count and first > found.page_count:
        message = f"{file.path} has {found.page_count:,} pages; there is no page {first:,}."
        raise ToolProblem(message)
    if not found.pages:
        message = f"{file.path} ({found.label}, {len(file.data):,} bytes) cannot be read as text."
        raise ToolProblem(f"{message} {found.problem}".strip())
    shown: list[str] = []
    on = ""
    for number, text in enumerate(found.pages, first):
        visible = clean(context.view(file.path, text))[at:]
        head = f"--- page {number} ---\n"
        if shown and len(head) + len(visible) > room:
            on = f"page={number}"
            break
        kept = visible[: max(room - len(head), 1)]
        shown.append(f"{head}{kept}")
        room -= len(shown[-1]) + 1
        if len(kept) < len(visible):
            on = f"page={number}, offset={at + len(kept) + 1}"
            break
        at = 0
    last = first + len(shown) - 1
    if found.has_more and not on:
        on = f"page={last + 1}"
    of = f" of {found.page_count:,}" if found.page_count else ""
    notes = [f"Pages {first:,}–{last:,}{of}.", found.problem, f"Go on with {on}." if on else ""]
    if len(found.pages[0]) >= _PAGE_CHARS:
        notes.insert(1, f"Of page {first:,} the first {_PAGE_CHARS:,} characters can be read.")
    content = "\n".join([*shown, f"[{' '.join(filter(None, notes))}]"])
    data = {"path": file.path, "pages": found.page_count, "first": first, "last": last}
    return ToolOutcome(ok=True, content=content, data=data, source=file.path)


def _text(context: ToolContext, path: str, *, page: int) -> tuple[FileVersion, str | None]:
    """Return a file and its text without byte order mark; a shipped one where the workspace has
    none. ``None``: it is read by pages.
    """
    try:
        file = context.workspace.read(path, limit=FILE_BYTES)
    except FileMissing as error:
        shipped = context.shipped.get(path.removeprefix("./"))
        if shipped is None:
            raise ToolProblem(missing(context, path)) from error
        return FileVersion(path, b"", ""), shipped
    if page > 0:
        return file, None
    if not _is_text(file.data):
        return file, file_types.text_of(file.data)
    return file, text_of(file).removeprefix("\ufeff")


def _page(lines: list[str], first: int, limit: int, room: int) -> tuple[list[str], int, bool]:
    """Return the numbered lines from *first* that fit, the next index, and True if one is cut."""
    shown: list[str] = []
    for at in range(first, min(first + limit, len(lines))):
        row = f"{at + 1:>5}\t{lines[at]}"
        if len(row) > room:
            if shown:
                return shown, at, False
            return [row[: max(room, 0)]], at + 1, True
        shown.append(row)
        room -= len(row) + 1
    return shown, first + len(shown), False


def _remember(
    context: ToolContext, file: FileVersion, page: tuple[int, int, int], *, is_cut: bool
) -> None:
    """Record what of the file the model has seen, when it read on from the beginning."""
    first, last, count = page
    old = context.seen.get(file.path)
    upto = old.lines if old is not None and old.version == file.version else 0
    if is_cut or first > upto:
        return
    context.seen[file.path] = Seen(file.version, max(upto, last), is_whole=max(upto, last) >= count)


def _snippet(made: text_match.Replaced, new_text: str) -> str:
    lines = lines_of(made.text)
    first = max(made.line - 1 - _SNIPPET, 0)
    last = min(made.line + new_text.count("\n") + _SNIPPET, first + 40, len(lines))
    return "\n".join(f"{at + 1:>5}\t{lines[at][:300]}" for at in range(first, last))


FILE_TOOLS = {
    function.__name__: Tool.of(function)
    for function in (read_file, list_dir, write_file, edit_file)
}


_EDITS = 100
# Attempts when one of the files was changed meanwhile.
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a patch.

    path: the file, as this conversation writes paths
    old_text: for replace: the text to replace, exactly as it stands there, and once
    new_text: for replace: what to put there; for create: the whole text
    action: replace a piece of text, create a file that is not there, or delete one that you have
        read whole in this turn
    """

    path: str
    old_text: str = ""
    new_text: str = ""
    action: Literal["replace", "create", "delete"] = "replace"


def apply_patch(context: ToolContext, edits: list[Edit]) -> ToolOutcome:
    """Make several changes, in one file or in many, as one act: all of them or none.

    edits: the changes, in order; a later one sees what the earlier ones did
    """
    if not 1 <= len(edits) <= _EDITS:
        message = f"Nothing was written: a patch has 1 to {_EDITS} edits, not {len(edits)}."
        raise ToolProblem(message)
    attempt = 1
    while True:
        draft = _Draft(context)
        problems = [
            f"Edit {number} ({edit.path}): {problem}."
            for number, edit in enumerate(edits, 1)
            if (problem := draft.add(edit))
        ]
        if problems:
            raise ToolProblem(" ".join(["Nothing was written.", *problems]))
        try:
            return draft.land()
        except VersionMismatch:
            # Another writer was faster: apply the edits to the present files.
            attempt += 1
            if attempt > _ATTEMPTS:
                raise


class _Draft:
    """The files after a patch, before anything is written."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._before: dict[str, FileVersion | None] = {}
        self._after: dict[str, str | None] = {}

    def add(self, edit: Edit) -> str:
        """Apply one edit; return its error, or an empty text."""
        try:
            path = self._load(edit.path)
            self._after[path] = self._changed(path, edit)
        except ToolProblem as problem:
            return problem.message.rstrip(".")
        return ""

    def _load(self, path: str) -> str:
        key = self._context.workspace.relative(path)
        if key not in self._before:
            file = existing(self._context, path)
            self._before[key] = file
            self._after[key] = None if file is None else text_of(file)
        return key

    def _changed(self, path: str, edit: Edit) -> str | None:
        text = self._after[path]
        if edit.action == "create":
            if text is not None:
                raise ToolProblem("the file exists already")
            return clean(edit.new_text)
        if text is None:
            raise ToolProblem(missing(self._context, path))
        if edit.action == "delete":
            old = self._before[path]
            if old is not None and old.data:
                must_have_read(self._context, old)
            return None
        shown = self._context.view(path, text)
        return text_match.replace(
            text, clean(edit.old_text), clean(edit.new_text), shown=shown
        ).text

    def land(self) -> ToolOutcome:
        """Write everything in one transaction: creations first, deletions last."""
        order = sorted(
            self._after,
            key=lambda path: (self._after[path] is None, self._before[path] is not None),
        )
        files: dict[str, bytes | None] = {}
        for path in order:
            text = self._after[path]
            files[path] = None if text is None else text.encode()
        written = self._context.workspace.write_many(
            files,
            expect={path: file.version if file else None for path, file in self._before.items()},
        )
        for path in order:
            self._context.seen.pop(path, None)
        rows = [f"{self._verb(path)} {path}" for path in order]
        return ToolOutcome(
            ok=True,
            content="\n".join(rows),
            data={"paths": [path for path in order if path in written]},
        )

    def _verb(self, path: str) -> str:
        if self._after[path] is None:
            return "Deleted"
        return "Made" if self._before[path] is None else "Edited"


APPLY_PATCH = Tool.of(apply_patch)
