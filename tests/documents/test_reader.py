"""What is read of a file: its text page by page, a picture for a model, or why nothing is."""

import contextlib
import io
import subprocess
import sys
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


@pytest.mark.parametrize(
    ("name", "data", "label"),
    [
        ("formats.txt", b"A PDF begins with %PDF-1.7.\n", "Text"),
        ("formats.py", b'MARK = b"%PDF-"\n', "Text"),
        ("plan.pdf", b"sent by a scanner\n" + files.pdf(["The boiler stays."]), "PDF"),
        ("plan", b"\x00\x01\x02 noise\n" + files.pdf(["The boiler stays."]), "PDF"),
        ("plan", b"\n" + files.pdf(["The boiler stays."]), "PDF"),
    ],
)
def test_a_text_may_speak_of_pdf(tmp_path: Path, name: str, data: bytes, label: str) -> None:
    """A PDF may have other bytes before it; a text that names its mark is none."""
    found = read_file(files.store(tmp_path, name, data), name)
    assert (found.label, found.problem) == (label, "")
    assert ("boiler" in "".join(found.pages)) == (label == "PDF")


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


def test_a_list_of_contents_without_end_is_not_read(tmp_path: Path) -> None:
    """A zip of very many parts is told by its end record, and the process of a page opens none."""
    many = files.store(
        tmp_path, "many.docx", files.packed(dict.fromkeys(map(str, range(21_000)), ""))
    )
    assert file_types.recognise_head(many, many.name).name == "zip"
    found = read_file(many, many.name)
    assert (found.label, found.problem) == (
        "Archive", "It has more than 20,000 parts, so it is not opened."
    )  # fmt: skip


def test_a_first_page_is_cut_as_well(tmp_path: Path) -> None:
    """However long one page is, no more is read than was asked for, and more is said to follow."""
    place = files.store(tmp_path, "a.pptx", files.slides("word " * 20_000, "end"))
    found = read_file(place, place.name, chars=1_000)
    assert ([len(text) for text in found.pages], found.has_more) == ([1_000], True)
    whole = read_file(place, place.name, chars=1_000, page_chars=200_000)
    assert len(whole.pages[0]) > 99_000


def test_a_reader_prints_no_more_than_it_may(tmp_path: Path, monkeypatch) -> None:
    """One that prints without end is stopped."""
    program = files.store(tmp_path, "endless", b"#!/bin/sh\nexec yes\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    found = read_file(files.store(tmp_path, "a.txt", b"x"), "a.txt")
    assert found.problem == "Reading it takes more time or memory than a file may."


def test_a_reader_knows_no_secret(tmp_path: Path, monkeypatch) -> None:
    """It gets nothing of the environment of the process that starts it."""
    monkeypatch.setenv("JENNY_SECRET_KEY", "hidden")
    program = files.store(tmp_path, "program", f"#!/bin/sh\nenv > {tmp_path}/told\n".encode())
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    read_file(files.store(tmp_path, "a.txt", b"x"), "a.txt")
    told = (tmp_path / "told").read_text()
    assert "PWD" in told
    assert "hidden" not in told


HOLDER = """
from jenny.documents import reader
with reader._reader_slot() as slot:
    print(slot is not None, flush=True)
    input()
"""


def test_the_machine_has_few_readers_at_once(tmp_path: Path, monkeypatch) -> None:
    """Other processes count: a file that finds all places taken waits, and then says so."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("jenny.documents.reader._WAIT_SECONDS", 0)
    place = files.store(tmp_path, "a.txt", b"x")
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            holder = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", HOLDER],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )
            )  # fmt: skip
            stack.callback(holder.communicate, "\n")
            assert holder.stdout is not None
            assert holder.stdout.readline() == "True\n"
        assert "at the same time" in read_file(place, "a.txt").problem
    assert read_file(place, "a.txt").pages == ["x"]


def test_a_text_that_begins_like_a_picture_is_a_text(tmp_path: Path) -> None:
    """Two letters make no bitmap."""
    place = files.store(tmp_path, "car.txt", b"BMW: tyres in October\n")
    assert file_types.recognise(place, place.name).name == "text"
    drawn = files.store(tmp_path, "a.bmp", files.picture("bmp"))
    assert file_types.recognise(drawn, drawn.name).name == "bmp"
