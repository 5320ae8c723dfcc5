"""The palette offers places of every kind, whatever is typed."""

import html
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jenny.accounts.models import Account
from jenny.chat.models import Conversation
from jenny.chat.services import deletion, search
from tests.support.client import text_of
from tests.support.search_page import BAD, DAY, say, write
from tests.support.stack import PASSWORD


def offered(client: Client, query: str) -> list[tuple[str, str, str]]:
    """The palette's entries: title, kind with its hint, and address."""
    page = client.get("/search/palette", {"q": query}).content.decode()
    return [
        (html.unescape(title), html.unescape(text_of(kind)), html.unescape(href))
        for href, title, kind in re.findall(
            r'<a role="option".*?href="([^"]*)"[^>]*><span[^>]*>(.*?)</span>(.*?)</a>', page
        )
    ]


def test_the_palette_offers_places_of_every_kind(client: Client, ana: Account, root: Path) -> None:
    """Conversations, pages, settings, files, wikis, commands and lines of memory; the last entry
    searches everything. Each address is one that there is."""
    chat = say(ana, "Hello", title="Médical bills").conversation
    write(root, "USER.md", "- Sees the medical doctor in Ghent\n")
    write(root, "wikis/medicine/wiki/pills.md", "# Pills\n")
    write(root, "notes/medical.txt", "x\n")
    kinds = {}
    for query in ("medi", "appea", "removed", "pill", "forget", "backup"):
        for title, kind, href in offered(client, query):
            kinds[(kind.rpartition(" · ")[2], title)] = href
            assert client.get(href.partition("#")[0]).status_code == 200, href
    assert kinds["Conversation", "Médical bills"] == f"/chat/{chat.pk}/"
    assert kinds["Page", "Settings: Appearance"] == "/settings/appearance/"
    assert kinds["Page", "Removed from memory"] == "/memory/archive/"
    assert kinds["Wiki", "medicine"] == "/wikis/medicine/"
    assert kinds["Wiki page", "wiki/pills.md"] == "/wikis/medicine/pills.md"
    assert kinds["File", "notes/medical.txt"] == "/workspace/notes/medical.txt"
    assert kinds["Memory", "Sees the medical doctor in Ghent"].endswith("#line-1")
    assert kinds["Command", "/forget"] == "/chat/#write=%2Fforget+"
    assert offered(client, "medi")[-1][2] == "/search/?q=medi"


def test_the_palette_begins_with_recent_conversations(client: Client, ana: Account) -> None:
    """The newest first; of another account's there is none."""
    for hour, title in enumerate(("First", "Second")):
        say(ana, "Hello", title=title, active_at=DAY + timedelta(hours=hour))
    assert [row[0] for row in offered(client, "")][:2] == ["Second", "First"]
    other = Client(headers={"Sec-Fetch-Site": "same-origin"})
    other.force_login(Account.objects.make_account("bo", PASSWORD, "UTC"))
    assert all(kind != "Conversation" for _, kind, _ in offered(other, ""))


# More than are read as rows.
LAST = 800


def conversations(client: Client, query: str) -> list[str]:
    """The titles that the palette offers."""
    return [title for title, kind, _ in offered(client, query) if kind.endswith("Conversation")]


def test_a_title_of_any_age_is_found(person: Client, ana: Account) -> None:
    """An old conversation by beginnings of any words of its title, in any form and without accents:
    few titles are read as rows, and none is looked for by LIKE. What is renamed or deleted is not
    found by its old name."""
    now = timezone.now()
    Conversation.objects.bulk_create(
        Conversation(
            workspace=ana.current_workspace,
            title="Häuser am Fluß, the last of 1999" if number == LAST else f"Talk {number}",
            active_at=now - timedelta(minutes=number),
        )
        for number in range(LAST + 1)
    )
    old = Conversation.objects.get(title__contains="Fluß")
    index = search.index_of(ana.current_workspace)
    while index.update(seconds=60):
        pass
    for query in ("hauser", "fluss", "flu hau", "LAST of 1999", "häusern"):
        with CaptureQueriesContext(connection) as asked:
            assert conversations(person, query) == [old.title], query
        queries = [row["sql"] for row in asked if "chat_conversation" in row["sql"]]
        assert not any(" LIKE " in query for query in queries)
    assert conversations(person, "talk 750") == ["Talk 750"]
    assert conversations(person, "talk")[:2] == ["Talk 0", "Talk 1"]
    Conversation.objects.filter(pk=old.pk).update(title="Brücken")
    assert conversations(person, "fluss") == []
    assert conversations(person, "brucke") == ["Brücken"]
    deletion.delete_conversation(old)
    assert conversations(person, "brucke") == []


@pytest.mark.parametrize("query", BAD)
def test_the_palette_takes_any_words(client: Client, root: Path, query: str) -> None:
    """There is always the entry that searches everything, but for nothing typed."""
    answer = client.get("/search/palette", {"q": query})
    assert answer.status_code == 200
    assert b"<script>" not in answer.content
    assert not query.replace("\0", "").strip() or "Search everything" in answer.content.decode()
