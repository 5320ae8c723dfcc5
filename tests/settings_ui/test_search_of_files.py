"""Files that were sent with messages are found by name and text, where they were sent."""

import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from jenny.accounts.models import Account
from jenny.chat.models import Attachment, Conversation, Message, Turn
from jenny.chat.services import attachments, branches, deletion, search, send_message
from jenny.chat.services.shared_messages import keep_chat
from jenny.workspace.files import Actor
from memory import recall, suppression
from tests.support import files
from tests.support.search_page import found, place

REPORT = files.pdf(["Pump report", "The impeller is made of bronze"])
LETTER = b"Dear Sir\nThe marmalade is late.\n"


def sent(
    ana: Account, *rows: tuple[str, bytes], text: str = "Look at this", **values: Any
) -> Message:
    """A message with files, in a conversation of its own."""
    values = {"title": "Pumps", **values}
    chat = Conversation.objects.create(workspace=ana.current_workspace, **values)
    waiting = []
    for name, data in rows:
        form = {"id": uuid.uuid4().hex, "name": name, "at": "0", "size": str(len(data))}
        row = attachments.receive_part(ana, chat.workspace, chat, form, data)
        assert isinstance(row, Attachment)
        waiting.append(row)
    message = send_message.accept_message(chat, text, files=waiting, start=lambda _: None).message
    turn = Turn.objects.get(conversation=chat)
    Turn.objects.filter(pk=turn.pk).update(state=Turn.State.DONE)
    message.turn = turn
    message.save()
    return message


def told(ana: Account, query: str, chat: Conversation | None = None) -> str:
    """What a model is told by the tool, in *chat* or another personal conversation."""
    here = chat or Conversation.objects.create(workspace=ana.current_workspace)
    root = here.workspace.root
    return recall.format_plain(recall.recall(root, query, search.search_for(here)))


def test_a_document_is_found_by_its_text_and_its_name(
    person: Client, ana: Account, root: Path, valkey: str
) -> None:
    """A hit leads to the message that it was sent with, and names the file; the same in a version
    that is not shown any more."""
    message = sent(ana, ("pump-report.pdf", REPORT), ("cellar.png", files.picture("png")))
    chat = message.conversation
    (hit,) = found(person, "bronze impeller")
    assert "The impeller is made of bronze" in hit["words"]
    assert "in the attached file pump-report.pdf (PDF)" in hit["hint"]
    assert hit["href"] == f"/chat/{chat.pk}/at/{message.pk}"
    assert "pump-report.pdf" in place(person, hit["href"])
    for query in ("cellar", "cellar.png", "CELLAR.PNG"):
        (hit,) = found(person, query)
        assert "Attached: cellar.png (PNG picture)" in hit["words"]
        assert hit["href"] == f"/chat/{chat.pk}/at/{message.pk}"
    assert "--- page" not in told(ana, "pump report impeller")
    assert "impeller is made of bronze" in told(ana, "What is the impeller made of?")
    # In the conversation itself the model has it.
    assert "bronze" not in told(ana, "impeller", chat)
    branches.edit_message(chat, message.pk, "Look here", start=lambda _: None)
    new = chat.messages.get(is_current=True, kind="user")
    (hit,) = found(person, "impeller")
    assert hit["href"].endswith(f"/at/{new.pk}")
    hits = found(person, "impeller", old="1")
    old = next(hit for hit in hits if "Another version" in hit["hint"])
    assert old["href"].endswith(f"/at/{message.pk}")
    page = person.get(old["href"]).content.decode()
    assert 'aria-label="Attached files"' in page
    for row in message.attachments.all():
        assert row.name in page
        assert f'href="{row.href}"' in page
    deletion.delete_conversation(chat)
    assert found(person, "impeller", old="1") == []
    assert found(person, "cellar") == []
    assert "bronze" not in told(ana, "impeller")
    Conversation.all_objects.update(deleted_at=None)
    assert found(person, "impeller")
    Conversation.all_objects.all().delete()
    assert found(person, "impeller", old="1") == []


def test_a_text_file_is_found_as_a_file_that_says_where_it_was_sent(
    person: Client, ana: Account, root: Path, valkey: str
) -> None:
    """Its lines are found once, in the file; the name also with the message. What was moved to the
    trash or deleted is found no more."""
    message = sent(ana, ("letter.txt", LETTER), title="Breakfast")
    again = sent(ana, ("copy.txt", LETTER), title="<b>Supper")
    path = message.attachments.get().path
    assert again.attachments.get().path == path
    (hit,) = found(person, "marmalade")
    assert hit["href"] == f"/workspace/{path}?line=2#line-2"
    assert re.search("sent in <b>Supper *, Breakfast", hit["hint"])
    page = person.get("/search/?q=marmalade").content.decode()
    place_of = f"/chat/{message.conversation_id}/at/{message.pk}"
    assert f'<a href="{place_of}" dir="auto">Breakfast</a>' in page
    assert {hit["href"] for hit in found(person, "copy.txt")} == {
        f"/chat/{again.conversation_id}/at/{again.pk}"
    }
    hits = found(person, "letter.txt")
    assert place_of in {hit["href"] for hit in hits}
    assert any(hit["href"].startswith(f"/workspace/{path}") for hit in hits)
    assert told(ana, "marmalade").count("marmalade") == 1
    deletion.delete_conversation(again.conversation)
    assert "sent in Breakfast" in found(person, "marmalade")[0]["hint"]
    deletion.delete_for_good(Conversation.all_objects.filter(pk=again.conversation_id))
    deletion.delete_conversation(message.conversation, with_files=True)
    assert not (root / path).exists()
    assert found(person, "marmalade") == []
    assert found(person, "letter") == []


def test_a_text_file_that_was_deleted_is_not_found_with_its_message(
    person: Client, ana: Account, root: Path, valkey: str
) -> None:
    """Also not when its conversation is indexed again, since something was said in it."""
    message = sent(ana, ("letter.txt", LETTER))
    assert found(person, "marmalade")
    (root / message.attachments.get().path).unlink()
    send_message.accept_message(message.conversation, "And now the toast", start=lambda _: None)
    assert found(person, "toast")
    assert found(person, "marmalade") == []


def test_an_old_coding_is_no_text_file_and_found_with_its_message(
    person: Client, ana: Account, root: Path, valkey: str
) -> None:
    """The file search reads UTF-8 alone, so what the message has of the file is searched."""
    message = sent(ana, ("brief.txt", "Die Kürbisse sind reif\n".encode("cp1252")))
    (hit,) = found(person, "kurbisse")
    assert hit["href"].endswith(f"/at/{message.pk}")


def test_files_of_a_temporary_chat_are_found_by_nobody(
    person: Client, ana: Account, root: Path, valkey: str
) -> None:
    """Neither by name nor by text, while it is temporary; a file that a lasting conversation has
    too stays found, and so is that of a chat that was kept."""
    kinds = {"kind": "temporary"}
    chat = sent(ana, ("letter.txt", LETTER), ("pump.pdf", REPORT), **kinds).conversation
    for query in ("marmalade", "impeller", "letter.txt", "pump.pdf"):
        assert found(person, query) == [], query
        assert "Nothing" in told(ana, query), query
    sent(ana, ("pump.pdf", REPORT), title="Lasting")
    assert [hit["title"] for hit in found(person, "impeller")] == ["Lasting"]
    keep_chat(chat)
    assert found(person, "marmalade")


def test_what_is_forgotten_or_secret_in_a_file_is_not_shown_to_a_model(
    person: Client, ana: Account, root: Path, valkey: str
) -> None:
    """The person sees it marked; a key is in no index. A project keeps its own."""
    key = "sk-ant-api03-" + "a1B2c3D4e5" * 9
    data = files.word("Allergic to nuts since 2011", "Owns a harmonium", f"The key is {key}")
    sent(ana, ("health.docx", data), title=f"My {key[:60]}")
    (root / "USER.md").write_text("- Allergic to nuts since 2011\n", encoding="utf-8")
    suppression.forget(root, "Allergic to nuts since 2011", Actor("command"))
    assert "nuts" not in told(ana, "nuts")
    assert "harmonium" in told(ana, "harmonium")
    assert "nuts" not in told(ana, "harmonium")
    assert all(hit["is_forgotten"] for hit in found(person, "nuts") if "nuts" in hit["words"])
    index = settings.JENNY_DATA.cache / "search"
    assert key[:40] not in told(ana, "harmonium key")
    assert all(key[:40].encode() not in file.read_bytes() for file in index.glob("*"))
    (root / "wikis/bees/wiki").mkdir(parents=True)
    sent(ana, ("hive.pdf", REPORT), kind="project", project="bees")
    assert found(person, "impeller")
    assert "bronze" not in told(ana, "impeller")


@pytest.mark.parametrize("name", ['a"><script>alert(1)<.pdf', "\u202egnp.fdp", "x" * 300 + ".pdf"])
def test_any_name_is_a_hit_that_is_escaped(
    person: Client, ana: Account, root: Path, valkey: str, name: str
) -> None:
    """What a sender calls a file does no harm on the page."""
    sent(ana, (name, REPORT))
    page = person.get("/search/?q=impeller").content.decode()
    assert "in the attached file" in page
    assert "<script>alert" not in page


def test_a_conversation_is_found_by_its_title_once(person: Client, ana: Account) -> None:
    """However much was said in it; a message with the words is a hit of its own, and a chosen time
    or kind holds for titles, too."""
    message = sent(ana, text="The plumber came", title="Zeppelin <b>rides")
    chat = message.conversation
    Message.objects.bulk_create(
        Message(conversation=chat, kind="user", text=f"{number} " * 1500) for number in range(5)
    )
    hits = found(person, "zeppelins")
    assert [hit["href"] for hit in hits] == [f"/chat/{chat.pk}/"]
    assert hits[0]["words"] == hits[0]["title"] == "Zeppelin <b>rides"
    assert hits[0]["marked"] == "Zeppelin"
    assert "Conversation, by its title · last used" in hits[0]["hint"]
    assert [hit["href"] for hit in found(person, "zeppelin plumber")] == [
        f"/chat/{chat.pk}/at/{message.pk}"
    ]
    assert found(person, "zeppelin", kind="chats") == hits
    assert found(person, "zeppelin", kind="memory") == []
    dated = found(person, "zeppelin", when="week")
    assert dated
    assert all("/at/" in hit["href"] for hit in dated)
    Conversation.objects.filter(pk=chat.pk).update(title="Airships")
    assert found(person, "zeppelin") == []
    Conversation.objects.filter(pk=chat.pk).update(kind="temporary")
    assert found(person, "airships") == []
