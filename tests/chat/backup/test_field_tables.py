"""Every field of every model travels in a backup, or is named here with the reason why not."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.apps import apps
from django.db.models import Field, Model

from jenny.accounts.models import Account, Workspace
from jenny.chat import backup
from jenny.chat.models import Attachment, Block, Branch, Conversation, Message, Summary, Turn
from jenny.chat.services import conversation_backup
from jenny.workspace.backup.rows import Field as FieldOfBackup
from jenny.workspace.backup.writer import json_line
from memory.models import DreamEntry, DreamRun, LineOrigin, StagedHunk
from memory.services import backup_tables

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
WHENS = ("created_at", "started_at", "ended_at")
KINDS: dict[type[Model], dict] = {
    Attachment: backup.ATTACHMENT,
    Conversation: backup.TABLE.kinds["conversation"],
    Branch: backup.TABLE.kinds["branch"],
    Turn: backup.TABLE.kinds["turn"],
    Message: backup.TABLE.kinds["message"],
    Block: backup.TABLE.kinds["block"],
    Summary: backup.TABLE.kinds["summary"],
    DreamRun: backup_tables.TABLE.kinds["run"],
    LineOrigin: backup_tables.TABLE.kinds["origin"],
    DreamEntry: backup_tables.TABLE.kinds["entry"],
    StagedHunk: backup_tables.TABLE.kinds["hunk"],
}
OWNER = "The file has one workspace, and the import says which one it becomes."
PARENT = "The rows of a conversation follow it."
LEASE = "It belongs to a process of this machine."
STREAM = "It numbers what open pages were told."
NUMBER = "The row is known by other values, and gets a number of its own."
PICTURE = "It is made again from the file, which is in the workspace."
LEFT_OUT = {
    "chat.Attachment.id": NUMBER,
    "chat.Attachment.workspace": OWNER,
    "chat.Attachment.account": "Accounts do not travel.",
    "chat.Attachment.conversation": PARENT,
    "chat.Attachment.message": "It is in the row of its message.",
    "chat.Attachment.position": "The list in the message's row has their order.",
    "chat.Attachment.upload": "A file that waits to be sent was not said.",
    "chat.Attachment.is_own": "A file that came with a backup was not stored for it here.",
    "chat.Attachment.pages": "A file that waits to be sent was not said.",
    "chat.Attachment.has_more": "A file that waits to be sent was not said.",
    "chat.Attachment.created_at": "It is asked only of a file that waits to be sent.",
    "chat.Attachment.picture": PICTURE,
    "chat.Attachment.picture_type": PICTURE,
    "chat.Attachment.thumbnail": PICTURE,
    "chat.Branch.conversation": PARENT,
    "chat.Message.conversation": PARENT,
    "chat.Message.event_number": STREAM,
    "chat.Message.client_key": "It tells a message that a page sent twice from two.",
    "chat.Block.id": NUMBER,
    "chat.Block.html": "It is made anew from the text; no markup of a file is taken over.",
    "chat.Block.is_open": "An answer that came along is under way nowhere.",
    "chat.Block.event_number": STREAM,
    "chat.Block.event_count": STREAM,
    "chat.Conversation.appending_from": LEASE,
    "chat.Conversation.appending_through": LEASE,
    "chat.Conversation.consolidate_after": "The conversation is looked at anew where it arrives.",
    "chat.Conversation.reply_id": "It is an answer under way.",
    "chat.Conversation.consolidator": LEASE,
    "chat.Conversation.consolidating_until": LEASE,
    "chat.Conversation.workspace": OWNER,
    "chat.Conversation.event_number": STREAM,
    "chat.Conversation.is_unread": "It is about what was looked at here.",
    "chat.Conversation.deleted_at": "What is in the trash does not travel.",
    "chat.Summary.id": NUMBER,
    "chat.Summary.conversation": PARENT,
    "chat.Turn.conversation": PARENT,
    "chat.Turn.cancel_requested": "A turn that came along is over.",
    "chat.Turn.heartbeat_at": LEASE,
    "chat.Turn.worker": LEASE,
    "chat.Turn.event_number": STREAM,
    "memory.DreamEntry.id": NUMBER,
    "memory.DreamEntry.workspace": OWNER,
    "memory.DreamRun.workspace": OWNER,
    "memory.DreamRun.state": "Only runs that are over travel.",
    "memory.DreamRun.epoch": LEASE,
    "memory.DreamRun.holder": LEASE,
    "memory.DreamRun.sent_at": LEASE,
    "memory.DreamRun.heartbeat_at": LEASE,
    "memory.DreamRun.deadline_at": LEASE,
    "memory.DreamRun.asker": "It is a conversation that waits for an answer, and is told once.",
    "memory.DreamRun.is_reported": "It was told where it ran.",
    "memory.StagedHunk.id": NUMBER,
    "memory.StagedHunk.workspace": OWNER,
    "memory.StagedHunk.number": "It counts what waits here.",
    "memory.StagedHunk.decided_by": "Accounts do not travel.",
    "memory.StagedHunk.replaced": "An acceptance is undone where it was made.",
    "memory.LineOrigin.id": NUMBER,
    "memory.LineOrigin.workspace": OWNER,
    "memory.LineOrigin.account": "Accounts do not travel.",
}
INSTANCE = "It belongs to this instance and its accounts."
LEFT_OUT_MODELS = {
    "accounts.Leftover": INSTANCE,
    "accounts.Workspace": "The manifest has its name and id; the import makes or names it.",
    "accounts.Account": INSTANCE,
    "accounts.UpSpan": INSTANCE,
    "accounts.ApiKey": "No key leaves the machine.",
    "accounts.Job": INSTANCE,
    "accounts.LoginSession": INSTANCE,
    "accounts.TwoFactor": INSTANCE,
    "accounts.RecoveryCode": INSTANCE,
    "accounts.UsageDay": "Usage is counted for the account that is charged.",
    "chat.ConsentRequest": "It waits for a yes in a turn that is over where it arrives.",
    "chat.Tag": "Each conversation has the names of its tags.",
    "chat.Draft": "It was not said.",
    "chat.FileToDelete": "It is gone where it is, and the file is none of a conversation's.",
    "chat.ProjectState": "The gardener looks at each project anew where it arrives.",
    "memory.DreamState": "Dream's place stays where it is here, or is in the files.",
    "memory.LargePrune": "It is a notice of this instance.",
    "memory.DreamDigest": "It is made anew from the history.",
    "memory.DreamSchedule": "The next run is worked out anew from config.json.",
    "memory.TurnChange": "It offers to undo a change of a version that is newest here.",
    "memory.SnapshotState": "It is about when the next snapshot is due here.",
}


def own_models() -> list[type[Model]]:
    """The models of the apps that keep what a workspace consists of."""
    labels = ("chat", "memory", "wikis", "settings_ui", "accounts")
    return [
        model
        for config in apps.get_app_configs()
        if config.label in labels
        for model in config.get_models()
    ]


@pytest.mark.parametrize("model", own_models(), ids=lambda model: model._meta.label)
def test_each_field_travels_or_is_left_out_for_a_reason(model: type[Model]) -> None:
    """A new field or model cannot be forgotten: it is in the tables, or in the lists above."""
    label = model._meta.label
    if model not in KINDS:
        assert LEFT_OUT_MODELS.get(label), f"{label} is in no table and in no list"
        return
    assert label not in LEFT_OUT_MODELS
    written = {"kind": "type"} if model is Conversation else {}
    names = [field.name for field in model._meta.get_fields() if isinstance(field, Field)]
    for name in names:
        travels = written.get(name, name) in KINDS[model]
        reason = LEFT_OUT.get(f"{label}.{name}")
        assert travels or reason, f"{label}.{name} is in no table and in no list"
        assert not (travels and reason), f"{label}.{name} travels and is listed as left out"


def test_nothing_is_listed_that_is_no_field() -> None:
    """The lists above name fields and models that there are."""
    there = {
        model._meta.label: {f.name for f in model._meta.get_fields()} for model in own_models()
    }
    assert LEFT_OUT_MODELS.keys() <= there.keys()
    for name in LEFT_OUT:
        label, _, field = name.rpartition(".")
        assert field in there[label], name


@pytest.mark.django_db
def test_a_turn_comes_with_all_that_was_written_of_it() -> None:
    """Its start and end, its tokens and cost are what they were; one that was under way is told as
    ended when the backup was made."""
    owner = Account.objects.create(username="ana", is_superuser=True)
    home, other = Workspace.make(owner, "ana"), Workspace.make(owner, "other")
    chat = Conversation.objects.create(workspace=home, title="Cheese")
    others = {"id", "context_from", "session_from"}
    kinds = KINDS[Turn].items()
    values = {name: 7 for name, field in kinds if name not in others and field.accepts(7)}
    whens = {name: NOW + timedelta(minutes=at) for at, name in enumerate(WHENS)}
    turn = Turn.objects.create(
        conversation=chat, state="failed", reason="cut", message="It broke.", can_retry=True,
        retried=True, model="m", preset="p", is_demo=True, cost=Decimal("1.5"), **values, **whens,
    )  # fmt: skip
    live = Turn.objects.create(conversation=chat, state="running", started_at=NOW)
    for one in (turn, live):
        Message.objects.create(conversation=chat, kind="answer", turn=one, created_at=NOW)
    lines = [json.loads(json_line(row)) for row in conversation_backup.export_rows(home)]
    conversation_backup.merge(other, backup.talks(lines))
    here, cut = Turn.objects.filter(conversation__workspace=other).order_by("pk")
    for name in KINDS[Turn].keys() - others:
        assert getattr(here, name) == getattr(turn, name), name
    assert cut.state == "interrupted"
    assert cut.ended_at is not None


def test_a_backup_of_an_earlier_version_is_read() -> None:
    """The message of a turn, a Dream run, its writes and its review had another name; it is taken
    over."""
    write = {"path": "USER.md", "ok": False}
    run = {"row": "run", "message": "m", "writes": [write | {"message": "w"}]}
    run["review"] = {"message": "r", "writes": [write | {"message": "v"}]}
    for row in ({"row": "turn", "message": "m"}, run):
        table = backup.TABLE if row["row"] == "turn" else backup_tables.TABLE
        earlier = json.loads(json.dumps(row).replace('"message"', '"sentence"'))
        fields = table.kinds[str(row["row"])]
        filled = {name: field.fit(None) for name, field in fields.items() if name not in row}
        sample = {"row": row["row"]} | {n: v for n, v in filled.items() if fields[n].accepts(v)}
        missing = fields.keys() - sample.keys() - row.keys()
        more = {name: _accepted(fields[name]) for name in missing}
        assert table.read(sample | more | earlier) == table.read(sample | more | row)


def _accepted(field: FieldOfBackup) -> object:
    """Return any value that the field reads."""
    samples: tuple[object, ...] = (0, "", [], {}, False, "2026-12-01T00:00:00Z", "done", "manual")
    return next(value for value in samples if field.accepts(value))
