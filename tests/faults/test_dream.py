"""Workers are killed and paused under Dream, Valkey goes and forgets: one run at a time, nothing
lost, nothing doubled, nothing torn."""

import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest
import redis

from jenny.workspace.write_rules import Actor
from memory import archive
from memory.dream import outcome
from memory.history import cursors, log, reader
from memory.history.entries import NewHistoryEntry
from tests.model_server import Call, Gate, ModelServer, Say, Silence
from tests.support.client import Client, text_of
from tests.support.dreams import MEMORY, add, batch_of, finish, is_review
from tests.support.place import Place
from tests.support.stack import OWNER, PASSWORD, environment_for, start
from tests.support.waiting import wait_until

OVER = (
    "Memory updated in",
    "Memory is up to date",
    "Dream was interrupted",
    "Dream failed",
    "Nothing to do",
)


@pytest.fixture(scope="module")
def place(scratch: Path, model_server: ModelServer) -> Iterator[Place]:
    """An instance that asks the scripted model."""
    stack = start(scratch / "dreams", has_owner=True, **environment_for(model_server.url))
    try:
        owner = Client(stack.url).login(OWNER, PASSWORD)
        owner.begin("/status")
        yield Place(stack, model_server, owner)
    finally:
        stack.end()


def say(place: Place, text: str) -> int:
    """Add an entry to the history; its number."""
    return log.append(place.root, [NewHistoryEntry(text)]).entries[0].cursor


def shows(text: str):
    """A rule for scripts: a batch with *text* is shown."""
    return lambda request: text in batch_of(request)


def rows(place: Place, columns: str = "id, state, status") -> list[tuple]:
    """The runs so far."""
    with closing(place.database()) as database:
        return database.execute(
            f"select {columns} from memory_dreamrun order by id"  # noqa: S608 - ours
        ).fetchall()


def let_time_pass(place: Place) -> None:
    """The heart of the run under way has not beaten for minutes."""
    with closing(place.database()) as database:
        database.execute(
            "update memory_dreamrun set heartbeat_at = '2020-01-01 00:00:00' "
            "where state = 'running'"
        )


def asked(place: Place) -> list:
    """The requests with a batch so far."""
    return [row for row in list(place.model.requests) if batch_of(row)]


def reviewed(place: Place) -> list:
    """The requests of reviews so far."""
    return [row for row in list(place.model.requests) if is_review(row)]


def replies(place: Place, chat: str, words: str) -> int:
    """How often a reply with these words stands in the thread."""
    return text_of(place.owner.thread(chat)).count(words)


def ended(place: Place, chat: str) -> str:
    """The thread, as soon as an outcome stands in it."""

    def over() -> str:
        text = text_of(place.owner.thread(chat))
        return text if any(words in text for words in OVER) else ""

    return wait_until(over, 60, "an outcome")


def test_twenty_at_once_are_one_run(place):
    """Whoever asks while a run is under way is told so at once; each has one outcome."""
    one = say(place, "- [durable] Twenty people ask at once.")
    place.model.script(
        Gate("twenty"), add("- Twenty people ask at once.", one), when=shows("Twenty people")
    )
    place.model.script(finish(saved=[one]), when=shows("Twenty people"))
    place.model.script("Done.", when=shows("Twenty people"))
    before = len(rows(place))
    chat = place.owner.begin("/status")
    threads = [threading.Thread(target=place.owner.send, args=(chat, "/dream")) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_until(
        lambda: replies(place, chat, "Nothing was started.") == 19, what="19 to be turned away"
    )
    assert replies(place, chat, "Dreaming…") == 20
    place.model.open("twenty")
    ended(place, chat)
    assert len(rows(place)) == before + 1
    assert rows(place)[-1][2] == "completed"
    assert replies(place, chat, "Memory updated in") == 1
    text = (place.root / MEMORY).read_text()
    assert text.count("Twenty people ask at once.") == 1
    assert cursors.dream_cursor(place.root) == one


def test_a_killed_worker_is_taken_over(place):
    """What it wrote is a version of an interrupted run, its entries come back, none is lost or
    doubled, and whoever asked is told."""
    entries = [say(place, f"- [durable] Killed fact {number}.") for number in (1, 2)]
    place.model.script(add("- Killed fact 1.", entries[0]), when=shows("Killed fact"))
    place.model.script(Say("I am"), Silence(), when=shows("Killed fact"))
    before, requests = (place.root / log.PATH).read_bytes(), len(asked(place))
    chat = place.owner.begin("/dream")
    wait_until(lambda: len(asked(place)) == requests + 2, what="the request after the write")
    assert "Killed fact 1." in (place.root / MEMORY).read_text()
    run = rows(place)[-1][0]
    place.stack.kill("memory")
    let_time_pass(place)
    assert "Dream was interrupted" in ended(place, chat)
    assert rows(place)[-1] == (run, "ended", "interrupted")
    subjects = subprocess.run(
        ["git", "-C", place.root / "memory", "log", "--format=%s", "-3"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "dream: interrupted run" in subjects
    assert (place.root / log.PATH).read_bytes() == before
    pending = reader.read_pending(place.root).entries
    assert [row.cursor for row in pending] == entries
    place.model.script(add("- Killed fact 2.", entries[1]), when=shows("Killed fact"))
    place.model.script(
        finish(already_known=[entries[0]], saved=[entries[1]]), when=shows("Killed fact")
    )
    place.model.script("Done.", when=shows("Killed fact"))
    again = place.owner.begin("/dream")
    assert "Memory updated in" in ended(place, again)
    text = (place.root / MEMORY).read_text()
    assert [text.count(f"Killed fact {number}.") for number in (1, 2)] == [1, 1]
    assert cursors.dream_cursor(place.root) == entries[-1]


def test_a_paused_holder_that_wakes_writes_nothing(place):
    """It was taken over meanwhile by another process; its late write and its place come to
    nothing, and the run that followed stands."""
    one = say(place, "- [durable] A paused fact.")
    place.model.script(
        Gate("paused"), add("- Written by the paused one.", one), when=shows("A paused fact")
    )
    before = len(asked(place))
    chat = place.owner.begin("/dream")
    wait_until(lambda: len(asked(place)) > before, what="the request")
    (holder,) = [
        psutil.Process(pid) for name, pid in place.stack.pids().items() if name == "memory"
    ]
    every = [holder, *holder.children(recursive=True)]
    for process in every:
        process.send_signal(signal.SIGSTOP)
    try:
        let_time_pass(place)
        place.model.script(add("- A paused fact.", one), when=shows("A paused fact"))
        place.model.script(finish(saved=[one]), when=shows("A paused fact"))
        place.model.script("Done.", when=shows("A paused fact"))
        told = place.stack.manage("dream")
        assert "Memory updated in" in told
        assert "Dream was interrupted" in ended(place, chat)
    finally:
        for process in every:
            process.send_signal(signal.SIGCONT)
    place.model.open("paused")
    one_more = say(place, "- [ephemeral] Another thing.")
    place.model.script(finish(not_kept=[one_more]), when=shows("Another thing"))
    place.model.script("Done.", when=shows("Another thing"))
    place.stack.manage("dream")
    text = (place.root / MEMORY).read_text()
    assert "- A paused fact." in text
    assert "Written by the paused one." not in text
    assert cursors.dream_cursor(place.root) == one_more
    assert [row[2] for row in rows(place)[-3:]] == ["interrupted", "completed", "nothing_new"]


def test_valkey_that_forgets_and_goes_hands_nothing_over(place):
    """In the middle of a run Valkey forgets everything and is killed: nobody else begins one, the
    run ends well, and what the queue brings a second time does nothing."""
    one = say(place, "- [durable] A fact without Valkey.")
    place.model.script(
        Gate("valkey"), add("- A fact without Valkey.", one), when=shows("without Valkey")
    )
    place.model.script(finish(saved=[one]), when=shows("without Valkey"))
    place.model.script("Done.", when=shows("without Valkey"))
    before, runs = len(asked(place)), len(rows(place))
    chat = place.owner.begin("/dream")
    wait_until(lambda: len(asked(place)) > before, what="the request")
    with closing(redis.Redis(unix_socket_path=str(place.stack.data.redis_socket))) as client:
        client.flushall()
    place.owner.send(chat, "/dream")
    assert replies(place, chat, "Nothing was started.") == 1
    old = place.stack.kill("valkey")
    wait_until(
        lambda: place.stack.pids().get("valkey") not in {None, old}, what="Valkey to run again"
    )
    place.model.open("valkey")
    assert "Memory updated in" in ended(place, chat)
    run = rows(place)[-1][0]
    place.stack.manage("shell", "-v0", "-c", f"from memory.tasks import dream; dream({run})")
    assert len(rows(place)) == runs + 1
    assert (place.root / MEMORY).read_text().count("A fact without Valkey.") == 1


_TEN_THOUSAND = """
from datetime import timedelta
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from jenny.accounts.models import Account, Workspace
from memory.models import DreamSchedule
from memory.services import dream_scheduler
owner = Account.objects.get()
rows = [Workspace(owner=owner, slug=f"many-{n}", name="many") for n in range(10_000)]
Workspace.objects.bulk_create(rows)
later = timezone.now() + timedelta(hours=1)
DreamSchedule.objects.bulk_create(DreamSchedule(workspace=r, next_dream_at=later) for r in rows)
with connection.cursor() as cursor:
    cursor.execute("ANALYZE")
with CaptureQueriesContext(connection) as seen:
    assert dream_scheduler.start_due_runs(print, timezone.now()) == 0
(query,) = seen.captured_queries
with connection.cursor() as cursor:
    cursor.execute("EXPLAIN " + query["sql"])
    print(*(row[0] for row in cursor.fetchall()), sep="\\n")
"""


def test_two_hosts_on_postgresql(start_stack, new_database, model_server):
    """Two processes of their own on one database and one Valkey: one of them dreams, and the other
    is told so. With ten thousand workspaces a look of the dispatcher is one query by an index."""
    stack = start_stack(
        DATABASE_URL=new_database(), has_owner=True, **environment_for(model_server.url)
    )
    Client(stack.url).login(OWNER, PASSWORD).begin("/status")
    root = next(iter(stack.data.workspaces.iterdir()))
    one = log.append(root, [NewHistoryEntry("- [durable] Two hosts.")]).entries[0].cursor
    model_server.script(Gate("hosts"), add("- Two hosts.", one), when=shows("Two hosts"))
    model_server.script(finish(saved=[one]), when=shows("Two hosts"))
    model_server.script("Done.", when=shows("Two hosts"))
    told: list[str] = []
    first = threading.Thread(target=lambda: told.append(stack.manage("dream")))
    first.start()
    wait_until(lambda: [r for r in model_server.requests if shows("Two hosts")(r)], 60, "a run")
    assert "already running" in stack.manage("dream", check=False)
    model_server.open("hosts")
    first.join()
    assert "Memory updated in" in told[0]
    assert (root / MEMORY).read_text().count("Two hosts.") == 1
    assert cursors.dream_cursor(root) == one
    plan = stack.manage("shell", "-v0", "-c", _TEN_THOUSAND)
    assert re.search(r"Index.* memory_dreamschedule_next_dream_at", plan), plan
    assert "Seq Scan on memory_dreamschedule" not in plan, plan


def test_a_person_edits_a_file_that_dream_is_about_to_write(place):
    """In the file browser: who saves what Dream has changed meanwhile sees both texts and decides;
    what a person saved before Dream's write stands beside it."""
    one = say(place, "- [durable] Two write at once.")
    place.model.script(
        Gate("editor"), add("- Two write at once.", one), when=shows("Two write at once")
    )
    place.model.script(finish(saved=[one]), when=shows("Two write at once"))
    place.model.script("Done.", when=shows("Two write at once"))
    before = len(asked(place))
    chat = place.owner.begin("/dream")
    wait_until(lambda: len(asked(place)) > before, what="Dream to ask the model")
    address = f"/files/edit/{MEMORY}/"

    def opened() -> tuple[str, str]:
        page = place.owner.get(address).text
        version = re.search(r'name="version" value="([0-9a-f]*)"', page)
        assert version is not None
        return page, version[1]

    def save(text: str, version: str):
        return place.owner.http.post(
            address,
            data={"text": text, "version": version},
            headers={"X-CSRFToken": place.owner.token()},
        )

    _, first = opened()
    ours = (place.root / MEMORY).read_text() + "\n- Typed before Dream wrote.\n"
    assert save(ours, first).status_code == 302
    _, second = opened()
    place.model.open("editor")
    assert "Memory updated in" in ended(place, chat)
    text = (place.root / MEMORY).read_text()
    assert "- Two write at once." in text
    assert "- Typed before Dream wrote." in text
    refused = save(f"{ours}- Typed while Dream wrote.\n", second)
    assert refused.status_code == 409
    assert "Two write at once." in refused.text
    assert "Typed while Dream wrote." in refused.text
    assert (place.root / MEMORY).read_text() == text


def test_a_worker_killed_in_a_review(place):
    """What the pass had taken out is in the archive and in a version of an interrupted run; it
    comes back in two runs; the entries that waited are read by the next run."""
    actor = Actor("pipeline", run="test")
    outcome.store_counters(place.root, outcome.Counters(runs_since_review=12), actor)
    text = (place.root / MEMORY).read_text()
    (place.root / MEMORY).write_text(text + "\n- A thing that is over, killed in a review.\n")
    one = say(place, "- [ephemeral] Rain in a review.")
    gone = {"path": MEMORY, "entry": "A thing that is over, killed in a review.", "to": "archive"}
    place.model.script(Call("move_entry", gone), when=is_review)
    place.model.script(Say("I am"), Silence(), when=is_review)
    reviews = len(reviewed(place))
    chat = place.owner.begin("/dream")
    wait_until(lambda: len(reviewed(place)) == reviews + 2, what="the request after the write")
    assert "killed in a review" not in (place.root / MEMORY).read_text()
    place.stack.kill("memory")
    let_time_pass(place)
    assert "Dream was interrupted" in ended(place, chat)
    assert outcome.load_counters(place.root).runs_since_review == 11
    (kept,) = [row for row in archive.listing(place.root) if "killed in a review" in row.text]
    assert kept.events[-1].actor == "review"
    subjects = subprocess.run(
        ["git", "-C", place.root / "memory", "log", "--format=%s", "-3"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "dream: interrupted run" in subjects
    place.model.script(finish(not_kept=[one]), when=shows("Rain in a review"))
    place.model.script("Done.", when=shows("Rain in a review"))
    place.stack.manage("dream")
    assert cursors.dream_cursor(place.root) == one
    assert outcome.load_counters(place.root).runs_since_review == 12
