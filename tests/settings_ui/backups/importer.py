"""An import in processes of their own that are killed.

``importer.py SEED TIMES``: an instance with a workspace is made in ``JENNY_DATA_DIR``, exported and
ruined. So many times a process imports the backup and is killed with SIGKILL right before a step
that reaches the disk or ends a transaction; the first time before the very first step, the second
time not at all, then before random ones. Then another process does what is done for a dead import.
One line of JSON each: what is in the workspace and the database.

``importer.py thrice``: it is imported twice, then into a new workspace; nothing is killed.
"""

import hashlib
import json
import os
import random
import shutil
import sys
from io import StringIO

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connections, transaction  # noqa: E402

from jenny.accounts.models import Account, Job, Workspace  # noqa: E402
from jenny.chat.models import Conversation, Message  # noqa: E402
from settings_ui.services.backups import import_job  # noqa: E402
from tests.support.backups import PASSPHRASE, bytes_of, exported, furnish, rows_of  # noqa: E402
from tests.support.dying import die_at  # noqa: E402

STEPS = ("fsync", "rename", "link", "unlink", "mkdir", "rmdir")
DATA = settings.JENNY_DATA.root
BASE = DATA.with_name(f"{DATA.name}-base")
BACKUP = DATA.with_name(f"{DATA.name}-backup")


def prepare() -> None:
    """The instance, its backup, and its ruins."""
    call_command("migrate", verbosity=0)
    person = Account.objects.create(username="bea", is_superuser=True)
    row = person.current_workspace = Workspace.make(person, "bea")
    person.save()
    row.make_folder()
    furnish(row)
    os.environ["JENNY_BACKUP_PASSPHRASE"] = PASSPHRASE
    exported(row, BACKUP)
    Conversation.objects.filter(workspace=row).delete()
    (row.root / "notes/plan.md").write_bytes(b"ruined\n")
    (row.root / "later.md").write_bytes(b"made since\n")
    shutil.rmtree(row.root / "pictures")
    connections.close_all()
    shutil.copytree(DATA, BASE, symlinks=True)


def reset() -> None:
    """Back to the ruins."""
    shutil.rmtree(DATA)
    shutil.copytree(BASE, DATA, symlinks=True)


def imported(limit: int) -> int:
    """Import in a child; how many steps there were, if it lived."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        steps = die_at(limit, STEPS)
        transaction.Atomic.__exit__ = steps.counted(transaction.Atomic.__exit__)
        call_command("import", str(BACKUP), workspace="bea", stdout=StringIO())
        os.write(writing, str(steps.count).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(writing)
    data = os.read(reading, 64)
    os.close(reading)
    return int(data or b"0")


def settled() -> None:
    """Do what is done for a dead import, and tell what is there."""
    pid = os.fork()
    if not pid:
        row = Workspace.objects.get(slug="bea")
        import_job._bury(row)
        files = {
            name: hashlib.sha256(data).hexdigest() for name, data in bytes_of(row.root).items()
        }
        told = {
            "files": files,
            "rows": rows_of(),
            "said": sorted(Message.objects.values_list("text", flat=True)),
            "open": Job.objects.filter(state__in=Job.OPEN).count(),
            "noted": sum("undoing" in job.arguments for job in Job.objects.all()),
            "swaps": [path.name for path in (row.root / ".jenny").glob("swap-*")],
            "backups": [path.name for path in settings.JENNY_DATA.backups.glob("*/held")],
        }
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)


def main(words: list[str]) -> None:
    """Do what the words say."""
    prepare()
    if words[0] == "thrice":
        for more in ((), (), ("--new", "Second")):
            call_command("import", str(BACKUP), *more, workspace="bea", stdout=StringIO())
            settled()
        return
    reset()
    total = imported(0)
    chance = random.Random(int(words[0]))
    some = [chance.randrange(1, total + 1) for _ in range(int(words[1]))]
    for limit in (1, 0, *some):
        reset()
        imported(limit)
        settled()


if __name__ == "__main__":
    main(sys.argv[1:])
