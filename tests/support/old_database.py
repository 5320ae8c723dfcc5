"""A database as the first tables were, with somebody's conversation in it.

``python -m tests.support.old_database`` writes ``tests/old_database.sql`` anew: the SQLite
database, as statements. It is kept, so that an upgrade from it is tested also once the first
migrations are squashed. For PostgreSQL the same rows are put into tables made by the first ones.
"""

import contextlib
import json
import sqlite3
import sys
import tempfile
from pathlib import Path

from tests.support.stack import ROOT, manage

KEPT = ROOT / "tests" / "old_database.sql"
OWNER = "ada"
PASSWORD = "an old and long password"
CHAT = "11111111-2222-4333-8444-555555555555"
SAID = "What did we plant by the wall?"
SLUG = "ada"
_WORKSPACE = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
_WHEN = "2026-01-02 03:04:05+00:00"
# In the order in which they refer to each other; no column that a later migration brought.
ROWS: list[tuple[str, dict[str, object]]] = [
    (
        "accounts_account",
        {
            "id": 1,
            "password": "",
            "is_superuser": True,
            "username": OWNER,
            "first_name": "",
            "last_name": "",
            "email": "",
            "is_staff": False,
            "is_active": True,
            "date_joined": _WHEN,
            "time_zone": "Europe/Vienna",
        },
    ),
    (
        "accounts_workspace",
        {
            "id": _WORKSPACE,
            "slug": SLUG,
            "name": "Ada",
            "created_at": _WHEN,
            "folder_made_at": _WHEN,
            "owner_id": 1,
        },
    ),
    (
        "chat_conversation",
        {
            "id": CHAT,
            "kind": "personal",
            "title": "The wall",
            "titled_by_hand": True,
            "preset": "",
            "context_from": 0,
            "event_number": 9,
            "workspace_id": _WORKSPACE,
        },
    ),
    (
        "chat_turn",
        {
            "id": 1,
            "state": "done",
            "reason": "",
            "sentence": "",
            "can_retry": False,
            "retried": False,
            "cancel_requested": False,
            "worker": "host:1:aa",
            "model": "demo",
            "preset": "demo",
            "is_demo": True,
            "steps": 1,
            "input_tokens": 10,
            "output_tokens": 5,
            "cache_read_tokens": 0,
            "cache_write_tokens": 0,
            "context_tokens": 15,
            "event_number": 4,
            "conversation_id": CHAT,
        },
    ),
    *(
        (
            "chat_message",
            {
                "id": number,
                "kind": kind,
                "text": text,
                "context": "",
                "step": 0,
                "event_number": number,
                "client_key": "",
                "conversation_id": CHAT,
                "turn_id": 1,
            },
        )
        for number, kind, text in ((1, "user", SAID), (2, "answer", ""))
    ),
    (
        "chat_block",
        {
            "id": 1,
            "step": 1,
            "kind": "text",
            "text": "Two pear trees.",
            "html": "<p>Two pear trees.</p>",
            "data": "{}",
            "is_open": False,
            "event_number": 3,
            "event_count": 1,
            "message_id": 2,
            "turn_id": 1,
        },
    ),
]
_MAKE = """
import json, sys
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.db import connection
for app in ("accounts", "chat"):
    call_command("migrate", app, "0001", verbosity=0)
for app in ("sessions", "axes", "django_celery_beat"):
    call_command("migrate", app, verbosity=0)
rows, password = json.loads(sys.stdin.read())
rows[0][1]["password"] = make_password(password)
is_sqlite = connection.vendor == "sqlite"
with connection.cursor() as cursor:
    for table, row in rows:
        values = list(row.values())
        if is_sqlite:
            values = [one.replace("-", "") if isinstance(one, str) and len(one) == 36
                      and one.count("-") == 4 else one for one in values]
        columns = ", ".join(row)
        marks = ", ".join(["%s"] * len(values))
        cursor.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", values)
    cursor.execute("UPDATE accounts_account SET current_workspace_id = "
                   "(SELECT id FROM accounts_workspace)")
    if not is_sqlite:
        for table in ("accounts_account", "chat_turn", "chat_message", "chat_block"):
            cursor.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), 10)")
"""


def make(data: Path, **environment: str) -> None:
    """Make it in the data folder, or where ``DATABASE_URL`` says, from the first migrations."""
    said = json.dumps([ROWS, PASSWORD])
    manage(data, "shell", "-v", "0", "-c", _MAKE, said=said, **environment)
    make_folder(data)


def restore(data: Path) -> None:
    """Make it in the data folder from what is kept."""
    data.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(data / "db.sqlite3")) as database:
        database.executescript(KEPT.read_text())
    make_folder(data)


def make_folder(data: Path) -> None:
    """The workspace's folder, as it was: settings without a version, and one memory file."""
    root = data / "workspaces" / SLUG
    (root / "memory").mkdir(parents=True)
    (root / "config.json").write_text('{"agents": {"defaults": {"maxTokens": 1234}}}\n')
    (root / "memory" / "MEMORY.md").write_text("# Garden\n\n- Two pear trees by the wall.\n")


def main() -> None:
    """Write what is kept."""
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        with contextlib.closing(sqlite3.connect(Path(folder) / "db.sqlite3")) as database:
            KEPT.write_text("\n".join(database.iterdump()) + "\n")
    sys.stdout.write(f"Wrote {KEPT}.\n")


if __name__ == "__main__":
    main()
