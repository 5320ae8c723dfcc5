"""Normalise texts from forms, and save them without overwriting other people's changes."""

import re
from dataclasses import dataclass
from typing import Literal

from jenny.workspace import content, diffs
from jenny.workspace.diffs import Difference, text_difference
from jenny.workspace.errors import FileMissing, FileTooLarge, NotText, VersionMismatch
from jenny.workspace.files import FileVersion, Workspace

BOM = "\ufeff"
_LINE_END = re.compile(r"\r\n|\r|\n")


def to_lf(text: str) -> str:
    """Convert line ends to LF; CR LF and CR alone count as one."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def keep_line_ends(text: str, old: str) -> str:
    """Give *text* the line ends of *old*; new lines get that of the line they replace or follow."""
    plain = to_lf(text)
    if "\r" not in old:
        return plain
    ends = _LINE_END.findall(old)
    before, after = to_lf(old).split("\n"), plain.split("\n")
    pieces: list[str] = []
    for _, i1, i2, j1, j2 in diffs.opcodes(before, after):
        for at in range(j1, j2):
            number = min(i1 + at - j1, max(i2, i1, 1) - 1)
            pieces += [after[at], ends[min(number, len(ends) - 1)]]
    return "".join(pieces[:-1])


def normalised(text: str, old: bytes | None) -> bytes:
    """Return the bytes to write for a form's text.

    Lines end as in the file, a byte order mark stays if it had one, lone surrogates become question
    marks.
    """
    before = (old or b"").decode("utf-8", "replace").removeprefix(BOM)
    plain = keep_line_ends(text.removeprefix(BOM), before)
    mark = BOM if old is not None and old.startswith(BOM.encode()) else ""
    return (mark + plain).encode("utf-8", "replace")


def is_same(text: str, old: bytes | None) -> bool:
    return old is not None and normalised(text, old) == old


@dataclass(frozen=True, slots=True)
class EditConflict:
    """The file differs from the one that the form was opened with, or is ``gone``.

    *version*: of the current file, empty when it is gone; *difference*: from its text to the
    submitted one.
    """

    kind: Literal["changed", "gone"]
    version: str
    difference: Difference


def save_edited_text(
    files: Workspace, path: str, text: str, version: str, *, most: int
) -> bool | EditConflict:
    """Write *text* (at most *most* bytes) if the file still has *version* (empty: no file).

    Returns True when anything but line ends changed, or the conflict.

    Raises:
        FileTooLarge, WorkspaceError: nothing was written.
    """
    check_text_size(text, most)
    try:
        current = files.read(path, limit=content.WRITE_BYTES)
    except FileMissing:
        current = None
    if version != (current.version if current else ""):
        return _edit_conflict(current, text)
    old = current.data if current else None
    if is_same(text, old):
        return False
    try:
        files.write(path, normalised(text, old), expect=version or None)
    except VersionMismatch as error:
        return _edit_conflict(error.current, text)
    return True


def check_text_size(text: str, most: int) -> None:
    """Raise ``FileTooLarge`` if the text has more than *most* bytes."""
    if len(normalised(text, None)) > most:
        message = (
            f"The text is larger than {most:,} bytes, the most that is edited here. Nothing was "
            "written; your text is below."
        )
        raise FileTooLarge(message)


def _edit_conflict(current: FileVersion | None, text: str) -> EditConflict:
    if current is None:
        theirs = ""
    else:
        try:
            theirs = current.text
        except NotText:
            theirs = "(no text any more)"
    found = text_difference(theirs, to_lf(text))
    return EditConflict("changed" if current else "gone", current.version if current else "", found)
