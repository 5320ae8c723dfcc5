"""The Snapshots pages: what was is found, compared and brought back, by its owner alone."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client
from django.utils import timezone

from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.services import jobs
from jenny.workspace import config
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.snapshots import reader
from jenny.workspace.versions.commits import RunNote, begin_run, commit_pending, commit_run
from memory.models import DreamEntry, DreamRun, SnapshotState
from memory.services import restores, snapshots
from tests.support.stack import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are carried out by the tests themselves."""
    monkeypatch.setattr("jenny.accounts.services.jobs.send_job", lambda job: True)


@pytest.fixture
def workspace(ana: Account) -> Workspace:
    """Ana's workspace."""
    assert ana.current_workspace is not None
    return ana.current_workspace


@pytest.fixture
def shot(workspace: Workspace, root: Path) -> str:
    """A snapshot of it, from before some changes."""
    (root / "USER.md").write_text("# User\n\n- Lives in Bern\n")
    (root / "notes").mkdir()
    (root / "notes/plan.md").write_text("# Plan\n\nas it was\n")
    (root / "notes/<script>.md").write_text("odd")
    found = snapshots.take_snapshot(workspace, "manual", label="before the <b>move</b>").snapshot.id
    (root / "USER.md").write_text("# User\n\n- Pruned badly\n")
    (root / "notes/plan.md").write_text("# Plan\n\nas it is\n")
    (root / "notes/later.md").write_text("later")
    return found


def text_of(client: Client, path: str, status: int = 200) -> str:
    """A page."""
    answer = client.get(path)
    assert answer.status_code == status, path
    return answer.content.decode()


def streamed(answer: Any) -> bytes:
    """All that a streamed answer sends."""

    async def pieces() -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    return async_to_sync(pieces)()


def restored(client: Client, path: str) -> Job:
    """Restore by the page: look, agree, and let a worker do it."""
    answer = client.get(path)
    token = answer.context["plan"].token
    answer = client.post(path, {"token": token})
    assert answer.status_code == 302
    job = Job.objects.latest("pk")
    assert answer["Location"] == f"/jobs/{job.pk}/"
    jobs.run_job(job.pk, restores.run_restore)
    job.refresh_from_db()
    return job


def test_the_list_tells_the_nets_apart(client: Client, shot: str) -> None:
    """Each snapshot with why, size and what changed; what Dream changed by itself; nothing that
    anybody typed is markup."""
    page = text_of(client, "/snapshots/")
    assert "Go back to a moment" in page
    assert "Undo what Dream changed" in page
    assert "before the &lt;b&gt;move&lt;/b&gt;" in page
    assert "By hand" in page
    assert "the first one" in page
    assert 'href="/snapshots/" aria-current="true"' in page


def test_one_is_taken_by_hand(client: Client, workspace: Workspace, shot: str) -> None:
    """With words to find it by; where nothing changed there is none, and the page says so."""
    answer = client.post("/snapshots/take", {"label": "holiday"}, follow=True)
    assert "A snapshot was taken by hand" in answer.content.decode()
    newest = reader.list_snapshots(snapshots.store_of(workspace))[0]
    assert newest.label == "holiday"
    assert newest.id not in re.sub(r"<[^>]*>", "", answer.content.decode())
    answer = client.post("/snapshots/take", {}, follow=True)
    assert "no new one was needed" in answer.content.decode()


def test_seconds_tell_snapshots_of_one_minute_apart(
    client: Client, workspace: Workspace, root: Path
) -> None:
    """A snapshot that is alone in its minute shows no seconds."""
    for number, seconds in enumerate((0, 20, 120)):
        (root / "USER.md").write_text(f"- {number}\n")
        now = datetime(2026, 11, 30, 22, 42, tzinfo=UTC) + timedelta(seconds=seconds)
        snapshots.take_snapshot(workspace, "manual", now=now)
    times = re.findall(r"<time[^>]*>([^<]*)</time></a>", text_of(client, "/snapshots/"))
    assert [len(time.rpartition(", ")[2]) for time in times] == [5, 8, 8]


def test_times_are_those_of_the_person_s_zone(
    client: Client, workspace: Workspace, root: Path
) -> None:
    """Pages say the person's time, not the server's."""
    Account.objects.filter(pk=workspace.owner_id).update(time_zone="Asia/Tokyo")
    now = datetime(2026, 11, 30, 22, 42, tzinfo=UTC)
    shot = snapshots.take_snapshot(workspace, "manual", now=now).snapshot
    assert "1 December 2026, 07:42" in text_of(client, "/snapshots/")
    assert "Snapshot of 1 Dec 2026, 07:42" in text_of(client, f"/snapshots/{shot.id}/")


def test_any_file_as_it_was(client: Client, shot: str) -> None:
    """Folders and files are shown as the file browser shows them, and their exact bytes given."""
    assert "“before the &lt;b&gt;move" in text_of(client, f"/snapshots/{shot}/")
    assert client.get("/snapshots/latest/")["Location"] == f"/snapshots/{shot}/"
    folder = text_of(client, f"/snapshots/{shot}/files/notes")
    assert "plan.md" in folder
    assert "later.md" not in folder
    assert "&lt;script&gt;.md" in folder
    assert "as it was" in text_of(client, f"/snapshots/{shot}/files/notes/plan.md")
    raw = client.get(f"/snapshots/{shot}/raw/notes/plan.md")
    assert streamed(raw) == b"# Plan\n\nas it was\n"
    assert raw["Content-Type"] == "text/plain; charset=utf-8"
    assert "sandbox" in raw["Content-Security-Policy"]
    kept = client.get(f"/snapshots/{shot}/raw/notes/plan.md?download=")
    assert kept["Content-Disposition"].startswith("attachment")


@pytest.mark.parametrize(
    "path",
    ["9-00000000/", "nonsense/", "{shot}/files/never", "{shot}/files/../x", "{shot}/raw/notes",
     "{shot}/restore/?path=never/was", "{shot}/diff/?to=99", "versions/dead/", "versions/--all/"],
)  # fmt: skip
def test_what_is_not_there_is_told(client: Client, shot: str, path: str) -> None:
    """A sentence and a way on, never an error."""
    answer = client.get(f"/snapshots/{path.format(shot=shot)}", follow=True)
    assert answer.status_code == 404
    assert "Traceback" not in answer.content.decode()


def test_what_differs_from_now_and_from_another(client: Client, workspace, shot: str) -> None:
    """Between then and now, or two snapshots in either order; a file's lines below each other, as
    wherever a difference is shown."""
    (workspace.root / "memory/.dream_review").write_text("{}")
    page = text_of(client, f"/snapshots/{shot}/diff/")
    shown, _, folded = page.partition("<summary>1 hidden file</summary>")
    assert all(path in shown for path in ("USER.md", "notes/plan.md", "notes/later.md"))
    assert "memory/.dream_review" not in shown
    assert "memory/.dream_review" in folded
    lines = text_of(client, f"/snapshots/{shot}/diff/?path=notes/plan.md")
    assert lines.count('<div class="diff"') == 1
    went, came = lines.index("<del>as it was</del>"), lines.index("<ins>as it is</ins>")
    assert went < lines.index('<tr class="came">') < came
    newer = snapshots.take_snapshot(workspace, "manual").snapshot.id
    one = text_of(client, f"/snapshots/{shot}/diff/?to={newer}&path=notes/plan.md")
    other = text_of(client, f"/snapshots/{newer}/diff/?to={shot}&path=notes/plan.md")
    assert "<del>as it was</del>" in one
    assert "<del>as it was</del>" in other
    assert "Nothing differs" in text_of(client, f"/snapshots/{newer}/diff/")


def test_everything_is_restored_with_a_plan_and_undone(
    client: Client, workspace: Workspace, root: Path, shot: str
) -> None:
    """The plan names each file that changes, comes or goes; afterwards there is a link to undo,
    which leads back."""
    path = f"/snapshots/{shot}/restore/"
    page = text_of(client, path)
    assert all(name in page for name in ("USER.md", "notes/plan.md", "notes/later.md"))
    job = restored(client, path)
    assert job.state == "done", job.message
    assert "2 files changed and 1 file removed" in job.message
    assert re.search(r"the snapshot of \d+ \w+ \d{4}, \d\d:\d\d, taken by hand", job.message)
    assert shot not in job.message
    assert (root / "notes/plan.md").read_text() == "# Plan\n\nas it was\n"
    assert not (root / "notes/later.md").exists()
    assert "There is nothing to do" in text_of(client, path)
    done = text_of(client, f"/jobs/{job.pk}/")
    undo = job.result["links"][0]["href"]
    assert f'href="{undo}"' in done
    assert restored(client, undo).state == "done"
    assert (root / "USER.md").read_text() == "# User\n\n- Pruned badly\n"
    assert (root / "notes/later.md").read_text() == "later"


def test_a_long_plan_names_some_files_in_its_headings(
    client: Client, root: Path, shot: str
) -> None:
    """A list that is folded for its length says which files it has, people's own first."""
    for number in range(18):
        (root / f"notes/n{number:02}.md").write_text("later")
    (root / "memory/.dream_review").write_text("{}")
    page = text_of(client, f"/snapshots/{shot}/restore/")
    headings = re.findall(r"<summary>(.*?)</summary>", page, re.DOTALL)
    (heading,) = (one for one in headings if "Is deleted" in one)
    told = " ".join(re.sub(r"<[^>]*>", "", heading).split())
    assert told == (
        "20 Is deleted, since it was made later: notes/later.md, notes/n00.md, notes/n01.md "
        "and 17 more"
    )


def test_files_that_jenny_keeps_for_herself_are_folded(
    client: Client, root: Path, shot: str
) -> None:
    """They are part of the plan, and stand apart from the person's own."""
    (root / "memory").mkdir(exist_ok=True)
    (root / "memory/.dream_review").write_text("{}")
    page = text_of(client, f"/snapshots/{shot}/restore/")
    shown, _, folded = page.partition("1 file that Jenny keeps for herself")
    assert "notes/later.md" in shown
    assert ".dream_review" not in shown
    assert ".dream_review" in folded


def test_one_file_is_restored(client: Client, root: Path, shot: str) -> None:
    """And nothing else."""
    job = restored(client, f"/snapshots/{shot}/restore/?path=USER.md")
    assert job.state == "done"
    assert (root / "USER.md").read_text() == "# User\n\n- Lives in Bern\n"
    assert (root / "notes/plan.md").read_text() == "# Plan\n\nas it is\n"
    assert "path=USER.md" in job.result["links"][0]["href"]


def test_a_plan_that_is_not_true_any_more_asks_again(client: Client, root: Path, shot) -> None:
    """Other files would change by now: nothing happens without another look."""
    path = f"/snapshots/{shot}/restore/"
    token = client.get(path).context["plan"].token
    (root / "notes/newest.md").write_text("made after the look")
    answer = client.post(path, {"token": token})
    assert answer.status_code == 422
    assert "notes/newest.md" in answer.content.decode()
    assert not Job.objects.exists()
    # Also when it happens while the job waits.
    token = client.get(path).context["plan"].token
    client.post(path, {"token": token})
    (root / "notes/even-newer.md").write_text("x")
    job = jobs.run_job(Job.objects.get().pk, restores.run_restore)
    assert job is not None
    assert job.state == "failed"
    assert "Nothing was changed" in job.message
    assert (root / "USER.md").read_text() == "# User\n\n- Pruned badly\n"
    assert "The last restore did not work" in text_of(client, "/snapshots/")


def test_what_a_hand_took_out_stays_away_and_is_shown_before(
    client: Client, workspace: Workspace, root: Path
) -> None:
    """A line removed by an editor outside is forgotten: the page says so before anything happens,
    and lets it back where that was not meant."""
    (root / "USER.md").write_text("# User\n\n- Lives in Bern\n- Has two cats\n")
    commit_pending(root)
    shot = snapshots.take_snapshot(workspace, "manual").snapshot.id
    (root / "USER.md").write_text("# User\n\n- Lives in Bern\n")
    (root / "new.md").write_text("x")
    path = f"/snapshots/{shot}/restore/"
    answer = client.post(path, {"token": client.get(path).context["plan"].token})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "You had these forgotten" in page
    assert "Has two cats" in page
    tombstone = answer.context["forgotten"][0][2]
    client.post(f"/files/lift/{tombstone}")
    assert restored(client, path).state == "done"
    assert "Has two cats" in (root / "USER.md").read_text()


def test_asked_twice_it_is_begun_once(client: Client, shot: str) -> None:
    """A second tab is led to the one that is under way."""
    path = f"/snapshots/{shot}/restore/"
    token = client.get(path).context["plan"].token
    first, second = (client.post(path, {"token": token}) for _ in range(2))
    assert first["Location"] == second["Location"]
    assert Job.objects.count() == 1
    assert "A restore is under way" in text_of(client, "/snapshots/")


def test_dream_is_stopped_with_a_word_and_sees_its_entries_again(
    client: Client, workspace: Workspace, root: Path
) -> None:
    """A run under way ends with a sentence; what it had written has a version of its own; entries
    it had read since are offered again; its holder writes no more."""
    write = (root / "memory/history.jsonl").write_text
    rows = [{"cursor": n, "timestamp": "2026-01-01 10:00", "content": f"f{n}"} for n in (1, 2, 3)]
    write("".join(json.dumps(row) + "\n" for row in rows))
    shot = snapshots.take_snapshot(workspace, "manual").snapshot.id
    (root / "memory/.dream_cursor").write_text("2\n")
    run = DreamRun.begin(workspace, "manual")
    assert run is not None
    run = DreamRun.claim(run.pk, "somebody", 100.0)
    assert run is not None
    begin_run(root, RunNote(run.name, "dream: manual run", (2, None)))
    open_workspace(root, Actor("dream", run=run.name)).write("USER.md", b"# User\n\n- Half\n")
    assert "Dream is at work" in text_of(client, f"/snapshots/{shot}/restore/")
    job = restored(client, f"/snapshots/{shot}/restore/")
    assert job.state == "done", job.message
    run.refresh_from_db()
    assert (run.state, run.status) == ("ended", "interrupted")
    assert "restored" in run.message
    assert not run.may_write()
    assert "stopped" in job.message
    found = DreamEntry.objects.filter(workspace=workspace, place="reoffered")
    assert sorted(found.values_list("cursor", flat=True)) == [1, 2]
    versions = text_of(client, "/snapshots/versions/")
    assert "Memory update, started by hand (part 1)" in versions or "interrupted" in versions
    assert "Restored a snapshot" in versions
    assert shot not in versions


def test_settings_that_go_back_are_told_of(
    client: Client, workspace: Workspace, root: Path, shot: str
) -> None:
    """Somebody may have paused all calls since, and learn too late that they go out again."""
    assert "calls to them are paused" not in text_of(client, f"/snapshots/{shot}/restore/")
    config.change_config(
        root, lambda data: data.setdefault("privacy", {}).update(pauseModelCalls=True)
    )
    assert "calls to them are paused" in text_of(client, f"/snapshots/{shot}/restore/")


def test_a_restore_that_died_is_told_as_it_is(
    client: Client, workspace: Workspace, root: Path, shot: str
) -> None:
    """Killed before anything landed: nothing was changed. Killed afterwards: all of it is there."""
    job = restores.start_restore(workspace, None, shot, "", token="")
    assert job.claim()
    assert "Nothing was changed" in restores.after_death(job)
    restores.by_command(workspace, shot, "", progress=lambda percent, doing: None)
    assert "finished" in restores.after_death(job)
    # Somebody went on since: nobody knows any more, and nothing is claimed.
    job.arguments["token"] = "what was agreed to"
    (root / "later.md").write_text("later\n")
    assert "cannot be told" in restores.after_death(job)


def test_how_long_they_are_kept(client: Client, workspace: Workspace, root: Path) -> None:
    """A shorter time says first what it deletes, whoever asks; a longer one is just saved."""
    long_ago = timezone.now() - timedelta(days=60)
    for number in range(25):
        (root / "n.md").write_text(str(number))
        snapshots.take_snapshot(workspace, "manual", now=long_ago + timedelta(minutes=number))
    page = client.post("/snapshots/keep/", {"snapshots.keepFor": "month"})
    assert page.status_code == 422
    assert "5 snapshots" in page.content.decode()
    assert config.load_config(root).snapshots.keep_for == "forever"
    assert len(reader.list_snapshots(snapshots.store_of(workspace))) == 25
    sent = {"snapshots.keepFor": "month", "confirm": "yes"}
    done = client.post("/snapshots/keep/", sent, follow=True)
    assert "5 snapshots deleted" in done.content.decode()
    assert config.load_config(root).snapshots.keep_for == "month"
    assert len(reader.list_snapshots(snapshots.store_of(workspace))) == 20
    assert client.post("/snapshots/keep/", {"snapshots.keepFor": "forever"}).status_code == 302
    assert client.post("/snapshots/keep/", {"snapshots.keepFor": "soon"}).status_code == 422


def test_a_horizon_shortened_by_hand_is_asked_about(
    client: Client, workspace: Workspace, root: Path
) -> None:
    """Somebody edited the settings file: nothing goes before a yes, and the list says so."""
    long_ago = timezone.now() - timedelta(days=60)
    for number in range(22):
        (root / "n.md").write_text(str(number))
        snapshots.take_snapshot(workspace, "manual", now=long_ago + timedelta(minutes=number))
    (root / "config.json").write_text('{"snapshots": {"keepFor": "week"}, "configVersion": 1}')
    assert "Nothing is deleted before you say so" in text_of(client, "/snapshots/")
    assert "This deletes snapshots for good" in text_of(client, "/snapshots/keep/")


def test_what_is_wrong_stands_on_every_page(client: Client, workspace, root: Path) -> None:
    """A snapshot that failed, and a horizon that waits for a yes; both go with their cause."""
    row = SnapshotState.of(workspace, timezone.now())
    row.note_failure("The disk is full.", timezone.now())
    (root / "config.json").write_text('{"snapshots": {"keepFor": "week"}, "configVersion": 1}')
    page = text_of(client, "/workspace/")
    assert "There is no new snapshot of this workspace. The disk is full." in page
    assert "none goes before you say so" in page
    client.post("/snapshots/take", {})
    client.post("/snapshots/keep/", {"snapshots.keepFor": "week"})
    page = text_of(client, "/workspace/")
    assert "The disk is full" not in page
    assert "none goes before you say so" not in page


def dreamed(root: Path, text: str, run: str = "dream:1", cursor=(0, 2)) -> str:
    """A run of Dream that rewrote USER.md; its version's id."""
    note = RunNote(run, "dream: scheduled run", cursor)
    begin_run(root, RunNote(run, "dream: scheduled run", (cursor[0], None)))
    open_workspace(root, Actor("dream", run=run)).write("USER.md", text.encode())
    return commit_run(root, note).versions[-1].sha


def test_a_version_is_undone_with_its_plan(client: Client, root: Path) -> None:
    """What a run changed is shown, then taken back; that can be taken back as well."""
    before = (root / "USER.md").read_bytes()
    sha = dreamed(root, "# User\n\n- Pruned badly\n")
    page = text_of(client, f"/snapshots/versions/{sha}/")
    assert "- Pruned badly" in page
    assert (
        f'href="/memory/undo/{sha}/"' in client.get(f"/snapshots/versions/{sha}/").content.decode()
    )
    page = client.get(f"/memory/undo/{sha}/")
    assert "is put back" in page.content.decode()
    sent = {"token": page.context["plan"].token}
    done = client.post(f"/memory/undo/{sha}/", sent, follow=True)
    assert "Undone" in done.content.decode()
    assert (root / "USER.md").read_bytes() == before
    assert "already as it was before" in text_of(client, f"/snapshots/versions/{sha}/")
    redo = done.redirect_chain[-1][0].replace("/snapshots/versions/", "/memory/undo/")
    again = client.get(redo)
    client.post(redo, {"token": again.context["plan"].token})
    assert (root / "USER.md").read_text() == "# User\n\n- Pruned badly\n"


def test_later_work_is_asked_about(client: Client, workspace: Workspace, root: Path) -> None:
    """A file that moved on is named with what goes; its older notes are tried again when asked."""
    sha = dreamed(root, "# User\n\n- One\n", "dream:1", (0, 2))
    dreamed(root, "# User\n\n- One\n- Two\n", "dream:2", (2, 5))
    page = client.get(f"/memory/undo/{sha}/")
    assert "This file was changed since (+1 −0 lines), and that goes, too" in page.content.decode()
    assert "Undo, with later changes" in page.content.decode()
    sent = {"token": page.context["plan"].token, "notes": "again"}
    done = client.post(f"/memory/undo/{sha}/", sent)
    assert done.status_code == 302
    assert "Two" not in (root / "USER.md").read_text()
    rows = DreamEntry.objects.filter(workspace=workspace).values_list("cursor", flat=True)
    assert sorted(rows) == [1, 2]


def test_another_account_sees_nothing(client: Client, shot: str, root: Path) -> None:
    """Neither the snapshot nor its files, by whatever address."""
    ben = Account.objects.make_account("ben", PASSWORD, "UTC")
    sha = dreamed(root, "# User\n\n- Secret\n")
    other = Client(headers={"Sec-Fetch-Site": "same-origin"})
    other.force_login(ben)
    for path in (f"{shot}/", f"{shot}/files/USER.md", f"{shot}/raw/USER.md", f"{shot}/diff/",
                 f"{shot}/restore/", f"versions/{sha}/"):  # fmt: skip
        assert other.get(f"/snapshots/{path}").status_code == 404, path
    for path in (f"/snapshots/{shot}/restore/", f"/memory/undo/{sha}/"):
        assert other.post(path, {"token": ""}).status_code == 404, path
