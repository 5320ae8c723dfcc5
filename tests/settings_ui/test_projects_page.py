"""Settings → Projects: the list, talking in one, tidying one, and the gardener's switch."""

import json
import re
from pathlib import Path

from django.test import Client

from jenny.accounts.models import Account, Job
from jenny.chat.models import Conversation, ProjectState


def make(root: Path, name: str, header: str) -> None:
    """A project's folder."""
    (root / f"wikis/{name}/wiki").mkdir(parents=True)
    (root / f"wikis/{name}/AGENTS.md").write_text(f"---\n{header}\n---\n")


def test_the_empty_page_teaches(client: Client, ana: Account) -> None:
    """Without a project it says what one is, and leads to where one is made."""
    client.force_login(ana)
    page = client.get("/settings/projects/").content.decode()
    assert "There is none yet" in page
    assert 'href="/wikis/"' in page


def test_projects_are_listed_with_what_is_known_of_them(
    client: Client, ana: Account, root: Path
) -> None:
    """Scope, conversations, what stays out, why the last tidying failed; scopes are only text."""
    make(root, "bees", 'summary: "See <img src=x onerror=alert(1)> there"\nmemory: profile')
    make(root, "garden", "summary: Beds and trees")
    workspace = ana.current_workspace
    Conversation.objects.create(workspace=workspace, kind="project", project="garden")
    row = ProjectState.of(workspace, "garden")
    ProjectState.objects.filter(pk=row.pk).update(why="The model did not answer.", failures=1)
    client.force_login(ana)
    page = client.get("/settings/projects/").content.decode()
    assert "&lt;img src=x" in page
    assert "<img src=x" not in page
    assert "MEMORY.md stays out of it" in page
    assert "Beds and trees" in page
    assert "1 conversation" in page
    assert "Not tidied: The model did not answer." in page
    assert 'href="/chat/?project=garden"' in page


def test_another_project_of_the_same_name_is_read_from_its_first_line(
    client: Client, ana: Account, root: Path
) -> None:
    """How far the log of a deleted one was read is kept for when it is put back from the trash, and
    forgotten when a new one takes its name, also when its conversations stay."""
    make(root, "garden", "summary: Beds and trees")
    workspace = ana.current_workspace
    chat = Conversation.objects.create(workspace=workspace, kind="project", project="garden")
    row = ProjectState.of(workspace, "garden")
    ProjectState.objects.filter(pk=row.pk).update(read={"log/20260301.md": 40})
    client.force_login(ana)
    answer = client.post("/wiki/remove/garden/", {"talks": "keep"})
    assert answer.status_code == 302
    assert Conversation.objects.filter(pk=chat.pk).exists()
    assert ProjectState.of(workspace, "garden").read == {"log/20260301.md": 40}
    answer = client.post("/wiki/create/", {"name": "garden", "scope": "Another one"})
    assert answer.status_code == 302
    assert ProjectState.of(workspace, "garden").read == {}


def test_the_gardener_is_switched_on_through_the_funnel(
    client: Client, ana: Account, root: Path
) -> None:
    """Off until somebody switches it on; a wrong interval is refused whole."""
    client.force_login(ana)
    page = client.get("/settings/projects/").text
    assert not re.search(r'name="enabled"[^>]*checked', page)
    wrong = client.post("/settings/projects/", {"enabled": "true", "intervalMinutes": "0"})
    assert wrong.status_code == 422
    assert (
        not (root / "config.json").exists() or "gardener" not in (root / "config.json").read_text()
    )
    client.post("/settings/projects/", {"enabled": ["false", "true"], "intervalMinutes": "45"})
    written = json.loads((root / "config.json").read_text())
    assert written["agents"]["defaults"]["gardener"] == {"enabled": True, "intervalMinutes": 45}


def test_tidying_leads_to_the_work(client: Client, ana: Account, root: Path) -> None:
    """The button asks once; another account, and a project that is not there, get nothing."""
    make(root, "bees", "summary: Bees")
    client.force_login(ana)
    answer = client.post("/settings/projects/bees/tidy")
    job = Job.objects.get(kind="tidy")
    assert answer.headers["Location"] == f"/jobs/{job.pk}/"
    client.post("/settings/projects/bees/tidy")
    assert Job.objects.filter(kind="tidy").count() == 1
    assert client.post("/settings/projects/nowhere/tidy").status_code == 404
    assert client.get("/settings/projects/bees/tidy").status_code == 405
    bea = Account.objects.create_user("bea", password="a long password 2")
    client.force_login(bea)
    assert client.post("/settings/projects/bees/tidy").status_code in (302, 404)
    assert Job.objects.filter(kind="tidy").count() == 1
