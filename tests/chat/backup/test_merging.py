"""Conversations out of a workspace and into another: whole, once, and never another's."""

import copy
import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from jenny.accounts.models import Account, Workspace
from jenny.chat import backup
from jenny.chat.models import Block, Branch, Conversation, Draft, Message, Summary, Turn
from jenny.chat.services import branches, conversation_backup, conversation_list, deletion
from jenny.workspace.errors import BackupRefused

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def owner() -> Account:
    """The first account, with its workspace."""
    person = Account.objects.create(username="ana", is_superuser=True)
    person.current_workspace = Workspace.make(person, "ana")
    person.save()
    person.current_workspace.make_folder()
    return person


@pytest.fixture
def home(owner: Account) -> Workspace:
    """The workspace that is exported."""
    return owner.current_workspace


@pytest.fixture
def other(owner: Account) -> Workspace:
    """A workspace that something comes to, with numbers of its own in use."""
    row = Workspace.make(owner, "other")
    row.make_folder()
    say(Conversation.objects.create(workspace=row, title="here before"), "mine", 0)
    return row


def say(chat: Conversation, text: str, at: int, **more: object) -> Message:
    """Something said, and its answer with a tool call."""
    when = NOW + timedelta(minutes=at)
    turn = Turn.objects.create(conversation=chat, state="done", created_at=when, model="demo")
    said = Message.objects.create(
        conversation=chat, kind="user", text=text, created_at=when, turn=turn, **more
    )
    answer = Message.objects.create(
        conversation=chat, kind="answer", created_at=when, turn=turn, **more
    )
    Block.objects.create(turn=turn, message=answer, kind="text", text=f"**{text}** <b>x</b>")
    call = {"id": "t1", "name": "read_file", "arguments": {"path": "a"}, "result": "x", "ok": True}
    Block.objects.create(turn=turn, message=answer, kind="tool", data=call)
    return said


def conversation(home: Workspace) -> Conversation:
    """Three exchanges, the first one summarised."""
    chat = Conversation.objects.create(workspace=home, title="Cheese", created_at=NOW)
    first = say(chat, "hello", 1)
    last = say(chat, "cheese", 2)
    Summary.objects.create(
        conversation=chat, first=first.pk, message=first, count=1, cursors=[3], created_at=NOW
    )
    Conversation.objects.filter(pk=chat.pk).update(
        summarised_through=first.pk, context_from=last.pk
    )
    return chat


def exported(workspace: Workspace) -> list[dict]:
    """The rows as they come out of a file."""
    return json.loads(json.dumps(list(conversation_backup.export_rows(workspace))))


def merged(workspace: Workspace, rows: list[dict]) -> conversation_backup.Merged:
    """Import rows."""
    with transaction.atomic():
        return conversation_backup.merge(workspace, backup.talks(copy.deepcopy(rows)))


def told(workspace: Workspace) -> list[dict]:
    """What is said in a workspace, whatever its numbers."""
    found = exported(workspace)
    for row in found:
        row.pop("id", None)
        for name in ("turn", "message", "first", "branch", "parent", "forks_at"):
            row.pop(name, None)
        for name in ("summarised_through", "context_from", "session_from"):
            row.pop(name, None)
    return found


def test_a_conversation_comes_back_as_it_was_and_once(home: Workspace, other: Workspace) -> None:
    """All that was said arrives with other numbers; the pointers point at the same messages; a
    second time nothing is new; at home it is all there already."""
    chat = conversation(home)
    rows = exported(home)
    assert merged(home, rows).messages == 0
    Conversation.objects.filter(workspace=other).delete()
    first = merged(other, rows)
    assert (len(first.new), first.messages) == (1, 4)
    assert told(other) == told(home)
    again = merged(other, rows)
    assert (again.new, again.messages, again.same) == ([], 0, 1)
    assert again.chats == first.chats
    copied = Conversation.objects.get(pk=first.new[0])
    assert copied.pk != chat.pk
    chat.refresh_from_db()
    texts = {
        one: Message.objects.get(pk=one.context_from, conversation=one).text
        for one in (chat, copied)
    }
    assert set(texts.values()) == {"cheese"}
    assert Message.objects.get(pk=copied.summarised_through).text == "hello"
    (summary,) = copied.summaries.all()
    assert (summary.message.text, summary.first) == ("hello", summary.message_id)


def test_a_conversation_that_went_on_goes_on_here(home: Workspace) -> None:
    """What was said elsewhere since is added behind what is here, and can be taken back."""
    chat = conversation(home)
    early = exported(home)
    say(chat, "more", 3)
    late = exported(home)
    conversation_backup.undo(home, {"new": [str(chat.pk)]})
    merged(home, early)
    done = merged(home, late)
    assert (done.new, len(done.longer), done.messages) == ([], 1, 2)
    assert [row["text"] for row in exported(home) if row.get("kind") == "user"] == [
        "hello", "cheese", "more",
    ]  # fmt: skip
    conversation_backup.undo(home, json.loads(json.dumps(done.undoing)))
    assert exported(home) != late
    assert merged(home, early).messages == 0


def test_one_that_went_two_ways_comes_beside_and_only_once(home: Workspace) -> None:
    """Nothing of either way is lost, and the same file again adds nothing."""
    chat = conversation(home)
    say(chat, "there", 4)
    there = exported(home)
    Message.objects.filter(text="there").delete()
    say(chat, "here", 5)
    first, second = merged(home, there), merged(home, there)
    assert (len(first.new), second.messages, second.new) == (1, 0, [])
    said = Message.objects.filter(kind="user").values_list("text", flat=True)
    assert sorted(said) == ["cheese", "cheese", "hello", "hello", "here", "there"]


def test_versions_of_a_conversation_arrive(home: Workspace, other: Workspace) -> None:
    """An edit's two branches, which one is shown, and where they part."""
    chat = Conversation.objects.create(workspace=home, title="Two ways", created_at=NOW)
    root = Branch.objects.create(conversation=chat)
    said = say(chat, "one", 1, branch=root)
    edit = Branch.objects.create(conversation=chat, parent=root, forks_at=said.pk)
    new = say(chat, "two", 2, branch=edit)
    Branch.objects.filter(pk=edit.pk).update(first=new.pk)
    Conversation.objects.filter(pk=chat.pk).update(branch=edit)
    done = merged(other, exported(home))
    copied = Conversation.objects.get(pk=done.new[0])
    mine = copied.branches.get(parent__isnull=False)
    assert copied.branch_id == mine.pk
    assert Message.objects.get(pk=mine.first).text == "two"
    assert Message.objects.get(pk=mine.forks_at).text == "one"
    path = mine.path({row.pk: row for row in copied.branches.all()})
    shown = copied.messages.filter(path.condition, kind="user").values_list("text", flat=True)
    assert list(shown) == ["two"]
    assert merged(other, exported(home)).messages == 0


def test_temporary_chats_and_drafts_stay_at_home(home: Workspace, owner: Account) -> None:
    """What was to leave no trace is in no backup; nor is what was typed and not sent."""
    say(Conversation.objects.create(workspace=home, kind="temporary"), "secret-temporary", 1)
    Draft.objects.create(account=owner, text="secret-draft")
    assert exported(home) == []


def test_a_turn_under_way_is_told_as_cut_short(home: Workspace) -> None:
    """It will not go on elsewhere."""
    chat = conversation(home)
    Turn.objects.create(conversation=chat, state="running")
    states = [row["state"] for row in exported(home) if row["row"] == "turn"]
    assert states == ["done", "done", "interrupted"]


def test_no_markup_or_address_of_a_stranger_reaches_a_page(
    home: Workspace, other: Workspace
) -> None:
    """What is shown is made anew from the text; a note's link and form are not taken over."""
    chat = conversation(home)
    answer = chat.messages.filter(kind="answer").last()
    Block.objects.create(
        turn=answer.turn, message=answer, kind="note", text="Memory updated",
        data={"kind": "memory", "url": "https://evil.example/", "files": []},
    )  # fmt: skip
    rows = exported(home)
    for row in rows:
        if row["row"] == "block" and row["kind"] == "text":
            row["text"] += "<script>alert(1)</script>"
    merged(other, rows)
    blocks = Block.objects.filter(message__conversation__workspace=other)
    html = " ".join(blocks.values_list("html", flat=True))
    assert "<strong>cheese</strong>" in html
    assert "<script" not in html
    assert "evil.example" not in json.dumps(list(blocks.values_list("data", flat=True)))


def changed(rows: list[dict], which: str, values: dict) -> list[dict]:
    """The rows with the first of a kind changed; ``...`` takes a value away."""
    found = copy.deepcopy(rows)
    row = next(row for row in found if row["row"] == which)
    for name, value in values.items():
        row[name] = value
        if value is ...:
            del row[name]
    return found


HOSTILE: dict[str, tuple[str, dict]] = {
    "unknown kind of row": ("message", {"row": "session"}),
    "password hash": ("conversation", {"password": "x"}),
    "less": ("turn", {"model": ...}),
    "kind of another version": ("conversation", {"type": "gardener"}),
    "temporary": ("conversation", {"type": "temporary"}),
    "project that leads out": ("conversation", {"type": "project", "project": "../.."}),
    "project without one": ("conversation", {"type": "project"}),
    "id is none": ("conversation", {"id": "1"}),
    "id in another form": ("conversation", {"id": "{5F0F3CB0-16D4-4A0B-8A5C-3F3D6A0D7F11}"}),
    "number is huge": ("message", {"id": 1 << 70}),
    "number is a word": ("message", {"id": "1"}),
    "number is true": ("message", {"step": True}),
    "number is negative": ("turn", {"input_tokens": -1}),
    "no time zone": ("message", {"created_at": "2026-03-01T12:00:00"}),
    "before time": ("message", {"created_at": "0001-01-01T00:00:00+00:00"}),
    "title is long": ("conversation", {"title": "x" * 121}),
    "state is live": ("turn", {"state": "queued"}),
    "money is endless": ("turn", {"cost": "Infinity"}),
    "tool is none": ("block", {"kind": "tool", "data": {}}),
    "block of nobody": ("block", {"message": 999_999}),
    "turn of nobody": ("message", {"turn": 999_999}),
    "version of nobody": ("message", {"branch": 999_999}),
    "summary of nobody": ("summary", {"message": 999_999}),
    "cursors are words": ("summary", {"cursors": ["x"]}),
    "deep secrets": ("summary", {"secrets": [{"a": {"b": 1}}]}),
    "disorder": ("message", {"id": 0, "turn": None}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_rows_that_cannot_be_are_refused_and_nothing_is_kept(
    home: Workspace, other: Workspace, name: str
) -> None:
    """One impossible value, and none of the file's conversations comes in."""
    conversation(home)
    kind, values = HOSTILE[name]
    good = exported(home)
    rows = changed(good, kind, values)
    if name == "disorder":
        rows = [*good[:-1], good[-1], *[row for row in good if row["row"] == "message"]]
    before = {model: model.objects.count() for model in (Conversation, Message, Turn, Block)}
    with pytest.raises(BackupRefused, match=r"Nothing was changed\."):
        merged(other, rows)
    assert before == {model: model.objects.count() for model in before}


def test_an_id_that_another_workspace_has_is_left_to_it(home: Workspace, other: Workspace) -> None:
    """A file cannot reach into somebody else's conversation by naming it."""
    chat = conversation(home)
    rows = changed(exported(home), "conversation", {"title": "stolen"})
    done = merged(other, rows)
    chat.refresh_from_db()
    assert (chat.title, chat.workspace) == ("Cheese", home)
    assert uuid.UUID(done.new[0]) != chat.pk


def test_tags_and_marks_travel_and_the_trash_does_not(home, other):
    """Pins, the archive and tags are what they were; a backup from before they existed is read;
    what was in the trash stays behind, and a backup brings back what is in the trash here."""
    chat, gone = conversation(home), conversation(home)
    Conversation.objects.filter(pk=chat.pk).update(is_archived=True, is_pinned=True)
    conversation_list.set_tags(chat, ["Boats", "Two words"])
    deletion.delete_conversation(gone)
    rows = exported(home)
    conversation_backup.merge(other, backup.talks(rows))
    here = Conversation.objects.get(workspace=other, title="Cheese")
    assert here.is_archived
    assert here.is_pinned
    assert sorted(here.tags.values_list("name", flat=True)) == ["Boats", "Two words"]
    for row in rows:
        for name in ("is_pinned", "is_archived", "tags"):
            row.pop(name, None)
    Workspace.make(home.owner, "third")
    third = Workspace.objects.get(slug="third")
    conversation_backup.merge(third, backup.talks(copy.deepcopy(rows)))
    assert not Conversation.objects.get(workspace=third).is_archived
    deletion.delete_conversation(chat)
    done = conversation_backup.merge(home, backup.talks(copy.deepcopy(rows)))
    assert Conversation.objects.filter(pk=chat.pk).exists()
    conversation_backup.undo(home, json.loads(json.dumps(done.undoing)))
    assert not Conversation.objects.filter(pk=chat.pk).exists()
    assert Conversation.all_objects.filter(pk=chat.pk).exists()


def test_an_undone_import_moves_back_to_the_trash_only_what_rests(home: Workspace) -> None:
    """What the import took out of the trash goes back there by the same way as any deletion, with
    the time of then; a conversation in which somebody went on meanwhile stays."""
    rests, used = conversation(home), conversation(home)
    rows = exported(home)
    then = datetime.now(UTC) - timedelta(days=3)
    deletion.delete_conversations([rests, used], deleted_at=then)
    done = conversation_backup.merge(home, backup.talks(copy.deepcopy(rows)))
    assert set(done.from_trash) == {str(rests.pk), str(used.pk)}
    Conversation.objects.filter(pk=rests.pk).update(consolidator="somebody", is_unread=True)
    Message.objects.create(conversation=used, kind="user", text="Since then")
    conversation_backup.undo(home, json.loads(json.dumps(done.undoing)))
    assert list(Conversation.objects.filter(workspace=home)) == [used]
    rests.refresh_from_db()
    assert rests.deleted_at == then
    assert (rests.consolidator, rests.is_unread, rests.consolidate_after) == ("", False, None)


def test_a_branch_still_says_where_it_came_from(home: Workspace, other: Workspace) -> None:
    """It names the same message of the same conversation, by the ids and numbers it has there. One
    whose source does not come along names none, and is still a branch; so is an old backup's none.
    """
    source = conversation(home)
    asked = source.messages.get(text="cheese")
    branch = branches.branch_off(source, asked.pk + 1)
    orphan = branches.branch_off(branch, branch.messages.last().pk)
    rows = exported(home)
    done = merged(other, rows)
    copied = Conversation.objects.get(pk=done.chats[str(branch.pk)])
    assert copied.source_id == uuid.UUID(done.chats[str(source.pk)])
    message = Message.objects.get(pk=copied.source_message)
    assert (message.conversation_id, message.kind) == (copied.source_id, "answer")
    assert message.created_at == asked.created_at
    Conversation.objects.filter(workspace=other).delete()
    at = next(at for at, row in enumerate(rows) if row.get("id") == str(orphan.pk))
    alone = Conversation.objects.get(pk=merged(other, rows[at:]).chats[str(orphan.pk)])
    assert alone.source_id is None
    assert alone.source_message
    old = [
        {name: value for name, value in row.items() if not name.startswith("source")}
        for row in exported(home)
    ]
    Conversation.objects.filter(workspace=other).delete()
    merged(other, old)
    assert not Conversation.objects.filter(workspace=other, source_message__gt=0).exists()
