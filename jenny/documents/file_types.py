"""Recognises the type of a file by its content. The name only decides between kinds of text."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

type Kind = Literal["picture", "document", "text", "archive", "other"]

_HEAD_BYTES = 4096
# Parts that a zip may have when it is opened, and bytes of the list of them.
_MOST_MEMBERS = 20_000
_LIST_BYTES = 400 * _MOST_MEMBERS
# Where the end record of a zip may begin, from the end of the file.
_END_BYTES = 22 + 65_535
_TAR_MARK = 257
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Where an encrypted Office file names its content, in UTF-16.
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_OLE_BYTES = 4_000_000
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f\b\x1b")


@dataclass(frozen=True, slots=True)
class FileType:
    """*name*: a short word for code; *label*: for people. *problem*: why nothing of it is read."""

    name: str
    kind: Kind
    label: str
    media_type: str
    problem: str = ""


TYPES = {
    row.name: row
    for row in (
        FileType("png", "picture", "PNG picture", "image/png"),
        FileType("jpeg", "picture", "JPEG picture", "image/jpeg"),
        FileType("gif", "picture", "GIF picture", "image/gif"),
        FileType("webp", "picture", "WebP picture", "image/webp"),
        FileType("heic", "picture", "HEIC picture", "image/heic"),
        FileType("avif", "picture", "AVIF picture", "image/avif"),
        FileType("bmp", "picture", "BMP picture", "image/bmp"),
        FileType("tiff", "picture", "TIFF picture", "image/tiff"),
        FileType("pdf", "document", "PDF", "application/pdf"),
        FileType(
            "docx", "document", "Word document",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        FileType(
            "xlsx", "document", "Excel workbook",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ),
        FileType(
            "pptx", "document", "PowerPoint slides",
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        ),
        FileType("odf", "document", "OpenDocument file", "application/vnd.oasis.opendocument.text"),
        FileType("eml", "document", "E-mail", "message/rfc822"),
        FileType("ics", "text", "Calendar", "text/calendar"),
        FileType("csv", "text", "Table", "text/csv"),
        FileType("text", "text", "Text", "text/plain"),
        # A zip that was not opened: it may be a document.
        FileType("zip", "archive", "Archive", "application/zip"),
        FileType("archive", "archive", "Archive", "application/octet-stream"),
        FileType("other", "other", "Binary file", "application/octet-stream"),
        FileType("empty", "other", "Empty file", "text/plain", "It is empty."),
    )
}  # fmt: skip
_MARKS = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"\x1f\x8b", "archive"),
    (b"7z\xbc\xaf\x27\x1c", "archive"),
    (b"Rar!\x1a\x07", "archive"),
    (b"\xfd7zXZ\0", "archive"),
    (b"BZh", "archive"),
    (b"\x28\xb5\x2f\xfd", "archive"),
    (b"PK\x05\x06", "archive"),
)
_BRANDS = {
    **dict.fromkeys((b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1"), "heic"),
    **dict.fromkeys((b"avif", b"avis"), "avif"),
}
_MEMBERS = (
    ("word/document.xml", "docx"),
    ("xl/workbook.xml", "xlsx"),
    ("ppt/presentation.xml", "pptx"),
)
# The types that an ending of a name promises.
_ENDINGS = {
    "png": {"png"}, "jpg": {"jpeg"}, "jpeg": {"jpeg"}, "gif": {"gif"}, "webp": {"webp"},
    "heic": {"heic"}, "heif": {"heic"}, "avif": {"avif"}, "bmp": {"bmp"}, "tif": {"tiff"},
    "tiff": {"tiff"}, "pdf": {"pdf"}, "docx": {"docx"}, "xlsx": {"xlsx"}, "pptx": {"pptx"},
    "odt": {"odf"}, "ods": {"odf"}, "odp": {"odf"}, "eml": {"eml"}, "zip": {"archive"},
    "csv": {"csv"}, "txt": {"text"}, "md": {"text"}, "ics": {"ics"},
}  # fmt: skip


def ending_of(name: str) -> str:
    return name.lower().rpartition(".")[2] if "." in name.lstrip(".") else ""


def recognise(path: Path, name: str) -> FileType:
    """Return the type of the file at *path*, whose *name* a person gave.

    A zip is opened, so this is for a process that is bounded.
    """
    found = recognise_head(path, name)
    return _zip_type(path) if found.name == "zip" else found


def recognise_head(path: Path, name: str) -> FileType:
    """As ``recognise``, by the beginning of the file: a zip of whatever kind is ``zip``."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not size:
        return TYPES["empty"]
    if head.startswith(b"PK\x03\x04"):
        return TYPES["zip"]
    if head.startswith(_OLE):
        return _old_office(path)
    found = _by_mark(head) or ("pdf" if _is_late_pdf(head, size, name) else "")
    return TYPES[found] if found else _text_type(path, name, head)


def is_mislabelled(found: FileType, name: str) -> bool:
    """True when the ending of *name* promises another type than the one that was found."""
    promised = _ENDINGS.get(ending_of(name))
    return (
        promised is not None and found.name not in promised and found.name not in {"empty", "zip"}
    )


def _by_mark(head: bytes) -> str:
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if head.startswith(b"BM") and head[6:10] == bytes(4):
        return "bmp"
    if head[4:8] == b"ftyp" and head[8:12] in _BRANDS:
        return _BRANDS[head[8:12]]
    if head.lstrip().startswith(b"%PDF-"):
        return "pdf"
    return "archive" if head[_TAR_MARK : _TAR_MARK + 5] == b"ustar" else ""


def _is_late_pdf(head: bytes, size: int, name: str) -> bool:
    """True for a PDF with other bytes before it, as some programs write, not for a text that only
    speaks of the mark."""
    if b"%PDF-" not in head[:1024]:
        return False
    return ending_of(name) == "pdf" or not _looks_like_text(head, size)


def _zip_type(path: Path) -> FileType:
    if not _has_short_list(path):
        row = TYPES["archive"]
        problem = f"It has more than {_MOST_MEMBERS:,} parts, so it is not opened."
        return FileType(row.name, row.kind, row.label, row.media_type, problem)
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            for member, found in _MEMBERS:
                if member in names:
                    return TYPES[found]
            if {"mimetype", "content.xml"} <= names:
                with archive.open("mimetype") as file:
                    media_type = file.read(100).decode("ascii", "replace").strip()
                if media_type.startswith("application/vnd.oasis.opendocument"):
                    return TYPES["odf"]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
        row = TYPES["archive"]
        problem = "It is broken: its list of contents cannot be read."
        return FileType(row.name, row.kind, row.label, row.media_type, problem)
    return TYPES["archive"]


def _has_short_list(path: Path) -> bool:
    """True unless the end record of a zip tells of a list that costs too much to read."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _END_BYTES, 0))
        end = file.read()
    at = end.rfind(b"PK\x05\x06")
    members = int.from_bytes(end[at + 10 : at + 12], "little")
    size = int.from_bytes(end[at + 12 : at + 16], "little")
    # Numbers that do not fit are at their highest here, and are more than a document has.
    return at < 0 or (members <= _MOST_MEMBERS and size <= _LIST_BYTES)


def _old_office(path: Path) -> FileType:
    with path.open("rb") as file:
        is_encrypted = _ENCRYPTED in file.read(_OLE_BYTES)
    if is_encrypted:
        problem = "It is protected by a password."
        return FileType("ole", "other", "Office file", "application/octet-stream", problem)
    problem = "It is in the Office format from before 2007, which is not read here."
    return FileType("ole", "other", "Old Office file", "application/octet-stream", problem)


def _text_type(path: Path, name: str, head: bytes) -> FileType:
    if not _looks_like_text(head, path.stat().st_size):
        return TYPES["other"]
    ending = ending_of(name)
    if ending in {"eml", "ics"}:
        return TYPES[ending]
    return TYPES["csv" if ending in {"csv", "tsv"} else "text"]


def text_of(data: bytes) -> str | None:
    """Return the text that *data* is, in whatever coding; ``None``: it is none."""
    head = data[:_HEAD_BYTES]
    if head.startswith((b"PK\x03\x04", _OLE)) or _by_mark(head):
        return None
    return decoded(data) if _looks_like_text(head, len(data)) else None


def decoded(data: bytes) -> str:
    """Decode a text: UTF-16 by its mark, else UTF-8, else the older coding of Windows."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _looks_like_text(head: bytes, size: int) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    if b"\0" in head or b"\x7fELF" in head:
        return False
    try:
        head.decode()
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 3 and size > len(head):
            return True  # the last character is cut
        # Texts in an older coding have few control characters.
        return sum(byte in _CONTROLS for byte in head) * 100 < len(head)
    return sum(byte in _CONTROLS for byte in head) * 20 < len(head)
