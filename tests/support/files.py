"""Files of every kind that people send, made here and not kept anywhere."""

import email.message
import io
import zipfile
from pathlib import Path

import docx
import openpyxl
import pillow_heif
import pptx
import pypdf
from PIL import Image

ORIENTATION, GPS = 0x0112, 0x8825
# A camera held upright notes that its picture is to be turned by 90 degrees.
TURNED = 6


def picture(kind: str, size: tuple[int, int] = (640, 480), *, turned: bool = False) -> bytes:
    """A picture whose upper left quarter is red; *turned*: as a camera stores it, with a place."""
    image = Image.new("RGB", size, "navy")
    image.paste("red", (0, 0, size[0] // 2, size[1] // 2))
    target = io.BytesIO()
    if kind == "heic":
        pillow_heif.register_heif_opener()
        image.save(target, "HEIF")
        return target.getvalue()
    exif = Image.Exif()
    if turned:
        exif[ORIENTATION] = TURNED
        exif.get_ifd(GPS)[1] = "N"
        exif.get_ifd(GPS)[2] = (48.0, 51.0, 29.6)
    image.save(target, kind.upper(), **({"exif": exif} if turned else {}))
    return target.getvalue()


def huge_picture() -> bytes:
    """A picture of 100 megapixels in a few kilobytes."""
    target = io.BytesIO()
    Image.new("1", (10_000, 10_000)).save(target, "PNG")
    return target.getvalue()


def pdf(pages: list[str], password: str = "") -> bytes:
    """A PDF with one line of text on each page."""
    parts: list[bytes] = []
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    parts.append(b"<< /Type /Catalog /Pages 2 0 R >>")
    parts.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    parts.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, text in enumerate(pages):
        page = (
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources "
            f"<< /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R >>"
        )
        drawn = f"BT /F1 12 Tf 60 780 Td ({text}) Tj ET"
        parts += [page.encode(), f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream".encode()]
    out = io.BytesIO(b"")
    out.write(b"%PDF-1.4\n")
    places = []
    for number, part in enumerate(parts, 1):
        places.append(out.tell())
        out.write(f"{number} 0 obj\n".encode() + part + b"\nendobj\n")
    start = out.tell()
    out.write(f"xref\n0 {len(parts) + 1}\n0000000000 65535 f \n".encode())
    out.write(b"".join(f"{place:010} 00000 n \n".encode() for place in places))
    out.write(f"trailer << /Size {len(parts) + 1} /Root 1 0 R >>\nstartxref\n{start}\n".encode())
    out.write(b"%%EOF\n")
    if not password:
        return out.getvalue()
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(out.getvalue()))
    writer.encrypt(password, algorithm="RC4-128")
    locked = io.BytesIO()
    writer.write(locked)
    return locked.getvalue()


def word(*paragraphs: str) -> bytes:
    """A Word document, with a table of one row at its end."""
    document = docx.Document()
    for text in paragraphs:
        document.add_paragraph(text)
    cells = document.add_table(1, 2).rows[0].cells
    cells[0].text, cells[1].text = "left", "right"
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


def workbook(rows: list[list[object]], title: str = "Costs") -> bytes:
    """An Excel workbook of one sheet."""
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def slides(*texts: str) -> bytes:
    """PowerPoint slides with a title each."""
    deck = pptx.Presentation()
    for text in texts:
        deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = text
    target = io.BytesIO()
    deck.save(target)
    return target.getvalue()


def opendocument(*paragraphs: str) -> bytes:
    """An OpenDocument text."""
    names = (
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    )
    body = "".join(f"<text:p>{text}</text:p>" for text in paragraphs)
    content = (
        f"<office:document-content {names}><office:body><office:text>{body}</office:text>"
        "</office:body></office:document-content>"
    )
    media_type = "application/vnd.oasis.opendocument.text"
    return packed({"mimetype": media_type, "content.xml": content})


def mail(subject: str, text: str) -> bytes:
    """An e-mail with something enclosed."""
    message = email.message.EmailMessage()
    message["From"], message["To"] = "bo@example.org", "ana@example.org"
    message["Subject"] = subject
    message.set_content(text)
    message.add_attachment(b"1,2\n", maintype="text", subtype="csv", filename="numbers.csv")
    return message.as_bytes()


def packed(members: dict[str, str | bytes]) -> bytes:
    """A zip of these."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


def repacked(data: bytes, old: bytes, new: bytes) -> bytes:
    """The zip *data* with *old* replaced in the members that have it."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name).replace(old, new) for name in archive.namelist()}
    assert new in b"".join(members.values())
    return packed(dict(members))


def word_bomb() -> bytes:
    """A Word document of a few hundred kilobytes that unpacks to 400 MB."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open("word/document.xml", "w") as file:
            for _ in range(400):
                file.write(b" " * 1_000_000)
    return target.getvalue()


def entity_bomb() -> bytes:
    """An OpenDocument text whose entities would grow a billionfold."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    content = f'<!DOCTYPE d [<!ENTITY e0 "ha">{entities}]><d>&e9;</d>'
    media_type = "application/vnd.oasis.opendocument.text"
    return packed({"mimetype": media_type, "content.xml": content})


def store(folder: Path, name: str, data: bytes) -> Path:
    """Write it into *folder*."""
    place = folder / name
    place.write_bytes(data)
    return place
