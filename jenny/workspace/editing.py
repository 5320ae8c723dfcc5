"""Saving a text that was edited in a form: nothing is written over what somebody else wrote."""

from dataclasses import dataclass
from typing import Literal

from jenny.workspace import content, texts
from jenny.workspace.errors import FileMissing, FileTooLarge, NotText, VersionMismatch
from jenny.workspace.files import FileVersion, Workspace
from jenny.workspace.texts import SideRow


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something else stands there than what the form was opened at, or nothing (``gone``).
    *version*: of what is there now, empty where nothing is; *sides*: it and the text that was sent,
    beside each other."""

    kind: Literal["changed", "gone"]
    version: str
    sides: list[SideRow]


def save(files: Workspace, path: str, text: str, version: str, *, most: int) -> bool | Conflict:
    """Write *text*, of at most so many bytes, if the file is still the one with *version* (empty:
    there was none). Whether anything but line ends changed by it; or why nothing was written.

    Raises:
        FileTooLarge, WorkspaceError: nothing was written.
    """
    check_size(text, most)
    try:
        current = files.read(path, limit=content.WRITE_BYTES)
    except FileMissing:
        current = None
    if version != (current.version if current else ""):
        return _conflict(current, text)
    old = current.data if current else None
    if texts.is_same(text, old):
        return False
    try:
        files.write(path, texts.normalised(text, old), expect=version or None)
    except VersionMismatch as error:
        return _conflict(error.current, text)
    return True


def check_size(text: str, most: int) -> None:
    """:raises FileTooLarge: the text has more bytes."""
    if len(texts.normalised(text, None)) > most:
        message = (
            f"The text is larger than {most:,} bytes, the most that is edited here. Nothing was "
            "written; your text is below."
        )
        raise FileTooLarge(message)


def _conflict(current: FileVersion | None, text: str) -> Conflict:
    if current is None:
        theirs = ""
    else:
        try:
            theirs = current.text
        except NotText:
            theirs = "(no text any more)"
    sides = texts.side_by_side(theirs, text.replace("\r\n", "\n"))
    return Conflict("changed" if current else "gone", current.version if current else "", sides)
