"""Run in processes of their own by the tests: the history under kills and among many.

``act.py die FOLDER ACT``: for n = 1, 2, … a fresh workspace is made, and a process does ACT and is
killed with SIGKILL right before its n-th step that reaches the disk; until one gets through. Each
time another process adds an entry and moves what may be moved. One line of JSON each time.

``act.py many_first FOLDER WORKERS``: so many processes add the first entry beside an older history.

``act.py beside FOLDER LINES TIMES``: somebody who knows of no lock adds so many lines to the file
by hand, while so many entries are added.

``act.py crowd FOLDER SEED WORKERS TIMES KILLS``: so many processes add entries at once, beside one
that moves old entries to the archive, one that reads, and one that writes the file as a restore
does; processes are killed at random and begin anew, until all have added what they had to.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from jenny.workspace.files import Actor, open_workspace
from memory.history import cursors, legacy, log, reader
from memory.history.entries import NewHistoryEntry
from tests.support.dying import forked, got_through, in_process

STEPS = ("fsync", "rename", "unlink", "mkdir", "write", "pwrite", "ftruncate")
RAW = "".join(f"{number} of a long text\n" for number in range(2_000))
CAP = 20


def say(row: Any) -> None:
    """Tell the test."""
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def start(root: Path) -> None:
    """A history of which Dream has read the most; the last line has no end."""
    (root / "memory").mkdir(parents=True)
    lines = [
        json.dumps(
            {"cursor": at, "timestamp": f"2026-{at % 3 + 1:02}-01 10:00", "content": f"{at}"}
        )
        for at in range(1, 41)
    ]
    (root / "memory" / "history.jsonl").write_text("\n".join(lines))
    (root / "memory" / ".dream_cursor").write_text("35\n")


def append(root: Path) -> None:
    """One entry and a group."""
    log.append(root, [NewHistoryEntry("the one"), NewHistoryEntry(RAW, kind="raw")])


def torn(root: Path) -> None:
    """The same after half a line was left."""
    with (root / "memory" / "history.jsonl").open("a") as file:
        file.write('\n{"cursor": 41, "content": "ha')
    append(root)


def compact(root: Path) -> None:
    """Old entries move to the archive."""
    log.compact(root, cap=CAP)


def take_over(root: Path) -> None:
    """An older history is taken over."""
    legacy.take_over(root)


def after(root: Path) -> None:
    """What comes next."""
    log.append(root, [NewHistoryEntry("after", kind="note")])
    compact(root)


def start_older(root: Path) -> None:
    """An older history, and none of ours."""
    (root / "memory").mkdir(parents=True)
    old = [f"[2026-{at % 3 + 1:02}-01 10:00] old {at}\n\n" for at in range(1, 41)]
    (root / "memory" / "HISTORY.md").write_text("".join(old))


def die(folder: Path, act: Callable[[Path], None]) -> None:
    """Kill the act at each of its steps in turn."""
    number, through = 0, False
    while not through:
        number += 1
        root = folder / "workspace"
        shutil.rmtree(root, ignore_errors=True)
        (start_older if act is take_over else start)(root)

        through = in_process(partial(act, root), number, STEPS)
        left = state(root)
        assert in_process(partial(after, root))
        say({"step": number, "through": through, "left": left, "then": state(root)})


def state(root: Path) -> dict[str, str]:
    """What lies in the memory folder, by name."""
    every = sorted(path for path in (root / "memory").rglob("*") if path.is_file())
    return {
        str(path.relative_to(root / "memory")): path.read_text(errors="replace") for path in every
    }


def work(root: Path, worker: int, attempt: int, times: int) -> None:
    """Add entries until so many are acknowledged; each acknowledgement is noted at once."""
    acks = root.parent / f"acks-{worker}"
    fd = os.open(acks, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    done = acks.read_bytes().count(b"\n")
    for number in range(done, times):
        content = f"{worker}:{number}:{attempt}"
        kind = "raw" if number % 9 == 0 else "note"
        text = f"{content}\n" + ("x" * 20_000 if kind == "raw" else "")
        made = log.append(root, [NewHistoryEntry(text, kind=kind)])
        os.write(fd, f"{content} {[entry.cursor for entry in made.entries]}\n".encode())


def move(root: Path) -> None:
    """Say that Dream has read half of what waits, and move what is old; again and again."""
    while True:
        waiting = reader.acknowledged(root).entries
        if len(waiting) > 1:
            cursor = waiting[len(waiting) // 2].cursor
            cursors.set_dream_cursor(root, cursor, Actor("pipeline"))
        log.compact(root, cap=CAP)
        time.sleep(0.002)


def read(root: Path) -> None:
    """Look at the history without a lock; whatever is seen is whole and in order."""
    while True:
        entries = reader.read_pending(root, read_to=0).entries
        seen = [entry.cursor for entry in entries]
        assert seen == sorted(set(seen)), seen
        for entry in entries[-3:]:
            group = [other.part for other in entries if entry.group and other.group == entry.group]
            assert not entry.part or group == [
                (n, entry.part[1]) for n in range(1, entry.part[1] + 1)
            ]


def rewrite(root: Path) -> None:
    """Write the file as a restore does, which goes by the workspace's lock first."""
    workspace = open_workspace(root, Actor("restore"))
    while True:
        workspace.edit("memory/history.jsonl", lambda old: b"# a note\n" + (old or b""))
        time.sleep(0.05)


def many_first(folder: Path, workers: int) -> None:
    """So many processes add the first entry at once, beside an older history."""
    root = folder / "workspace"
    start_older(root)
    children = [
        forked(lambda number=number: log.append(root, [NewHistoryEntry(f"new {number}")]))
        for number in range(workers)
    ]
    assert all(map(got_through, children))
    say({"then": state(root)})


def beside(folder: Path, lines: int, times: int) -> None:
    """Lines added by hand, beside entries."""
    root = folder / "workspace"
    start(root)
    log.append(root, [NewHistoryEntry("before")])

    def by_hand() -> None:
        fd = os.open(root / "memory" / "history.jsonl", os.O_WRONLY | os.O_APPEND)
        for number in range(lines):
            os.write(fd, b'{"by": "hand %d"}\n' % number)

    somebody = forked(by_hand)
    made = [
        log.append(root, [NewHistoryEntry(f"ours {number}")]).entries[0] for number in range(times)
    ]
    assert got_through(somebody)
    say({"made": [entry.cursor for entry in made], "then": state(root)})


def crowd(folder: Path, seed: int, workers: int, times: int, kills: int) -> None:
    """All of them at once, under kills."""
    root = folder / "workspace"
    (root / "memory").mkdir(parents=True)
    chance = random.Random(seed)
    endless = {"move": move, "read": read, "rewrite": rewrite}
    jobs: dict[int, tuple[str | int, int]] = {}

    def begin(job: str | int, attempt: int) -> None:
        if isinstance(job, int):
            child = forked(lambda: work(root, job, attempt, times))
        else:
            child = forked(lambda: endless[job](root))
        jobs[child] = (job, attempt)

    for job in [*range(workers), *endless]:
        begin(job, 0)
    killed_adding = 0
    # A quick machine has added everything before all kills are made: the rest of them hits
    # those who move, read and rewrite.
    while kills or any(isinstance(job, int) for job, _ in jobs.values()):
        time.sleep(chance.random() * 0.02)
        if kills and chance.random() < 0.5:
            kills -= 1
            victim = chance.choice(sorted(jobs))
            killed_adding += isinstance(jobs[victim][0], int)
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            child, status = found
            job, attempt = jobs.pop(child)
            if os.WIFEXITED(status):
                assert os.WEXITSTATUS(status) == 0, f"{job} failed"
            else:
                begin(job, attempt + 1)
    for child in jobs:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    log.compact(root, cap=CAP)
    say({"killed_adding": killed_adding})


if __name__ == "__main__":
    match sys.argv[1:]:
        case "die", folder, name:
            die(Path(folder), globals()[name])
        case "many_first", folder, workers:
            many_first(Path(folder), int(workers))
        case "beside", folder, *numbers:
            beside(Path(folder), *map(int, numbers))
        case "crowd", folder, *numbers:
            crowd(Path(folder), *map(int, numbers))
