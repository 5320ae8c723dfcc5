"""The list of conversations, long threads, drafts, rename and delete."""

import re
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from django.db import IntegrityError

from jenny.accounts.models import Account
from jenny.chat.models import Draft
from jenny.chat.services.context_window import meter
from jenny.chat.thread import TOOL_WORDS, Item, by_day, day_label
from jenny.chat.tools import tools_of
from tests.support.client import Client, text_of
from tests.support.stack import PASSWORD

FILL = """
from jenny.chat.models import Conversation, Message
chat = Conversation.objects.get(pk="{chat}")
Message.objects.bulk_create(
    Message(conversation=chat, kind="reply", text=f"line {{n}} of many") for n in range({count})
)
"""


def test_a_long_thread_is_shown_in_windows(owner, scripted):
    """The page holds the newest messages; each older window continues where it began, and
    together they are the whole thread, once."""
    chat = owner.begin("/help")
    scripted.manage("shell", "-c", FILL.format(chat=chat, count=150))
    page = owner.page(chat)
    seen: list[str] = []
    for _ in range(10):
        seen = re.findall(r"line \d+ of many", page) + seen
        older = re.search(r'data-older="([^"]+)"', page)
        if not older:
            break
        page = owner.get(older[1]).text
    assert seen == [f"line {number} of many" for number in range(150)]
    assert len(re.findall(r"line \d+ of many", owner.page(chat))) < 100


def test_rename_and_delete(owner):
    """A title given by hand stays; a deleted conversation is gone for good, after asking."""
    chat = owner.begin("/help")
    owner.post(f"/chat/{chat}/rename", title="  My\n own   <b>title</b> ")
    page = owner.page(chat)
    assert "My own &lt;b&gt;title&lt;/b&gt;" in page
    owner.post(f"/chat/{chat}/rename", title="   ")
    assert "My own" in owner.page(chat)
    asked = owner.get(f"/chat/{chat}/delete")
    assert asked.status_code == 200
    assert owner.get(f"/chat/{chat}/").status_code == 200
    owner.post(f"/chat/{chat}/delete")
    assert owner.get(f"/chat/{chat}/").status_code == 404
    assert owner.send(chat, "hello").status_code == 404


def test_accounts_do_not_see_each_other(owner, scripted):
    """Another account's conversation does not exist for anybody else, by any route."""
    chat = owner.begin("/help")
    made = (
        "from jenny.accounts.models import Account; "
        f"Account.objects.make_account('other', '{PASSWORD}', 'UTC')"
    )
    scripted.manage("shell", "-c", made)
    other = Client(scripted.url).login("other", PASSWORD)
    for path in ("", "thread", "events", "delete"):
        assert other.get(f"/chat/{chat}/{path}").status_code == 404
    for path in ("send", "stop", "retry", "draft", "model", "rename", "delete"):
        assert other.post(f"/chat/{chat}/{path}", text="x", title="x").status_code == 404
    assert chat not in other.get("/chat/").text
    assert "x" not in text_of(owner.thread(chat)).split()


def test_drafts_are_kept_per_conversation(owner):
    """A draft comes back on the page it was typed on, and goes when it was sent."""
    chat = owner.begin("/help")
    assert owner.post(f"/chat/{chat}/draft", text="not <sent> yet").status_code == 204
    assert owner.post("/chat/draft", text="for a new one").status_code == 204
    assert "not &lt;sent&gt; yet</textarea>" in owner.page(chat)
    assert "for a new one</textarea>" in owner.get("/chat/").text
    owner.send(chat, "/status")
    assert "not &lt;sent&gt; yet" not in owner.page(chat)
    assert owner.post("/chat/draft", text="").status_code == 204
    assert "for a new one" not in owner.get("/chat/").text


@pytest.mark.parametrize(
    ("day", "label"),
    [
        (date(2026, 3, 15), "Today"),
        (date(2026, 3, 16), "Today"),
        (date(2026, 3, 14), "Yesterday"),
        (date(2026, 3, 9), "This week"),
        (date(2026, 3, 2), "This month"),
        (date(2026, 1, 31), "January"),
        (date(2025, 12, 31), "December 2025"),
    ],
)
def test_days_have_their_words(day, label):
    """The list says when in the words people use; a clock that is ahead is today."""
    assert day_label(day, date(2026, 3, 15)) == label


def test_groups_follow_the_persons_zone():
    """A conversation late at night belongs to the person's day, not to the server's."""
    late = datetime(2026, 3, 14, 23, 30, tzinfo=UTC)
    now = datetime(2026, 3, 15, 9, tzinfo=timezone(timedelta(hours=9)))
    assert [label for label, _ in by_day([late], lambda row: row, now)] == ["Today"]


@pytest.mark.parametrize(
    ("used", "words", "percent"),
    [
        (0, "0 of 48k tokens; the oldest turns will be summarised at 48k", 0),
        (1240, "1.2k of 48k tokens; the oldest turns will be summarised at 48k", 3),
        (31_000, "31k of 48k tokens; the oldest turns will be summarised at 48k", 64),
        (10**9, "1000000k of 48k tokens; the oldest turns will be summarised at 48k", 999),
    ],
)
def test_the_meter_says_how_full_the_context_is(used, words, percent):
    """In words and as a share; over the top is said, not hidden."""
    gauge = meter(used, window=65_536, max_tokens=16_384)
    assert (gauge.message, gauge.percent) == (words, percent)


def test_a_window_without_room_is_no_division_by_zero():
    """A setting that leaves no room shows nought percent."""
    assert meter(5, window=1000, max_tokens=16_384).percent == 0


def test_a_file_that_leaves_no_room_is_named(owner, scripted):
    """SOUL.md, USER.md and MEMORY.md go in whole; when they fill the context, the page says
    which one and by how much, and when it is mended the notice is gone."""
    (soul,) = scripted.data.workspaces.glob("owner/SOUL.md")
    before = soul.read_bytes()
    assert "of every message" not in owner.get("/chat/").text
    try:
        soul.write_text("word " * 40_000)
        page = text_of(owner.get("/chat/").text)
        assert "SOUL.md takes about" in page
        assert "Shorten it by about" in page
    finally:
        soul.write_bytes(before)
    assert "SOUL.md takes about" not in owner.get("/chat/").text


def test_a_file_that_cannot_be_read_is_named(owner, scripted):
    """Bytes that are no text keep no page and no turn from working."""
    (user,) = scripted.data.workspaces.glob("owner/USER.md")
    before = user.read_bytes()
    try:
        user.write_bytes(b"\xff\xfe\x00broken")
        assert "USER.md" in text_of(owner.get("/chat/").text)
        chat = owner.begin("still there?")
        assert "Try again" not in text_of(owner.answer(chat))
    finally:
        user.write_bytes(before)


def test_the_model_of_a_new_chat_can_be_chosen(owner):
    """The choice made before the first message holds; nonsense leaves the default."""
    chat = owner.post("/chat/send", text="hello there", preset="demo").json()["conversation"]
    assert "demo model" in owner.answer(chat)
    assert 'value="demo" selected' in owner.page(chat)
    other = owner.post("/chat/send", text="hello", preset="nonsense").json()["conversation"]
    assert "demo model<" not in owner.answer(other)
    owner.post(f"/chat/{other}/model", preset="demo")
    assert 'value="demo" selected' in owner.page(other)
    owner.post(f"/chat/{other}/model", preset="environment")
    assert 'value="environment" selected' in owner.page(other)


@pytest.mark.django_db
def test_there_is_one_draft_a_place():
    """Two tabs that save the first draft at once leave one, also for a new conversation."""
    account = Account.objects.create_user("drafter")
    Draft.objects.create(account=account, conversation=None, text="one")
    with pytest.raises(IntegrityError):
        Draft.objects.create(account=account, conversation=None, text="two")


@pytest.mark.parametrize(
    ("text", "is_question"),
    [
        ("What is in my workspace?", True),
        ("¿Dónde está?", True),
        ("これは何ですか？", True),
        ("I moved to Brno. Is that far?", False),
        ("I moved to Brno.", False),
        ("My list:\n- tea\n- milk?", False),
    ],
)
def test_a_question_alone_states_nothing_to_remember(text, is_question):
    """Only a message that says something is offered to be remembered."""
    assert Item("m1", "user", None, text).is_question is is_question


def test_tools_are_named_in_everyday_words():
    """Each tool of a chat has words of its own; its name stands in the row's details."""
    for kind in ("personal", "temporary", "project"):
        assert {tool.name for tool in tools_of(kind)} <= TOOL_WORDS.keys()
