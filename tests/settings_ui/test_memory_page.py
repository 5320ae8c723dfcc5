"""The Memory pages over HTTP: the picture, the runs, undo, archive, forgotten, lines and pins."""

import html
import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.services import jobs
from jenny.chat.models import Block, Conversation, Message, Turn
from jenny.workspace.files import open_workspace
from jenny.workspace.write_rules import Actor
from memory import archive, pins, recall, suppression
from memory.history import log
from memory.history.entries import NewHistoryEntry
from memory.models import DreamEntry, DreamRun
from memory.services import dream_run_store, dream_runs
from tests.model_server import Call
from tests.support.dreams import MEMORY, Dreams, add, finish
from tests.support.stack import PASSWORD

HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:alert(1)) <script>alert(2)</script>"
HEADERS = {"Sec-Fetch-Site": "same-origin"}
HTMX = {**HEADERS, "HX-Request": "true"}


@pytest.fixture
def client(dreams: Dreams) -> Client:
    """The dreamer's browser."""
    client = Client(headers=HEADERS)
    client.force_login(dreams.workspace.owner)
    return client


@pytest.fixture
def stranger(dreams: Dreams) -> Client:
    """Somebody else's browser."""
    client = Client(headers=HEADERS)
    client.force_login(Account.objects.make_account("bo", PASSWORD, "UTC"))
    return client


def get(client: Client, path: str, status: int = 200, **more: object) -> str:
    """A page's text."""
    answer = client.get(path, **more)
    assert answer.status_code == status, answer.content.decode()[:2000]
    return answer.content.decode()


def words(page: str) -> str:
    """What a page says in its middle, white space levelled."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.partition("<main")[2])).split())


def test_what_was_just_noted_is_shown(client: Client, dreams: Dreams) -> None:
    """The first page of Memory shows it at once, escaped, found by the search, without what was
    forgotten since."""
    dreams.say("- [durable] Keeps bees.\n- [durable] Plays the viola.\n- [durable] " + HOSTILE)
    suppression.forget(dreams.root, "Plays the viola.", Actor("browser"))
    page = get(client, "/memory/")
    noted = words(page).partition("Just noted")[2].partition("About you")[0]
    assert "Keeps bees." in noted
    assert "viola" not in noted
    assert "<script>alert(2)" not in page
    assert "Just noted" in words(get(client, "/memory/?q=bees"))
    assert "Just noted" not in words(get(client, "/memory/?q=horses"))


def test_what_was_just_noted_is_forgotten_from_there(client: Client, dreams: Dreams) -> None:
    """One press, with an Undo; what a line says too is asked first; words of no note are told."""
    dreams.say("- [durable] Keeps bees.\n- [durable] Plays the viola.")
    (dreams.root / "USER.md").write_text("# User\n\n- Plays the viola.\n")
    assert 'value="Keeps bees.">Forget<' in get(client, "/memory/")
    done = client.post("/memory/noted/forget", {"text": "Keeps bees."}, follow=True)
    assert "bees" not in words(done.content.decode()).partition("Just noted")[2]
    (said,) = done.context["messages"]
    client.post(said.extra_tags)
    assert "Keeps bees." in words(get(client, "/memory/")).partition("Just noted")[2]
    asked = client.post("/memory/noted/forget", {"text": "Plays the viola."}, follow=True)
    assert "Forget 1 line?" in words(asked.content.decode()) + asked.content.decode()
    assert "viola" in (dreams.root / "USER.md").read_text()
    empty = client.post("/memory/noted/forget", {"text": " "}, follow=True)
    assert "Nothing was forgotten" in empty.content.decode()


def test_notes_that_wait_are_not_called_nothing_to_do(client: Client, dreams: Dreams) -> None:
    dreams.say("- [durable] Keeps bees.")
    page = words(get(client, "/memory/"))
    assert "1 note waiting" in page
    assert "nothing to do" not in page


def test_what_is_in_order_is_not_told(client: Client, dreams: Dreams) -> None:
    dreams.say("- [durable] Keeps bees.")
    page = words(get(client, "/memory/overview/"))
    assert "skipped" not in page


def test_what_an_update_has_read_stands_among_the_lines(client: Client, dreams: Dreams) -> None:
    (cursor,) = dreams.say("- [durable] Keeps bees.")
    assert "Just noted" in words(get(client, "/memory/"))
    dreams.model.script(add("- Keeps bees.", cursor))
    dreams.model.script(finish(saved=[cursor]))
    dreams.run()
    page = words(get(client, "/memory/"))
    assert "Just noted" not in page
    assert "Keeps bees." in page


def wrote(dreams: Dreams, line: str, path: str = MEMORY) -> DreamRun:
    """A run that added a line, and rests it on an entry that says so."""
    (cursor,) = dreams.say(f"- [durable] {line}")
    dreams.model.script(add(line, cursor, path=path))
    dreams.model.script(finish(saved=[cursor]))
    dreams.model.script("Done.")
    return dreams.run()


def together(client: Client, acts: list[Callable[[Client], object]]) -> list[object]:
    """Do all of it at once, each in a browser of its own with the same session."""
    start = threading.Barrier(len(acts))

    def one(act: Callable[[Client], object]) -> object:
        mine = Client(headers=HEADERS)
        mine.cookies = client.cookies
        start.wait()
        try:
            return act(mine)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(one, acts))


def test_empty_pages_teach_the_next_step(client: Client) -> None:
    """Where nothing is yet, each page says what brings something about."""
    page = words(get(client, "/memory/overview/"))
    assert "0 messages" in page
    assert "0 waiting" in page
    assert "The memory was not updated yet" in page
    assert "Nothing has been summarised yet" in page
    assert "/compact" in page
    assert "Say something about it" in words(get(client, "/memory/"))
    file = words(get(client, f"/memory/files/{MEMORY}"))
    assert "Nothing stands in this file yet but its headings" in file
    assert "The memory was not updated yet" in words(get(client, "/memory/runs/"))
    assert "Nothing was noted yet" in words(get(client, "/memory/history/"))
    assert "Nothing was removed yet" in words(get(client, "/memory/archive/"))
    assert "Nothing was forgotten" in words(get(client, "/memory/forgotten/"))
    assert "There is nothing to review" in words(get(client, "/memory/approvals/"))


def test_the_picture_has_the_live_numbers(client: Client, dreams: Dreams) -> None:
    """Messages and tokens since the last summary, entries waiting and skipped, the gauges."""
    chat = Conversation.objects.create(workspace=dreams.workspace)
    old = Message.objects.create(conversation=chat, kind="user", text="x" * 4000)
    Conversation.objects.filter(pk=chat.pk).update(summarised_through=old.pk)
    Message.objects.create(conversation=chat, kind="user", text="y" * 400)
    turn = Turn.objects.create(conversation=chat)
    answer = Message.objects.create(conversation=chat, kind="answer", turn=turn)
    Block.objects.create(turn=turn, message=answer, kind="text", text="z" * 398)
    Block.objects.create(turn=turn, message=answer, kind="thinking", text="z" * 4000)
    quiet = Conversation.objects.create(workspace=dreams.workspace, kind="temporary")
    Message.objects.create(conversation=quiet, kind="user", text="never kept")
    dreams.say("- [durable] one", "- [durable] two", "- [durable] three")
    dreams.place(1)
    with (dreams.root / "memory/history.jsonl").open("a") as file:
        file.write("no entry\n")
    (dreams.root / "USER.md").write_text("# User\n" + "- long\n" * 500)
    page = words(get(client, "/memory/overview/"))
    assert "2 messages" in page
    assert "About 200 tokens in 1 conversation" in page
    assert "2 waiting" in page
    assert "Of 3 notes" in page
    assert "1 line of the history file cannot be read" in page
    assert "3,507 of 3,000 characters" in page
    assert "507 over its limit" in page


def test_what_cannot_be_read_is_said(client: Client, dreams: Dreams) -> None:
    """An unreadable file has no size of 0, and a broken cursor is no empty history."""
    (dreams.root / "SOUL.md").unlink()
    (dreams.root / "SOUL.md").mkdir()
    (dreams.root / "memory/.dream_cursor").write_text("seven")
    page = words(get(client, "/memory/overview/"))
    assert "SOUL.md Cannot be read now" in page
    assert "holds 'seven' and not a number" in page
    assert "0 waiting" not in page


def test_a_run_shows_what_it_read_wrote_and_refused(client: Client, dreams: Dreams) -> None:
    """Verdicts, lines, refusals with their text, archive ids, tokens, version, difference."""
    (dreams.root / MEMORY).write_text("# Memory\n\n## Notes\n\n- Rides a bicycle\n")
    first, second = dreams.say("- [durable] Sold the bicycle", "- [ephemeral] It rained")
    dreams.model.script(
        add("x" * 4000, first),
        Call(
            "edit_file",
            {
                "path": MEMORY,
                "old_text": "- Rides a bicycle",
                "new_text": "- Sold the bicycle",
                "sources": [first],
            },
        ),
    )
    dreams.model.script(finish(saved=[first], not_kept=[second]))
    dreams.model.script("Done.")
    run = dreams.run()
    (kept,) = run.archived
    page = get(client, f"/memory/runs/{run.pk}/")
    text = words(page)
    assert f"Note {first} Saved Sold the bicycle" in text
    assert f"Note {second} Not kept" in text
    assert "went: - Rides a bicycle" in text
    assert "came: - Sold the bicycle" in text
    assert "over its budget of 3,000" in text
    assert f'href="/memory/archive/{kept}/"' in page
    assert "Partly saved : wrote 1 line, removed 1 line" in text
    assert f"read notes {first} and {second}" in text
    assert f"{run.tokens:,}" in text
    assert f'href="/snapshots/{run.snapshot}/"' in page
    assert client.get(f"/snapshots/{run.snapshot}/").status_code == 200
    assert f"/memory/runs/{run.pk}/" in run.full_message
    row = words(get(client, "/memory/runs/"))
    assert f"Update {run.pk}, by hand" in row
    assert f"{MEMORY} lines that came: +1 lines that went: −1" in row


def test_a_run_says_to_the_person_what_was_forgotten(client: Client, dreams: Dreams) -> None:
    """Its page has a sentence for people about a refused line, and not the one for models."""
    suppression.forget(dreams.root, "Keeps four hives of bees", Actor("browser"))
    (cursor,) = dreams.say("- [durable] Keeps a dog")
    dreams.model.script(add("Keeps four hives of bees", cursor))
    dreams.model.script(finish(not_kept=[cursor]))
    dreams.model.script("Done.")
    page = words(get(client, f"/memory/runs/{dreams.run().pk}/"))
    assert "You had this forgotten, so it was not written." in page
    assert "That is final" not in page


def test_runs_without_anything_to_do_are_one_row(
    client: Client, dreams: Dreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What did something is not lost among them, they stay together across pages, and old ones
    go."""
    dreams.set(reviewEveryRuns=100)
    for _ in range(3):
        dreams.run("scheduled")
    run = wrote(dreams, "Keeps bees.")
    for _ in range(30):
        last = dreams.run("scheduled")
    page = words(get(client, "/memory/runs/"))
    assert page.count("Nothing to do") == 2
    assert "Nothing to do, 30 times" in page
    assert "Nothing to do, 3 times" in page
    assert f"Update {run.pk}," in page
    assert f"Update {last.pk}," in page
    asked = dreams.run("manual")
    monkeypatch.setattr(dream_runs, "KEPT_EMPTY", 5)
    dreams.run("scheduled")
    rows = DreamRun.objects.filter(status=DreamRun.NOTHING)
    assert rows.filter(trigger="scheduled").count() == 5
    assert rows.filter(pk=asked.pk).exists()
    assert DreamRun.objects.filter(pk=run.pk).exists()


def test_a_run_is_undone_as_it_was_shown_and_put_back(client: Client, dreams: Dreams) -> None:
    """First what it would do; another state than the one shown is refused; both ways."""
    run = wrote(dreams, "Keeps four hives of bees")
    before = dreams.cursor
    page = get(client, f"/memory/runs/{run.pk}/undo/")
    assert "Keeps four hives of bees" in page
    token = re.findall(r'name="token" value="(\w+)"', page)[0]
    form = {"version": run.commits[0], "token": token}
    text = dreams.text()
    (dreams.root / MEMORY).write_text(text + "- Written since\n")
    answer = client.post(f"/memory/runs/{run.pk}/undo/", form)
    assert answer.status_code == 409
    assert "Nothing was undone" in answer.content.decode()
    assert "Written since" in dreams.text()
    (dreams.root / MEMORY).write_text(text)
    answer = client.post(f"/memory/runs/{run.pk}/undo/", form, follow=True)
    assert "Undone: memory/MEMORY.md is put back" in answer.content.decode()
    assert "Keeps four hives" not in dreams.text()
    assert dreams.cursor < before
    page = get(client, f"/memory/runs/{run.pk}/")
    assert "Undone" in page
    # A second press of the first tab's form does nothing more.
    again = client.post(f"/memory/runs/{run.pk}/undo/", form, follow=True)
    assert "Nothing had to be done" in again.content.decode()
    (href,) = re.findall(r'href="([^"]+undo/\?version=\w+)"', page)
    page = get(client, href)
    form = dict(re.findall(r'name="(version|token)" value="(\w+)"', page))
    client.post(f"/memory/runs/{run.pk}/undo/", form)
    assert "Keeps four hives" in dreams.text()
    assert "Undone" not in words(get(client, f"/memory/runs/{run.pk}/"))


def test_dream_is_told_what_was_taken_back(client: Client, dreams: Dreams) -> None:
    """The next run is shown the same entries and what a run made of them that the person undid,
    as just that; once it is put back, it is no longer told so."""
    run = wrote(dreams, "Keeps four hives of bees behind the barn")

    def press() -> None:
        page = get(client, f"/memory/runs/{run.pk}/")
        (href,) = re.findall(r'href="([^"]+undo/\?version=\w+)"', page)
        form = dict(re.findall(r'name="(version|token)" value="(\w+)"', get(client, href)))
        client.post(f"/memory/runs/{run.pk}/undo/", form | {"notes": "again"})

    def shown() -> str:
        dreams.model.script(finish(not_kept=[run.entries[0]["cursor"]]))
        dreams.model.script("Done.")
        dreams.place(0)
        dreams.run()
        return "\n".join(part["text"] for part in dreams.shown()[-1].json["system"])

    press()
    prompt = shown()
    assert "taken back by the person): Keeps four hives of bees behind the barn" in prompt
    assert "a run that the person undid" in prompt
    press()
    assert "taken back by the person" not in shown()


def test_dream_is_told_what_was_taken_back_of_the_soul(client: Client, dreams: Dreams) -> None:
    """No archive is kept of SOUL.md: what was undone there is told all the same, and no longer
    once it is put back."""
    line = "Answers with a proverb from time to time"
    run = wrote(dreams, line, "SOUL.md")

    def press() -> None:
        (href,) = re.findall(
            r'href="([^"]+undo/\?version=\w+)"', get(client, f"/memory/runs/{run.pk}/")
        )
        form = dict(re.findall(r'name="(version|token)" value="(\w+)"', get(client, href)))
        client.post(f"/memory/runs/{run.pk}/undo/", form | {"notes": "again"})

    def told() -> bool:
        dreams.model.script(finish(not_kept=[run.entries[0]["cursor"]]))
        dreams.model.script("Done.")
        dreams.place(0)
        dreams.run()
        prompt = "\n".join(part["text"] for part in dreams.shown()[-1].json["system"])
        return f"* SOUL.md: - {line}" in prompt

    press()
    assert line not in dreams.text("SOUL.md")
    assert told()
    press()
    assert line in dreams.text("SOUL.md")
    assert not told()


def test_undoing_asks_whether_the_lines_may_come_back(client: Client, dreams: Dreams) -> None:
    """By default what the update had added is kept out; who wants the notes tried again has nothing
    forgotten for it."""
    run = wrote(dreams, "Keeps four hives of bees")
    path = f"/memory/runs/{run.pk}/undo/"
    page = get(client, path)
    assert re.search(r'name="notes" value="never" checked', page)
    form = dict(re.findall(r'name="(version|token)" value="(\w+)"', page))
    answer = client.post(path, form | {"notes": "never"}, follow=True)
    assert "not saved again, unless you say it anew" in answer.content.decode()
    assert suppression.match(dreams.root, "Keeps four hives of bees")
    other = wrote(dreams, "Plays the viola on Sundays", "USER.md")
    path = f"/memory/runs/{other.pk}/undo/"
    form = dict(re.findall(r'name="(version|token)" value="(\w+)"', get(client, path)))
    answer = client.post(path, form | {"notes": "again"}, follow=True)
    assert "Its notes will be tried again" in answer.content.decode()
    assert suppression.match(dreams.root, "Plays the viola on Sundays") is None


def test_entries_of_an_older_run_are_offered_again_by_a_click(
    client: Client, dreams: Dreams
) -> None:
    """Undoing an older run leaves Dream's place; the page offers exactly its entries, once."""
    old = wrote(dreams, "Keeps four hives of bees")
    wrote(dreams, "Plays the viola on Sundays", "USER.md")
    page = get(client, f"/memory/runs/{old.pk}/undo/")
    form = dict(re.findall(r'name="(version|token)" value="(\w+)"', page))
    page = client.post(f"/memory/runs/{old.pk}/undo/", form, follow=True).content.decode()
    assert "Try its 1 note again" in page
    answer = client.post(f"/memory/runs/{old.pk}/offer", follow=True)
    assert "1 note will be tried again" in answer.content.decode()
    assert list(DreamEntry.objects.values_list("cursor", "place")) == [
        (old.entries[0]["cursor"], "reoffered")
    ]
    again = client.post(f"/memory/runs/{old.pk}/offer", follow=True)
    assert "will be tried again already" in again.content.decode()
    assert "Plays the viola" in dreams.text("USER.md")


def test_what_was_set_aside_is_offered_again(client: Client, dreams: Dreams) -> None:
    """One by one or all; a second tab is told that there is nothing left to do."""
    cursors = dreams.say(f"- [durable] {HOSTILE}", "- [durable] two", "- [durable] three")
    for cursor in cursors:
        DreamEntry.objects.create(
            workspace=dreams.workspace, cursor=cursor, place="set_aside", why=HOSTILE
        )
    page = get(client, "/memory/overview/")
    assert "3 could not be processed" in words(page)
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    client.post("/memory/offer-again", {"cursor": [str(cursors[0]), "x", "9" * 40]})
    assert DreamEntry.objects.get(cursor=cursors[0]).place == "reoffered"
    assert "2 could not be processed" in words(get(client, "/memory/overview/"))
    client.post("/memory/offer-again", {"all": "yes"})
    assert not DreamEntry.objects.filter(place="set_aside").exists()
    answer = client.post("/memory/offer-again", {"cursor": str(cursors[0])}, follow=True)
    assert "these will be tried again already" in answer.content.decode()


def test_many_presses_at_once_begin_one_run(client: Client, dreams: Dreams) -> None:
    """Eight tabs press Dream now in the same moment: all are led to the same run."""
    dreams.say("- [durable] something")
    found = together(client, [lambda one: one.post("/memory/dream")["Location"] for _ in range(8)])
    (run,) = DreamRun.objects.all()
    assert set(found) == {f"/memory/runs/{run.pk}/"}


def test_dream_now_leads_to_the_run_and_is_begun_once(client: Client, dreams: Dreams) -> None:
    """Two tabs: the second is told, and led to the same run. A run that waits shows its steps, is
    found again from the picture, and a page that has seen it is told nothing new."""
    dreams.say("- [durable] something")
    answer = client.post("/memory/dream")
    run = DreamRun.objects.get()
    assert answer["Location"] == f"/memory/runs/{run.pk}/"
    again = client.post("/memory/dream", follow=True)
    assert DreamRun.objects.count() == 1
    assert "Nothing was started" in again.content.decode()
    assert again.redirect_chain[-1][0] == f"/memory/runs/{run.pk}/"
    page = again.content.decode()
    assert "Starts soon" in page
    assert 'hx-trigger="every 1s"' in page
    assert f"/memory/runs/{run.pk}/" in get(client, "/memory/overview/")
    seen = re.findall(r'id="seen" name="seen" value="([^"]*)"', page)[0]
    path = f"/memory/runs/{run.pk}/"
    assert client.get(path, {"seen": seen}, headers=HTMX).status_code == 204
    DreamRun.objects.filter(pk=run.pk).update(state="running", cursor_from=0, input_tokens=1234)
    answer = client.get(path, {"seen": seen}, headers=HTMX)
    assert answer.status_code == 200
    assert "Reads what was said" in answer.content.decode()
    assert "1,234 tokens so far" in answer.content.decode()
    DreamRun.objects.filter(pk=run.pk).update(state="ended", status="nothing_new")
    answer = client.get(path, {"seen": seen}, headers=HTMX)
    assert answer.status_code == 286
    assert "The update has ended: Nothing new" in answer.content.decode()


def test_a_dry_run_is_asked_for_left_and_found_again(
    client: Client, stranger: Client, dreams: Dreams
) -> None:
    """It shows what would be read and changed, and changes nothing; a second press leads to the
    same one while it is under way; nobody else sees it."""
    (cursor,) = dreams.say("- [durable] Keeps four hives of bees")
    path = client.post("/memory/rehearse")["Location"]
    assert client.post("/memory/rehearse")["Location"] == path
    page = get(client, path)
    assert "Starts soon" in page
    assert path in get(client, "/memory/overview/")
    seen = re.findall(r'id="seen" name="seen" value="([^"]*)"', page)[0]
    assert client.get(path, {"seen": seen}, headers=HTMX).status_code == 204
    dreams.model.script(add("Keeps four hives of bees", cursor))
    dreams.model.script(finish(saved=[cursor]))
    dreams.model.script("Done.")
    before = dreams.text()
    job = Job.objects.get()
    jobs.run_job(job.pk, dream_runs.work_dry_run)
    answer = client.get(path, {"seen": seen}, headers=HTMX)
    assert answer.status_code == 286
    text = words(get(client, path))
    assert "It would end so: Done" in text
    assert "came: - Keeps four hives of bees" in text
    assert f"Note {cursor} Saved" in text
    assert dreams.text() == before
    assert dreams.cursor == 0
    assert path in get(client, f"/jobs/{job.pk}/")
    assert stranger.get(path).status_code == 404


def test_the_history_says_by_day_what_became_of_each_note(client: Client, dreams: Dreams) -> None:
    """What was saved, what was not kept and what waits, each with its own filter; what could not
    be processed is no secret."""
    first, second, third = dreams.say(
        "- [durable] Keeps four hives of bees", "- [ephemeral] It rained", "- [durable] POISON"
    )
    dreams.model.script(add("Keeps four hives of bees", first))
    dreams.model.script(finish(saved=[first], not_kept=[second, third]))
    dreams.model.script("Done.")
    run = dreams.run()
    DreamEntry.objects.create(workspace=dreams.workspace, cursor=third, place="set_aside")
    dreams.say("- [durable] Plays the viola")
    page = words(get(client, "/memory/history/"))
    assert "All 4 Waiting 1 Saved 1 Not kept 2" in page
    assert page.index("Plays the viola") < page.index("Keeps four hives")
    assert "Could not be processed" in page
    assert f"update {run.pk}" in page
    saved = words(get(client, "/memory/history/?show=saved"))
    assert "Keeps four hives" in saved
    assert "It rained" not in saved
    waiting = words(get(client, "/memory/history/?show=waiting"))
    assert "Plays the viola" in waiting
    assert "Waits for the next update" in waiting
    assert client.get("/memory/history/?show=x&page=99").status_code == 200


def test_a_held_run_says_why_and_what_to_do(client: Client, dreams: Dreams) -> None:
    """The picture names the file that is full, and leads to its budget."""
    (dreams.root / "USER.md").write_text("# User\n\n" + "- A line of forty chars.\n" * 115)
    dreams.say("- [durable] Keeps four hives of bees")
    dreams.model.script("There is nothing that I could add.")
    dreams.model.script("No.")
    assert dreams.run().status == "held"
    page = words(get(client, "/memory/overview/"))
    assert "Memory nearly full, 1 of 4" in page
    assert "USER.md is nearly full" in page
    assert "raise its limit" in page


def test_the_picture_is_drawn_anew_only_when_something_changed(
    client: Client, dreams: Dreams
) -> None:
    """A page that asks is told that there is nothing new, or gets what there is."""
    page = get(client, "/memory/overview/")
    seen = re.findall(r'id="seen" name="seen" value="([^"]*)"', page)[0]
    assert client.get("/memory/overview/", {"seen": seen}, headers=HTMX).status_code == 204
    dreams.say("- [durable] news")
    answer = client.get("/memory/overview/", {"seen": seen}, headers=HTMX)
    assert answer.status_code == 200
    assert "<html" not in answer.content.decode()
    assert "<strong>1</strong> waiting" in answer.content.decode()


def test_a_page_of_another_workspace_loads_anew(client: Client, dreams: Dreams) -> None:
    """Somebody switched in another tab: the numbers of one workspace never come into the page of
    another, and a run that is watched is no error."""
    run = wrote(dreams, "Keeps four hives of bees")
    page = get(client, "/memory/overview/")
    (shown,) = re.findall(r'data-workspace="([^"]+)"', page)
    other = Workspace.make(dreams.workspace.owner, "other")
    client.post(f"/settings/workspaces/{other.pk}/use")
    headers = {**HTMX, "X-Workspace": shown}
    for path in ("/memory/", f"/memory/runs/{run.pk}/", f"/memory/files/{MEMORY}?line=5"):
        answer = client.get(path, headers=headers)
        assert answer["HX-Refresh"] == "true", path
        assert not answer.content


def test_the_archive_is_searched_and_brought_back(client: Client, dreams: Dreams) -> None:
    """By words and by id; the text's page tells each time it left; forgotten texts are left out
    and named, and come back by the person's click."""
    (dreams.root / MEMORY).write_text("# Memory\n\n## Bees\n\n- Four hives behind the barn\n")
    run = wrote(dreams, "Likes rye bread in the morning")
    suppression.forget(dreams.root, "Four hives behind the barn", Actor("browser"))
    suppression.forget(dreams.root, "Likes rye bread in the morning", Actor("browser"))
    rye = archive.search(dreams.root, "rye")[0]
    page = words(get(client, "/memory/archive/"))
    assert "rye bread" not in page
    assert "2 texts on this page are left out" in page
    tombstone = suppression.list_tombstones(dreams.root)[-1]
    assert "rye bread" in words(get(client, "/memory/forgotten/"))
    answer = client.post(f"/memory/forgotten/{tombstone.id}/lift", follow=True)
    assert "Jenny may know this again" in answer.content.decode()
    assert "rye bread" in words(get(client, "/memory/archive/?q=RYE"))
    assert "rye bread" in words(get(client, f"/memory/archive/?q={rye.id[:6]}"))
    assert "Nothing that was removed has this" in words(get(client, "/memory/archive/?q=viola"))
    page = words(get(client, f"/memory/archive/{rye.id}/"))
    assert "taken out by you, in the pages" in page
    answer = client.post(f"/memory/archive/{rye.id}/back", follow=True)
    assert f"{rye.id} is back in {MEMORY}" in answer.content.decode()
    assert "Likes rye bread" in dreams.text()
    again = client.post(f"/memory/archive/{rye.id}/back", follow=True)
    assert "stands in memory/MEMORY.md already" in again.content.decode()
    assert dreams.text().count("Likes rye bread") == 1
    assert run.pk


def test_the_archive_says_what_stands_in_a_file_again(client: Client, dreams: Dreams) -> None:
    """Nothing is offered to be brought back that is there; it is led to, and offered once more
    when it has left again."""
    (dreams.root / MEMORY).write_text("# Memory\n\n## Bees\n\n- Four hives behind the barn\n")
    workspace = open_workspace(dreams.root, Actor("chat"))
    left = workspace.read(MEMORY).data
    workspace.write(MEMORY, b"# Memory\n")
    assert "Bring back" in words(get(client, "/memory/archive/"))
    workspace.write(MEMORY, left)
    (item,) = archive.listing(dreams.root)
    for path in ("/memory/archive/", "/memory/archive/?q=hives", f"/memory/archive/{item.id}/"):
        page = get(client, path)
        assert f'href="/memory/files/{MEMORY}?from=5#line-5"' in page, path
        assert "again" in words(page)
        assert "/back" not in page
    found = recall.recall(dreams.root, "hives")
    assert f"it stands in {MEMORY} again" in recall.format_plain(found)
    assert "Bring it back" not in recall.format_markdown(found, lambda _: "x")
    workspace.write(MEMORY, b"# Memory\n")
    assert "Bring back" in words(get(client, "/memory/archive/"))


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("Keeps four hives of bees", "By the way, I keep four hives of bees behind the barn."),
        ("Hält vier Bienenstöcke", "Übrigens halte ich vier Bienenstöcke hinter der Scheune."),
        ("四つの巣箱で蜂を飼っている", "ところで、納屋の裏の四つの巣箱で蜂を飼っています。"),
    ],
)
def test_a_line_leads_to_the_message_that_says_it(
    client: Client, dreams: Dreams, fact: str, said: str
) -> None:
    """It is the forty-first of sixty messages, and stands at the end of a long one."""
    chat = Conversation.objects.create(workspace=dreams.workspace, title="Summer")
    texts = [f"Message {number}: the weather was fine at the lake." for number in range(60)]
    texts[40] = f"{'We walked along the lake and talked of the weather. ' * 40}{said}"
    rows = [
        Message.objects.create(conversation=chat, kind=Message.Kind.USER, text=text)
        for text in texts
    ]
    new = NewHistoryEntry(
        f"- [durable] {fact}", conversation=str(chat.pk), messages=(rows[0].pk, rows[-1].pk)
    )
    (entry,) = log.append(dreams.root, [new]).entries
    dreams.model.script(add(f"- {fact}.", entry.cursor))
    dreams.model.script(finish(saved=[entry.cursor]))
    dreams.run()
    number = dreams.text().splitlines().index(f"- {fact}.") + 1
    page = get(client, f"/memory/files/{MEMORY}?line={number}")
    assert re.findall(r"/at/(\d+)", page) == [str(rows[40].pk)]
    assert f"… {said}" in words(page)


def test_lines_tell_where_they_come_from_and_are_pinned(client: Client, dreams: Dreams) -> None:
    """Run and entry of each line; a pin holds for the line that was meant, also when it moved;
    one that is gone is said, and nothing else is pinned."""
    run = wrote(dreams, "Keeps four hives of bees")
    path = f"/memory/files/{MEMORY}"
    page = get(client, path)
    assert f'href="/memory/runs/{run.pk}/"' in page
    (number,) = re.findall(r'id="line-(\d+)" tabindex="-1" data-row>', page)
    (ref,) = re.findall(r'name="pin" value="([^"]+:[0-9a-f]{16}:[^"]+)"', page)
    why = words(get(client, f"{path}?line={number}"))
    assert "It rests on note 1" in why
    assert "Keeps four hives" in why
    assert "[durable]" not in why
    part = client.get(path, {"line": number}, headers=HTMX).content.decode()
    assert "Note 1" in part
    assert "<html" not in part
    (dreams.root / MEMORY).write_text("- Another line\n" + dreams.text())
    client.post("/memory/lines/", {"pin": ref, "back": MEMORY})
    (pin,) = pins.pins(dreams.root, MEMORY)
    assert pin.text == "Keeps four hives of bees"
    assert "Pinned" in get(client, path)
    client.post("/memory/lines/", {"unpin": ref, "back": MEMORY})
    assert not pins.pins(dreams.root, MEMORY)
    (dreams.root / MEMORY).write_text("- Another line\n")
    answer = client.post("/memory/lines/", {"pin": ref, "back": MEMORY}, follow=True)
    assert "changed meanwhile, or is gone" in answer.content.decode()
    assert not pins.pins(dreams.root, MEMORY)


@pytest.mark.parametrize("path", ["config.json", "notes.md", "../USER.md", "memory/history.jsonl"])
def test_only_memory_files_and_skills_have_lines(client: Client, dreams: Dreams, path: str) -> None:
    """Everything else is the file browser's."""
    (dreams.root / "notes.md").write_text("- a note\n")
    assert client.get(f"/memory/files/{path}").status_code == 404
    assert client.post(f"/memory/pin/{path}", {"pin": "on"}).status_code == 404


def test_hostile_text_is_only_text(client: Client, dreams: Dreams) -> None:
    """In entries, files, the archive, tombstones, reasons and outcomes: nothing of it is markup."""
    (dreams.root / MEMORY).write_text(f"# Memory\n\n## Notes\n\n- {HOSTILE}\n")
    (dreams.root / "USER.md").write_text(f"# {HOSTILE}\n\n## Notes\n\n- {HOSTILE}\n")
    (cursor,) = dreams.say(f"- [durable] {HOSTILE}\n- [ephemeral] Keeps bees")
    dreams.model.script(
        add(HOSTILE, cursor, path="USER.md"),
        add("Keeps bees", cursor, path="USER.md"),
    )
    row = {"cursor": cursor, "verdict": "saved", "reason": HOSTILE}
    dreams.model.script(Call("finish", {"entries": [row]}))
    dreams.model.script(HOSTILE)
    run = dreams.run()
    assert run.commits
    DreamRun.objects.filter(pk=run.pk).update(message=HOSTILE, notes=[HOSTILE], model=HOSTILE)
    suppression.forget(dreams.root, HOSTILE, Actor("browser", reason=HOSTILE))
    item = archive.listing(dreams.root)[0]
    paths = [
        "/memory/",
        "/memory/runs/",
        f"/memory/runs/{run.pk}/",
        "/memory/archive/?q=" + HOSTILE,
    ]
    paths += [f"/memory/runs/{run.pk}/undo/", f"/memory/archive/{item.id}/", "/memory/forgotten/"]
    paths += ["/memory/files/USER.md", f"/memory/files/{MEMORY}"]
    for path in paths:
        page = get(client, path)
        assert "<img" not in page, path
        assert "<script>alert" not in page, path
        assert 'href="javascript:' not in page, path


def test_another_account_sees_nothing_of_it(
    client: Client, stranger: Client, dreams: Dreams
) -> None:
    """Runs, archived texts and tombstones of somebody else are not there, for any method."""
    run = wrote(dreams, "Keeps four hives of bees")
    suppression.forget(dreams.root, "Keeps four hives of bees", Actor("browser"))
    (item,) = archive.listing(dreams.root)
    (tombstone,) = suppression.list_tombstones(dreams.root)
    text = dreams.text()
    for path in (
        f"/memory/runs/{run.pk}/",
        f"/memory/runs/{run.pk}/undo/",
        f"/memory/archive/{item.id}/",
    ):
        assert stranger.get(path).status_code == 404
        assert client.get(path).status_code == 200
    for path in (
        f"/memory/runs/{run.pk}/undo/",
        f"/memory/runs/{run.pk}/offer",
        f"/memory/archive/{item.id}/back",
        f"/memory/forgotten/{tombstone.id}/lift",
    ):
        assert stranger.post(path, {"version": run.commits[0]}).status_code == 404
    for path in ("/memory/", "/memory/runs/", "/memory/archive/", "/memory/forgotten/"):
        assert "hives" not in get(stranger, path)
    assert dreams.text() == text
    assert suppression.list_tombstones(dreams.root) == (tombstone,)


def test_many_runs_and_entries_ask_the_database_no_oftener(client: Client, dreams: Dreams) -> None:
    """With a thousand runs and ten thousand entries each page asks as often as with a few; runs
    are turned page by page to the very first."""
    run = wrote(dreams, "Keeps four hives of bees")
    for cursor in dreams.say("- [durable] a", "- [durable] b"):
        DreamEntry.objects.create(workspace=dreams.workspace, cursor=cursor, place="set_aside")
    paths = ("/memory/", "/memory/runs/", f"/memory/runs/{run.pk}/", f"/memory/files/{MEMORY}")
    few = [_queries(client, path) for path in paths]
    DreamRun.objects.bulk_create(
        DreamRun(
            workspace=dreams.workspace,
            trigger="scheduled",
            state="ended",
            status="nothing_new",
            entries=run.entries,
            writes=run.writes,
            report=run.report,
        )
        for _ in range(1000)
    )
    rows = [
        {"cursor": 10 + at, "timestamp": "2026-11-30 10:00", "content": f"- [durable] fact {at}"}
        for at in range(10_000)
    ]
    with (dreams.root / "memory/history.jsonl").open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    (dreams.root / MEMORY).write_text(
        dreams.text() + "".join(f"- Line {at} of the file\n" for at in range(60))
    )
    assert "10,002 waiting" in words(get(client, "/memory/overview/"))
    assert [_queries(client, path) for path in paths] == few
    seen: list[int] = []
    path = "/memory/runs/"
    while path:
        page = get(client, path)
        seen += map(int, re.findall(r"Update (\d+),", page))
        older = re.findall(r'href="\?before=(\d+)"', page)
        path = f"/memory/runs/?before={older[0]}" if older else ""
    assert len(seen) == len(set(seen)) == 1001


def _queries(client: Client, path: str) -> int:
    get(client, path)
    with CaptureQueriesContext(connection) as asked:
        get(client, path)
    return len(asked)


def test_a_run_that_is_not_there_and_odd_numbers(client: Client, dreams: Dreams) -> None:
    """No number breaks a page; a version of something else is not undone by a run's address."""
    run = wrote(dreams, "Keeps four hives of bees")
    assert client.get("/memory/runs/99999999999999999999999/").status_code == 404
    assert client.get("/memory/runs/?before=" + "9" * 50).status_code == 200
    assert client.get("/memory/archive/?page=-1").status_code == 200
    assert client.get("/memory/files/USER.md?line=" + "9" * 17).status_code == 200
    for odd in ("HEAD", "../../x", "0" * 40, run.commits[0][:8], "--all"):
        answer = client.get(f"/memory/runs/{run.pk}/undo/", {"version": odd})
        assert answer.status_code == 404, odd
    assert dream_run_store.requeue_entries(dreams.workspace, {1}) == 0
