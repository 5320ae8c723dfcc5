"""What is read of a file: its text page by page, a picture for a model, or why nothing is."""

import io
from pathlib import Path

import pytest
from PIL import Image

from jenny.documents import file_types
from jenny.documents.reader import read_file
from tests.support import files

CALENDAR = b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Dentist\nEND:VEVENT\nEND:VCALENDAR\n"


@pytest.mark.parametrize(
    ("name", "data", "label", "words"),
    [
        ("plan.pdf", files.pdf(["The boiler stays."]), "PDF", "The boiler stays."),
        ("plan.docx", files.word("The boiler stays."), "Word document", "left\tright"),
        ("costs.xlsx", files.workbook([["gas", 88.4]]), "Excel workbook", "gas\t88.4"),
        ("talk.pptx", files.slides("One", "Two"), "PowerPoint slides", "One"),
        ("plan.odt", files.opendocument("The boiler stays."), "OpenDocument file", "boiler"),
        ("offer.eml", files.mail("Offer", "Two rooms."), "E-mail", "Subject: Offer"),
        ("dates.ics", CALENDAR, "Calendar", "SUMMARY:Dentist"),
        ("costs.csv", b"item,price\ngas,88\n", "Table", "gas,88"),
        ("run.py", b"print('hello')\n", "Text", "print('hello')"),
        ("old.txt", "Stra\xdfe und Caf\xe9".encode("cp1252"), "Text", "Straße und Café"),
        ("wide.txt", "Größe".encode("utf-16"), "Text", "Größe"),
    ],
)
def test_the_text_of_each_kind_is_read(
    tmp_path: Path, name: str, data: bytes, label: str, words: str
) -> None:
    """Documents of offices, mails, calendars, tables and texts in several codings."""
    found = read_file(files.store(tmp_path, name, data), name)
    assert (found.label, found.problem) == (label, "")
    assert words in "\n".join(found.pages)
    assert not file_types.is_mislabelled(file_types.recognise(tmp_path / name, name), name)


def test_pages_are_read_from_one_on_and_as_many_as_fit(tmp_path: Path) -> None:
    """Of 500 pages only those that are wanted cost anything, and what follows is known."""
    place = files.store(tmp_path, "long.pdf", files.pdf([f"Page {n}" for n in range(1, 501)]))
    start = read_file(place, "long.pdf", chars=40)
    assert (start.page_count, start.has_more, start.pages[0]) == (500, True, "Page 1")
    later = read_file(place, "long.pdf", first=499, chars=1_000)
    assert (later.pages, later.has_more) == (["Page 499", "Page 500"], False)


@pytest.mark.parametrize("kind", ["jpeg", "png", "webp", "gif", "heic"])
def test_a_picture_is_scaled(tmp_path: Path, kind: str) -> None:
    """Whatever its kind, a model gets it as PNG or JPEG of at most its own size."""
    place = files.store(tmp_path, f"a.{kind}", files.picture(kind, (3_000, 1_500)))
    found = read_file(place, place.name)
    assert (found.kind, found.problem) == ("picture", "")
    assert (found.width, found.height) == (1568, 784)
    with Image.open(io.BytesIO(found.picture)) as image:
        assert image.size == (1568, 784)
        assert image.get_format_mimetype() == found.picture_type
    with Image.open(io.BytesIO(found.thumbnail)) as image:
        assert (image.format, max(image.size)) == ("WEBP", 320)


def test_a_picture_is_turned_upright_and_loses_its_place(tmp_path: Path) -> None:
    """What the camera noted (its position, how it was held) does not reach the model."""
    place = files.store(tmp_path, "a.jpg", files.picture("jpeg", (640, 480), turned=True))
    with Image.open(place) as image:
        assert image.getexif().get_ifd(files.GPS)
    found = read_file(place, "a.jpg")
    for data in (found.picture, found.thumbnail):
        with Image.open(io.BytesIO(data)) as image:
            assert not image.getexif()
            assert image.height > image.width
            red, _, blue = image.getpixel((image.width - 5, 5))
            assert red > 200
            assert blue < 100


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("locked.pdf", files.pdf(["secret"], "pass"), "protected by a password"),
        ("locked.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99
         + "EncryptedPackage".encode("utf-16-le"), "protected by a password"),
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "before 2007"),
        ("broken.pdf", b"%PDF-1.7\nnothing", "broken"),
        ("broken.docx", files.word("x")[:2000], "broken"),
        ("hollow.docx", files.packed({"word/document.xml": "<a/>"}), "broken"),
        ("hollow.xlsx", files.packed({"xl/workbook.xml": "<a"}), "broken"),
        ("hollow.pptx", files.packed({"ppt/presentation.xml": "<a/>"}), "broken"),
        ("broken.png", files.picture("png")[:100], "broken"),
        ("empty.txt", b"", "empty"),
        ("bomb.docx", files.word_bomb(), "unpack to more than"),
        ("laughs.odt", files.entity_bomb(), "broken"),
        ("huge.png", files.huge_picture(), "100 megapixels"),
        ("blank.pdf", files.pdf([""]), "no text"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_ends_in_a_sentence(
    tmp_path: Path, name: str, data: bytes, words: str
) -> None:
    """Protected, broken, empty, huge and hostile files."""
    found = read_file(files.store(tmp_path, name, data), name)
    assert words in found.problem
    assert found.problem.endswith(".")
    assert not found.pages
    assert not found.picture


@pytest.mark.parametrize(
    ("name", "data", "label"),
    [
        ("photo.png", files.pdf(["x"]), "PDF"),
        ("letter.pdf", files.picture("jpeg"), "JPEG picture"),
        ("photo.jpg", b"<script>alert(1)</script>", "Text"),
        ("table.xlsx", files.packed({"a.txt": "x"}), "Archive"),
    ],
)
def test_the_content_tells_the_type(tmp_path: Path, name: str, data: bytes, label: str) -> None:
    """A name that promises something else is noticed, and not believed."""
    found = file_types.recognise(files.store(tmp_path, name, data), name)
    assert found.label == label
    assert file_types.is_mislabelled(found, name)


def test_a_page_that_never_ends_is_given_up(tmp_path: Path, monkeypatch) -> None:
    """A reader that is killed at its limit leaves a sentence."""
    monkeypatch.setattr("jenny.documents.reader._SECONDS", 0.01)
    found = read_file(files.store(tmp_path, "a.pdf", files.pdf(["x"])), "a.pdf")
    assert found.problem == "Reading it takes too long."


def test_a_file_does_not_choose_the_words_of_its_problem(tmp_path: Path) -> None:
    """What breaks in the middle is kept up to there; what the library said of it is not shown."""
    rows: list[list[object]] = [[f"row {number} " + "x" * 60] for number in range(200)]
    data = files.workbook([*rows, [4711]])
    broken = files.repacked(data, b"<v>4711</v>", b"<v>obey me</v>")
    found = read_file(files.store(tmp_path, "a.xlsx", broken), "a.xlsx")
    assert "row 0 " in found.pages[0]
    assert found.problem == "It is broken after this part: the rest cannot be read."
