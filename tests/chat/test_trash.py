"""A deleted conversation is in the trash for a while: off every list, search and prompt."""

from datetime import timedelta

import pytest
from django.utils import timezone

from jenny.accounts.models import Account, Workspace
from jenny.chat.models import Block, Conversation, Message, Turn
from jenny.chat.services import deletion, search
from jenny.chat.services.conversation_backup import export_rows as backup_rows
from jenny.env import DataFolder
from jenny.workspace import retention
from settings_ui.services import accounts
from tests.model_server import Gate
from tests.support.client import text_of
from tests.support.place import FACT, answers, sums
from tests.support.waiting import wait_until


def test_a_deleted_conversation_comes_back_as_it_was(place, words):
    """Off the lists at once, with a notice that undoes it; brought back, it has its messages, and
    one goes on in it."""
    chat = place.talk(words, 1)
    place.owner.post(f"/chat/{chat}/rename", title=f"named {words}")
    place.owner.post(f"/chat/{chat}/delete")
    page = place.owner.get("/chat/").text
    assert "Deleted." in text_of(page)
    assert f"named {words}" not in text_of(page)
    undo = page[page.index("/chat/trash/undo/") :].split('"')[0]
    gone = place.owner.get(f"/chat/{chat}/")
    assert gone.status_code == 404
    assert f"“named {words}” was deleted" in text_of(gone.text)
    assert place.owner.send(chat, "hello").status_code == 404
    assert f"named {words}" in text_of(place.owner.get("/chat/trash/").text)
    done = place.owner.post(undo)
    assert done.headers["location"] == f"/chat/{chat}/"
    thread = text_of(place.owner.thread(chat))
    assert f"{words} turn 1" in thread
    assert f"answer 1 of {words}" in thread
    place.model.script("Here again.", when=answers(f"again {words}"))
    with place.owner.events(chat, after=place.owner.position(chat)) as stream:
        place.owner.send(chat, f"again {words}")
        stream.wait_for(lambda event: event["kind"] == "state" and event["state"] == "idle")
    assert "reset" not in stream.kinds()
    assert "Here again." in place.owner.answer(chat)
    # The notice was for one press.
    again = place.owner.post(undo)
    assert again.status_code == 404
    assert "not in the trash any more" in text_of(again.text)
    assert place.owner.post("/chat/trash/undo/99999999999999999999").status_code == 404


def test_what_was_taken_from_the_history_is_summarised_again(place, words):
    """Who deletes a conversation with its notes and brings it back has both again."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 1)
    place.owner.send(chat, "/compact")
    wait_until(lambda: place.entries(chat), what="the entry")
    wait_until(lambda: not place.held(chat), what="the end of it")
    place.owner.post(f"/chat/{chat}/delete", memory="take")
    assert place.entries(chat) == []
    place.owner.post("/chat/trash/act", act=f"back:{chat}")
    place.model.script(FACT.format(words), when=sums(words))
    place.idle(chat)
    (entry,) = wait_until(lambda: place.entries(chat), what="the entry again")
    assert words in entry.content


def test_an_answer_under_way_ends_with_what_was_stored(place, words):
    """Deleting stops the answer at once: brought back, nothing runs and one can ask again."""
    place.model.script("The beginning. ", Gate(words), "The end.", when=answers(words))
    chat = place.owner.begin(words)
    wait_until(lambda: "The beginning." in place.owner.thread(chat), what="the first words")
    place.owner.post(f"/chat/{chat}/delete")
    place.owner.post("/chat/trash/act", act=f"back:{chat}")
    thread = place.owner.thread(chat)
    assert 'data-state="idle"' in thread
    assert 'class="open"' not in thread
    assert "Stopped, since the conversation was deleted." in thread
    place.model.open(words)
    place.model.script("Afterwards.", when=answers(f"next {words}"))
    place.owner.send(chat, f"next {words}")
    thread = place.owner.answer(chat)
    assert "Afterwards." in thread
    assert "The end." not in thread


@pytest.fixture
def chat(db, valkey, settings, tmp_path) -> Conversation:
    settings.JENNY_DATA = DataFolder(tmp_path)
    owner = Account.objects.create_user("ann", password="a long password 1")
    workspace = Workspace.objects.create(owner=owner, name="Ann", slug="ann")
    workspace.root.mkdir(parents=True)
    chat = Conversation.objects.create(workspace=workspace, title="Kayaks")
    turn = Turn.objects.create(conversation=chat, state="done")
    Message.objects.create(conversation=chat, kind="user", text="I bought a red kayak", turn=turn)
    answer = Message.objects.create(conversation=chat, kind="answer", turn=turn)
    Block.objects.create(turn=turn, message=answer, kind="text", text="A kayak!", is_open=False)
    return chat


def test_neither_search_nor_backup_has_it(chat):
    """What is in the trash is found by no search and is in no backup; brought back, it is."""

    def found() -> bool:
        hits = search.search(chat.workspace, "red kayak").hits
        return any(hit.place == str(chat.pk) for hit in hits)

    assert found()
    assert any(backup_rows(chat.workspace))
    deletion.delete_conversation(chat)
    assert not found()
    assert not any(backup_rows(chat.workspace))
    deletion.bring_back(Conversation.all_objects.filter(pk=chat.pk))
    assert found()


def test_it_is_deleted_for_good_after_its_days(chat):
    """The clean-up deletes what was in the trash for its days, with its messages, nothing else."""
    other = Conversation.objects.create(workspace=chat.workspace)
    for one, days in ((chat, retention.TRASH.days + 1), (other, retention.TRASH.days - 1)):
        deletion.delete_conversation(one, deleted_at=timezone.now() - timedelta(days=days))
    accounts.delete_expired_files()
    assert list(Conversation.all_objects.all()) == [other]
    assert not Message.objects.exists()


def test_what_was_deleted_meanwhile_is_passed_over(chat):
    """Of several that are deleted together, one that another tab deleted keeps its own time."""
    other = Conversation.objects.create(workspace=chat.workspace)
    rows = list(Conversation.objects.order_by("created_at", "pk"))
    then = timezone.now() - timedelta(days=2)
    deletion.delete_conversation(chat, deleted_at=then)
    assert deletion.delete_conversations(rows).conversations == [other]
    assert Conversation.all_objects.get(pk=chat.pk).deleted_at == then
    assert not Conversation.objects.exists()


def test_a_temporary_chat_is_deleted_for_good_at_once(place, words):
    """Its page says so; it is in no trash afterwards, and nothing offers to bring it back, also
    when it was deleted together with others."""
    count = len(place.owner.get("/chat/trash/").text.split('name="chosen"'))
    begun = place.owner.post("/chat/send", text="/help", temporary="1").json()
    alone = str(begun["conversation"])
    page = text_of(place.owner.get(f"/chat/{alone}/delete").text)
    assert "deleted for good at once" in page
    assert "30 days" not in page
    place.owner.post(f"/chat/{alone}/delete")
    page = place.owner.get("/chat/").text
    assert "The temporary chat is deleted for good." in text_of(page)
    assert "/chat/trash/undo/" not in page
    begun = place.owner.post("/chat/send", text="/help", temporary="1").json()
    together, kept = str(begun["conversation"]), place.talk(words, 1)
    place.owner.http.post(
        "/chat/all/act",
        data={"act": "delete", "memory": "keep", "chosen": [together, kept]},
        headers={"X-CSRFToken": place.owner.token()},
    )
    assert "Deleted." in text_of(place.owner.get("/chat/").text)
    trash = place.owner.get("/chat/trash/").text
    assert kept in trash
    assert together not in trash
    assert len(trash.split('name="chosen"')) == count + 1
    assert place.owner.get(f"/chat/{together}/").status_code == 404


def test_the_clean_up_forgets_temporary_chats_in_the_trash(chat):
    """A temporary chat that an earlier version moved to the trash goes with the next clean-up."""
    rows = Conversation.all_objects.filter(pk=chat.pk)
    rows.update(kind=Conversation.Kind.TEMPORARY)
    deletion.purge()
    assert rows.exists()
    rows.update(deleted_at=timezone.now())
    deletion.purge()
    assert not rows.exists()


def test_only_what_is_in_the_trash_is_deleted_for_good(chat):
    """An id of a conversation on the list is passed over by the trash."""
    assert deletion.delete_for_good(Conversation.all_objects.filter(pk=chat.pk)) == 0
    assert Conversation.objects.filter(pk=chat.pk).exists()


def test_an_account_takes_its_trash_with_it(chat):
    """Deleting an account erases what is in its trash, too."""
    deletion.delete_conversation(chat)
    chat.workspace.owner.delete()
    assert not Conversation.all_objects.exists()
    assert not Message.objects.exists()
