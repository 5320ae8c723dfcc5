"""What the tools that touch files share: reading them, and saying that one is not there."""

import difflib
from collections.abc import Iterable
from itertools import islice

from jenny.agent.errors import ToolProblem
from jenny.agent.tools.box import ToolContext
from jenny.workspace import names
from jenny.workspace.errors import FileMissing
from jenny.workspace.files import FileVersion

READ_BYTES = 20_000_000
# Entries that are looked through for a file that was probably meant.
_MEANT_AMONG = 5_000


def existing(context: ToolContext, path: str) -> FileVersion | None:
    """The file at *path*; ``None`` when there is none."""
    try:
        return context.workspace.read(path, limit=READ_BYTES)
    except FileMissing:
        return None


def text_of(file: FileVersion) -> str:
    """The file's text; ``ToolProblem`` when it is none."""
    return decoded(file.path, file.data)


def decoded(path: str, data: bytes) -> str:
    """*data* as text; ``ToolProblem`` when it is none (not UTF-8, or with NUL in it)."""
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


def lines_of(text: str) -> list[str]:
    """Lines as numbered everywhere: parted by LF only, the end of the last one not one more."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def must_have_read(context: ToolContext, file: FileVersion) -> None:
    """A whole file is replaced or deleted only by who has seen all of it as it is now."""
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
    """That there is no such file, with those that were probably meant."""
    name = path.rstrip("/").rsplit("/", 1)[-1]
    files = [
        entry.path
        for entry in islice(context.workspace.walk(), _MEANT_AMONG)
        if entry.kind == "file"
    ]
    meant = [each for each in files if each.rsplit("/", 1)[-1].casefold() == name.casefold()]
    if not meant:
        folded = {each.casefold(): each for each in files}
        close = difflib.get_close_matches(path.casefold(), folded, n=3, cutoff=0.75)
        meant = [folded[each] for each in close]
    hint = f" There is {_listed(meant[:3])}." if meant else ""
    return f"There is no file {names.shown(path)}.{hint}"


def _listed(paths: Iterable[str]) -> str:
    return ", ".join(names.shown(path) for path in paths)
