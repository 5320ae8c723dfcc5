"""The text of a document, page by page. Runs in the process of ``reader``, which bounds it.

A document without pages, such as a Word file, is read in parts of about one page.
"""

import email
import email.policy
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from jenny.documents import file_types

_PART_CHARS = 3_000
# Bytes that the members of an Office file may have when they are unpacked.
_UNPACKED_BYTES = 300_000_000
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"


class Unreadable(Exception):
    """The text says why, as a sentence for a person."""


@dataclass(frozen=True, slots=True)
class Pages:
    """*count*: how many pages there are; 0: that is not known before all are read."""

    texts: Iterator[str]
    count: int = 0


def open_pages(path: Path, kind: str, first: int = 1) -> Pages:
    """Return the texts of the pages from page *first* on.

    :raises Unreadable: nothing of it can be read.
    """
    return _READERS[kind](path, first)


def _pdf(path: Path, first: int) -> Pages:
    import pypdf  # noqa: PLC0415 - only the reader of this type pays for it
    from pypdf.errors import PyPdfError  # noqa: PLC0415

    try:
        file = pypdf.PdfReader(path)
        if file.is_encrypted and not file.decrypt(""):
            raise Unreadable("It is protected by a password.")
        count = len(file.pages)
    except (PyPdfError, ValueError, KeyError, TypeError, OSError) as error:
        raise Unreadable("It is broken: it cannot be read as a PDF.") from error
    if not count:
        raise Unreadable("It has no pages.")

    def texts() -> Iterator[str]:
        for number in range(first - 1, count):
            try:
                yield file.pages[number].extract_text()
            except Exception:  # noqa: BLE001 - a broken page must not hide the others
                yield "(This page cannot be read.)"

    return Pages(texts(), count)


def _check_zip(path: Path) -> None:
    """Refuse an archive that would unpack to far more than a document has.

    Python reads no more of a member than its declared size.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise Unreadable("It is broken: its parts cannot be read.") from error
    if sum(row.file_size for row in members) > _UNPACKED_BYTES:
        raise Unreadable(
            f"It would unpack to more than {_UNPACKED_BYTES // 1_000_000} MB, so it is not opened."
        )


def _docx(path: Path, first: int) -> Pages:
    import docx  # noqa: PLC0415
    from docx.table import Table  # noqa: PLC0415

    _check_zip(path)
    document = _opened(lambda: docx.Document(str(path)), "Word document")

    def paragraphs() -> Iterator[str]:
        for block in document.iter_inner_content():
            if isinstance(block, Table):
                for row in block.rows:
                    yield "\t".join(cell.text.replace("\n", " ") for cell in row.cells)
                yield ""
            else:
                yield block.text

    return Pages(_skipped(_parts(paragraphs()), first))


def _xlsx(path: Path, first: int) -> Pages:
    import openpyxl  # noqa: PLC0415

    _check_zip(path)
    book = _opened(
        lambda: openpyxl.load_workbook(path, read_only=True, data_only=True), "Excel workbook"
    )

    def sheets() -> Iterator[str]:
        for sheet in book.worksheets:
            rows = (
                "\t".join("" if value is None else str(value) for value in row).rstrip("\t")
                for row in sheet.iter_rows(values_only=True)
            )
            for part in _parts(row for row in rows if row):
                yield f"[Sheet {sheet.title}]\n{part}"

    return Pages(_skipped(sheets(), first))


def _pptx(path: Path, first: int) -> Pages:
    import pptx  # noqa: PLC0415

    _check_zip(path)
    deck = _opened(lambda: pptx.Presentation(str(path)), "PowerPoint file")
    slides = list(deck.slides)

    def texts() -> Iterator[str]:
        for slide in slides[first - 1 :]:
            lines = list(_shape_lines(slide.shapes))
            if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
                lines.append(f"[Notes] {slide.notes_slide.notes_text_frame.text}")
            yield "\n".join(line for line in lines if line.strip())

    return Pages(texts(), len(slides))


def _shape_lines(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in shapes:
        if shape.shape_type == 6:  # noqa: PLR2004 - a group
            yield from _shape_lines(shape.shapes)
        elif shape.has_text_frame:
            yield shape.text_frame.text
        elif getattr(shape, "has_table", False):
            for row in shape.table.rows:
                yield "\t".join(cell.text for cell in row.cells)


def _odf(path: Path, first: int) -> Pages:
    """Read the paragraphs and cells of an OpenDocument file; no kept library does."""
    from lxml import etree  # noqa: PLC0415

    _check_zip(path)

    def lines() -> Iterator[str]:
        with zipfile.ZipFile(path) as archive, archive.open("content.xml") as file:
            cells: list[str] = []
            walk = etree.iterparse(
                file, events=("end",), resolve_entities=False, no_network=True, huge_tree=False
            )
            for _, node in walk:
                if node.tag == f"{_TABLE}table-cell":
                    cells.append(" ".join("".join(node.itertext()).split()))
                elif node.tag == f"{_TABLE}table-row":
                    yield "\t".join(cells).rstrip("\t")
                    cells = []
                    node.clear()
                elif node.tag in {f"{_TEXT}p", f"{_TEXT}h"} and not _is_in_cell(node):
                    yield "".join(node.itertext())

    def checked() -> Iterator[str]:
        try:
            yield from _parts(lines())
        except (etree.XMLSyntaxError, zipfile.BadZipFile, KeyError, RuntimeError) as error:
            raise Unreadable("It is broken: it cannot be read as OpenDocument.") from error

    return Pages(_skipped(checked(), first))


def _is_in_cell(node: Any) -> bool:
    return next(node.iterancestors(f"{_TABLE}table-cell"), None) is not None


def _eml(path: Path, first: int) -> Pages:
    with path.open("rb") as file:
        mail = email.message_from_binary_file(file, policy=email.policy.default)
    return Pages(_skipped(_parts(_mail_lines(mail)), first))


def _mail_lines(mail: EmailMessage) -> Iterator[str]:
    for name in ("From", "To", "Cc", "Date", "Subject"):
        if mail[name]:
            yield f"{name}: {mail[name]}"
    yield ""
    body = mail.get_body(preferencelist=("plain", "html"))
    if body is not None:
        try:
            text = body.get_content()
        except (LookupError, KeyError, ValueError):
            text = ""
        if body.get_content_type() == "text/html":
            text = _plain(text)
        yield from text.splitlines()
    for part in mail.iter_attachments():
        yield f"[Enclosed: {part.get_filename() or 'a file'} ({part.get_content_type()})]"


def _plain(html: str) -> str:
    from lxml import etree  # noqa: PLC0415
    from lxml.html import HTMLParser, document_fromstring  # noqa: PLC0415

    try:
        tree = document_fromstring(html, parser=HTMLParser(no_network=True))
    except (etree.ParserError, ValueError):
        return ""
    for node in tree.xpath("//script|//style|//head"):
        node.drop_tree()
    for node in tree.xpath("//br|//p|//div|//tr|//li"):
        node.tail = f"\n{node.tail or ''}"
    return "\n".join(line.strip() for line in tree.text_content().splitlines() if line.strip())


def _text(path: Path, first: int) -> Pages:
    text = file_types.decoded(path.read_bytes()).replace("\r\n", "\n")
    return Pages(_skipped(_pieces(text), first))


def _pieces(text: str) -> Iterator[str]:
    """Cut *text* into pieces of about a page, after a line where one ends; joined, they are it."""
    at = 0
    while at < len(text):
        end = at + _PART_CHARS
        if end < len(text):
            end = text.rfind("\n", at, end) + 1 or end
        yield text[at:end]
        at = end


def _opened[T](load: Callable[[], T], what: str) -> T:
    try:
        return load()
    except Exception as error:
        # The libraries raise whatever their XML parser or a missing part makes them raise.
        raise Unreadable(f"It is broken: it cannot be read as a {what}.") from error


def _parts(lines: Iterable[str]) -> Iterator[str]:
    """Join lines to parts of about a page each."""
    part: list[str] = []
    size = 0
    for line in lines:
        while len(line) > _PART_CHARS:
            # One line without end must not become one part.
            if part:
                yield "\n".join(part)
                part, size = [], 0
            yield line[:_PART_CHARS]
            line = line[_PART_CHARS:]  # noqa: PLW2901 - its rest is what is left of it
        if size + len(line) > _PART_CHARS and part:
            yield "\n".join(part)
            part, size = [], 0
        part.append(line)
        size += len(line) + 1
    if part:
        yield "\n".join(part)


def _skipped(texts: Iterator[str], first: int) -> Iterator[str]:
    for number, text in enumerate(texts, 1):
        if number >= first:
            yield text


_READERS: dict[str, Callable[[Path, int], Pages]] = {
    "pdf": _pdf,
    "docx": _docx,
    "xlsx": _xlsx,
    "pptx": _pptx,
    "odf": _odf,
    "eml": _eml,
    "ics": _text,
    "csv": _text,
    "text": _text,
}
