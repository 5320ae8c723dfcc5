"""A conversation branches off into a new one at any message, and is exported as documents."""

import base64
import io
import json
import random
import re
import zipfile

import pytest

from jenny.accounts.models import Account, Workspace
from jenny.chat.models import Conversation, Message
from jenny.chat.services import conversation_documents as documents
from jenny.env import DataFolder
from tests.support.client import text_of
from tests.support.place import FACT, answers, sums
from tests.support.waiting import wait_until


def branch(place, chat: str, words: str) -> str:
    """Branch off at the message with these words; the new conversation's id."""
    thread = place.owner.thread(chat)
    number = re.findall(r'id="m(\d+)"', thread[: thread.index(words)])[-1]
    done = place.owner.post(f"/chat/{chat}/branch", message=number)
    assert done.status_code == 302, done.text
    return done.headers["location"].split("/")[2]


def test_a_branch_goes_on_from_its_message(place, words):
    """The new conversation has what was said up to the message, says where it came from, and the
    model is sent exactly that; the old one stays as it was."""
    chat = place.talk(words, 3)
    before = text_of(place.owner.thread(chat))
    new = branch(place, chat, f"answer 2 of {words}")
    page = place.owner.page(new)
    said = text_of(page)
    assert "Branched from" in said
    link = re.search(r'class="branched">.*?href="([^"]+)"', page, re.DOTALL)
    assert link
    assert link[1].startswith(f"/chat/{chat}/at/")
    assert place.owner.get(link[1]).status_code == 302
    assert f"answer 2 of {words}" in said
    assert f"{words} turn 3" not in said
    place.model.script("From here.", when=answers(f"other {words}"))
    place.owner.send(new, f"other {words}")
    assert "From here." in place.owner.answer(new)
    asked = [one for one in place.model.requests if f"other {words}" in one.body.decode()][-1]
    assert f"answer 2 of {words}" in asked.body.decode()
    assert f"{words} turn 3" not in asked.body.decode()
    assert text_of(place.owner.thread(chat)) == before
    again = place.owner.page(branch(place, new, f"answer 1 of {words}"))
    assert "Branch of Branch" not in again
    place.owner.post(f"/chat/{chat}/delete")
    assert "Branched from a conversation that was deleted" in text_of(place.owner.page(new))


def test_the_memory_gets_what_was_said_before_a_branch_once(place, words):
    """The copied messages are not summarised again: only the conversation where they were said
    feeds the history with them."""
    chat = place.talk(words, 1)
    new = branch(place, chat, f"answer 1 of {words}")
    place.model.script(FACT.format(words), when=sums(words))
    place.idle(chat)
    wait_until(lambda: place.entries(chat), what="the entry")
    place.idle(new)
    wait_until(lambda: place.column(new, "consolidate_after") is None, what="the look at it")
    assert place.entries(new) == []
    assert len(place.summaries(words)) == 1


def test_a_message_that_is_not_there_is_no_place_to_branch(place, words):
    """A form sent late gets a sentence, and no conversation is made."""
    chat = place.talk(words, 1)
    count = len(re.findall(r'name="chosen"', place.owner.get("/chat/all/").text))
    done = place.owner.post(f"/chat/{chat}/branch", message="999999999")
    assert done.status_code == 422
    assert "Nothing was done." in text_of(done.text)
    assert len(re.findall(r'name="chosen"', place.owner.get("/chat/all/").text)) == count


def test_a_conversation_is_saved_in_each_format(place, words):
    """Markdown as it was written, JSON with the tools, and one HTML file that loads nothing; what
    people wrote is escaped."""
    said = f"{words} <b>bold</b>"
    place.model.script("It is **so**: ![x](https://example.org/x.png)", when=answers(words))
    chat = place.owner.begin(said)
    place.owner.answer(chat)
    place.owner.post(f"/chat/{chat}/rename", title=f'A/b: "{words}"?')
    path = f"/chat/{chat}/export/"
    markdown = place.owner.get(f"{path}md")
    assert "attachment" in markdown.headers["content-disposition"]
    assert "/b" not in markdown.headers["content-disposition"]
    assert f'# A/b: "{words}"?' in markdown.text
    assert said in markdown.text
    assert "It is **so**" in markdown.text
    found = json.loads(place.owner.get(f"{path}json").text)
    assert [row["kind"] for row in found["messages"]] == ["user", "answer"]
    assert found["messages"][0]["text"] == said
    html = place.owner.get(f"{path}html").text
    assert "&lt;b&gt;bold" in html
    assert "<strong>so</strong>" in html
    assert "<script" not in html
    assert "<img" not in html
    assert not re.search(r"""(?:src|href)=["'](?!https?:|mailto:|#)""", html)
    assert place.owner.get(f"{path}exe").status_code == 404
    place.owner.send(chat, "/export")
    assert f'href="{path}html"' in place.owner.thread(chat)


def test_all_conversations_are_exported_as_a_zip(place, words):
    """Those chosen, or all but temporary ones; equal titles get different names."""
    same = f"same {words}".rstrip(".")
    chats = [place.talk(f"{words}-{number}", 1) for number in range(2)]
    for chat in chats:
        place.owner.post(f"/chat/{chat}/rename", title=same)
    secret = str(place.owner.post("/chat/send", text="/help", temporary="1").json()["conversation"])

    def exported(act: str, *chosen: str) -> zipfile.ZipFile:
        done = place.owner.http.post(
            "/chat/all/act",
            data={"act": act, "format": "json", "chosen": list(chosen)},
            headers={"X-CSRFToken": place.owner.token()},
        )
        assert done.status_code == 200
        return zipfile.ZipFile(io.BytesIO(done.content))

    names = exported("export", *chats).namelist()
    assert len(names) == 2
    assert any(f"{same}.json" in name for name in names)
    assert any(f"{same} (2).json" in name for name in names)
    every = exported("export-all:json")
    ids = {json.loads(every.read(name))["id"] for name in every.namelist()}
    assert set(chats) <= ids
    assert secret not in ids


@pytest.mark.django_db
def test_each_file_of_a_zip_has_a_name_of_its_own(settings, tmp_path):
    """A title that looks like a numbered one overwrites none, and no name is longer than a file
    system takes, in any script."""
    settings.JENNY_DATA = DataFolder(tmp_path)
    owner = Account.objects.create_user("ann", password="a long password 1")
    workspace = Workspace.objects.create(owner=owner, name="Ann", slug="ann")
    titles = ["Trip", "Trip (2)", "trip", "Trip", "Trip (2)", *["蜜蜂" * 60] * 2, "🐝" * 100]
    for title in titles:
        Conversation.objects.create(workspace=workspace, title=title[:120])
    data = b"".join(documents.stream_zip(Conversation.objects.all(), "html"))
    names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    assert len(names) == len(titles)
    assert len({name.casefold() for name in names}) == len(titles)
    assert max(len(name.encode()) for name in names) <= 255
    for name in names:
        (tmp_path / name).touch()


@pytest.mark.django_db
def test_an_export_of_all_is_sent_while_it_is_written(settings, tmp_path):
    """The first bytes leave before later conversations are read: what is deleted until its turn
    comes is not in the zip, which is whole all the same."""
    settings.JENNY_DATA = DataFolder(tmp_path)
    owner = Account.objects.create_user("ann", password="a long password 1")
    workspace = Workspace.objects.create(owner=owner, name="Ann", slug="ann")
    for number in range(3):
        chat = Conversation.objects.create(workspace=workspace, title=f"talk {number}")
        # Of more than a piece: it does not shrink to less.
        text = base64.b64encode(random.Random(number).randbytes(400_000)).decode()
        Message.objects.create(conversation=chat, kind=Message.Kind.USER, text=text)
    pieces = documents.stream_zip(Conversation.objects.all(), "md")
    first = next(pieces)
    chat.delete()
    data = first + b"".join(pieces)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert [name[11:] for name in archive.namelist()] == ["talk 0.md", "talk 1.md"]
        assert archive.testzip() is None


def test_name_and_tags_are_set_in_one_form(place, words):
    """The form without script: the tags are those written, and the list shows them."""
    chat = place.talk(words, 1)
    tag = f"t{words[-8:]}"
    place.owner.post(f"/chat/{chat}/about", title=f"new {words}", tags=f"{tag}, two words ,, {tag}")
    page = place.owner.get(f"/chat/{chat}/about").text
    assert f'value="{tag}, two words"' in page
    assert f"new {words}" in page
    assert chat in place.owner.get(f"/chat/all/?tag={tag}").text.split('id="listing"')[1]
    place.owner.post(f"/chat/{chat}/about", title=f"new {words}", tags="")
    assert f'value="{tag}"' not in place.owner.get("/chat/all/").text
