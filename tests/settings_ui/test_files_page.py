"""The file browser, by its pages."""

import asyncio
import io
import os
import re
import threading
import zipfile
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db.models.functions import Now
from django.http import HttpResponse
from django.test import Client
from PIL import Image

from jenny.accounts.models import Account
from jenny.chat.models import Conversation, ProjectState
from jenny.workspace import trash
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions.commits import commit_pending
from jenny.workspace.versions.history import open_history
from memory.suppression import forget, list_tombstones
from settings_ui.file_browser import PURPOSES
from settings_ui.services.accounts import delete_expired_files
from tests.support import files as sample

HOSTILE = "<img src=x onerror=alert(1)>"


def get(client: Client, path: str, **more: object) -> str:
    """A page's text."""
    answer = client.get(path, **more)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def body(answer: HttpResponse) -> bytes:
    """All bytes of a streamed answer."""
    if not answer.streaming:
        return answer.content

    async def collected() -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    return asyncio.run(collected())


@pytest.fixture
def notes(root: Path) -> Path:
    """A folder with a file in it."""
    (root / "notes").mkdir()
    (root / "notes/plan.md").write_text("# Plan\n\n- water the plants\n")
    return root / "notes"


def test_a_folder_is_listed_and_a_file_shown(client: Client, notes: Path) -> None:
    """Links lead from one to the other; Markdown is rendered."""
    page = get(client, "/workspace/")
    assert 'href="/workspace/notes"' in page
    assert 'href="/workspace/notes/plan.md"' in get(client, "/workspace/notes")
    page = get(client, "/workspace/notes/plan.md")
    assert '<li dir="auto">water the plants</li>' in page
    assert "/files/edit/notes/plan.md/" in page


def test_hidden_things_are_listed_in_developer_mode_only(client: Client, root: Path) -> None:
    """Memory files always are; what is hidden can be looked at by its address."""
    (root / ".secret").write_text("x")
    (root / "sessions").mkdir()
    (root / "config.json").write_text("{}")
    page = get(client, "/workspace/")
    assert "USER.md" in page
    assert "memory" in page
    for name in (".secret", "sessions", "config.json"):
        assert f"/workspace/{name}" not in page
    client.post("/settings/system/", {"developer_mode": "on"})
    page = get(client, "/workspace/")
    for name in (".secret", "sessions", "config.json"):
        assert f"/workspace/{name}" in page
    assert "/workspace/.jenny" not in page


def test_a_save_is_written_and_says_so(client: Client, notes: Path) -> None:
    """Line ends are normalised; saving what is there already writes nothing."""
    page = client.get("/files/edit/notes/plan.md/")
    version = page.context["version"]
    answer = client.post(
        "/files/edit/notes/plan.md/", {"text": "# New\r\nplan\r\n", "version": version}, follow=True
    )
    assert "notes/plan.md is saved." in answer.content.decode()
    assert (notes / "plan.md").read_bytes() == b"# New\nplan\n"
    page = client.get("/files/edit/notes/plan.md/")
    stamp = (notes / "plan.md").stat().st_mtime_ns
    answer = client.post(
        "/files/edit/notes/plan.md/",
        {"text": "# New\r\nplan\r\n", "version": page.context["version"]},
        follow=True,
    )
    assert "there was nothing to write" in answer.content.decode()
    assert (notes / "plan.md").stat().st_mtime_ns == stamp


def test_a_save_over_somebody_elses_work_shows_both(client: Client, root: Path) -> None:
    """Nothing is written, the draft is kept; saving again replaces what was shown, and only it."""
    address = "/files/edit/USER.md/"
    version = client.get(address).context["version"]
    (root / "USER.md").write_text("- Dream wrote this\n")
    answer = client.post(address, {"text": "- I wrote this\n", "version": version})
    assert answer.status_code == 409
    page = answer.content.decode()
    assert page.count('<div class="diff"') == 1
    assert page.index("<del>- Dream wrote this</del>") < page.index("<ins>- I wrote this</ins>")
    assert (root / "USER.md").read_text() == "- Dream wrote this\n"
    newer = answer.context["version"]
    (root / "USER.md").write_text("- And once more\n")
    again = client.post(address, {"text": "- I wrote this\n", "version": newer})
    assert again.status_code == 409
    assert (root / "USER.md").read_text() == "- And once more\n"
    done = client.post(
        address, {"text": "- I wrote this\n", "version": again.context["version"]}, follow=True
    )
    assert "USER.md is saved" in done.content.decode()


def test_a_file_deleted_meanwhile_is_made_again_only_on_a_second_yes(
    client: Client, notes: Path
) -> None:
    """The text is kept, and the page says what happened."""
    version = client.get("/files/edit/notes/plan.md/").context["version"]
    (notes / "plan.md").unlink()
    answer = client.post("/files/edit/notes/plan.md/", {"text": "mine", "version": version})
    assert answer.status_code == 409
    assert "was deleted while you were editing" in answer.content.decode()
    assert not (notes / "plan.md").exists()
    client.post("/files/edit/notes/plan.md/", {"text": "mine", "version": ""})
    assert (notes / "plan.md").read_text() == "mine"


@pytest.mark.parametrize(
    "path",
    [
        "memory/history.jsonl",
        "memory/.cursor",
        "memory/.dream_cursor",
        "config.json",
        ".git/config",
    ],
)
def test_what_is_only_shown_cannot_be_edited_or_taken_away(
    client: Client, root: Path, path: str
) -> None:
    """By no hand-made request either."""
    (root / ".git").mkdir()
    for name in ("memory/history.jsonl", "memory/.cursor", "memory/.dream_cursor", ".git/config"):
        (root / name).write_text("1")
    (root / "config.json").write_text("{}")
    before = (root / path).read_bytes()
    for address, data in (
        (f"/files/edit/{path}/", {"text": "mine", "version": ""}),
        (f"/files/move/{path}/", {"to": "elsewhere"}),
        (f"/files/delete/{path}/", {}),
    ):
        answer = client.post(address, data)
        assert answer.status_code in {404, 422}, address
    assert (root / path).read_bytes() == before


def test_settings_are_edited_through_their_funnel(client: Client, root: Path) -> None:
    """In developer mode; a wrong value, no JSON and a cadence below twelve are refused in words."""
    (root / "config.json").write_text('{"configVersion": 1, "mine": 1}')
    client.post("/settings/system/", {"developer_mode": "on"})
    address = "/files/edit/config.json/"

    def save(text: str, **more: str) -> str:
        version = client.get(address).context["version"]
        answer = client.post(address, {"text": text, "version": version, **more}, follow=True)
        return answer.content.decode()

    assert "not JSON" in save("{,}")
    low = '{"mine": 1, "agents": {"defaults": {"dream": {"reviewEveryRuns": 3}}}}'
    assert 'name="confirm"' in save(low)
    assert "reviewEveryRuns" not in (root / "config.json").read_text()
    assert "The settings are saved" in save(low, confirm="yes")
    assert '"mine": 1' in (root / "config.json").read_text()


def test_files_are_made_moved_copied_and_thrown_away(
    client: Client, ana: Account, root: Path, notes: Path
) -> None:
    """Each act says what it did; the trash gives back."""
    client.post("/files/new/notes/", {"name": "ideas/a.md", "kind": "file"})
    assert (notes / "ideas/a.md").read_bytes() == b""
    client.post("/files/new/", {"name": "boxes", "kind": "folder"})
    assert (root / "boxes").is_dir()
    client.post("/files/move/notes/", {"to": "boxes/notes"})
    client.post("/files/copy/boxes/notes/plan.md/", {"to": "plan.md"})
    assert (root / "plan.md").read_text() == (root / "boxes/notes/plan.md").read_text()
    assert "2 files" in get(client, "/files/delete/boxes/")
    answer = client.post("/files/delete/boxes/", follow=True)
    assert "is in the trash" in answer.content.decode()
    assert not (root / "boxes").exists()
    page = client.get("/files/trash/")
    (row,) = page.context["items"]
    (root / "boxes").mkdir()
    answer = client.post(f"/files/trash/{row['item'].id}/put-back", follow=True)
    assert "boxes (2)" in answer.content.decode()
    assert (root / "boxes (2)/notes/plan.md").exists()
    client.post("/files/delete/plan.md/")
    (row,) = client.get("/files/trash/").context["items"]
    client.post(f"/files/trash/{row['item'].id}/delete")
    assert client.get("/files/trash/").context["items"] == []


def test_a_renamed_wiki_keeps_its_conversations(client: Client, ana: Account, root: Path) -> None:
    """The chats of the project, and how far its log was read, follow the folder; those of other
    projects stay. A move out of the wikis renames none."""
    home = ana.current_workspace
    for name in ("bees", "boats"):
        (root / "wikis" / name / "wiki").mkdir(parents=True)
        (root / "wikis" / name / "wiki/index.md").write_text(f"# {name}\n")
        Conversation.objects.create(workspace=home, kind="project", project=name, title=name)
    Conversation.all_objects.create(
        workspace=home, kind="project", project="bees", title="in the trash", deleted_at=Now()
    )
    ProjectState.objects.create(workspace=home, name="bees", read={"log/1.md": 7})
    ProjectState.objects.create(workspace=home, name="hives", read={"log/1.md": 2})
    client.post("/files/move/wikis/bees/", {"to": "wikis/hives"})
    assert (root / "wikis/hives/wiki/index.md").exists()
    client.post("/files/move/wikis/boats/", {"to": "boats"})
    projects = Conversation.all_objects.values_list("title", "project")
    assert dict(projects) == {"bees": "hives", "boats": "boats", "in the trash": "hives"}
    assert ProjectState.objects.get(name="hives").read == {"log/1.md": 7}


def test_an_act_that_cannot_be_shows_its_form_again(client: Client, notes: Path) -> None:
    """With the sentence beside the field."""
    answer = client.post("/files/move/notes/plan.md/", {"to": "../../etc/x"})
    assert answer.status_code == 422
    assert "leads out of the workspace" in answer.content.decode()
    answer = client.post("/files/new/", {"name": "USER.md", "kind": "file"})
    assert answer.status_code == 422
    answer = client.post("/files/new/", {"name": "", "kind": "file"})
    assert answer.status_code == 422


def test_uploads_keep_what_is_there(client: Client, root: Path, notes: Path) -> None:
    """A second file of the same name gets a number; several come at once."""
    first = io.BytesIO(b"first")
    first.name = "x.bin"
    second = io.BytesIO(b"second")
    second.name = "x.bin"
    client.post("/files/upload/notes/", {"files": [first, second]})
    assert (notes / "x.bin").read_bytes() == b"first"
    assert (notes / "x (2).bin").read_bytes() == b"second"
    answer = client.post("/files/upload/notes/", {})
    assert "No file came with the form" in answer.content.decode()


def test_a_file_arrives_in_pieces(client: Client, notes: Path) -> None:
    """A piece that is sent twice, or too early, changes nothing; the last one stores the file."""

    def send(at: int, data: bytes, size: int = 10) -> dict:
        piece = io.BytesIO(data)
        piece.name = "piece"
        answer = client.post(
            "/files/piece/notes/",
            {"id": "ab" * 16, "name": "../big.bin", "at": at, "size": size, "piece": piece},
        )
        return answer.json()

    assert send(0, b"01234")["there"] == 5
    assert send(0, b"01234")["there"] == 5
    assert send(7, b"789")["there"] == 5
    done = send(5, b"56789")
    assert done["path"] == "notes/big.bin"
    assert (notes / "big.bin").read_bytes() == b"0123456789"


@pytest.mark.parametrize(
    "data",
    [
        {"id": "../../x", "name": "x", "at": "0", "size": "1"},
        {"id": "ab" * 16, "name": "", "at": "0", "size": "1"},
        {"id": "ab" * 16, "name": "x", "at": "-1", "size": "1"},
        {"id": "ab" * 16, "name": "x", "at": "0", "size": "9" * 15},
        {"id": "ab" * 16, "name": "x", "at": "0"},
        {},
    ],
)
def test_a_wrong_piece_is_refused(client: Client, root: Path, data: dict) -> None:
    """In words, and nothing is stored."""
    before = sorted(path.name for path in root.rglob("*"))
    answer = client.post("/files/piece/", data)
    assert answer.status_code in {413, 422}
    assert answer.json()["message"]
    assert sorted(path.name for path in root.rglob("*")) == before


def test_a_folder_comes_as_a_zip(client: Client, notes: Path) -> None:
    """With its files as they are, without links and hidden things."""
    (notes / "deep").mkdir()
    (notes / "deep/ü.txt").write_text("umlaut")
    (notes / ".hidden").write_text("x")
    (notes / "out").symlink_to("/etc/hostname")
    answer = client.get("/files/download/notes/")
    assert "notes.zip" in answer["Content-Disposition"]
    with zipfile.ZipFile(io.BytesIO(body(answer))) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert archive.read("notes/deep/ü.txt") == b"umlaut"
    assert "notes/.hidden" not in names
    assert "notes/out" not in names
    assert "notes/LEFT OUT.txt" in names


def test_a_zip_begins_before_all_folders_are_listed(client: Client, notes: Path) -> None:
    """So a folder of many files begins to arrive at once."""
    for name in ("a", "z"):
        (notes / name).mkdir()
        (notes / name / "one.txt").write_text(name)
    answer = client.get("/files/download/notes/")

    async def collected() -> bytes:
        pieces = answer.streaming_content
        first = await anext(pieces)
        (notes / "z/late.txt").write_text("written after the first byte")
        return first + b"".join([piece async for piece in pieces])

    with zipfile.ZipFile(io.BytesIO(asyncio.run(collected()))) as archive:
        assert archive.testzip() is None
        assert "notes/z/late.txt" in archive.namelist()


@pytest.mark.parametrize("seconds", [-2_082_844_800, 0, 4_354_819_200, 10_413_792_000, 10**12])
def test_a_file_of_any_time_is_shown_and_zipped(client: Client, notes: Path, seconds: int) -> None:
    """A file dated 1904, 2108 or 2300 stops neither its folder's page nor the folder's zip."""
    os.utime(notes / "plan.md", (seconds, seconds))
    assert "plan.md" in get(client, "/workspace/notes")
    assert "Plan" in get(client, "/workspace/notes/plan.md")
    with zipfile.ZipFile(io.BytesIO(body(client.get("/files/download/notes/")))) as archive:
        assert archive.testzip() is None
        assert archive.read("notes/plan.md").startswith(b"# Plan")


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("a.html", b"<script>alert(1)</script>", "text/plain; charset=utf-8"),
        ("a.svg", b"<svg onload=alert(1)>", "image/svg+xml"),
        ("a.js", b"alert(1)", "text/plain; charset=utf-8"),
        ("a.png", b"<html><script>alert(1)</script>", "text/plain; charset=utf-8"),
        ("a.gif", b"GIF89a/*<script>*/=alert(1)", "image/gif"),
        ("a.pdf", b"<html>", "text/plain; charset=utf-8"),
        ("a.exe", b"MZ\x90\0\3\0", "application/octet-stream"),
        ("a.xhtml", b"<html xmlns='http://www.w3.org/1999/xhtml'>", "text/plain; charset=utf-8"),
        ("a.swf", b"FWS\x05\0\0", "application/octet-stream"),
        ("a.webp", b"RIFF\0\0", "image/webp"),
    ],
)
def test_no_raw_file_can_run(
    client: Client, root: Path, name: str, data: bytes, media_type: str
) -> None:
    """By its type, by what it may load, by being shut in; no guessing by the browser."""
    (root / name).write_bytes(data)
    answer = client.get(f"/files/raw/{name}/")
    assert answer["Content-Type"] == media_type
    assert answer["X-Content-Type-Options"] == "nosniff"
    policy = answer["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "allow-scripts" not in policy
    assert body(answer) == data


@pytest.mark.parametrize("kind", ["heic", "tiff"])
def test_a_picture_of_a_phone_or_scanner_is_shown_as_one_that_browsers_know(
    client: Client, root: Path, kind: str
) -> None:
    """The page has a picture; the download is the file; a broken one is an answer of its own."""
    data = sample.picture(kind)
    (root / f"a.{kind}").write_bytes(data)
    assert f'src="/files/raw/a.{kind}/"' in client.get(f"/workspace/a.{kind}").content.decode()
    answer = client.get(f"/files/raw/a.{kind}/")
    assert answer["Content-Type"] == "image/jpeg"
    assert answer["X-Content-Type-Options"] == "nosniff"
    with Image.open(io.BytesIO(answer.content)) as image:
        assert image.size == (640, 480)
        red, *_ = image.convert("RGB").getpixel((5, 5))
        assert red > 200
    assert body(client.get(f"/files/download/a.{kind}/")) == data
    (root / f"a.{kind}").write_bytes(data[:200])
    broken = client.get(f"/files/raw/a.{kind}/")
    assert broken.status_code == 422
    assert broken.content


@pytest.mark.parametrize(
    "data",
    [
        HOSTILE.encode(),
        b"<svg><script>alert(1)</script></svg>",
        b"[x](javascript:alert(1))",
        b'<iframe srcdoc="<script>alert(1)</script>"></iframe>',
        b"\xff\xfe\x00<script>",
        b"a,b\n" + HOSTILE.encode() + b",2\n",
        b'{"x": "' + HOSTILE.encode() + b'"}\n{broken\n',
        b"\0" * 5000,
        b"",
        b"x" * 3_000_000,
        b"\x1b[31m red",
        b'"' * 5000,
        b"[" * 100_000,
        b"a," * 50_000,
        b"\xef\xbb\xbf# BOM",
        ("\u202e" + "gnp.exe").encode(),
    ],
)
@pytest.mark.parametrize(
    "name", ["x.md", "x.txt", "x.csv", "x.jsonl", "x.py", "x.png", "x.pdf", "x", "x.svg"]
)
def test_hostile_content_is_harmless(client: Client, root: Path, name: str, data: bytes) -> None:
    """Every kind of file shows every kind of bytes, escaped or sanitised."""
    (root / name).write_bytes(data)
    page = get(client, f"/workspace/{name}").partition('<main class="main')[2]
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert "<iframe" not in page
    assert 'href="javascript' not in page


DEVICES = ("aux", "prn", "CON", "com1", "LPT9", "nul", "clock$", "conin$")
# Marks that turn the reading direction, join nothing, or break lines.
MARKS = (
    "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u2028\u2029\x07\x1b\x7f\x85"
)
BOOKS = (
    ".cursor",
    ".dream_cursor",
    ".dream_review",
    ".forgotten.jsonl",
    ".pins.jsonl",
    ".history.lock",
)


def hostile_paths() -> list[str]:
    """Paths that must not lead anywhere, coded as a browser would and as it never would."""
    ups = ["../", "..%2f", "%2e%2e/", "%252e%252e/", "..\\", "....//", "..;/", "\uff0e\uff0e/"]
    aims = ["etc/passwd", "db.sqlite3", "secret_key", "../workspace_evil/x"]
    found = [up * depth + aim for up in ups for depth in (1, 4) for aim in aims]
    found += [f"notes/{up * 3}{aim}" for up in ups for aim in aims]
    found += [f"notes/plan.md/{up}{aim}" for up in ups for aim in aims[:2]]
    found += [
        "/etc/passwd",
        "//etc/passwd",
        "~/x",
        "~root/x",
        "C:/x",
        "con",
        "nul.txt",
        "x%00.md",
        "a" * 300,
        "a/" * 600,
        ".jenny/workspace.lock",
        ".JENNY/x",
        ".git/config",
        "sub/.GIT/hooks/x",
        "git~1/x",
        "memory/.git/config",
        "file:///etc/passwd",
        "\u202egnp.x",
        "x\u2028y",
        " x",
        "x.",
        "CONFIG.JSON",
        "config.json.bak",
        *(f"{device}{end}" for device in DEVICES for end in ("", ".txt", " .md")),
        *(f"x{mark}y.md" for mark in MARKS),
        *(f"memory/{name}" for name in BOOKS),
        "Memory/history.jsonl",
        "memory/HISTORY.JSONL",
        "mem\u200bory/.cursor",
        "USER.md/x",
        "user.md",
        "\uff35SER.md",
        "USER.md.",
        "notes/./../../x",
        "notes//../../x",
        "%c0%ae%c0%ae/x",
        "%00",
        "a" * 256,
        "\u00e9" * 200,
        "e\u0301" * 200,
        "..",
        "...",
        "/",
        "//",
        "\\\\server\\share",
        "|rm -rf x",
        "x;y",
        "$(x)",
        "`x`",
        "-rf",
        "--help",
        "*",
        "?",
        "<b>x</b>",
        "x\"y'.md",
    ]
    return found


def test_there_are_enough_of_them() -> None:
    """Two hundred paths, all different."""
    assert len(set(hostile_paths())) >= 200


@pytest.mark.parametrize("page", ["workspace", "files/raw", "files/edit", "files/download"])
def test_hostile_paths_lead_nowhere(client: Client, root: Path, page: str) -> None:
    """Each is refused in words, or is a file of this workspace: no error, nothing from outside."""
    (root.parent / "workspace_evil").mkdir(exist_ok=True)
    (root.parent / "workspace_evil/x").write_text("stolen")
    (root / "leak").symlink_to("/etc/passwd")
    (root / "loop").symlink_to("loop")
    os.link(root / "USER.md", root / "hard.md")
    for path in [*hostile_paths(), "leak", "loop"]:
        coded = path if "%" in path else quote(path, errors="replace", safe="/;~:")
        answer = client.get(f"/{page}/{coded}" + ("" if page == "workspace" else "/"))
        assert answer.status_code in {200, 301, 302, 400, 404, 413, 422}, (path, answer.status_code)
        text = body(answer)
        assert b"root:" not in text, path
        assert b"stolen" not in text, path
        assert b"SQLite" not in text, path


@pytest.mark.parametrize("page", ["move", "copy", "new", "delete"])
def test_hostile_targets_are_refused(
    client: Client, root: Path, notes: Path, tmp_path: Path, page: str
) -> None:
    """Nothing is made outside, and what was there stays as it was."""
    # Of this test alone: whatever else lies on the machine says nothing.
    aimed_at = tmp_path / "aimed at"
    up = "../" * len(root.parents)
    aims = [str(aimed_at), f"//{aimed_at}", f"{up}{str(aimed_at).lstrip('/')}"]
    outside = sorted(path.name for path in root.parent.iterdir())
    for path in [*hostile_paths(), *aims]:
        if page == "delete":
            answer = client.post(f"/files/delete/{quote(path, errors='replace', safe='/')}/")
        elif page == "new":
            answer = client.post("/files/new/", {"name": path, "kind": "file"})
        else:
            answer = client.post(f"/files/{page}/notes/plan.md/", {"to": path})
        assert answer.status_code in {301, 302, 400, 404, 422}, path
        if page == "move" and not (notes / "plan.md").exists():
            (notes / "plan.md").write_text("# Plan\n\n- water the plants\n")
    assert sorted(path.name for path in root.parent.iterdir()) == outside
    assert not aimed_at.exists()
    assert (root / "USER.md").exists()


def test_a_folder_of_many_files_is_paged_and_filtered(client: Client, root: Path) -> None:
    """Twenty thousand: one page of them, found by words, in the order asked for."""
    many = root / "many"
    many.mkdir()
    for number in range(20_000):
        (many / f"note {number:05}.txt").touch()
    page = get(client, "/workspace/many")
    assert page.count("<tr") < 300
    assert "Page 1 of 100" in page
    assert "note 19999.txt" in get(client, "/workspace/many?page=100")
    assert "note 19999.txt" in get(client, "/workspace/many?page=999999")
    part = get(client, "/workspace/many?filter=12345", headers={"HX-Request": "true"})
    assert part.count("<tr") == 2
    assert "<html" not in part
    assert "has “zzz” in its name" in get(client, "/workspace/many?filter=zzz")


def test_a_tracked_file_has_a_history(client: Client, root: Path) -> None:
    """Each version with what it changed and the file as it was then."""
    (root / "USER.md").write_text("- likes tea\n")
    commit_pending(root)
    (root / "USER.md").write_text("- likes coffee\n")
    commit_pending(root)
    page = client.get("/files/history/USER.md/")
    newest, *_ = page.context["versions"]
    shown = get(client, newest["href"])
    assert "<del>- likes tea</del>" in shown
    assert "<ins>- likes coffee</ins>" in shown
    assert client.get("/files/history/USER.md/?version=zzzz").status_code == 422
    assert client.get("/files/history/notes.md/").status_code == 404


def test_a_version_of_a_tracked_file_is_restored(client: Client, root: Path) -> None:
    """The file is as it was then, what stood there stays in the history, and Undo brings it back.
    Versions of one minute are told apart by their seconds and by how much they changed."""
    file = root / "USER.md"
    for text in ("- likes tea\n", "- likes coffee\n- sings\n"):
        file.write_text(text)
        commit_pending(root)
    file.write_text("- not yet in a version\n")
    page = client.get("/files/history/USER.md/")
    newest, older, *_ = page.context["versions"]
    assert newest["counts"] == "+2 −1"
    assert f"{newest['when']:%-d %B %Y, %H:%M:%S}" in page.content.decode()
    assert "Restore this version" in get(client, older["href"])
    form = {"version": older["version"].sha}
    done = client.post("/files/restore/USER.md/", form, follow=True)
    assert file.read_text() == "- likes tea\n"
    assert "Restore this version" not in get(client, older["href"])
    kept = [row["version"] for row in client.get("/files/history/USER.md/").context["versions"]]
    with open_history(root) as past:
        assert past.file_as_of("USER.md", kept[1].sha) == b"- not yet in a version\n"
    (said,) = done.context["messages"]
    client.post(said.extra_tags)
    assert file.read_text() == "- not yet in a version\n"
    assert client.post("/files/restore/notes.md/", form).status_code == 404
    assert client.post("/files/restore/USER.md/", {"version": "zzzz"}).status_code == 422


def test_a_restored_version_brings_nothing_forgotten_back(client: Client, root: Path) -> None:
    """A line that was forgotten since stays away and stays forgotten; the page says so."""
    file = root / "USER.md"
    file.write_text("- likes tea\n- owed Robin 40 crowns\n")
    commit_pending(root)
    with open_history(root) as past:
        (then,) = past.log(limit=1)
    forget(root, "owed Robin 40 crowns", Actor("browser"))
    file.write_text("- likes coffee\n")
    commit_pending(root)
    done = client.post("/files/restore/USER.md/", {"version": then.sha}, follow=True)
    assert file.read_text() == "- likes tea\n"
    assert "but for 1 line that you had forgotten" in done.content.decode()
    assert "owed Robin 40 crowns" in [row.text for row in list_tombstones(root)]


def test_the_trash_is_tidied(client: Client, ana: Account, notes: Path) -> None:
    """What is thirty days old goes; a workspace that is gone takes its trash with it."""
    client.post("/files/delete/notes/plan.md/")
    store = settings.JENNY_DATA.trash / str(ana.current_workspace_id)
    (item,) = trash.listing(store)
    delete_expired_files()
    assert trash.listing(store) == (item,)
    about = store / item.id / "about.json"
    about.write_text(
        about.read_text().replace(str(item.deleted_at), str(item.deleted_at - 40 * 86_400))
    )
    (settings.JENNY_DATA.trash / "gone").mkdir()
    delete_expired_files()
    assert trash.listing(store) == ()
    assert not (settings.JENNY_DATA.trash / "gone").exists()


def test_what_a_save_took_out_of_memory_is_shown_and_comes_back(client: Client, root: Path) -> None:
    """A line taken out by hand is archived and forgotten, said so, and one click from returning."""
    (root / "USER.md").write_text("# User\n\n- lives in Graz with two cats\n- plays the cello\n")
    address = "/files/edit/USER.md/"
    version = client.get(address).context["version"]
    answer = client.post(
        address, {"text": "# User\n\n- plays the cello\n", "version": version}, follow=True
    )
    page = answer.content.decode()
    assert "What left this file" in page
    assert page.count("lives in Graz with two cats") >= 2
    (item,) = answer.context["traces"].archived
    (tombstone,) = answer.context["traces"].forgotten
    answer = client.post(f"/files/lift/{tombstone.id}", follow=True)
    assert "may learn this again" in answer.content.decode()
    answer = client.post(f"/files/bring-back/{item.id}", follow=True)
    assert "lives in Graz with two cats" in (root / "USER.md").read_text()
    assert "is back in USER.md" in answer.content.decode()
    assert client.post("/files/bring-back/zz", follow=True).status_code == 404
    assert client.post(f"/files/lift/{tombstone.id}", follow=True).status_code == 404


def test_a_typo_put_right_is_no_forgetting(client: Client, root: Path) -> None:
    """The page then has nothing to say but that it was saved."""
    (root / "USER.md").write_text("- lives in Gratz with two cats and a dog\n")
    address = "/files/edit/USER.md/"
    version = client.get(address).context["version"]
    answer = client.post(
        address,
        {"text": "- lives in Graz with two cats and a dog\n", "version": version},
        follow=True,
    )
    assert answer.context["traces"].forgotten == ()


def test_jenny_and_a_person_write_one_file(client: Client, root: Path) -> None:
    """While a chat edits USER.md again and again, a person saves it: who comes second is told, and
    no line of either is lost without both having been shown."""
    (root / "USER.md").write_text("- begin\n")
    chat = open_workspace(root, Actor("chat", run="turn:1"))
    wrong: list[str] = []

    def write() -> None:
        for number in range(40):
            chat.edit("USER.md", lambda old, n=number: (old or b"") + b"- noted %d\n" % n)

    thread = threading.Thread(target=write)
    thread.start()
    saved = 0
    while thread.is_alive() or saved < 5:
        shown = client.get("/files/edit/USER.md/").context
        text = shown["text"] + f"- typed {saved}\n"
        answer = client.post("/files/edit/USER.md/", {"text": text, "version": shown["version"]})
        if answer.status_code == 302:
            saved += 1
        elif answer.status_code != 409 or "noted" not in answer.content.decode():
            wrong.append(f"{answer.status_code}")
    thread.join()
    lines = (root / "USER.md").read_text().splitlines()
    assert not wrong
    assert [line for line in lines if "noted" in line] == [f"- noted {n}" for n in range(40)]
    assert [line for line in lines if "typed" in line] == [f"- typed {n}" for n in range(saved)]


def test_files_of_every_workspace_say_what_they_are_for(client: Client, root: Path) -> None:
    """Instructions, memory files and folders have a sentence in the list, and on their own page."""
    (root / "output").mkdir(exist_ok=True)
    page = get(client, "/workspace/")
    for path in ("AGENTS.md", "USER.md", "SOUL.md", "memory", "output", "wikis", "prompts"):
        if (root / path).exists():
            row = page[page.rindex(f'href="/workspace/{path}"') :].partition("</tr>")[0]
            assert PURPOSES[path] in unescape(row)
    assert PURPOSES["AGENTS.md"] in unescape(get(client, "/workspace/AGENTS.md"))
    assert PURPOSES["USER.md"] in unescape(get(client, "/files/edit/USER.md/"))


def test_the_preview_comes_before_saving(client: Client, notes: Path) -> None:
    """Its button and its place stand between the text and the button that saves."""
    page = get(client, "/files/edit/notes/plan.md/")
    places = [page.index(mark) for mark in ("</textarea>", ">Preview<", 'id="preview"', ">Save<")]
    assert places == sorted(places)


def test_versions_are_named_by_time_and_reason(client: Client, root: Path) -> None:
    """Lists and headings of versions have no ids; the details of one have it."""
    for line in ("- likes tea\n", "- likes coffee\n"):
        (root / "USER.md").write_text(line)
        commit_pending(root)
    page = client.get("/files/history/USER.md/")
    (row, *_) = page.context["versions"]
    sha = row["version"].sha
    assert sha[:8] not in re.sub(r"<[^>]*>", "", page.content.decode())
    assert "Changed in another program" in page.content.decode()
    shown = get(client, row["href"])
    before, _, details = re.sub(r"<(?!details)[^>]*>", "", shown).partition('<details class="fold')
    assert sha[:8] not in before
    assert sha in details


# Words of fences that are no language of code, or none at all.
PLAIN = [
    (name, f" ({number})" if number > 1 else "")
    for number, name in enumerate(("", "text", "exe", "lnk", "code", "../../x"), 1)
]


def test_a_block_of_code_is_saved_as_a_new_file(client: Client, root: Path) -> None:
    """Below ``output/`` of the workspace or of a project, with the language's ending; a taken name
    gets a number, and nothing is written over or anywhere else."""
    (root / "wikis/bees").mkdir(parents=True)
    for language, project, path in (
        ("python", "", "output/code.py"),
        ("Python3", "", "output/code (2).py"),
        *((name, "", f"output/code{number}.txt") for name, number in PLAIN),
        ("makefile", "", "output/code.mk"),
        ("shell", "", "output/code.sh"),
        ("svg", "", "output/code.svg"),
        ("JSON", "bees", "wikis/bees/output/code.json"),
    ):
        sent = {"text": f"{path}\r\n", "language": language, "project": project}
        answer = client.post("/files/save-code", sent)
        assert answer.json() == {"path": path, "href": f"/workspace/{quote(path)}"}
        assert (root / path).read_bytes() == f"{path}\n".encode()
    for project in ("..", "nobody", "../memory", "/etc"):
        answer = client.post("/files/save-code", {"text": "x", "project": project})
        assert answer.status_code in {404, 422}
        assert answer.json()["message"]
    assert client.get("/files/save-code").status_code == 405
