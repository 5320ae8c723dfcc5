"""``export`` and ``import``: what leaves the machine, what comes back, and what never does."""

import json
import re
import zipfile
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from jenny.accounts.models import Account, ApiKey, Job, Workspace
from jenny.chat.models import Conversation, Message
from jenny.workspace.backup import validation
from jenny.workspace.backup.encryption import DecryptedFile, read_header
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.snapshots.reader import list_snapshots
from jenny.workspace.versions.history import open_history
from memory import suppression
from memory.history import cursors, log, reader
from memory.history.entries import NewHistoryEntry
from memory.models import DreamEntry, DreamRun, LineOrigin
from memory.services import snapshots
from settings_ui.services.backups import import_job, importer
from tests.support import hostile_backups
from tests.support.backups import (
    PASSPHRASE,
    bytes_of,
    exported,
    furnish,
    imported,
    rows_of,
    says,
)
from tests.support.stack import ROOT

pytestmark = pytest.mark.django_db
HOSTILE = dict(hostile_backups.every())
FILES = ROOT / "tests/workspace/backup/files"


@pytest.fixture(autouse=True)
def passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands find it in the environment."""
    monkeypatch.setenv("JENNY_BACKUP_PASSPHRASE", PASSPHRASE)


@pytest.fixture
def owner() -> Account:
    """The first account, with a key, a password hash and a furnished workspace."""
    person = Account.objects.create(username="bea", is_superuser=True)
    person.current_workspace = Workspace.make(person, "bea")
    person.save()
    person.current_workspace.make_folder()
    furnish(person.current_workspace)
    return person


@pytest.fixture
def home(owner: Account) -> Workspace:
    """The workspace that is exported."""
    return owner.current_workspace


@pytest.mark.parametrize("name", ["before-age.jenny-backup", "by-the-age-command.zip.age"])
def test_files_that_this_version_did_not_write_are_taken_in(
    home: Workspace, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A backup made before backups were age files, and a plain one that a person encrypted with the
    age command: files, conversation and earlier states come into a new workspace."""
    monkeypatch.setenv("JENNY_BACKUP_PASSPHRASE", "walnut ferry quilt ninety")
    done = imported(home, FILES / name, "--new", "Second")
    new = Workspace.objects.get(name="Second")
    assert (done["conversations"], done["messages"], done["snapshots"]) == (1, 2, 1)
    assert "Maru" in (new.root / "memory/history.jsonl").read_text()


def test_a_backup_moves_to_a_new_workspace_whole(home: Workspace, tmp_path: Path) -> None:
    """Files byte for byte, what was said, snapshots, versions, runs and where lines come from, with
    everything that points at something pointing at the same."""
    path = tmp_path / "backup"
    told = exported(home, path)
    assert told["encrypted"]
    assert told["conversations"] == 1
    before = bytes_of(home.root)
    done = imported(home, path, "--new", "Second")
    new = Workspace.objects.get(name="Second")
    assert done["workspace"] == new.slug
    after = bytes_of(new.root)
    for name in ("memory/history.jsonl",):
        mine, theirs = before.pop(name), after.pop(name)
        assert mine != theirs
    assert after == before
    assert bytes_of(home.root) == before | {"memory/history.jsonl": mine}
    (chat,) = Conversation.objects.filter(workspace=new)
    (entry,) = [json.loads(line) for line in theirs.splitlines()]
    said = Message.objects.filter(conversation=chat, kind="user")
    assert entry["conversation"] == str(chat.pk)
    assert entry["messages"] == [said.first().pk, chat.messages.last().pk]
    assert says(new) == says(home)
    (run,) = DreamRun.objects.filter(workspace=new)
    origins = LineOrigin.objects.filter(workspace=new).order_by("act")
    turn = said.first().turn_id
    assert {row.run for row in origins} == {f"dream:{run.pk}", f"turn:{turn}"}
    assert DreamEntry.objects.get(workspace=new).place == "set_aside"
    mine = {shot.id for shot in list_snapshots(snapshots.store_of(home))}
    assert mine <= {shot.id for shot in list_snapshots(snapshots.store_of(new))}
    with open_history(new.root) as versions:
        assert versions.resolve(run.commits[0]).sha == run.commits[0]


def test_a_folder_without_a_workspace_is_not_passed_over(home: Workspace, tmp_path: Path) -> None:
    """An import into a new workspace asks about a folder of that name; used, its files are in the
    snapshot before the import, and a backup that cannot be taken in leaves them as they are."""
    path, bad = tmp_path / "backup", tmp_path / "bad"
    exported(home, path)
    bad.write_bytes(HOSTILE["up"]())
    folder = home.root.with_name("second")
    folder.mkdir()
    (folder / "mine.md").write_text("of years")
    for options in ((), ("--preview",), ("--preview", "--attach")):
        with pytest.raises(SystemExit):
            imported(home, path, "--new", "Second", *options)
    with pytest.raises(SystemExit):
        imported(home, path, "--attach")
    assert [row.slug for row in Workspace.objects.all()] == ["bea"]
    assert [one.name for one in folder.iterdir()] == ["mine.md"]
    said = refusal(bad, "--new", "Second", "--attach", workspace=home.slug)
    assert said.endswith("The folder is a workspace now: --workspace second.")
    assert (folder / "mine.md").read_text() == "of years"
    assert imported(Workspace.objects.get(slug="second"), path)["removed"] == ["mine.md"]
    third = home.root.with_name("third")
    third.mkdir()
    (third / "mine.md").write_text("of years")
    told = imported(home, path, "--new", "Third", "--attach")
    assert (told["workspace"], told["removed"]) == ("third", ["mine.md"])
    call_command("snapshot", "restore", told["before"], "--yes", workspace="third",
                 stdout=StringIO())  # fmt: skip
    assert (third / "mine.md").read_text() == "of years"
    fourth = home.root.with_name("fourth")
    fourth.mkdir()
    (fourth / "mine.md").write_text("of years")
    assert imported(home, path, "--new", "Fourth", "--new-folder")["workspace"] == "fourth-2"
    assert [one.name for one in fourth.iterdir()] == ["mine.md"]


def test_the_same_file_twice_doubles_nothing(home: Workspace, tmp_path: Path) -> None:
    """Rows, lines and bytes are the same after the second time as after the first; at home there
    is nothing to do at all."""
    path = tmp_path / "backup"
    exported(home, path)
    here, rows = bytes_of(home.root), rows_of()
    done = imported(home, path)
    assert (done["changed"], done["added"], done["removed"]) == ([], [], [])
    assert (done["conversations"], done["messages"]) == (0, 0)
    assert bytes_of(home.root) == here
    assert rows_of() == rows
    imported(home, path, "--new", "Second")
    new = Workspace.objects.get(name="Second")
    first, rows = bytes_of(new.root), rows_of()
    again = imported(new, path)
    assert (again["conversations"], again["snapshots"]) == (0, 0)
    assert bytes_of(new.root) == first
    assert rows_of() == rows


def test_what_was_ruined_comes_back_and_that_can_be_undone(home: Workspace, tmp_path: Path) -> None:
    """Files changed, added and lost since are as they were; what was said since stays; the snapshot
    before the import brings back the ruins."""
    path = tmp_path / "backup"
    exported(home, path)
    files = open_workspace(home.root, Actor("browser"))
    files.write("notes/plan.md", b"ruined\n")
    files.write("later.md", b"made since\n")
    (home.root / "pictures/cat.png").unlink()
    ruins = bytes_of(home.root)
    later = Conversation.objects.create(workspace=home, title="Later")
    shown = imported(home, path, "--preview")
    assert bytes_of(home.root) == ruins
    assert shown["files"].startswith("1 file changed, 1 file added, 1 file removed")
    done = imported(home, path)
    assert done["changed"] == ["notes/plan.md"]
    assert (done["added"], done["removed"]) == (["pictures/cat.png"], ["later.md"])
    assert (home.root / "notes/plan.md").read_bytes() == b"# Plan\n"
    assert Conversation.objects.filter(pk=later.pk).exists()
    call_command("snapshot", "restore", done["before"], "--yes", workspace=home.slug,
                 stdout=StringIO())  # fmt: skip
    assert bytes_of(home.root) == ruins


def test_no_secret_is_in_a_backup(home: Workspace, owner: Account, tmp_path: Path) -> None:
    """Neither keys, nor password hashes, sessions, second factors, drafts or temporary chats: each
    is searched for in the decrypted bytes, whole and in pieces, and found where it belongs."""
    owner.password = "MARKER-PASSWORD-HASH"
    owner.save()
    ApiKey.keep(owner, "https://models.example", "MARKER-API-KEY-sk-1234567890")
    hint = ApiKey.objects.get().ciphertext
    owner.login_sessions.create(session_key="MARKER-SESSION", device="MARKER-DEVICE")
    chat = Conversation.objects.create(workspace=home, kind="temporary", title="MARKER-TEMP")
    Message.objects.create(conversation=chat, kind="user", text="MARKER-TEMPORARY")
    owner.drafts.create(text="MARKER-DRAFT")
    plain, sealed = tmp_path / "plain.zip", tmp_path / "sealed"
    exported(home, plain, "--plain")
    exported(home, sealed)
    with zipfile.ZipFile(plain) as archive:
        data = b"".join(archive.read(name) for name in archive.namelist())
    assert b"MARKER-SAID" in data
    with DecryptedFile(sealed, read_header(sealed).derive(PASSPHRASE)) as file:
        data += file.read()
    data += sealed.read_bytes()
    names = ("PASS", "API", "SESSION", "DEVICE", "TEMP", "DRAFT", "PHRASE")
    secrets = [f"MARKER-{name}".encode() for name in names]
    for secret in (*secrets, bytes(hint)[:20], PASSPHRASE.encode()):
        assert secret not in data
    assert b"MARKER-SAID" not in sealed.read_bytes()
    for folder in ("backups", "snapshots", "workspaces"):
        for found in (home.root.parents[1] / folder).rglob("*"):
            assert not found.is_file() or PASSPHRASE.encode() not in found.read_bytes()
    for job in Job.objects.all():
        assert PASSPHRASE not in json.dumps([job.arguments, job.result, job.message])


def test_keys_that_are_here_stay(home: Workspace, owner: Account, tmp_path: Path) -> None:
    """An import changes no key, password or session."""
    path = tmp_path / "backup"
    exported(home, path)
    ApiKey.keep(owner, "https://models.example", "sk-1234567890")
    imported(home, path)
    imported(home, path, "--new", "Second")
    assert owner.keys() == {"https://models.example": "sk-1234567890"}


def test_hostile_backups_change_nothing(home: Workspace, tmp_path: Path) -> None:
    """More than fifty, each refused whole: every byte of the workspace and every row of the
    database is as before, no snapshot was taken, and nothing is left lying about."""
    path = tmp_path / "evil"
    before, rows = bytes_of(home.root), rows_of()
    shots = snapshots.store_of(home).ids()
    shelf = home.root.parents[1] / "backups"
    left = set(shelf.glob("*"))
    for name, make in HOSTILE.items():
        path.write_bytes(make())
        for more in ((), ("--new", "Second")):
            said = refusal(path, *more, workspace=home.slug)
            assert re.search(r"Nothing was changed|cannot be opened", said), name
        assert bytes_of(home.root) == before, name
        assert rows_of() == rows, name
        assert set(shelf.glob("*")) == left, name
    assert not Workspace.all_objects.filter(name="Second").exists()
    assert snapshots.store_of(home).ids() == shots


def refusal(path: Path, *more: str, workspace: str) -> str:
    """What the command says when it refuses; empty when it does not."""
    try:
        call_command("import", str(path), *more, workspace=workspace, stdout=StringIO())
    except CommandError as error:
        return str(error)
    return ""


def test_a_full_disk_is_seen_before_anything_is_written(
    home: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a backup nor an import is begun that there is no room for."""
    path = tmp_path / "backup"
    exported(home, path)
    before, rows = bytes_of(home.root), rows_of()
    monkeypatch.setattr(validation, "free_bytes", lambda _: 1_000)
    assert "not enough room" in refusal(path, workspace=home.slug)
    with pytest.raises(CommandError, match="not enough room"):
        call_command("export", str(tmp_path / "other"), workspace=home.slug)
    assert {entry.name for entry in tmp_path.iterdir()} == {"backup"}
    assert (bytes_of(home.root), rows_of()) == (before, rows)


def test_a_wrong_passphrase_is_told_like_damage(
    home: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same words for both, exit code 1, and JSON with ``--json``."""
    path, bent = tmp_path / "backup", tmp_path / "bent"
    exported(home, path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    bent.write_bytes(data)
    sentences = set()
    for file, word in ((path, "another passphrase"), (bent, PASSPHRASE)):
        monkeypatch.setenv("JENNY_BACKUP_PASSPHRASE", word)
        out = StringIO()
        with pytest.raises(SystemExit) as ended:
            call_command("import", str(file), "--json", workspace=home.slug, stdout=out)
        assert ended.value.code == 1
        sentences.add(json.loads(out.getvalue())["error"])
    assert len(sentences) == 1
    assert "passphrase is another one, or the file is damaged" in sentences.pop()


def test_a_passphrase_in_a_file_or_too_short(
    home: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read from JENNY_BACKUP_PASSPHRASE_FILE; a short one makes no backup; a file that is
    there is not written over."""
    monkeypatch.delenv("JENNY_BACKUP_PASSPHRASE")
    secret = tmp_path / "secret"
    secret.write_text(PASSPHRASE + "\n")
    monkeypatch.setenv("JENNY_BACKUP_PASSPHRASE_FILE", str(secret))
    path = tmp_path / "backup"
    exported(home, path)
    with pytest.raises(CommandError, match="there already"):
        call_command("export", str(path), workspace=home.slug)
    secret.write_text("short\n")
    with pytest.raises(CommandError, match="at least 12"):
        call_command("export", str(tmp_path / "other"), workspace=home.slug)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("swapped", [False, True])
def test_an_import_that_died_is_finished_or_taken_back(
    home: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: bool
) -> None:
    """Dies the process before the files are swapped, the conversations that came go again; dies it
    after, the rest is done: old or new, never a mix."""
    path = tmp_path / "backup"
    exported(home, path)
    Conversation.objects.filter(workspace=home).delete()
    (home.root / "notes/plan.md").write_bytes(b"ruined\n")
    old, rows = bytes_of(home.root), rows_of()

    def die(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    where = (importer, "finish") if swapped else (importer.engine, "restore")
    with monkeypatch.context() as patch:
        patch.setattr(*where, die)
        patch.setattr(importer, "recover_import", lambda *_: False)
        with pytest.raises(KeyboardInterrupt):
            imported(home, path)
    job = Job.objects.get(kind="import")
    assert "undoing" in job.arguments
    message = import_job.after_death(job)
    if swapped:
        assert message.startswith("The import itself is finished")
        assert (home.root / "notes/plan.md").read_bytes() == b"# Plan\n"
        assert Conversation.objects.filter(workspace=home).count() == 1
    else:
        assert message.startswith("Nothing was changed by it")
        assert bytes_of(home.root) == old
        assert rows_of() == rows


@pytest.mark.parametrize("told", ["", "soon", "2026-13-01", "0001-01-01T00:00:00+14:00"])
def test_a_backup_that_tells_no_time_is_old(told: str) -> None:
    """Whoever made the file may have written anything there."""
    assert importer.made_at(told).year == 1970
    assert importer.made_at("2026-03-01T12:00:00").isoformat() == "2026-03-01T12:00:00+00:00"


def test_ledgers_of_nonsense_do_not_harm_those_that_are_here(
    home: Workspace, tmp_path: Path
) -> None:
    """A history of garbage, numbers beyond any, lines that are cut: what is here stays readable
    and in its place, and the next entry gets a sane number."""
    good, bad = tmp_path / "good.zip", tmp_path / "bad.zip"
    exported(home, good, "--plain", "--no-history")
    nonsense = {
        "memory/history.jsonl": b'{"cursor": 99999999999999999999, "content": ""}\n[1]\n\xff\n{"c',
        "memory/.cursor": b"9" * 40,
        "memory/.dream_cursor": b"-5\n",
        "memory/.forgotten.jsonl": b"[" * 5_000 + b"\n\x00\n{}\n",
        "memory/archive/2026-01-01-aaaaaaaaaaaa.md": b"\xff\xfe---\n",
        "memory/archive/history-1.jsonl": b"not json\n",
        "config.json": b'{"agents": {"defaults": {"maxTokens": "many"}}}',
    }
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(bad, "w") as new:
        for info in old.infolist():
            if info.filename.removeprefix("workspace/") not in nonsense:
                new.writestr(info, old.read(info))
        for name, data in nonsense.items():
            new.writestr(f"workspace/{name}", data)
    imported(home, bad)
    (entry,) = reader.newest(home.root, 10)
    assert entry.content == "- The user said hello"
    assert cursors.dream_cursor(home.root) == 1
    log.append(home.root, [NewHistoryEntry("- More")])
    assert [one.cursor for one in reader.newest(home.root, 10)] == [1, 2]


def test_what_a_backup_lets_be_known_again_is_shown_to_dream_again(
    home: Workspace, tmp_path: Path
) -> None:
    """As when it is lifted by hand: Dream passed over the only entry that says it."""
    fact = "The boat of Ana is painted red"
    (entry,) = log.append(home.root, [NewHistoryEntry(f"- [durable] {fact}")]).entries
    suppression.forget(home.root, fact, Actor("command"))
    cursors.set_dream_cursor(home.root, entry.cursor, Actor("pipeline", run="test"))
    ledger = home.root / suppression.PATH
    here = ledger.read_bytes()
    (tombstone,) = suppression.list_tombstones(home.root)
    suppression.lift_tombstone(home.root, tombstone.id, Actor("command"))
    path = tmp_path / "backup"
    exported(home, path)
    ledger.write_bytes(here)
    assert suppression.list_tombstones(home.root) == (tombstone,)
    imported(home, path)
    assert suppression.list_tombstones(home.root) == ()
    rows = DreamEntry.objects.filter(workspace=home, place="reoffered")
    assert set(rows.values_list("cursor", flat=True)) == {entry.cursor}
