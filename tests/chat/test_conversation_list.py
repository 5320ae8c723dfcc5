"""All conversations can be reached, chosen and marked, however many there are."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jenny.accounts.models import Account, Workspace
from jenny.chat.models import Conversation, Message, Tag
from jenny.chat.services import conversation_list as lists
from jenny.chat.services.conversation_list import Filters, Position
from jenny.env import DataFolder
from tests.support.client import Client, text_of
from tests.support.place import answers
from tests.support.stack import PASSWORD, manage

MAKE = """
from datetime import timedelta
from django.utils import timezone
from jenny.accounts.models import Account, Workspace
from jenny.chat.models import Conversation
account = Account.objects.make_account({name!r}, {password!r}, "UTC")
row = Workspace.objects.get(owner=account)
now = timezone.now()
# Several of each minute, as an import gives them.
Conversation.objects.bulk_create(
    Conversation(workspace=row, title=f"talk {{n:05}}", active_at=now - timedelta(minutes=n // 3))
    for n in range({count})
)
"""


def person(scripted, name: str, count: int) -> Client:
    """Somebody new who has so many conversations."""
    scripted.manage("shell", "-v0", "-c", MAKE.format(name=name, password=PASSWORD, count=count))
    return Client(scripted.url).login(name, PASSWORD)


def titles(html: str) -> list[str]:
    """The titles on the page of all conversations, as listed."""
    main = html[html.index('id="listing"') :] if 'id="listing"' in html else html
    return re.findall(r'dir="auto">\s*(talk \d+)', main)


def walk(client: Client, path: str) -> list[str]:
    """The titles of all pages, by following "More conversations"."""
    seen: list[str] = []
    while path:
        page = client.get(path).text
        seen += titles(page)
        main = page[page.index('id="listing"') :]
        more = re.search(r'class="next-page"><a href="([^"]+)"', main)
        path = more[1].replace("&amp;", "&") if more else ""
    return seen


def test_every_conversation_can_be_reached_by_links(scripted):
    """260 conversations, several of the same time: following the link reaches each once, in order,
    on the page and in the side list."""
    client = person(scripted, "many", 260)
    seen = walk(client, "/chat/all/")
    assert sorted(seen) == [f"talk {number:05}" for number in range(260)]
    rows = client.get("/chat/list").text
    in_rail = titles(rows)
    while more := re.search(r'hx-get="(/chat/list\?after=[^"]+)"', rows):
        rows = client.get(more[1].replace("&amp;", "&")).text
        in_rail += titles(rows)
    assert in_rail == seen


@pytest.fixture
def workspace(db, settings, tmp_path) -> Workspace:
    settings.JENNY_DATA = DataFolder(tmp_path)
    owner = Account.objects.create_user("ann", password="a long password 1")
    row = Workspace.objects.create(owner=owner, name="Ann", slug="ann")
    Account.objects.filter(pk=owner.pk).update(current_workspace=row)
    return row


@pytest.fixture
def browser(workspace, valkey) -> Browser:
    """The owner's browser."""
    browser = Browser(headers={"Sec-Fetch-Site": "same-origin"})
    browser.force_login(workspace.owner)
    return browser


def fill(workspace: Workspace, count: int) -> list[Conversation]:
    now = timezone.now()
    return Conversation.objects.bulk_create(
        Conversation(
            workspace=workspace,
            title=str(n),
            active_at=now - timedelta(minutes=n // 7),
            is_pinned=n % 1000 == 999,
        )
        for n in range(count)
    )


def test_a_page_of_twenty_thousand_takes_as_many_queries_as_one_of_hundred(workspace):
    """The first page and one in the middle read as many rows by as many queries, each by the
    index, and nothing is sorted."""
    fill(workspace, 100)
    counts = []
    for more in (0, 19_900):
        fill(workspace, more)
        middle = lists.list_conversations(workspace).after
        for after in (
            None,
            middle,
            Position(False, timezone.now() - timedelta(hours=20), middle.key),
        ):
            with CaptureQueriesContext(connection) as asked:
                page = lists.list_conversations(workspace, after=after)
            assert len(page.rows) <= lists.PAGE
            counts.append(len(asked))
            for query in asked.captured_queries:
                if 'FROM "chat_conversation"' not in query["sql"]:
                    continue
                with connection.cursor() as cursor:
                    cursor.execute("EXPLAIN QUERY PLAN " + query["sql"])
                    plan = " ".join(str(row) for row in cursor.fetchall())
                assert "conversations_listed" in plan or "conversations_pinned" in plan, plan
                assert "TEMP B-TREE" not in plan, plan
    assert max(counts) <= 2
    assert Conversation.objects.count() == 20_000


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        (Filters(show="unread"), "conversations_unread"),
        (Filters(show="archived"), "conversations_archived"),
        (Filters(show="pinned"), "conversations_pinned"),
        (Filters(show="temporary"), "conversations_of_kind"),
        (Filters(project="bees"), "conversations_of_kind"),
    ],
)
def test_filters_choose_by_an_index(workspace, filters, index):
    """Each filter finds what it names and nothing else, by an index in the order of the list."""
    kinds = Conversation.Kind
    rows = fill(workspace, 500)
    chosen = {
        "unread": {"is_unread": True},
        "archived": {"is_archived": True},
        "pinned": {"is_pinned": True},
        "temporary": {"kind": kinds.TEMPORARY},
        "": {"kind": kinds.PROJECT, "project": "bees"},
    }[filters.show]
    keys = {row.pk for row in rows[100:130]}
    Conversation.objects.filter(pk__in=keys).update(**chosen)
    connection.cursor().execute("ANALYZE")
    with CaptureQueriesContext(connection) as asked:
        page = lists.list_conversations(workspace, filters)
    assert {row.pk for row in page.rows} == keys
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN QUERY PLAN " + asked.captured_queries[0]["sql"])
        plan = " ".join(str(row) for row in cursor.fetchall())
    assert index in plan
    assert "TEMP B-TREE" not in plan


def test_what_was_archived_while_it_was_answered_is_among_the_unread(workspace):
    """An answer that ended after the conversation was archived is on a list, once."""
    chat, other = fill(workspace, 2)
    Conversation.objects.filter(pk=other.pk).update(is_archived=True)
    Conversation.objects.filter(pk=chat.pk).update(is_archived=True, is_unread=True)
    assert lists.list_conversations(workspace, Filters(show="unread")).rows == [chat]
    assert lists.list_conversations(workspace).rows == []


def test_pinned_ones_come_first_and_once(workspace):
    """More pinned conversations than a page holds are followed by the others; none is twice."""
    rows = fill(workspace, 150)
    pinned = [row.pk for row in rows[40:110]]
    Conversation.objects.filter(pk__in=pinned).update(is_pinned=True)
    seen, after = [], None
    while True:
        page = lists.list_conversations(workspace, after=after)
        seen += page.rows
        after = page.after and Position.of(str(page.after))
        if after is None:
            break
    assert len({row.pk for row in seen}) == len(seen) == 150
    assert {row.pk for row in seen[:70]} == set(pinned)


@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "1-2", "a-b-c", "0-1-x", f"0-99999999999999999999-{'0' * 32}"),
        *(f"{pinned}-253402300799999999-{'0' * 32}" for pinned in "01"),
    ],
)
def test_a_position_that_is_none_begins_the_list(text, browser, workspace):
    """An address that was typed wrong shows the first page, also in a zone far east."""
    assert Position.of(text) is None
    fill(workspace, 1)
    Account.objects.update(time_zone="Pacific/Kiritimati")
    for path in ("/chat/all/", "/chat/list", "/chat/trash/"):
        assert browser.get(path, {"after": text}).status_code == 200


def test_all_that_one_scrolled_to_can_be_chosen(browser, workspace):
    """More conversations than Django takes fields by default are archived by one press, and come
    back from the trash by one."""
    rows = fill(workspace, 1_200)
    form = {"act": "archive", "chosen": [str(row.pk) for row in rows]}
    assert browser.post("/chat/all/act", form).status_code == 302
    assert not Conversation.objects.filter(is_archived=False).exists()
    Conversation.objects.update(deleted_at=timezone.now())
    assert browser.post("/chat/trash/act", {**form, "act": "back"}).status_code == 302
    assert Conversation.objects.count() == 1_200


def test_no_filter_or_tag_has_a_character_that_a_database_refuses():
    """PostgreSQL refuses NUL in a text, so neither the filters nor a tag's key have one."""
    filters = Filters.of(QueryDict("tag=a%00&project=b%00&show=%00"))
    assert filters == Filters(tag="a", project="b")


def test_a_tag_is_one_whatever_its_case(workspace):
    """A tag is found by its name in any case; it is gone when no conversation has it."""
    first, second = fill(workspace, 2)
    assert lists.tag(workspace, [first], " Boats,  and   sails ") == "Boats and sails"
    assert lists.tag(workspace, [first, second], "BOATS and sails") == "Boats and sails"
    found = lists.list_conversations(workspace, Filters(tag="boats AND sails")).rows
    assert {row.pk for row in found} == {first.pk, second.pk}
    lists.untag(workspace, [first, second], "boats and sails")
    assert not Tag.objects.exists()
    assert lists.tag(workspace, [first], " , ") == ""


def test_several_are_archived_tagged_and_deleted_at_once(scripted):
    """The form of the page without script: what is chosen is marked, leaves or comes back, and the
    filters show it."""
    client = person(scripted, "several", 6)
    page = client.get("/chat/all/").text
    keys = dict(re.findall(r'href="/chat/([0-9a-f-]{36})/" dir="auto">(talk \d+)', page))
    by_title = {title: key for key, title in keys.items()}
    assert len(by_title) == 6

    def act(name: str, *numbers: int, **more: str) -> str:
        chosen = [by_title[f"talk {number:05}"] for number in numbers]
        client.http.post(
            "/chat/all/act",
            data={"act": name, "chosen": chosen, **more},
            headers={"X-CSRFToken": client.token()},
        )
        return text_of(client.get("/chat/all/").text)

    assert "2 conversations archived" in act("archive", 0, 1)
    assert sorted(walk(client, "/chat/all/")) == [f"talk {number:05}" for number in range(2, 6)]
    assert sorted(walk(client, "/chat/all/?show=archived")) == ["talk 00000", "talk 00001"]
    assert "tagged “Bees”" in act("tag", 2, 3, tag="Bees")
    assert walk(client, "/chat/all/?tag=Bees") == ["talk 00002", "talk 00003"]
    assert "1 conversation pinned" in act(f"pin:{by_title['talk 00005']}")
    assert walk(client, "/chat/all/")[0] == "talk 00005"
    assert "No conversation was chosen" in act("archive")
    shown = act("delete", 2, 3, memory="keep")
    assert "2 conversations deleted." in shown
    assert sorted(walk(client, "/chat/all/")) == ["talk 00004", "talk 00005"]
    trash = text_of(client.get("/chat/trash/").text)
    assert "talk 00002" in trash
    assert "29 days left" in trash
    assert "30 days" in trash


def test_nobody_marks_what_is_not_theirs(scripted, owner):
    """An id of another person's conversation is passed over."""
    chat = owner.begin("/help")
    client = person(scripted, "stranger", 1)
    for act in ("archive", "delete", "pin"):
        client.post("/chat/all/act", act=act, chosen=chat, memory="keep")
        client.post("/chat/all/act", act=f"{act}:{chat}", memory="keep")
    assert chat in owner.get("/chat/all/").text
    owner.post(f"/chat/{chat}/delete")
    for act in (f"back:{chat}", f"delete:{chat}", "empty"):
        client.post("/chat/trash/act", act=act)
    assert f"back:{chat}" in owner.get("/chat/trash/").text


def test_an_archived_conversation_comes_back_when_one_goes_on(workspace):
    """What is said in an archived conversation brings it back on the list."""
    (chat,) = fill(workspace, 1)
    Conversation.objects.filter(pk=chat.pk).update(is_archived=True)
    chat.bump()
    chat.refresh_from_db()
    assert not chat.is_archived
    assert not Message.objects.exists()


def test_an_answer_that_ended_unseen_is_marked(place, words):
    """An answer that nobody looked at is marked on the lists until its page is opened, or a page
    that shows it says so; one that was stopped is not."""
    chat = place.talk(words, 1)

    def is_marked() -> bool:
        return chat in place.owner.get("/chat/all/?show=unread").text.split('id="listing"')[1]

    assert is_marked()
    assert 'class="unread"' in place.owner.get("/chat/list").text
    place.owner.page(chat)
    assert not is_marked()
    place.model.script("Once more.", when=answers(f"again {words}"))
    place.owner.send(chat, f"again {words}")
    place.owner.answer(chat)
    assert is_marked()
    place.owner.post(f"/chat/{chat}/seen")
    assert not is_marked()


ON_POSTGRESQL = """
import threading
from datetime import timedelta
from django.db import connection, transaction
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from jenny.accounts.models import Account, Workspace
from jenny.chat.models import Conversation
from jenny.chat.services import conversation_list as lists, deletion
from jenny.chat.services.conversation_list import Filters
owner = Account.objects.create_user("ann", password="a long password 1")
row = Workspace.objects.create(owner=owner, name="Ann", slug="ann")
now = timezone.now()
made = Conversation.objects.bulk_create(
    Conversation(workspace=row, title=str(n), active_at=now - timedelta(minutes=n // 7),
                 is_pinned=n % 5000 == 0, is_unread=n % 500 == 0)
    for n in range(20_000)
)
connection.cursor().execute("ANALYZE")
lists.tag(row, made[:2], "Boats")
assert len(lists.list_conversations(row, Filters(tag="boats")).rows) == 2
typed = Filters.of(QueryDict("tag=bo%00ats"))
assert len(lists.list_conversations(row, typed).rows) == 2
lists.list_conversations(row, Filters.of(QueryDict("project=%00")))
lists.untag(row, made[1:2], "boats\\0")
lists.set_tags(made[2], ["boats\\0"])
with CaptureQueriesContext(connection) as asked:
    page = lists.list_conversations(row)
    lists.list_conversations(row, after=page.after)
    lists.list_conversations(row, Filters(show="unread"))
for query in asked.captured_queries:
    if 'FROM "chat_conversation"' in query["sql"]:
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN " + query["sql"])
            print(" ".join(line for line, in cursor.fetchall()))

# One connection takes the tag from the last conversation while another one gives it to one.
lists.untag(row, made[:20], "boats")
lists.tag(row, made[:1], "Boats")
problems = []
def take():
    try:
        lists.untag(row, made[:1], "boats")
    except Exception as error:
        problems.append(repr(error))
    finally:
        connection.close()
taking = threading.Thread(target=take)
with transaction.atomic():
    lists.tag(row, made[5:6], "boats")
    taking.start()
    waiting = (
        "SELECT 1 FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    with connection.cursor() as cursor:
        while taking.is_alive() and not cursor.execute(waiting).fetchone():
            # A transaction sees the activity as it was when it looked first.
            cursor.execute("SELECT pg_stat_clear_snapshot()")
taking.join()
assert not problems, problems
assert lists.list_conversations(row, Filters(tag="boats")).rows == [made[5]]
for chat in made[:2]:
    deletion.delete_conversation(chat)
assert deletion.bring_back(Conversation.all_objects.filter(pk=made[0].pk)) == 1
assert deletion.delete_for_good(Conversation.all_objects.all()) == 1
assert Conversation.all_objects.count() == 19_999
print("done")
"""


def test_postgresql_reads_pages_by_an_index(scratch, new_database):
    """The same queries on PostgreSQL sort no list; deleting, bringing back and tagging work."""
    data, url = scratch / "listed-postgres", new_database()
    data.mkdir()
    manage(data, "migrate", "-v0", DATABASE_URL=url)
    said = manage(data, "shell", "-v0", "-c", ON_POSTGRESQL, DATABASE_URL=url)
    *plans, done = said.strip().splitlines()
    assert done == "done"
    assert len(plans) >= 4
    for plan in plans:
        assert "conversations_" in plan, plan
        assert "Seq Scan on chat_conversation" not in plan, plan
