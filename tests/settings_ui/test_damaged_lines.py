"""Pages over files whose lines are no proper text or JSON, over HTTP."""

import io
import zipfile
from pathlib import Path

import pytest
from django.test import Client

from tests.settings_ui.test_files_page import body

BAD = {
    "surrogate": rb'"half \ud800 of a sign"',
    "NUL": rb'"a \u0000 sign"',
    "raw NUL": b'"a \x00 sign"',
    "no UTF-8": b'"caf\xe9 \xff"',
    "deep": b"[" * 20_000 + b"]" * 20_000,
    "huge": b"9" * 5_000,
    "no number": b"NaN",
    "infinite": b"-Infinity",
    "overflow": b"1e999999",
    "cut": b'"cut',
}
GOOD = "Likes jasmine tea."
LEDGERS = {
    "memory/.forgotten.jsonl": "/memory/forgotten/",
    "memory/.pins.jsonl": "/memory/files/USER.md",
    "memory/history.jsonl": "/memory/",
}


def check(client: Client, address: str) -> str:
    """The page's text, which can be encoded and has no NUL."""
    answer = client.get(address)
    assert answer.status_code == 200
    assert b"\x00" not in answer.content
    return answer.content.decode("utf-8")


def rows(bad: bytes) -> bytes:
    """Lines with the bad value in every place that a reader looks at, and a good one."""
    good = (
        b'{"id": "abc123abc123", "text": "%s", "at": "2026-11-01T10:00:00.000000+00:00", '
        b'"cursor": 1, "timestamp": "2026-11-01 10:00", "content": "- [durable] %s"}'
    ) % (GOOD.encode(), GOOD.encode())
    keys = (b"id", b"text", b"at", b"cursor", b"timestamp", b"content", b"path", b"heading")
    lines = [b'{"%s": %s}' % (key, bad) for key in keys]
    lines += [good.replace(b'"%s"' % GOOD.encode(), bad), bad, good]
    return b"\n".join(lines) + b"\n"


@pytest.mark.parametrize("name", BAD)
def test_pages_of_memory_stand_damaged_lines(client: Client, root: Path, name: str) -> None:
    """What can be read of a file is shown; the rest takes no page down."""
    for path in LEDGERS:
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_bytes(rows(BAD[name]))
    folder = root / "memory/archive"
    folder.mkdir(exist_ok=True)
    (folder / "history-2026-10.jsonl").write_bytes(rows(BAD[name]))
    (folder / "2026-10.md").write_bytes(b"# October\n\n- " + rows(BAD[name]))
    for address in {*LEDGERS.values(), "/memory/archive/", "/memory/archive/?q=tea", "/chat/"}:
        check(client, address)
    assert GOOD in check(client, "/memory/forgotten/")


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("ending", ["jsonl", "json", "csv"])
def test_the_file_browser_shows_damaged_data(
    client: Client, root: Path, name: str, ending: str
) -> None:
    """As a table or as text; and it is downloaded byte for byte."""
    data = rows(BAD[name]) if ending == "jsonl" else b'{"a": ' + BAD[name] + b"}"
    data = b"a,b\n1," + BAD[name] + b"\n" if ending == "csv" else data
    (root / f"data.{ending}").write_bytes(data)
    check(client, f"/workspace/data.{ending}")
    edit = client.get(f"/files/edit/data.{ending}/")
    assert b"\x00" not in edit.content
    if b"\x00" in data:
        assert edit.status_code == 422
        assert "NUL characters, which a form would replace" in edit.text
    elif name == "no UTF-8":
        assert edit.status_code == 422
        assert "UTF-8" in edit.text
    else:
        assert edit.status_code == 200
    download = client.get(f"/files/download/data.{ending}/")
    assert body(download) == data


def test_a_zip_of_damaged_files_is_made(client: Client, root: Path) -> None:
    """With the bytes as they are."""
    for name, bad in BAD.items():
        (root / "damaged").mkdir(exist_ok=True)
        (root / "damaged" / f"{name}.jsonl").write_bytes(rows(bad))
    with zipfile.ZipFile(io.BytesIO(body(client.get("/files/download/damaged/")))) as archive:
        assert archive.testzip() is None
        for name, bad in BAD.items():
            assert archive.read(f"damaged/{name}.jsonl") == rows(bad)
