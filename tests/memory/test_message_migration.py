"""What earlier versions stored about Dream's runs is read by this one."""

import importlib

import pytest
from django.apps import apps
from django.db import connection

from jenny.accounts.models import Account, Workspace
from memory.models import DreamRun, DreamState


@pytest.mark.django_db
def test_what_runs_stored_keeps_its_text() -> None:
    """The text of a write, of a review and of an alarm had another key; none of it is lost."""
    owner = Account.objects.create(username="ana", is_superuser=True)
    workspace = Workspace.make(owner, "ana")
    write = {"path": "USER.md", "ok": False, "sentence": "Too long."}
    run = DreamRun.objects.create(
        workspace=workspace,
        trigger="manual",
        writes=[write],
        review={"sentence": "Made room.", "writes": [write]},
    )
    DreamState.objects.create(
        workspace=workspace, alarms=[{"kind": "provider", "sentence": "It is down."}]
    )
    migration = importlib.import_module("memory.migrations.0007_dream_message")
    migration.rename_keys(apps, connection.schema_editor())
    run.refresh_from_db()
    assert run.writes == [{"path": "USER.md", "ok": False, "message": "Too long."}]
    assert run.review == {"message": "Made room.", "writes": run.writes}
    assert DreamState.objects.get().alarms == [{"kind": "provider", "message": "It is down."}]
