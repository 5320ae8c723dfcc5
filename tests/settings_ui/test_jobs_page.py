"""The page of long work, seen from another workspace than its own."""

from django.test import Client

from jenny.accounts.models import Account, Job, Workspace
from tests.settings_ui.test_models_page import said


def test_links_are_offered_where_they_lead_somewhere(client: Client, ana: Account) -> None:
    """What an import made is another workspace: the page leads there, then shows its links."""
    home = ana.workspaces.order_by("created_at")[0]
    assert "“Work” is made" in said(client, "/settings/workspaces/", name="Work")
    work = Workspace.objects.get(owner=ana, name="Work")
    client.post(f"/settings/workspaces/{home.pk}/use")
    job = Job.ask(home, ana, "import", {"new": "Work", "workspace": str(work.pk)})
    links = [
        {"href": "/snapshots/1-aa/diff/", "label": "What changed"},
        {"href": "/settings/backup/download/x/", "label": "Download", "download": True},
    ]
    Job.objects.filter(pk=job.pk).update(
        state="done", sentence="Taken in.", result={"links": links}
    )
    page = f"/jobs/{job.pk}/"
    told = client.get(page).text
    assert "Work in “Work”" in told
    assert "What changed" not in told
    assert "/settings/backup/download/x/" in told
    answer = client.post(f"/settings/workspaces/{work.pk}/use", {"next": page})
    assert answer["Location"] == page
    told = client.get(page).text
    assert "Work in “Work”" not in told
    assert "What changed" in told
