"""The page of long work, seen from another workspace than its own."""

from django.test import Client

from jenny.accounts.models import Account, Job, Workspace
from tests.settings_ui.test_models_page import said


def test_other_work_and_the_way_back_stand_beside(client: Client, ana: Account) -> None:
    """The newest work of the account's workspaces, the page's own marked, and nobody else's; pages
    that a job names are links, and what else it says is text."""
    home = ana.workspaces.order_by("created_at")[0]
    bo = Account.objects.make_account("bo", "a long password 1", "UTC")
    strange = Job.ask(bo.current_workspace, bo, "restore", {})
    done = Job.ask(home, ana, "tidy", {"project": "bees"})
    rows = [
        {"text": "wiki/hive.md", "href": "/wikis/bees/wiki/hive.md"},
        {"text": "wiki/gone.md", "href": ""},
        "<b>words</b>",
    ]
    lists = [{"title": "Pages written", "rows": rows}]
    Job.objects.filter(pk=done.pk).update(state="done", message="Tidied.", result={"lists": lists})
    job = Job.ask(home, ana, "export", {})
    page = client.get(f"/jobs/{job.pk}/").text
    aside = page.partition('id="sidebar"')[2].partition("<main")[0]
    assert f'href="/jobs/{job.pk}/" aria-current="page"' in aside
    assert f'href="/jobs/{done.pk}/"' in aside
    assert f"/jobs/{strange.pk}/" not in page
    assert 'href="/settings/backup/"' in aside
    told = client.get(f"/jobs/{done.pk}/").text
    assert '<a href="/wikis/bees/wiki/hive.md">wiki/hive.md</a>' in told
    assert '<p class="what">wiki/gone.md</p>' in told
    assert '<p class="what">&lt;b&gt;words&lt;/b&gt;</p>' in told


def test_links_are_offered_where_they_lead_somewhere(client: Client, ana: Account) -> None:
    """What an import made is another workspace: the page leads there, then shows its links."""
    home = ana.workspaces.order_by("created_at")[0]
    assert "“Work” is made" in said(client, "/settings/workspaces/", name="Work", folder="new")
    work = Workspace.objects.get(owner=ana, name="Work")
    client.post(f"/settings/workspaces/{home.pk}/use")
    job = Job.ask(home, ana, "import", {"new": "Work", "workspace": str(work.pk)})
    links = [
        {"href": "/snapshots/1-aa/diff/", "label": "What changed"},
        {"href": "/settings/backup/download/x/", "label": "Download", "download": True},
    ]
    Job.objects.filter(pk=job.pk).update(state="done", message="Taken in.", result={"links": links})
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


def test_the_list_beside_follows_the_end(client: Client, ana: Account) -> None:
    """The fragment that ends the page's polling brings the list along, in which the job is done."""
    job = Job.ask(ana.workspaces.order_by("created_at")[0], ana, "export", {})
    page, headers = f"/jobs/{job.pk}/", {"HX-Request": "true"}
    assert "hx-swap-oob" not in client.get(page, headers=headers).text
    Job.objects.filter(pk=job.pk).update(state="done", message="Made.")
    aside = client.get(page, headers=headers).text.partition('id="recent"')[2]
    assert 'hx-swap-oob="true"' in aside
    assert ", done" in aside
    assert ", under way" not in aside
