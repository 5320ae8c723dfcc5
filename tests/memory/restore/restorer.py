"""A workspace with one of everything, restored in processes of their own that are killed.

``restorer.py FOLDER steps N…``: for each N a fresh workspace is made, and a process restores it and
is killed with SIGKILL right before its N-th step that reaches the disk (0: never; then it is told
how many there were). ``restorer.py FOLDER random SEED TIMES``: it is killed after a random time
instead. Then a further process opens the workspace, as the next start does. One line of JSON each:
every name in the workspace, what it is and its bytes, and what the ledgers hold.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import stat
import sys
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from jenny.workspace import transaction_journal
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.snapshots.create import create
from jenny.workspace.snapshots.restore_plan import SnapshotSource
from jenny.workspace.snapshots.store import Store
from memory import write_rules
from memory.restore import engine
from memory.restore.plan import Restored, RestoreRequest, RestoreServices
from tests.support.dying import die_at, forked, got_through, in_process

STEPS = ("fsync", "rename", "link", "unlink", "mkdir", "rmdir", "chmod", "write", "pwrite")
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
THEN = {
    "USER.md": b"# User\n\n- Lives in Bern\n- Has two cats at home\n",
    "SOUL.md": b"# Soul\n\n- Speaks shortly\n",
    "memory/MEMORY.md": b"# Memory\r\n\r\n- The boat is called Orca\r\n",
    "skills/tea/SKILL.md": b"---\nname: tea\ndescription: Makes tea\n---\nBoil it.\n",
    "wikis/sea/wiki/index.md": b"# Sea\n",
    "wikis/mine/notes.md": b"as it was in the snapshot",
    "uploads/big.bin": bytes(range(256)) * 2000,
    "gone/deep/old.md": b"it comes back",
    "was-file": b"a file then",
    "was-folder/x.md": b"in a folder then",
    "same.md": b"the same",
}
NOW_FILES = {
    "USER.md": b"# User\n\n- Likes trains\n",
    "memory/MEMORY.md": b"# Memory\r\n\r\n- Everything else is gone\r\n",
    "skills/new/SKILL.md": b"---\nname: new\ndescription: New\n---\nDo.\n",
    "wikis/mine/notes.md": b"the user's own repository has moved on",
    "wikis/mine/.git/HEAD": b"ref: refs/heads/main\n",
    "wikis/mine/.git/objects/aa": b"an object",
    "wikis/mine/later.md": b"committed there later",
    "uploads/big.bin": b"small now",
    "later/one.md": b"made since",
    "was-file/inner.md": b"a folder now",
    "was-folder": b"a file now",
}
GONE = ("skills/tea/SKILL.md", "gone/deep/old.md", "was-file", "was-folder/x.md")
FORGOTTEN = b'{"id": "aaaaaaaaaaaa", "text": "Has two cats at home", "at": "2026-02-01"}\n'


def entry(cursor: int) -> bytes:
    """A line of the history."""
    row = {"cursor": cursor, "timestamp": "2026-02-01 10:00", "content": f"fact-{cursor}"}
    return json.dumps(row).encode() + b"\n"


def write(root: Path, files: dict[str, bytes]) -> None:
    """Write files past every layer."""
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


def make(folder: Path) -> tuple[Path, Store, str]:
    """The workspace as it was, a snapshot of it, and then as it is."""
    shutil.rmtree(folder, ignore_errors=True)
    root, store = folder / "workspace", Store(folder / "snapshots" / "one.git")
    write(root, THEN)
    history = b"".join(map(entry, range(1, 5)))
    write(root, {"memory/history.jsonl": history, "memory/.cursor": b"4\n"})
    write(root, {"memory/.dream_cursor": b"2\n"})
    (root / "same.md").chmod(0o640)
    shot = create(store, root, "manual", now=NOW).snapshot.id
    for path in GONE:
        (root / path).unlink()
    for path in ("gone/deep", "gone", "skills/tea", "was-folder"):
        (root / path).rmdir()
    write(root, NOW_FILES)
    # Two entries moved to the archive, three were said since, Dream has read up to 6.
    write(root, {"memory/archive/history-2026-02.jsonl": entry(1) + entry(2)})
    history = b"".join(map(entry, range(3, 8)))
    write(root, {"memory/history.jsonl": history, "memory/.cursor": b"7\n"})
    write(root, {"memory/.dream_cursor": b"6\n", "memory/.forgotten.jsonl": FORGOTTEN})
    (root / "link").symlink_to("/etc/hostname")
    (root / "wikis/sea/link.md").symlink_to("../../USER.md")
    return root, store, shot


def restore(root: Path, store: Store, shot: str, *, path: str = "", **asked: Any) -> Restored:
    """Restore everything from that snapshot."""
    write_rules.install()
    services = RestoreServices(
        stop=lambda: "",
        requeue=lambda cursors: write(root.parent, {"offered": json.dumps(cursors).encode()}),
        invalidate=lambda: 0,
        check=lambda: None,
    )
    return engine.restore(
        root,
        store,
        lambda repo: SnapshotSource(repo, store.get(repo, shot), path),
        RestoreRequest(name=f"snapshot {shot}", path=path, **asked),
        services=services,
        now=NOW,
    )


def state(root: Path) -> dict[str, Any]:
    """What lies in the workspace, read without the layers that are tested."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if ".jenny" in name or name.endswith(".lock"):
            continue
        if name.startswith(("memory/.git", "memory/archive/2")):
            continue
        kind = stat.S_IFMT(path.lstat().st_mode)
        if kind == stat.S_IFLNK:
            found[name] = f"link {path.readlink()}"
        elif kind == stat.S_IFDIR:
            found[name] = "folder"
        else:
            found[name] = path.read_bytes().decode("latin-1")
    offered = root.parent / "offered"
    return {
        "files": found,
        "journals": transaction_journal.pending(root),
        "offered": json.loads(offered.read_bytes()) if offered.exists() else [],
        "archived": [path.read_text() for path in (root / "memory/archive").glob("2*.md")],
    }


def _told(root: Path, **facts: object) -> None:
    in_process(lambda: open_workspace(root, Actor("pipeline")))
    sys.stdout.write(json.dumps(facts | state(root)) + "\n")


def steps(folder: Path, numbers: list[int]) -> None:
    """Killed before steps of these numbers."""
    for number in numbers:
        root, store, shot = make(folder)

        through = in_process(partial(_killed_at, number, root, store, shot))
        count = int((folder / "count").read_bytes()) if through else 0
        _told(root, through=through, step=number, count=count)


def _killed_at(number: int, root: Path, store: Store, shot: str) -> None:
    steps = die_at(number, STEPS)
    restore(root, store, shot)
    write(root.parent, {"count": str(steps.count).encode()})


def at_random(folder: Path, seed: int, times: int) -> None:
    """Killed after random times, up to the time that all of it takes."""
    chance = random.Random(seed)
    root, store, shot = make(folder)
    began = time.monotonic()
    in_process(lambda: restore(root, store, shot))
    longest = (time.monotonic() - began) * 1.1
    for _ in range(times):
        root, store, shot = make(folder)
        child = forked(lambda root=root, store=store, shot=shot: restore(root, store, shot))
        time.sleep(chance.random() * longest)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _told(root, through=got_through(child))


if __name__ == "__main__":
    place, how, *rest = sys.argv[1:]
    if how == "steps":
        steps(Path(place), [int(one) for one in rest])
    else:
        at_random(Path(place), int(rest[0]), int(rest[1]))
