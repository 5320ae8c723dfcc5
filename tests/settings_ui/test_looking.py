"""Pages that are only looked at need nothing written."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test import Client

from jenny.accounts.models import Account
from memory.models import DreamSchedule
from tests.support.dreams import MEMORY, Dreams, add, finish

PAGES = (
    "/chat/",
    "/memory/",
    "/memory/runs/",
    "/memory/approvals/",
    "/memory/archive/",
    "/memory/forgotten/",
    f"/memory/files/{MEMORY}",
    f"/memory/files/{MEMORY}?why=3",
    "/workspace/",
    f"/workspace/{MEMORY}",
    "/wikis/",
    "/snapshots/",
    "/snapshots/versions/",
    "/settings/account/",
    "/settings/backup/",
    "/settings/conversation/",
    "/settings/memory/",
    "/settings/models/",
    "/settings/privacy/",
    "/settings/projects/",
    "/settings/skills/",
    "/settings/system/",
    "/settings/appearance/",
    "/settings/usage/",
    "/settings/workspaces/",
)


@contextmanager
def full_disk() -> Iterator[None]:
    """The database takes nothing more."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = ON")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = OFF")


@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
def test_every_page_can_be_looked_at_on_a_full_disk(dreams: Dreams, *, is_known: bool) -> None:
    """A database that takes nothing more keeps nobody from reading what is there."""
    (cursor,) = dreams.say("- [durable] The hive stands by the lime tree.")
    dreams.model.script(add("The hive stands by the lime tree.", cursor))
    dreams.model.script(finish(saved=[cursor]))
    dreams.model.script("Done.")
    dreams.run()
    client = Client(headers={"Sec-Fetch-Site": "same-origin"})
    client.force_login(Account.objects.get())
    if is_known:
        assert client.get("/memory/").status_code == 200
        assert DreamSchedule.objects.exists()
    with full_disk():
        answers = {path: client.get(path).status_code for path in PAGES}
    assert answers == dict.fromkeys(PAGES, 200)
