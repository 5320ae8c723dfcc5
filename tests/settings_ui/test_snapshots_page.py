"""The Snapshots pages: what was is found, compared and brought back, by its owner alone."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client
from django.utils import timezone

from jenny.accounts.management import working
from jenny.accounts.models import Account, Job, Workspace
from jenny.workspace import config
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.snapshots import shelf
from jenny.workspace.versions.record import RunNote, begin_run, commit_pending, commit_run
from memory.management import restoring, snapshots
from memory.models import DreamEntry, DreamRun, SnapshotState
from tests.support.stack import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are carried out by the tests themselves."""
    monkeypatch.setattr("jenny.accounts.management.working.send", lambda job: True)


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
    found = snapshots.take(workspace, "manual", label="before the <b>move</b>").snapshot.id
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
    working.carry_out(job.pk, restoring.work)
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
    assert "was taken by hand" in answer.content.decode()
    assert shelf.snapshots(snapshots.store_of(workspace))[0].label == "holiday"
    answer = client.post("/snapshots/take", {}, follow=True)
    assert "no new one was needed" in answer.content.decode()


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
    """Between then and now, or two snapshots in either order; a file's lines side by side."""
    page = text_of(client, f"/snapshots/{shot}/diff/")
    assert all(path in page for path in ("USER.md", "notes/plan.md", "notes/later.md"))
    lines = text_of(client, f"/snapshots/{shot}/diff/?path=notes/plan.md")
    assert "<del>as it was</del>" in lines
    assert "<ins>as it is</ins>" in lines
    newer = snapshots.take(workspace, "manual").snapshot.id
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
    assert job.state == "done", job.sentence
    assert "2 files changed and 1 file removed" in job.sentence
    assert (root / "notes/plan.md").read_text() == "# Plan\n\nas it was\n"
    assert not (root / "notes/later.md").exists()
    assert "There is nothing to do" in text_of(client, path)
    done = text_of(client, f"/jobs/{job.pk}/")
    undo = job.result["links"][0]["href"]
    assert f'href="{undo}"' in done
    assert restored(client, undo).state == "done"
    assert (root / "USER.md").read_text() == "# User\n\n- Pruned badly\n"
    assert (root / "notes/later.md").read_text() == "later"


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
    job = working.carry_out(Job.objects.get().pk, restoring.work)
    assert job is not None
    assert job.state == "failed"
    assert "Nothing was changed" in job.sentence
    assert (root / "USER.md").read_text() == "# User\n\n- Pruned badly\n"
    assert "The last restore did not work" in text_of(client, "/snapshots/")


def test_what_a_hand_took_out_stays_away_and_is_shown_before(
    client: Client, workspace: Workspace, root: Path
) -> None:
    """A line removed by an editor outside is forgotten: the page says so before anything happens,
    and lets it back where that was not meant."""
    (root / "USER.md").write_text("# User\n\n- Lives in Bern\n- Has two cats\n")
    commit_pending(root)
    shot = snapshots.take(workspace, "manual").snapshot.id
    (root / "USER.md").write_text("# User\n\n- Lives in Bern\n")
    (root / "new.md").write_text("x")
    path = f"/snapshots/{shot}/restore/"
    answer = client.post(path, {"token": client.get(path).context["plan"].token})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "You had these forgotten" in page
    assert "Has two cats" in page
    stone = answer.context["forgotten"][0][2]
    client.post(f"/files/lift/{stone}")
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
    shot = snapshots.take(workspace, "manual").snapshot.id
    (root / "memory/.dream_cursor").write_text("2\n")
    run = DreamRun.begin(workspace, "manual")
    assert run is not None
    run = DreamRun.claim(run.pk, "somebody", 100.0)
    assert run is not None
    begin_run(root, RunNote(run.name, "dream: manual run", (2, None)))
    open_workspace(root, Actor("dream", run=run.name)).write("USER.md", b"# User\n\n- Half\n")
    assert "Dream is at work" in text_of(client, f"/snapshots/{shot}/restore/")
    job = restored(client, f"/snapshots/{shot}/restore/")
    assert job.state == "done", job.sentence
    run.refresh_from_db()
    assert (run.state, run.status) == ("ended", "interrupted")
    assert "restored" in run.sentence
    assert not run.may_write()
    assert "stopped" in job.sentence
    found = DreamEntry.objects.filter(workspace=workspace, place="reoffered")
    assert sorted(found.values_list("cursor", flat=True)) == [1, 2]
    versions = text_of(client, "/snapshots/versions/")
    assert "manual run (part 1)" in versions or "interrupted run" in versions
    assert "From snapshot" in versions or "from snapshot" in versions


def test_settings_that_go_back_are_told_of(
    client: Client, workspace: Workspace, root: Path, shot: str
) -> None:
    """Somebody may have paused all calls since, and learn too late that they go out again."""
    assert "calls to them are paused" not in text_of(client, f"/snapshots/{shot}/restore/")
    config.change(root, lambda data: data.setdefault("privacy", {}).update(pauseModelCalls=True))
    assert "calls to them are paused" in text_of(client, f"/snapshots/{shot}/restore/")


def test_a_restore_that_died_is_told_as_it_is(
    client: Client, workspace: Workspace, root: Path, shot: str
) -> None:
    """Killed before anything landed: nothing was changed. Killed afterwards: all of it is there."""
    job = restoring.begin(workspace, None, shot, "", token="")
    assert job.claim()
    assert "Nothing was changed" in restoring.after_death(job)
    restoring.by_command(workspace, shot, "", progress=lambda percent, doing: None)
    assert "finished" in restoring.after_death(job)
    # Somebody went on since: nobody knows any more, and nothing is claimed.
    job.arguments["token"] = "what was agreed to"
    (root / "later.md").write_text("later\n")
    assert "cannot be told" in restoring.after_death(job)


def test_how_long_they_are_kept(client: Client, workspace: Workspace, root: Path) -> None:
    """A shorter time says first what it deletes, whoever asks; a longer one is just saved."""
    long_ago = timezone.now() - timedelta(days=60)
    for number in range(25):
        (root / "n.md").write_text(str(number))
        snapshots.take(workspace, "manual", now=long_ago + timedelta(minutes=number))
    page = client.post("/snapshots/keep/", {"snapshots.keepFor": "month"})
    assert page.status_code == 422
    assert "5 snapshots" in page.content.decode()
    assert config.load(root).get("snapshots.keepFor") == "forever"
    assert len(shelf.snapshots(snapshots.store_of(workspace))) == 25
    sent = {"snapshots.keepFor": "month", "confirm": "yes"}
    done = client.post("/snapshots/keep/", sent, follow=True)
    assert "5 snapshots deleted" in done.content.decode()
    assert config.load(root).get("snapshots.keepFor") == "month"
    assert len(shelf.snapshots(snapshots.store_of(workspace))) == 20
    assert client.post("/snapshots/keep/", {"snapshots.keepFor": "forever"}).status_code == 302
    assert client.post("/snapshots/keep/", {"snapshots.keepFor": "soon"}).status_code == 422


def test_a_horizon_shortened_by_hand_is_asked_about(
    client: Client, workspace: Workspace, root: Path
) -> None:
    """Somebody edited the settings file: nothing goes before a yes, and the list says so."""
    long_ago = timezone.now() - timedelta(days=60)
    for number in range(22):
        (root / "n.md").write_text(str(number))
        snapshots.take(workspace, "manual", now=long_ago + timedelta(minutes=number))
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
    page = client.get(f"/snapshots/versions/{sha}/")
    assert "as it left it" in page.content.decode()
    assert "<ins>- Pruned badly</ins>" in page.content.decode()
    sent = {"token": page.context["plan"].token}
    done = client.post(f"/snapshots/versions/{sha}/", sent, follow=True)
    assert "Undone" in done.content.decode()
    assert (root / "USER.md").read_bytes() == before
    assert "already as it was before" in text_of(client, f"/snapshots/versions/{sha}/")
    undoing = done.redirect_chain[-1][0]
    again = client.get(undoing)
    client.post(undoing, {"token": again.context["plan"].token})
    assert (root / "USER.md").read_text() == "# User\n\n- Pruned badly\n"


def test_later_work_is_asked_about(client: Client, workspace: Workspace, root: Path) -> None:
    """A file that moved on goes back only after a yes; entries of an older run can be offered."""
    sha = dreamed(root, "# User\n\n- One\n", "dream:1", (0, 2))
    dreamed(root, "# User\n\n- One\n- Two\n", "dream:2", (2, 5))
    page = client.get(f"/snapshots/versions/{sha}/")
    assert "changed since" in page.content.decode()
    sent = {"token": page.context["plan"].token, "offer": "yes"}
    refused = client.post(f"/snapshots/versions/{sha}/", sent)
    assert refused.status_code == 422
    assert (root / "USER.md").read_text() == "# User\n\n- One\n- Two\n"
    done = client.post(f"/snapshots/versions/{sha}/", sent | {"confirm": "yes"})
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
    for path in (f"{shot}/restore/", f"versions/{sha}/"):
        assert other.post(f"/snapshots/{path}", {"token": ""}).status_code == 404, path
