"""What a conversation shares with its branches reaches the history once, and is never lost."""

from datetime import UTC, datetime, timedelta

import pytest

from jenny.accounts.models import Account, Workspace
from jenny.chat.models import Block, Branch, Conversation, Message, Summary, Turn
from jenny.chat.services import branches, deletion, projects, shared_messages
from jenny.chat.services.consolidation import rows_of
from jenny.env import DataFolder
from memory.history import log
from memory.history.entries import NewHistoryEntry

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def workspace(db, valkey, settings, tmp_path) -> Workspace:
    settings.JENNY_DATA = DataFolder(tmp_path)
    owner = Account.objects.create_user("ann", password="a long password 1")
    row = Workspace.objects.create(owner=owner, name="Ann", slug="ann")
    row.root.mkdir(parents=True)
    return row


def say(chat: Conversation, *texts: str) -> None:
    """One turn for each text; the answer says "re:" and the text."""
    for text in texts:
        turn = Turn.objects.create(conversation=chat, state="done")
        row = Conversation.objects.get(pk=chat.pk)
        for kind, shown in (("user", text), ("answer", "")):
            number = Message.objects.count()
            message = Message.objects.create(
                conversation=chat,
                kind=kind,
                text=shown,
                turn=turn,
                branch=row.branch,
                created_at=BEGAN + timedelta(seconds=number),
            )
        Block.objects.create(
            turn=turn, message=message, kind="text", text=f"re: {text}", is_open=False
        )


def begin(workspace: Workspace, *texts: str, **columns: object) -> Conversation:
    chat = Conversation.objects.create(workspace=workspace, **columns)
    say(chat, *texts)
    return chat


def last(chat: Conversation) -> int:
    return chat.messages.filter(is_current=True).order_by("-pk").values_list("pk", flat=True)[0]


def unsummarised(chat: Conversation) -> list[str]:
    """What the person said in it that it will still give the history."""
    chat = Conversation.all_objects.get(pk=chat.pk)
    rows = rows_of(chat, chat.summarised_through + 1).filter(kind="user").order_by("pk")
    return list(rows.values_list("text", flat=True))


def entry(chat: Conversation, first: int, to: int) -> int:
    """A summary of these messages, and its entry; the entry's number."""
    new = NewHistoryEntry("- [durable] Bees.", conversation=str(chat.pk), messages=(first, to))
    (added,) = log.append(chat.workspace.root, [new], zone="UTC").entries
    Summary.objects.create(
        conversation=chat, first=first, message_id=to, count=2, cursors=[added.cursor]
    )
    return added.cursor


def test_a_branch_gives_the_history_what_its_deleted_source_did_not(workspace):
    """What both share follows from the branch when the source goes to the trash before it was
    summarised; brought back, the source gives only what the branch does not have."""
    source = begin(workspace, "one", "two", "three")
    Conversation.objects.filter(pk=source.pk).update(
        summarised_through=source.messages.order_by("pk")[1].pk
    )
    source.refresh_from_db()
    fork = source.messages.order_by("pk")[3].pk
    new = branches.branch_off(source, fork)
    shorter = branches.branch_off(source, fork - 2)
    say(new, "else")
    assert unsummarised(new) == ["else"]
    deletion.delete_conversations([source])
    assert unsummarised(new) == ["two", "else"]
    assert unsummarised(shorter) == []
    deletion.bring_back(Conversation.all_objects.filter(pk=source.pk))
    assert unsummarised(source) == ["three"]


def test_a_source_gives_the_history_what_only_its_deleted_branch_was_to_give(workspace):
    """What a branch took over from its source goes on to another branch when it is deleted."""
    source = begin(workspace, "one", "two")
    long, short = (branches.branch_off(source, last(source) - less) for less in (0, 2))
    deletion.delete_conversation(source)
    assert (unsummarised(long), unsummarised(short)) == (["one", "two"], [])
    deletion.delete_conversation(long)
    assert unsummarised(short) == ["one"]


def test_a_branch_gives_the_history_what_an_edit_hides_in_its_source(workspace):
    """After an edit before the branch's message, and after a step back to another version, each
    text is given by one of both."""
    source = begin(workspace, "one", "two", "three")
    new = branches.branch_off(source, last(source))
    second = source.messages.get(text="two")
    turn = branches.edit_message(source, second.pk, "anew", start=lambda _turn: None)
    Turn.objects.filter(pk=turn.pk).update(state="done")
    source.messages.filter(turn=None).update(turn=turn)
    assert unsummarised(new) == ["two", "three"]
    assert unsummarised(source) == ["one", "anew"]
    other = branches.branch_off(Conversation.objects.get(pk=source.pk), last(source))
    assert unsummarised(other) == []
    branches.show_version(source, last(source), -1)
    assert "anew" in unsummarised(other)
    assert unsummarised(new) == ["two", "three"]


def test_a_branch_does_not_count_the_entries_of_its_source(workspace):
    """Copied summaries name the source's entries. A version of the branch that is shown again is
    not summarised anew since Dream read those, and its page does not count them."""
    source = begin(workspace, "one", "two")
    ids = list(source.messages.order_by("pk").values_list("pk", flat=True))
    number = entry(source, ids[0], ids[3])
    Conversation.objects.filter(pk=source.pk).update(summarised_through=ids[3])
    new = branches.branch_off(Conversation.objects.get(pk=source.pk), ids[3])
    assert new.summaries.get().cursors == [number]
    second = new.messages.get(text="two")
    turn = branches.edit_message(new, second.pk, "anew", start=lambda _turn: None)
    Turn.objects.filter(pk=turn.pk).update(state="done")
    new.messages.filter(turn=None).update(turn=turn)
    (workspace.root / "memory/.dream_cursor").write_text(str(number))
    branches.show_version(new, last(new), -1)
    assert unsummarised(new) == []
    assert deletion.memory_of_conversations([new]).read == 0
    assert deletion.memory_of_conversations([source]).read == 1


@pytest.mark.parametrize("is_source_first", [True, False])
def test_what_two_kept_temporary_chats_share_is_given_once(workspace, is_source_first):
    """A temporary chat and its branch are both kept: the one that is kept later is summarised from
    after what they share."""
    source = begin(workspace, "one", kind=Conversation.Kind.TEMPORARY)
    new = branches.branch_off(source, last(source))
    say(source, "here")
    say(new, "there")
    for chat in (source, new) if is_source_first else (new, source):
        assert shared_messages.keep_chat(chat)
    assert sorted(unsummarised(source) + unsummarised(new)) == ["here", "one", "there"]


def test_notes_of_a_hidden_version_are_deleted_from_that_version_only(workspace):
    """Who deletes the unread notes with the conversation and brings it back has each version
    summarised again from where its own notes began."""
    chat = begin(workspace, "one", "two")
    ids = list(chat.messages.order_by("pk").values_list("pk", flat=True))
    (workspace.root / "memory").mkdir(exist_ok=True)
    (workspace.root / "memory/.dream_cursor").write_text("0")
    entry(chat, ids[2], ids[3])
    Conversation.objects.filter(pk=chat.pk).update(summarised_through=ids[3])
    chat.refresh_from_db()
    turn = branches.edit_message(chat, ids[2], "anew", start=lambda _turn: None)
    Turn.objects.filter(pk=turn.pk).update(state="done")
    chat.messages.filter(turn=None).update(turn=turn)
    shown_through = last(chat)
    Conversation.objects.filter(pk=chat.pk).update(summarised_through=shown_through)
    chat.refresh_from_db()
    deletion.delete_conversation(chat, deletion.TAKE)
    chat = Conversation.all_objects.get(pk=chat.pk)
    assert chat.summarised_through == shown_through
    assert Branch.objects.get(conversation=chat, parent=None).summarised_through == ids[1]


def test_a_new_project_does_not_get_what_an_earlier_one_left_in_the_trash(workspace):
    """A conversation of a deleted project that is brought back is not in a project of the same
    name that was begun since."""
    kind = Conversation.Kind.PROJECT
    old, own = (begin(workspace, kind=kind, project="bees") for _ in range(2))
    deletion.delete_conversation(old)
    projects.begun(workspace, "bees")
    assert deletion.bring_back(Conversation.all_objects.filter(pk=old.pk)) == 1
    assert set(Conversation.objects.filter(project="bees")) == {own}
    assert Conversation.objects.get(pk=old.pk).kind == kind
