"""One search finds everything that was said or written, says when, and leads to the place."""

import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from jenny.accounts.models import Account
from jenny.chat.models import Block, Conversation, Message, Turn
from jenny.chat.services import branches, deletion, search
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions.commits import commit_pending
from memory import suppression
from memory.history import log
from memory.history.entries import NewHistoryEntry
from tests.support.client import Client as Browser
from tests.support.search_page import BAD, DAY, found, hits_of, place, say, write
from tests.support.stack import OWNER, PASSWORD
from tests.support.waiting import wait_until

NOW = dt.datetime.now(dt.UTC)


def everything(ana: Account, root: Path) -> dict[str, str]:
    """A kayak in each kind of thing; the words of each that its page must have."""
    say(ana, "I bought a red kayak", "A kayak! For which lake?")
    log.append(root, [NewHistoryEntry("- [durable] The kayak is stored in Ghent")])
    files = open_workspace(root, Actor("browser"))
    old = "- Keeps the kayak in the cellar\n- Lent a kayak to the neighbours\n"
    files.write("USER.md", old.encode())
    files.write("USER.md", b"- Lent a kayak to the neighbours\n- Plays the viola\n")
    write(
        root,
        "skills/paddle/SKILL.md",
        "---\ndescription: x\n---\n\n# Paddling\n\nHold it.\n\nA kayak rolls.\n",
    )
    write(root, "wikis/bees/wiki/boats.md", "# Boats\n\n## On lakes\n\nNo kayak near the bees.\n")
    write(root, "notes/trip.txt", "first\nsecond\n\nThe kayak leaks <b>badly</b>.\n")
    suppression.forget(root, "Plays the viola", Actor("browser"))
    return {
        "chats": "I bought a red kayak",
        "history": "The kayak is stored in Ghent",
        "memory": "Lent a kayak to the neighbours",
        "removed": "Keeps the kayak in the cellar",
        "skills": "A kayak rolls.",
        "wikis": "No kayak near the bees.",
        "files": "The kayak leaks <b>badly</b>.",
    }


def test_every_kind_of_thing_is_found_at_its_exact_place(
    person: Client, ana: Account, root: Path
) -> None:
    """Each hit shows the words, marked, and leads to the message, line, note or page with them."""
    kinds = everything(ana, root)
    hits = found(person, "kayaks")
    assert len(hits) == len(kinds), hits
    for kind, words in kinds.items():
        (hit,) = found(person, "kayaks", kind=kind)
        assert hit in hits
        assert words in hit["words"], kind
        assert hit["marked"].startswith("kayak"), kind
        assert words in place(person, hit["href"]), kind
        # Who takes a line out does not want it back.
        assert hit["is_forgotten"] == (kind == "removed")
    (hit,) = found(person, "viola", kind="forgotten")
    assert hit["is_forgotten"]
    assert "Plays the viola" in place(person, hit["href"])
    for kind, anchor in {"files": "#line-4", "skills": "#line-9", "wikis": "#h-on-lakes"}.items():
        assert found(person, "kayak", kind=kind)[0]["href"].endswith(anchor)


def test_a_hit_shows_no_signs_of_the_files(person: Client, root: Path) -> None:
    """A note without its tag, a line of memory without its bullet, and what stands around it
    without comments for Dream and headings."""
    log.append(root, [NewHistoryEntry("- [permanent, dated 2027-01-09] The viola is paid")])
    text = "# User\n\n## Music\n\n<!-- Instruments -->\n- Owns a viola\n- Sings\n"
    open_workspace(root, Actor("browser")).write("USER.md", text.encode())
    assert found(person, "viola", kind="history")[0]["words"] == "The viola is paid"
    assert found(person, "viola", kind="memory")[0]["words"] == "Owns a viola\nSings"


def test_a_hit_says_when_it_was_said_and_when_it_was_true(
    person: Client, ana: Account, root: Path
) -> None:
    """A message its time, a removed fact its days and what replaced it."""
    say(ana, "I bought a red kayak")
    files = open_workspace(root, Actor("browser"))
    files.write("USER.md", b"- Lives in Ghent\n")
    files.write("USER.md", b"- Lives in Graz\n")
    today = f"{NOW:%-d %B %Y}"
    assert "said 3 May 2026, 14:05" in found(person, "kayak")[0]["hint"]
    hit = found(person, "Ghent", kind="removed")[0]
    assert f"from {today} until {today}" in hit["hint"]
    assert "replaced by “Lives in Graz”" in hit["hint"]
    assert f"known since {today}" in found(person, "Graz", kind="memory")[0]["hint"]


def test_a_time_narrows_the_search(person: Client, ana: Account, root: Path) -> None:
    """Named times and chosen days hold for messages, notes and files alike."""
    say(ana, "I bought a red kayak")
    log.append(root, [NewHistoryEntry("- [durable] The kayak is stored in Ghent")])
    write(root, "notes/old.txt", "An old kayak.\n", DAY)
    write(root, "notes/new.txt", "A new kayak.\n")
    texts = {hit["words"] for hit in found(person, "kayak", when="week")}
    assert texts == {"The kayak is stored in Ghent", "A new kayak."}
    chosen = found(person, "kayak", since="2026-05-03", until="2026-05-03")
    assert {hit["words"] for hit in chosen} == {"You: I bought a red kayak", "An old kayak."}
    assert len(found(person, "kayak", since="nonsense", until="2026-13-01")) == 4


WORDS = (
    ("kay", "Bought a red kayak from Olivia", "kayak"),
    ("KAYAKING", "Bought a red kayak from Olivia", "kayak"),
    ("kajaks geka", "Hat sich im Mai ein Kajak gekauft", "Kajak|gekauft"),
    ("kuche", "Wohnt in der Küche", "Küche"),
    ("häuser", "Zwei Häuser am See", "Häuser"),
    ("学校", "娘の学校は緑丘小学校です", "学校|学校"),
    ("カヤック", "カヤックを購入した", "カヤック"),
    ("etage", "A acheté une étagère à Genève", "étagère"),
    ('"moved to Ghent"', "The dentist moved to Ghent", "moved|Ghent"),
)


@pytest.mark.parametrize(("query", "text", "marked"), WORDS)
def test_beginnings_forms_and_phrases_are_found(
    person: Client, root: Path, query: str, text: str, marked: str
) -> None:
    """In several languages, whatever the case and the accents; a phrase as it stands."""
    log.append(root, [NewHistoryEntry(one) for one in dict.fromkeys(row[1] for row in WORDS)])
    log.append(root, [NewHistoryEntry("To Ghent the cat moved")])
    hits = found(person, query)
    assert [hit["words"] for hit in hits] == [text]
    assert hits[0]["marked"] == marked


def test_all_words_before_some(person: Client, root: Path) -> None:
    """Places with all of the words stand alone; without any the page says so and shows parts."""
    log.append(root, [NewHistoryEntry(text) for text in ("A red kayak", "A red house", "A boat")])
    assert [hit["words"] for hit in found(person, "red kayak")] == ["A red kayak"]
    page = person.get("/search/?q=kayak+house+").content.decode()
    assert "Nothing has all of this" in page
    assert len(hits_of(page)) == 2


def test_what_is_forgotten_is_marked_for_the_person_and_shown_to_no_model(
    person: Client, ana: Account, root: Path
) -> None:
    """Where it was said, where it was removed and as it was forgotten; no tool's search has it."""
    said = say(ana, "I am allergic to nuts\nI play the viola")
    log.append(root, [NewHistoryEntry("- Allergic to nuts\n- Plays the viola")])
    write(root, "USER.md", "- Allergic to nuts\n- Plays the viola\n")
    suppression.forget(root, "Allergic to nuts", Actor("command"))
    hits = found(person, "nuts")
    assert len(hits) == 3
    assert all(hit["is_forgotten"] for hit in hits if "nuts" in hit["words"])
    assert {
        "#m" in hit["href"] or "/memory/" in hit["href"] or "/at/" in hit["href"] for hit in hits
    } == {True}
    look = search.search_for(said.conversation)
    assert search.search_all(ana.current_workspace)("nuts", None)
    for hit in look("nuts", None).hits:
        assert hit.kind not in {"forgotten", "version"}


def test_old_versions_are_searched_when_asked(person: Client, root: Path) -> None:
    """A line that left a file is found in its version, which shows it; the page says its limits."""
    write(root, "skills/tea/SKILL.md", "---\ndescription: x\n---\nBoil the kettle twice.\nServe.\n")
    commit_pending(root)
    write(root, "skills/tea/SKILL.md", "---\ndescription: x\n---\nServe.\n")
    commit_pending(root)
    assert found(person, "kettle", kind="skills") == []
    page = person.get("/search/?q=kettle&old=1&kind=skills").content.decode()
    (hit,) = hits_of(page)
    assert hit["words"] == "Boil the kettle twice."
    assert "newest 2,000 versions" in page
    assert "Boil the kettle twice." in place(person, hit["href"])
    assert "old=1" in person.get("/search/?q=kettle").content.decode()


def test_replaced_messages_are_searched_when_asked(
    person: Client, ana: Account, root: Path, valkey: str
) -> None:
    """What an edit replaced is found among the old versions, with a page that shows it and brings
    its version back; no tool of a model finds it, and it leaves with its conversation."""
    said = say(ana, "I bought a zeppelin", "A fine **zeppelin**.")
    chat = said.conversation
    chat.messages.update(turn=chat.turns.get())
    Block.objects.update(html="<p>A fine airship.</p>")
    turn = branches.edit_message(chat, said.pk, "I bought a kite", start=lambda _: None)
    Turn.objects.update(state=Turn.State.DONE)
    chat.messages.filter(turn=None).update(turn=turn)
    assert found(person, "zeppelin") == []
    hits = found(person, "zeppelin", old="1")
    assert {hit["words"] for hit in hits} == {
        "You: I bought a zeppelin",
        "Jenny: A fine **zeppelin**.",
    }
    for hit in hits:
        assert "said 3 May 2026" in hit["hint"]
        page = place(person, hit["href"])
        assert "that is not shown now" in page
        assert "I bought a zeppelin" in page
        assert "A fine airship." in page
    assert search.search_for(chat)("zeppelin", None).hits == ()
    answer = person.post(f"/chat/{chat.pk}/version", {"message": said.pk}, follow=True)
    assert answer.redirect_chain[-1][0].endswith(f"#m{said.pk}")
    assert "I bought a zeppelin" in answer.content.decode()
    assert found(person, "zeppelin")
    (hit,) = found(person, "kite", old="1")
    assert "I bought a kite" in place(person, hit["href"])
    deletion.delete_conversation(chat)
    assert found(person, "kite", old="1") == []
    assert person.get(hit["href"]).status_code == 404


def test_nobody_finds_what_belongs_to_others(person: Client, ana: Account, root: Path) -> None:
    """Another account has its own search; a project's conversation is its owner's."""
    everything(ana, root)
    say(ana, "The canoe of the project", kind="project", project="bees")
    assert "in the project bees" in found(person, "canoe")[0]["hint"]
    bo = Account.objects.make_account("bo", PASSWORD, "UTC")
    other = Client(headers={"Sec-Fetch-Site": "same-origin"})
    other.force_login(bo)
    for query in ("kayak", "canoe", "viola"):
        assert found(other, query) == []
        assert found(other, query, old="1") == []
    assert Client().get("/search/?q=kayak").status_code == 302


def test_the_search_follows_what_changes(person: Client, ana: Account, root: Path) -> None:
    """Imported messages, the trash, deletions, what is allowed again, a lost index."""
    message = say(ana, "The kayak is red")
    write(root, "USER.md", "- Allergic to nuts\n")
    suppression.forget(root, "Allergic to nuts", Actor("command"))
    assert found(person, "nuts", kind="forgotten")
    suppression.lift_tombstone(root, suppression.list_tombstones(root)[0].id, Actor("browser"))
    assert found(person, "nuts", kind="forgotten") == []
    # As an import adds them: without an event of the conversation.
    Message.objects.bulk_create(
        [Message(conversation=message.conversation, kind="user", text="The paddle is blue")]
    )
    assert found(person, "paddle")
    search._store(str(ana.current_workspace_id)).clear()
    assert found(person, "paddle")
    Conversation.objects.filter(pk=message.conversation_id).update(deleted_at=NOW)
    assert found(person, "kayak") == []
    Conversation.all_objects.update(deleted_at=None)
    assert found(person, "kayak")
    Conversation.objects.all().delete()
    assert found(person, "kayak") == []


@pytest.mark.parametrize("query", BAD)
def test_any_query_gives_hits_or_a_sentence(person: Client, root: Path, query: str) -> None:
    """Operators, signs, long, broken and foreign texts are words or nothing, and are escaped."""
    write(root, "notes/viola.txt", "The viola <script>alert(1)</script>.\n")
    answer = person.get("/search/", {"q": query, "old": "1"})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert (
        hits_of(page)
        or "no word in this" in page
        or "Nothing was found" in page
        or ("What can be searched" in page)
    )
    assert "<script>alert" not in page


@pytest.mark.parametrize(
    "parts",
    [
        *(
            "page=-1",
            "page=0",
            "page=999999999999999999999",
            "page=x",
            "page=1e3",
            "page=%ED%A0%80",
        ),
        *("kind=nonsense", "when=nonsense", "since=x&until=y", "kind=%00", "old=2"),
        "since=2026-12-31&until=2026-01-01",
    ],
)
def test_any_address_gives_a_page(client: Client, root: Path, parts: str) -> None:
    """Whatever else the address has, the page shows the hits that it can."""
    log.append(root, [NewHistoryEntry(f"The viola number {number}") for number in range(30)])
    for query in ("viola", "%ED%A0%80+viola", "viola%00"):
        answer = client.get(f"/search/?q={query}&{parts}")
        assert answer.status_code == 200
        assert hits_of(answer.content.decode())


def test_many_hits_have_pages(client: Client, root: Path) -> None:
    """Twenty on a page, each once, and a sentence when there may be more than are ranked."""
    log.append(root, [NewHistoryEntry(f"The viola number n{number}x") for number in range(150)])
    seen: list[str] = []
    for number in range(1, 7):
        seen += [hit["words"] for hit in found(client, "viola", page=str(number))]
    assert len(seen) == len(set(seen)) == 120
    assert "120 or more places" in client.get("/search/?q=viola").content.decode()


def test_a_page_says_when_the_index_is_being_made(
    client: Client, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows what is in the index, and asks again, one request at a time with what is typed:
    typing ends the repeated request, whose answer would be about the words of before."""
    for number in range(20):
        write(root, f"notes/{number}.txt", f"The viola number {number}.\n")
    search._indexes.clear()
    with monkeypatch.context() as hurry:
        hurry.setattr("settings_ui.services.search._SECONDS", 0.0)
        page = client.get("/search/?q=viola").content.decode()
    assert "The search index is being made" in page
    (again,) = re.findall(r'<p class="notice"[^>]* hx-get=[^>]*>', page)
    assert 'hx-sync="#q:drop"' in again
    assert re.search(r'<input[^>]* id="q"[^>]* hx-sync="this:replace"', page)
    assert "Nothing was found" not in page or "texts are not in it yet" in page
    search.update_index(str(Account.objects.get().current_workspace_id))

    def has_all() -> bool:
        shown = client.get("/search/?q=viola").content.decode()
        return len(hits_of(shown)) == 20 and "is being made" not in shown

    # Files that were written just now are read again, so the page may have to ask again.
    wait_until(has_all, what="a page with all of them")


def test_the_page_teaches_before_it_is_asked(client: Client) -> None:
    """What can be searched and how, with examples that are links; the navigation leads here."""
    page = client.get("/search/").content.decode()
    assert "What can be searched" in page
    assert 'href="?q=%22moved+to+Ghent%22"' in page
    assert 'href="/search/"' in client.get("/memory/").content.decode()


def test_an_instance_on_postgresql_finds_a_conversation(
    start_stack: Callable[..., Any], new_database: Callable[[], str]
) -> None:
    """The whole way: a message to the demo model is found, at its place."""
    stack = start_stack(DATABASE_URL=new_database(), has_owner=True)
    owner = Browser(stack.url).login(OWNER, PASSWORD)
    chat = owner.begin("What does a kayak weigh?")
    owner.answer(chat)
    title, hit = hits_of(owner.get("/search/?q=kaya&kind=chats").text)
    assert title["href"] == f"/chat/{chat}/"
    assert hit["marked"].startswith("kayak")
    assert hit["href"].startswith(f"/chat/{chat}/at/")
    assert owner.get(quote(hit["href"])).status_code == 302
