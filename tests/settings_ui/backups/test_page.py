"""Settings → Backup: made and downloaded by its owner alone, looked at, brought back."""

import json
import os
import re
import secrets
import threading
import time
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from jenny.accounts import connections
from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.services import jobs
from jenny.chat.models import Conversation
from jenny.workspace.backup import encryption
from jenny.workspace.backup.encryption import is_encrypted
from jenny.workspace.files import Actor
from memory import consents
from settings_ui.services.backups import exporter, import_job, storage
from tests.settings_ui.test_files_page import body
from tests.support.backups import PASSPHRASE, bytes_of, exported, furnish

PAGE = "/settings/backup/"
IMPORT = "/settings/backup/import"
WORK = {"export": exporter.work, "import": import_job.work}


@pytest.fixture
def home(ana: Account) -> Workspace:
    """Ana's workspace, with one of everything."""
    row = ana.current_workspace
    furnish(row)
    return row


@pytest.fixture
def stranger(db: None) -> Client:
    """Somebody else's browser."""
    person = Account.objects.make_account("eve", "another long password 9", "UTC")
    person.current_workspace.make_folder()
    browser = Client(headers={"Sec-Fetch-Site": "same-origin"})
    browser.force_login(person)
    return browser


@pytest.fixture
def backup(home: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """An encrypted backup of it."""
    monkeypatch.setenv("JENNY_BACKUP_PASSPHRASE", PASSPHRASE)
    path = tmp_path / "backup"
    exported(home, path)
    return path.read_bytes()


def worked(address: str) -> Job:
    """The job that a form led to, carried out as a worker does."""
    job = Job.objects.get(pk=int(address.strip("/").rpartition("/")[2]))
    done = jobs.run_job(job.pk, WORK[job.kind])
    assert done is not None
    return done


def sent(client: Client, data: bytes, **fields: str) -> object:
    """A backup with the form."""
    file = SimpleUploadedFile("backup", data)
    return client.post(IMPORT, {"file": file, "passphrase": PASSPHRASE, **fields})


def places() -> list[Path]:
    """What lies on the shelf."""
    folder = settings.JENNY_DATA.backups
    return [path for path in folder.iterdir() if path.is_dir()] if folder.exists() else []


@pytest.fixture(autouse=True)
def _tidy() -> object:
    """Each test begins with an empty shelf."""
    for path in places():
        storage.Place(path).drop()
    return None


def test_a_backup_is_made_and_downloaded_by_its_owner_alone(
    client: Client, stranger: Client, home: Workspace
) -> None:
    """The passphrase is typed twice; it lies nowhere; the job's page has the download; another
    account gets nothing, even by the address; removed, it is gone."""
    answer = client.post(
        f"{PAGE}export", {"passphrase": PASSPHRASE, "again": PASSPHRASE, "history": "yes"}
    )
    assert answer.status_code == 302
    (place,) = places()
    kept = b"".join(path.read_bytes() for path in place.iterdir())
    assert PASSPHRASE.encode() not in kept
    job = worked(answer["Location"])
    assert job.state == "done", job.message
    assert not (place / "key").exists()
    (link,) = job.result["links"]
    page = client.get(f"/jobs/{job.pk}/").content.decode()
    assert link["href"] in page
    download = client.get(link["href"])
    assert download["Content-Disposition"].startswith('attachment; filename="ana')
    assert body(download) == (place / "file").read_bytes()
    assert is_encrypted(place / "file")
    assert stranger.get(link["href"]).status_code == 404
    assert stranger.post(f"{PAGE}discard/{place.name}").status_code == 404
    assert Client().get(link["href"]).status_code == 302
    for wrong in ("0" * 32, "..", place.name.upper()):
        assert client.get(f"{PAGE}download/{wrong}/").status_code == 404
    assert place.name in client.get(PAGE).content.decode()
    client.post(f"{PAGE}discard/{place.name}")
    assert client.get(link["href"]).status_code == 404
    assert places() == []


def test_it_goes_by_itself_after_a_day(client: Client, home: Workspace) -> None:
    """An old backup is not given out, and the sweep removes it; a key that nobody took goes after
    an hour."""
    answer = client.post(f"{PAGE}export", {"passphrase": PASSPHRASE, "again": PASSPHRASE})
    (place,) = places()
    hour = time.time() - 2 * 3600
    os.utime(place / "key", (hour, hour))
    storage.tidy()
    assert not (place / "key").exists()
    assert "passphrase is needed once more" in worked(answer["Location"]).message
    answer = client.post(f"{PAGE}export", {"plain": "yes"})
    (link,) = worked(answer["Location"]).result["links"]
    (place,) = places()
    day = time.time() - 25 * 3600
    os.utime(place / "about.json", (day, day))
    assert client.get(link["href"]).status_code == 404
    storage.tidy()
    assert places() == []


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"passphrase": "short", "again": "short"}, "at least 12 characters"),
        ({"passphrase": "a" * 30, "again": "a" * 30}, "at least 12 characters"),
        ({"passphrase": PASSPHRASE, "again": "other"}, "The two passphrases differ"),
        ({}, "at least 12 characters"),
    ],
)
def test_a_weak_or_mistyped_passphrase_makes_none(
    client: Client, home: Workspace, typed: dict, message: str
) -> None:
    """The form comes back with 422, without what was typed; nothing is asked of a worker."""
    answer = client.post(f"{PAGE}export", typed)
    assert answer.status_code == 422
    assert message in answer.content.decode()
    assert PASSPHRASE not in answer.content.decode()
    assert not Job.objects.exists()
    assert places() == []


def test_a_second_export_is_the_first_one(client: Client, home: Workspace) -> None:
    """Pressing twice finds the one that is under way, and the page links to it."""
    form = {"passphrase": PASSPHRASE, "again": PASSPHRASE}
    first, second = (client.post(f"{PAGE}export", form)["Location"] for _ in range(2))
    assert first == second
    assert first in client.get(PAGE).content.decode()
    assert len(places()) == 1


def test_a_backup_is_looked_at_then_brought_back(
    client: Client, stranger: Client, home: Workspace, backup: bytes
) -> None:
    """What would change is shown before anything does; a yes does it; the page of the job leads to
    the undo; strangers see none of it."""
    good = bytes_of(home.root)
    (home.root / "notes/plan.md").write_bytes(b"ruined\n")
    ruined = bytes_of(home.root)
    job = worked(sent(client, backup)["Location"])
    assert job.state == "done", job.message
    assert bytes_of(home.root) == ruined
    (link,) = job.result["links"]
    page = client.get(link["href"]).content.decode()
    assert "1 file changed" in page
    assert "notes/plan.md" in page
    assert stranger.get(link["href"]).status_code == 404
    assert stranger.post(link["href"]).status_code == 404
    answer = client.post(link["href"])
    done = worked(answer["Location"])
    assert done.state == "done", done.message
    assert bytes_of(home.root) == good
    assert (
        f"/snapshots/{done.result['before']}/restore/"
        in client.get(f"/jobs/{done.pk}/").content.decode()
    )
    assert places() == []


def test_into_a_new_workspace(client: Client, ana: Account, home: Workspace, backup: bytes) -> None:
    """It is made of the backup, and offered to be worked in; this session and the next login stay
    where they were until that is pressed. A name that is taken is refused at once."""
    taken = sent(client, backup, target="new", new=home.name)
    assert taken.status_code == 422
    assert "There is a workspace called" in taken.content.decode()
    job = worked(sent(client, backup, target="new", new="Twin")["Location"])
    page = job.result["links"][0]["href"]
    assert "come into a new workspace" in client.get(page).content.decode()
    assert not Workspace.objects.filter(name="Twin").exists()
    done = worked(client.post(page)["Location"])
    assert done.state == "done", done.message
    twin = Workspace.objects.get(name="Twin")
    ana.refresh_from_db()
    assert ana.current_workspace == home
    assert "Work in “Twin”" in client.get(f"/jobs/{done.pk}/").content.decode()
    client.post(f"/settings/workspaces/{twin.pk}/use")
    ana.refresh_from_db()
    assert ana.current_workspace == twin
    assert Conversation.objects.filter(workspace=twin).count() == 1


def test_what_was_checked_waits_until_it_is_decided(
    client: Client, home: Workspace, backup: bytes
) -> None:
    """The page lists it after a reload; the new workspace is named on the preview, and a name that
    cannot be loses no file."""
    taken = sent(client, backup, target="new", new=home.name)
    (arrived,) = re.findall(r'name="arrived" value="([0-9a-f]{32})"', taken.content.decode())
    form = {"arrived": arrived, "passphrase": PASSPHRASE, "target": "new"}
    page = worked(client.post(IMPORT, form)["Location"]).result["links"][0]["href"]
    assert f'href="{page}"' in client.get(PAGE).content.decode()
    assert 'value="Restored workspace"' in client.get(page).content.decode()
    assert client.post(page, {"new": home.name}).status_code == 422
    assert worked(client.post(page, {"new": "Named late"})["Location"]).state == "done"
    assert Workspace.objects.filter(name="Named late").exists()
    assert f'href="{page}"' not in client.get(PAGE).content.decode()


def test_the_file_is_named_by_the_persons_day(home: Workspace, ana: Account) -> None:
    """The time in a backup's name is that of the account's zone."""
    for zone in ("Pacific/Kiritimati", "Pacific/Niue"):
        ana.time_zone = home.owner.time_zone = zone
        before = datetime.now(ZoneInfo(zone))
        name = exporter.file_name(home, plain=True)
        # An hour may begin meanwhile.
        hours = {f"{at:%Y-%m-%d-%H}" for at in (before, datetime.now(ZoneInfo(zone)))}
        assert any(name.startswith(f"{home.slug}-{hour}") for hour in hours)


def test_a_folder_without_a_workspace_is_offered_to_its_owner(
    client: Client, stranger: Client, home: Workspace, backup: bytes
) -> None:
    """Nothing is made beside it unasked; used, its files are a workspace whose changes another
    preview shows; left, it stays untouched; nobody but the owner is told of it."""
    folders = [home.root.with_name(name) for name in ("twin", "third", "fourth")]
    for folder in folders:
        folder.mkdir()
        (folder / "mine.md").write_text("of years")
    link = worked(sent(client, backup, target="new")["Location"]).result["links"][0]["href"]
    asked = client.post(link, {"new": "Twin"})
    page = asked.content.decode()
    assert asked.status_code == 422
    assert str(folders[0]) in page
    assert 'value="attach"' in page
    assert not Workspace.objects.filter(name="Twin").exists()
    job = worked(client.post(link, {"new": "Twin", "folder": "attach"})["Location"])
    twin = Workspace.objects.get(name="Twin")
    assert (twin.root, job.workspace, job.state) == (folders[0], twin, "done")
    assert "mine.md" in client.get(link).content.decode()
    assert (folders[0] / "mine.md").read_text() == "of years"
    assert worked(client.post(link)["Location"]).state == "done"
    assert not (folders[0] / "mine.md").exists()
    link = worked(sent(client, backup, target="new")["Location"]).result["links"][0]["href"]
    worked(client.post(link, {"new": "Third", "folder": "new"})["Location"])
    assert Workspace.objects.get(name="Third").root == folders[1].with_name("third-2")
    link = worked(sent(stranger, backup, target="new")["Location"]).result["links"][0]["href"]
    worked(stranger.post(link, {"new": "Fourth"})["Location"])
    assert Workspace.objects.get(name="Fourth").root == folders[2].with_name("fourth-2")
    for folder in folders[1:]:
        assert [path.name for path in folder.iterdir()] == ["mine.md"]


def test_what_else_comes_along_is_said_before(
    client: Client, home: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger's backup may name a server of theirs, and agree to what its owner agreed to."""
    monkeypatch.setenv("JENNY_BACKUP_PASSPHRASE", PASSPHRASE)
    address = "https://models.example.org/v1"
    connections.save_preset(home.root, "theirs", {"model": "m", "baseUrl": address}, use=True)
    consents.give(home.root, "AGENTS.md", Actor("browser"))
    exported(home, tmp_path / "backup")
    data = (tmp_path / "backup").read_bytes()
    job = worked(sent(client, data, target="new", new="Twin")["Location"])
    page = client.get(job.result["links"][0]["href"]).content.decode()
    assert "models may be asked at https://models.example.org." in page
    assert "What Jenny may change by herself" in page
    own = worked(sent(client, data)["Location"])
    assert "models may be asked" not in client.get(own.result["links"][0]["href"]).content.decode()


def test_a_wrong_passphrase_is_told_by_the_job_and_the_file_stays(
    client: Client, home: Workspace, backup: bytes
) -> None:
    """422 with the sentence; the file need not be sent again."""
    answer = sent(client, backup, passphrase="another passphrase")
    job = worked(answer["Location"])
    assert job.state == "failed"
    assert "passphrase is another one, or the file is damaged" in job.message
    (place,) = places()
    assert not (place / "key").exists()
    assert f'name="arrived" value="{place.name}"' in client.get(PAGE).content.decode()
    answer = client.post(IMPORT, {"arrived": place.name, "passphrase": PASSPHRASE})
    assert worked(answer["Location"]).state == "done"


def test_a_backup_arrives_in_pieces(
    client: Client, stranger: Client, home: Workspace, backup: bytes
) -> None:
    """Pieces go where they belong, also when sent twice; nobody adds to another's file."""
    name, size = secrets.token_hex(16), len(backup)

    def piece(browser: Client, at: int, data: bytes, **fields: object) -> object:
        file = SimpleUploadedFile("piece", data)
        form: dict[str, object] = {"id": name, "at": at, "size": size, "piece": file}
        form |= fields
        return browser.post(f"{PAGE}piece", form)

    half = size // 2
    assert piece(client, 0, backup[:half]).json() == {"there": half}
    assert piece(client, 0, backup[:half]).json() == {"there": half}
    assert piece(stranger, half, b"evil").status_code == 422
    assert piece(client, half, backup[half:]).json() == {"there": size}
    for fields in ({"id": "../../x"}, {"at": "-1"}, {"size": "1"}, {"at": size}):
        assert piece(client, **{"at": half, "data": b"xx", **fields}).status_code == 422
    answer = client.post(IMPORT, {"arrived": name, "passphrase": PASSPHRASE})
    assert worked(answer["Location"]).state == "done"
    assert stranger.post(IMPORT, {"arrived": name, "passphrase": PASSPHRASE}).status_code == 422


def test_damage_behind_the_first_bytes_is_told_by_the_job(
    client: Client, home: Workspace, backup: bytes
) -> None:
    """The file opens, is then read whole, and refused; nothing changed and nothing is left."""
    before = bytes_of(home.root)
    bent = bytearray(backup)
    bent[-40] ^= 1
    answer = sent(client, bytes(bent))
    job = worked(answer["Location"])
    assert job.state == "failed"
    assert "damaged" in job.message
    # Where it is one chunk long, another passphrase may still be tried.
    assert not any((place / "key").exists() for place in places())
    assert bytes_of(home.root) == before


def test_nothing_secret_is_among_a_jobs_arguments(client: Client, home: Workspace) -> None:
    """What the database holds of it names a folder, and nothing else."""
    client.post(f"{PAGE}export", {"passphrase": PASSPHRASE, "again": PASSPHRASE})
    job = Job.objects.get()
    assert job.arguments.keys() == {"folder", "history"}
    assert PASSPHRASE not in json.dumps(job.arguments)


def test_requests_derive_no_key(
    client: Client, home: Workspace, backup: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many costly files are sent at once, the web process spends no memory on their keys;
    the jobs derive one key after the other."""
    at_once: list[int] = []
    running = threading.Semaphore(24)
    stretch = encryption._stretch

    def counted(passphrase: str, salt: bytes, log_n: int) -> bytes:
        with running:
            at_once.append(24 - running._value)
            return stretch(passphrase, salt, log_n)

    monkeypatch.setattr(encryption, "_stretch", counted)
    answer = sent(client, backup)
    client.post(f"{PAGE}export", {"passphrase": PASSPHRASE, "again": PASSPHRASE})
    assert at_once == []
    assert worked(answer["Location"]).state == "done"
    threads = [threading.Thread(target=exporter.new_file_key, args=(PASSPHRASE,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert at_once == [1] * 5


def test_files_that_wait_are_bounded(client: Client, home: Workspace, backup: bytes) -> None:
    """An account cannot fill the disk with files that nobody brings in."""
    for _ in range(5):
        name = secrets.token_hex(16)
        file = SimpleUploadedFile("piece", backup[:10])
        form = {"id": name, "at": 0, "size": len(backup), "piece": file}
        assert client.post(f"{PAGE}piece", form).status_code == 200
    answer = sent(client, backup)
    assert answer.status_code == 422
    assert "are waiting already" in answer.content.decode()
    assert len(places()) == 5
