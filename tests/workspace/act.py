"""Run in processes of their own by the tests: acts on a workspace, killed at a chosen moment.

``act.py die FOLDER ACT``: for n = 1, 2, … a fresh copy of the starting state is made, and a
process does ACT and is killed with SIGKILL right before its n-th step that reaches the disk
(fsync, rename, unlink, mkdir); until one gets through. Each time a further process, and
another one after that, opens the workspace again. One line of JSON each time: what was left.

``act.py die-twice FOLDER ACT [N…]``: the same, with that opening killed at each of its steps as
well; only for the first kills at N, where given.

``act.py hold FOLDER LEVEL``: hold a lock until standard input ends.
``act.py fork FOLDER``: fork while holding the lock, let go, and let the child live on.
``act.py count FOLDER KEY TIMES``: read, add one, write; TIMES times.
"""

import contextlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jenny.workspace import config, locks, seed, transaction_journal
from jenny.workspace.files import Actor, open_workspace
from tests.support import dying

ACTOR = Actor("pipeline")
OLD = {"a.md": b"old a", "b.md": b"old b", "memory/c.md": b"old c"}
NEW = {"d/new.md": b"new d", "a.md": b"new a" * 1000, "b.md": None, "memory/c.md": b""}
STEPS = ("fsync", "rename", "unlink", "mkdir")


def say(line: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def start(root: Path) -> None:
    """The state before the act."""
    for path, data in OLD.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    (root / "config.json").write_bytes(config.document.render_document(_settings(1)))


def _settings(number: int) -> dict[str, Any]:
    return {"agents": {"defaults": {"maxMessages": 100 + number}}, "configVersion": 1, "mine": 1}


def write(root: Path) -> None:
    """One file."""
    open_workspace(root, ACTOR).write("a.md", NEW["a.md"] or b"")


def many(root: Path) -> None:
    """Several files as one act."""
    open_workspace(root, ACTOR).write_many(NEW)


def settings(root: Path) -> None:
    """A change of the settings."""
    config.change_config(root, lambda raw: raw["agents"]["defaults"].update(maxMessages=102))


def seeding(root: Path) -> None:
    """A workspace's first files."""
    seed.seed(open_workspace(root, ACTOR))


def reopen(root: Path) -> None:
    """What the next start does."""
    open_workspace(root, ACTOR)
    config.load_config(root)


def state(root: Path) -> dict[str, Any]:
    """What lies in the workspace, read without the layer that is tested."""
    every = [path for path in root.rglob("*") if path.is_file()]
    return {
        "files": {
            str(path.relative_to(root)): path.read_bytes().decode()
            for path in every
            if not any(part.startswith(".jenny") for part in path.relative_to(root).parts)
        },
        "journals": transaction_journal.pending(root),
        "temps": [path.name for path in every if path.name.endswith(".tmp")],
    }


def die(folder: Path, act: Callable[[Path], None], only: frozenset[int], *, twice: bool) -> None:
    """Kill the act at each of its steps in turn; with *twice* the next opening too."""
    root = folder / "workspace"
    for row in dying.killed_everywhere(
        root, start, act, reopen, steps=STEPS, only=only, twice=twice
    ):
        say(json.dumps(row | state(root)))


def hold(root: Path, level: str) -> None:
    """Hold a lock until told."""
    with locks.hold(root, locks.Level[level]):
        say("held")
        sys.stdin.read()


def fork(root: Path) -> None:
    """Fork under the lock; the child says what it holds and lives on until told."""
    reading, writing = os.pipe()
    with locks.hold(root, locks.Level.WORKSPACE):
        child = os.fork()
        if child == 0:
            holds = locks.holds(root, locks.Level.WORKSPACE)
            os.write(writing, b"a lock\n" if holds else b"nothing\n")
    if child == 0:
        sys.stdin.read()
        os._exit(0)
    say(f"the child holds {os.read(reading, 10).decode().strip()}")
    os.waitpid(child, 0)


def count(root: Path, key: str, times: int) -> None:
    """Add one to a number in a file or in the settings, again and again."""
    workspace = open_workspace(root, ACTOR)
    for _ in range(times):
        if key.endswith(".txt"):
            workspace.edit(key, lambda old: b"%d" % (int(old or b"0") + 1))
        else:
            config.change_config(root, lambda raw: _add(raw, key))


def _add(raw: dict[str, Any], key: str) -> None:
    *sections, name = key.split(".")
    for section in sections:
        raw = raw.setdefault(section, {})
    raw[name] = raw.get(name, 1) + 1


if __name__ == "__main__":
    command, folder, *rest = sys.argv[1:]
    with contextlib.suppress(BrokenPipeError):
        match command, *rest:
            case (("die" | "die-twice"), name, *only):
                twice = command == "die-twice"
                die(Path(folder), globals()[name], frozenset(map(int, only)), twice=twice)
            case "hold", name:
                hold(Path(folder), name)
            case ("fork",):
                fork(Path(folder))
            case "count", name, times:
                count(Path(folder), name, int(times))
