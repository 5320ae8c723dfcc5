"""Verdicts of several processes at once, and of one that is killed, on PostgreSQL, Valkey and a
real worker: each is given once, and nothing is lost or doubled."""

import signal
import subprocess
import sys
import threading
from contextlib import closing

import psycopg
import pytest

from jenny.workspace import config
from memory.history import cursors, log
from memory.history.entries import NewHistoryEntry
from tests.support.client import Client, text_of
from tests.support.dreams import MEMORY, add, batch_of, finish
from tests.support.stack import OWNER, PASSWORD, ROOT, clean_environment, environment_for
from tests.support.waiting import wait_until

LINES = ["The hives stand in the orchard.", "Anna keeps the keys.", "Honey is sold in June."]
# Accepts a hunk, and dies when the file was written and its row was not.
KILLED = """
import os, signal, django
django.setup()
from jenny.accounts.models import Workspace
from memory.services import approval_decisions, approvals
approval_decisions.rebase_hunks = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
print(approvals.accept_hunk(Workspace.objects.get(), {number}, account=None))
"""


@pytest.fixture
def stack(start_stack, new_database, model_server):
    """An instance on PostgreSQL whose worker has dreamt, and everything waits."""
    url = new_database()
    stack = start_stack(DATABASE_URL=url, has_owner=True, **environment_for(model_server.url))
    owner = Client(stack.url).login(OWNER, PASSWORD)
    chat = owner.begin("/status")
    root = next(iter(stack.data.workspaces.iterdir()))
    config.change_config(
        root,
        lambda document: document.update({"agents": {"defaults": {"dream": {"approve": "all"}}}}),
    )
    said = "\n".join(["- [durable] Three things.", *(f"- [durable] {line}" for line in LINES)])
    one = log.append(root, [NewHistoryEntry(said)]).entries[0].cursor

    def shows(request):
        return "Three things" in batch_of(request)

    model_server.script(add("\n".join(f"- {line}" for line in LINES), one), when=shows)
    model_server.script(finish(saved=[one]), when=shows)
    model_server.script("Done.", when=shows)
    owner.send(chat, "/dream")
    wait_until(lambda: "waiting for approval" in text_of(owner.page(chat)), 60, "the outcome")
    return stack, root, url, one


def rows(url):
    """The hunks, by number."""
    with closing(psycopg.connect(url)) as database:
        return database.execute("select id, state from memory_stagedhunk order by id").fetchall()


def test_verdicts_of_processes_that_race_and_die(stack):
    """Three processes accept one hunk at once: it is written once, and all are told so. One is
    killed between the file and its row: the next finds it written, and nothing is doubled. Accept
    and reject at once: one of them wins, and the file says what it said."""
    stack, root, url, one = stack
    assert cursors.dream_cursor(root) == one
    assert not (root / MEMORY).exists() or "orchard" not in (root / MEMORY).read_text()
    (first, _), (second, _), (third, _) = rows(url)

    told: list[str] = []
    each = [
        threading.Thread(
            target=lambda: told.append(stack.manage("approvals", "accept", str(first)))
        )
        for _ in range(3)
    ]
    for thread in each:
        thread.start()
    for thread in each:
        thread.join()
    assert (root / MEMORY).read_text().count("orchard") == 1
    assert sum("Accepted" in text for text in told) == 1
    assert sum("already" in text for text in told) == 2

    killed = subprocess.run(
        [sys.executable, "-c", KILLED.format(number=second)],
        env=clean_environment(
            **stack.environment
            | {"JENNY_DATA_DIR": str(stack.data.root), "DJANGO_SETTINGS_MODULE": "jenny.settings"}
        ),
        cwd=ROOT,
        check=False,
        capture_output=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    assert (root / MEMORY).read_text().count("Anna keeps the keys.") == 1
    assert dict(rows(url))[second] == "waiting"
    assert "already" in stack.manage("approvals", "accept", str(second))
    assert (root / MEMORY).read_text().count("Anna keeps the keys.") == 1
    assert dict(rows(url))[second] == "settled"

    outcomes: dict[str, str] = {}
    both = [
        threading.Thread(
            target=lambda verb=verb: outcomes.update(
                {verb: stack.manage("approvals", verb, str(third), check=False)}
            )
        )
        for verb in ("accept", "reject")
    ]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    state = dict(rows(url))[third]
    assert state in ("accepted", "rejected")
    assert ("June" in (root / MEMORY).read_text()) == (state == "accepted")
    assert f"{state} already" in outcomes["reject" if state == "accepted" else "accept"]
    assert "Nothing waits for approval." in stack.manage("approvals", "list")
    assert "Memory update, accepted by you" in stack.manage("versions", "list")
