"""An import takes whatever an export wrote: files of any time, mode and name, rows of any value."""

import io
import os
import shutil
import stat
import uuid
import zipfile
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jenny.accounts.models import Account, Workspace
from jenny.chat.models import Block, Conversation, Message, Turn
from jenny.workspace import names, stat_signature
from memory.services import snapshots
from tests.support.backups import exported, imported

pytestmark = pytest.mark.django_db
ODD_TIMES = (-2_082_844_800, -1, 0, 1, 2**31, 4_354_819_200, 10_413_792_000, 10**11, 10**15)
ODD_NAMES = (
    "plain.txt", "Zu\u0308rich.txt", "Zürich.txt", "a" * 255, "é" * 127, "con", "nul.txt", "~home",
    "dot.", " space ", "100%25.txt", "%2e%2e", "back\\slash", "new\nline", "\u202egpj.exe",
    "A", "a", ".gitmodules", ".gitignore", "GIT~2", "git", "日本語.md", "🙂", "LEFT OUT.txt",
    os.fsdecode(b"not-utf8-\xff"), "-rf", "$(reboot)", "c:", "x.jenny",
)  # fmt: skip
name = st.one_of(
    st.sampled_from(ODD_NAMES),
    st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)
    .map(lambda text: text.encode()[:255].decode(errors="ignore"))
    .filter(lambda text: text and text not in (".", "..") and not names.is_own(text)),
)
moment = st.one_of(
    st.sampled_from(ODD_TIMES).map(lambda seconds: seconds * 10**9 + 123_456_789),
    st.integers(-(2**62), 2**63),
)
odd_file = st.tuples(
    st.lists(name, min_size=1, max_size=3),
    st.binary(max_size=40),
    st.sampled_from([0o644, 0o600, 0o755, 0o444, 0o4755, 0o2644, 0o1777]),
    moment,
)


@pytest.fixture
def home() -> Workspace:
    """An owner's workspace."""
    person = Account.objects.create(username="bea", is_superuser=True)
    person.current_workspace = Workspace.make(person, "bea")
    person.save()
    person.current_workspace.make_folder()
    return person.current_workspace


def put(root: Path, parts: list[str], data: bytes, mode: int, modified: int) -> None:
    """A file as a program outside leaves it; what the disk refuses is not there."""
    target = root.joinpath("odd", *parts)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod(mode)
        os.utime(target, ns=(modified, modified))
    except (OSError, OverflowError):
        return


def seen(root: Path) -> dict[str, tuple[object, ...]]:
    """Every file and folder of the part that the test wrote: bytes, permissions, time."""
    found: dict[str, tuple[object, ...]] = {}
    for path in (root / "odd").rglob("*"):
        at, status = path.relative_to(root).as_posix(), path.lstat()
        mode = stat.S_IMODE(status.st_mode) & 0o777
        if path.is_symlink():
            found[at] = ("link",)
        elif path.is_dir():
            found[at] = ("folder", mode)
        else:
            found[at] = (path.read_bytes(), mode, status.st_mtime_ns // 100)
    return found


@settings(
    max_examples=12, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(st.lists(odd_file, min_size=1, max_size=8), st.lists(odd_file, max_size=4))
def test_whatever_lies_in_a_workspace_comes_back_or_is_named(
    home: Workspace, tmp_path: Path, gone: list[tuple], files: list[tuple]
) -> None:
    """Files that are there come back with bytes, permissions and time, or the export names them;
    files that only an earlier state has refuse no import."""
    shutil.rmtree(home.root / "odd", ignore_errors=True)
    for one in gone:
        put(home.root, *one)
    snapshots.take_snapshot(home, "manual")
    shutil.rmtree(home.root / "odd", ignore_errors=True)
    for one in files:
        put(home.root, *one)
    if (home.root / "odd").is_dir():
        (home.root / "odd/link").symlink_to("/etc/passwd")
    path = tmp_path / f"{uuid.uuid4().hex}.zip"
    told = exported(home, path, "--plain")
    title = f"N{uuid.uuid4().hex[:12]}"
    imported(home, path, "--new", title)
    new = Workspace.objects.get(name=title)
    left_out = " ".join(told["left_out"])
    there = seen(new.root)
    for at, found in seen(home.root).items():
        assert there.get(at) == found or names.shown(at) in left_out, at


def test_every_time_that_a_disk_holds_comes_back(home: Workspace, tmp_path: Path) -> None:
    """A file of 1904, one of the first moment of 1970 and one of 2300 come back with their times to
    a ten-millionth of a second."""
    for number, seconds in enumerate(ODD_TIMES):
        put(home.root, [f"{number}.txt"], b"x", 0o644, seconds * 10**9 + 123_456_700)
    path = tmp_path / "backup.zip"
    exported(home, path, "--plain")
    imported(home, path, "--new", "Second")
    assert seen(Workspace.objects.get(name="Second").root) == seen(home.root)


def test_rows_beyond_what_a_backup_tells_are_made_to_fit(home: Workspace, tmp_path: Path) -> None:
    """Times of other millennia, a tool call nested without end, numbers that no column holds and
    costs that are none come along in a form that an import takes."""
    deep: dict[str, object] = {}
    for _ in range(30):
        deep = {"in": deep, "list": [deep]} if not deep else {"in": deep}
    chat = Conversation.objects.create(workspace=home, title="Odd")
    turn = Turn.objects.create(
        conversation=chat, state="done", cost=Decimal("999.999999"),
        started_at=datetime(1, 1, 1, tzinfo=UTC), ended_at=datetime(9999, 12, 31, 23, tzinfo=UTC),
    )  # fmt: skip
    said = Message.objects.create(
        conversation=chat, kind="answer", turn=turn, created_at=datetime(1904, 1, 1, tzinfo=UTC)
    )
    calls: list[object] = [
        {"id": "1", "name": "x", "arguments": deep, "result": "y", "ok": True},
        {"id": 7, "name": None, "arguments": None, "seconds": -1},
        {"id": "2", "name": "x", "arguments": {"n": 2**70}},
        {},
    ]
    for data in calls:
        Block.objects.create(turn=turn, message=said, kind="tool", data=data)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("UPDATE chat_conversation SET title = %s", ["long " * 100])
    path = tmp_path / "backup.zip"
    exported(home, path, "--plain")
    imported(home, path, "--new", "Second")
    again = imported(home, path, "--new", "Third")
    assert again["messages"] == 1
    there = Message.objects.get(conversation__workspace__name="Second")
    assert there.created_at.year == 1970
    assert there.blocks.count() == len(calls)
    assert imported(home, path)["messages"] == 0


def test_a_conversation_that_no_import_takes_is_named(home: Workspace, tmp_path: Path) -> None:
    """One inside a project whose folder can be in no backup is left out, and the export says so."""
    Conversation.objects.create(workspace=home, kind="project", project="con", title="Lost one")
    Conversation.objects.create(workspace=home, title="Kept one")
    path = tmp_path / "backup.zip"
    told = exported(home, path, "--plain")
    assert any("Lost one" in message for message in told["left_out"])
    assert imported(home, path, "--new", "Second")["conversations"] == 1


def test_thousands_of_odd_names_fill_no_manifest(home: Workspace, tmp_path: Path) -> None:
    """What is left out is named as far as a manifest holds it, and the rest is counted."""
    folder = home.root / "odd"
    folder.mkdir()
    for number in range(3_000):
        (folder / f"{'\u2028' * 80}{number}.").touch()
    path = tmp_path / "backup.zip"
    told = exported(home, path, "--plain")
    assert "more are left out" in told["left_out"][-1]
    imported(home, path, "--new", "Second")


def test_what_shrinks_to_nothing_is_no_trap(
    home: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large file of nothing but zeros is exported so that an import takes it."""
    for module in ("writer", "bundles", "format"):
        monkeypatch.setattr(f"jenny.workspace.backup.{module}.FREE_RATIO_BYTES", 2_000_000)
    (home.root / "zeros").mkdir()
    for number in range(12):
        (home.root / f"zeros/{number}.bin").write_bytes(bytes([number]) * 1_000_000)
    path = tmp_path / "backup.zip"
    exported(home, path, "--plain")
    imported(home, path, "--new", "Second")
    new = Workspace.objects.get(name="Second")
    assert (new.root / "zeros/11.bin").read_bytes() == bytes([11]) * 1_000_000


@pytest.mark.parametrize("modified", [-(2**90), -1, 0, 2**63, 2**90])
def test_a_zip_holds_the_nearest_time(modified: int) -> None:
    """No time of a file breaks a zip, and a page can show each of them."""
    info = zipfile.ZipInfo("x")
    stat_signature.set_zip_time(info, modified)
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr(info, b"x")
    with zipfile.ZipFile(whole) as archive:
        assert stat_signature.zip_time(archive.getinfo("x")) is not None
    assert stat_signature.moment_of(modified / 1e9).astimezone(UTC)
