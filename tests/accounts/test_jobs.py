"""Long work that a person waits for: begun once, found again, never believed to go on when it
does not."""

from datetime import timedelta
from pathlib import Path

import django
import pytest

django.setup()

from celery import shared_task  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from jenny.accounts.errors import JobLost  # noqa: E402
from jenny.accounts.models import Account, Job  # noqa: E402
from jenny.accounts.services import jobs  # noqa: E402
from jenny.workspace.errors import WriteFailed  # noqa: E402
from tests.support.stack import PASSWORD  # noqa: E402

pytestmark = pytest.mark.django_db
TITLE = "Tidying up"


@pytest.fixture
def ana() -> Account:
    """Somebody with a workspace."""
    account = Account.objects.make_owner("ana", PASSWORD, "UTC")
    assert account.current_workspace is not None
    account.current_workspace.make_folder()
    return account


@pytest.fixture(autouse=True)
def kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind of job."""
    about = jobs.JobKind("tests.tidy", TITLE, ("/workspace/", "Files"), lambda _job: "All is well.")
    monkeypatch.setitem(jobs.KINDS, "tidy", about)


@shared_task(name="tests.tidy")
def tidy(pk: int) -> None:
    """The task of that kind."""
    jobs.run_job(pk, lambda _job: jobs.JobEnd("Tidied."))


@pytest.fixture
def browser(ana: Account) -> Client:
    """Ana's browser."""
    client = Client(headers={"Sec-Fetch-Site": "same-origin"})
    client.force_login(ana)
    return client


def asked(ana: Account, **arguments: object) -> Job:
    """A job that was asked for."""
    assert ana.current_workspace is not None
    return Job.ask(ana.current_workspace, ana, "tidy", arguments)


def test_asking_twice_gives_the_same_job_until_it_is_over(ana: Account) -> None:
    """Who presses the button twice starts nothing twice; afterwards it can be asked for anew."""
    first = asked(ana, path="a")
    again = asked(ana, path="b")
    assert (first.is_new, again.is_new) == (True, False)
    assert (again.pk, again.arguments) == (first.pk, {"path": "a"})
    jobs.run_job(first.pk, lambda _job: jobs.JobEnd("Tidied."))
    assert asked(ana).pk != first.pk


def test_a_job_is_carried_out_once(ana: Account) -> None:
    """A task that is delivered twice does the work once."""
    job, done = asked(ana), []
    for _ in range(2):
        jobs.run_job(job.pk, lambda job: done.append(job.pk) or jobs.JobEnd("Tidied."))
    assert done == [job.pk]
    job.refresh_from_db()
    assert (job.state, job.message) == ("done", "Tidied.")


def test_progress_is_shown_and_the_page_can_be_left(ana: Account, browser: Client) -> None:
    """Whoever comes back sees how far it is, and at the end what came of it, with the way on."""
    job, seen = asked(ana), []

    def work(job: Job) -> jobs.JobEnd:
        job.progress(3, 8, "Folding the third sheet.")
        seen.append(browser.get(f"/jobs/{job.pk}/").content.decode())
        return jobs.JobEnd("Tidied.", {"links": [{"href": "/workspace/a", "label": "Look"}]})

    before = browser.get(f"/jobs/{job.pk}/").content.decode()
    jobs.run_job(job.pk, work)
    fragment = browser.get(f"/jobs/{job.pk}/", headers={"HX-Request": "true"})
    assert "Waiting for its turn" in before
    assert "Folding the third sheet." in seen[0]
    assert 'value="3"' in seen[0]
    assert "every 1s" in seen[0]
    assert "every 1s" not in fragment.content.decode()
    assert "<html" not in fragment.content.decode()
    assert all(word in fragment.content.decode() for word in ("Tidied.", "/workspace/a", "Files"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (WriteFailed("The disk is full. Nothing was changed."), "The disk is full."),
        (KeyError("x"), "an error of Jenny's own"),
    ],
)
def test_a_failure_is_told(ana: Account, error: Exception, said: str) -> None:
    """A sentence for what the person can do something about; never a job that hangs."""
    job = asked(ana)

    def work(job: Job) -> jobs.JobEnd:
        raise error

    jobs.run_job(job.pk, work)
    job.refresh_from_db()
    assert job.state == "failed"
    assert said in job.message


def test_a_job_whose_process_was_killed_is_found(ana: Account, tmp_path: Path) -> None:
    """Killed in the middle, it is told as cut short, and whoever held it writes no more."""
    job = asked(ana)
    assert job.claim()
    jobs.recover_jobs()
    job.refresh_from_db()
    assert job.state == "running"
    Job.objects.filter(pk=job.pk).update(heartbeat_at=timezone.now() - timedelta(minutes=3))
    jobs.recover_jobs()
    found = Job.objects.get(pk=job.pk)
    assert found.state == "interrupted"
    assert found.message == "The process that did it died. All is well."
    with pytest.raises(JobLost):
        job.progress(1, 2, "Going on.")
    assert not job.end("done", "Tidied.")
    assert not job.beat()
    assert Job.objects.get(pk=job.pk).message == found.message


def test_a_job_that_no_worker_got_is_sent_again(
    ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a broker it waits; as soon as there is one, it is sent."""
    sent: list[int] = []
    monkeypatch.setattr(jobs, "send_job", lambda job: sent.append(job.pk) or True)
    job = asked(ana)
    jobs.recover_jobs()
    jobs.recover_jobs()
    assert sent == [job.pk]


def test_a_job_is_nobody_elses(ana: Account, browser: Client) -> None:
    """Another account, a number too large and one that never was: there is no such page."""
    other = Account.objects.make_account("ben", PASSWORD, "UTC")
    assert other.current_workspace is not None
    theirs = Job.ask(other.current_workspace, other, "tidy", {})
    for number in (theirs.pk, theirs.pk + 1, 2**70):
        assert browser.get(f"/jobs/{number}/").status_code == 404
    assert browser.post(f"/jobs/{theirs.pk}/").status_code == 405
