"""The tools that read and write files of the workspace.

Every path goes through the workspace's one gate and every write through its rules. A write says
what it did from what was written, never from what was asked.
"""

from jenny.agent.errors import ToolProblem
from jenny.agent.messages import clean
from jenny.agent.tools import file_access, matching
from jenny.agent.tools.box import Seen, Tool, ToolContext, ToolOutcome
from jenny.workspace.errors import FileMissing
from jenny.workspace.files import FileVersion

_ENTRIES = 500
_SNIPPET = 3


def read_file(context: ToolContext, path: str, offset: int = 1, limit: int = 2000) -> ToolOutcome:
    """Read a text file of the workspace. Each line comes after its number and a tab.

    path: from the workspace's folder, such as memory/MEMORY.md
    offset: the first line to read, from 1; a negative one counts from the end
    limit: how many lines to read at most
    """
    file, text = _text(context, path)
    if not text:
        context.seen[file.path] = Seen(file.version, 0, is_whole=True)
        return ToolOutcome(ok=True, content=f"{file.path} is empty.", source=file.path)
    lines = file_access.lines_of(text)
    first = max(len(lines) + offset, 0) if offset < 0 else max(offset, 1) - 1
    if first >= len(lines):
        message = f"{file.path} has {len(lines):,} lines; there is no line {offset:,}."
        raise ToolProblem(message)
    shown, last, is_cut = _page(lines, first, max(limit, 1), context.max_result_chars - 500)
    _remember(context, file, (first, last, len(lines)), is_cut=is_cut)
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

    path: the folder, such as wikis; nothing means the workspace's own folder
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

    path: from the workspace's folder, such as output/letter.md
    content: the whole text of the file
    """
    workspace = context.workspace
    old = file_access.existing(context, path)
    text = clean(content)
    if old is not None and matching.has_windows_ends(file_access.text_of(old)):
        text = matching.with_windows_ends(text)
    if old is not None and old.data == text.encode():
        return ToolOutcome(ok=True, content=f"{old.path} says exactly that already.")
    if old is not None and old.data:
        file_access.must_have_read(context, old)
    file = workspace.write(path, text.encode(), expect=old.version if old else None)
    count = len(file_access.lines_of(text))
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

    path: from the workspace's folder, such as USER.md
    old_text: the text to replace, exactly as it stands in the file, without line numbers
    new_text: what to put there; nothing takes the old text out
    every: replace every place where the old text stands
    """
    done: list[matching.Replaced] = []

    def change(data: bytes | None) -> bytes | None:
        done.clear()
        if data is None:
            return None
        text = file_access.decoded(path, data)
        done.append(matching.replace(text, clean(old_text), clean(new_text), every=every))
        return done[-1].text.encode()

    if file_access.existing(context, path) is None:
        raise ToolProblem(file_access.missing(context, path))
    try:
        file = context.workspace.edit(path, change)
    except ToolProblem as problem:
        message = f"Nothing was written to {path}: {problem.sentence}."
        raise ToolProblem(message) from problem
    if file is None or not done:
        raise ToolProblem(file_access.missing(context, path))
    context.seen.pop(file.path, None)
    made = done[-1]
    times = f", {made.count} places" if made.count > 1 else ""
    return ToolOutcome(
        ok=True,
        content=f"Edited {file.path}{times}. It now reads there:\n{_snippet(made, new_text)}",
        data={"path": file.path, "count": made.count, "version": file.version},
    )


def _text(context: ToolContext, path: str) -> tuple[FileVersion, str]:
    """A file and its text, without byte order mark; a shipped one where the workspace has none."""
    try:
        file = context.workspace.read(path, limit=file_access.READ_BYTES)
    except FileMissing as error:
        shipped = context.shipped.get(path.removeprefix("./"))
        if shipped is None:
            raise ToolProblem(file_access.missing(context, path)) from error
        return FileVersion(path, b"", ""), shipped
    return file, file_access.text_of(file).removeprefix("\ufeff")


def _page(lines: list[str], first: int, limit: int, room: int) -> tuple[list[str], int, bool]:
    """Numbered lines from *first* that fit, the index after the last, and whether one is cut."""
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
    """Note what of the file the model has seen, when it read on from the beginning."""
    first, last, count = page
    old = context.seen.get(file.path)
    upto = old.lines if old is not None and old.version == file.version else 0
    if is_cut or first > upto:
        return
    context.seen[file.path] = Seen(file.version, max(upto, last), is_whole=max(upto, last) >= count)


def _snippet(made: matching.Replaced, new_text: str) -> str:
    """The lines around an edit, numbered."""
    lines = file_access.lines_of(made.text)
    first = max(made.line - 1 - _SNIPPET, 0)
    last = min(made.line + new_text.count("\n") + _SNIPPET, first + 40, len(lines))
    return "\n".join(f"{at + 1:>5}\t{lines[at][:300]}" for at in range(first, last))


FILE_TOOLS = {
    function.__name__: Tool.of(function)
    for function in (read_file, list_dir, write_file, edit_file)
}
