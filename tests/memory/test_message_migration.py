"""What earlier versions stored about Dream's runs is read by this one."""

import importlib

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from jenny.accounts.models import Account, Workspace
from jenny.chat.models import Conversation
from memory.models import DreamRun, DreamState, SnapshotState


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


@pytest.mark.django_db(transaction=True)
def test_renamed_columns_keep_their_rows() -> None:
    """A run that was reported, the next scan of a workspace, and a note that a context is full."""
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes()
    owner = Account.objects.create(username="ana", is_superuser=True)
    workspace = Workspace.make(owner, "ana")
    executor.migrate([("memory", "0008_accepted_changes"), ("chat", "0013_attachment_files")])
    try:
        old = executor.loader.project_state(
            [("memory", "0008_accepted_changes"), ("chat", "0013_attachment_files")]
        ).apps
        due = timezone.now()
        of_workspace = {"workspace_id": workspace.pk}
        runs = old.get_model("memory", "DreamRun").objects
        reported = runs.create(
            trigger="manual", was_told=True, review={"told": "Made room."}, **of_workspace
        )
        old.get_model("memory", "SnapshotState").objects.create(next_look=due, **of_workspace)
        chats = old.get_model("chat", "Conversation")._base_manager
        chat = chats.create(crowded="USER.md is too long.", **of_workspace)
    finally:
        MigrationExecutor(connection).migrate(newest)
    run = DreamRun.objects.get(pk=reported.pk)
    assert run.is_reported
    assert run.review == {"full_message": "Made room."}
    assert run.full_message.startswith("Made room.")
    assert SnapshotState.objects.get(workspace=workspace).next_scan_at == due
    assert Conversation.objects.get(pk=chat.pk).overflow_note == "USER.md is too long."
