"""One run of Dream with three edits, by a scripted model that answers at once.

Ours is carried out by a real worker of a running instance, with its snapshot before and its version
after; the figure is the run's own, from the snapshot to the counters, the two requests on loopback
included. The peer does the same three edits with its own Dream, versions and all; it takes no
snapshot. Flat means: commits and skills that are there already do not show.
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from bench import instance, peers
from bench.harness import Bar, Row, median, take_turns
from bench.versions import grow
from jenny.workspace.versions.commits import commit_pending
from memory.history import log
from memory.history.entries import NewHistoryEntry
from tests.model_server import Call, ModelServer, Request
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack
from tests.support.waiting import wait_until

RUNS = 7
COMMITS = (0, 100, 1_000)
SKILLS = (5, 500)
LINES = 3
_FACT = "- Ana's sister Petra moved from Brno to Olomouc on 3 March 2026 and has two cats."


class Work:
    """One workspace that is dreamt over again and again, each time with three edits."""

    def __init__(self, root: Path, skills: int) -> None:
        self.root = root
        self.number = 0
        (root / "memory").mkdir(parents=True, exist_ok=True)
        lines = [self._line(at, 0) for at in range(LINES)]
        text = "# Memory\n\n" + "\n".join([*lines, *[_FACT] * 20]) + "\n"
        (root / "memory" / "MEMORY.md").write_text(text, encoding="utf-8")
        for number in range(skills):
            folder = root / "skills" / f"skill-{number:03}"
            folder.mkdir(parents=True, exist_ok=True)
            head = f"---\nname: skill-{number:03}\ndescription: How to do thing {number}\n---\n"
            (folder / "SKILL.md").write_text(f"{head}\n1. {_FACT[2:]}\n", encoding="utf-8")

    def edits(self, **more: object) -> list[Call]:
        """The next three edits."""
        self.number += 1
        text = (self.root / "memory" / "MEMORY.md").read_text(encoding="utf-8").splitlines()
        found = []
        for at in range(LINES):
            old = next(line for line in text if line.startswith(f"- Thing {at} is"))
            new = self._line(at, self.number)
            words = {"path": "memory/MEMORY.md", "old_text": old, "new_text": new}
            found.append(Call("edit_file", {**words, **more}))
        return found

    def _line(self, at: int, number: int) -> str:
        return f"- Thing {at} is at step {number:04}, as was said on 3 March 2026."


def rows() -> list[Row]:
    """A row a case; ours and the peer take turns."""
    cases = [*((SKILLS[0], commits) for commits in COMMITS), (SKILLS[1], 0)]
    with instance.scratch_folder() as scratch, ModelServer() as model:
        return [_case(scratch / f"{case[0]}-{case[1]}", model, *case) for case in cases]


def _case(scratch: Path, model: ModelServer, skills: int, commits: int) -> Row:
    scratch.mkdir()
    with (
        instance.running(scratch / "data", model.url) as stack,
        peers.Peer(scratch) as peer,
    ):
        owner = Client(stack.url).login(OWNER, PASSWORD)
        chat = owner.begin("/status")
        ours = Work(next(iter(stack.data.workspaces.iterdir())), skills)
        if commits:
            (ours.root / "memory" / "MEMORY.md").write_text(f"# Memory\n\n{_FACT}\n" * 35)
            grow(ours.root, commits)
            ours = Work(ours.root, 0)
        commit_pending(ours.root)
        theirs = Work(scratch / "theirs", skills)
        config = scratch / "nanobot.json"
        config.write_text(json.dumps(peers.configuration(theirs.root, model.url)))
        peer.ask("open", name="dream", config=str(config))

        def peers_run() -> float:
            _script(model, _is_any, theirs.edits())
            answer = peer.ask("dream", name="dream", text="- [durable] Things have moved on.")
            return float(answer["ms"])

        def our_run() -> float:
            return _ours(stack, owner, chat, model, ours)

        contestants: dict[str, Callable[[], float]] = {"ours": our_run}
        if not commits:
            contestants["theirs"] = peers_run
        for warm_up in contestants.values():
            warm_up()
        times = take_turns(RUNS, **contestants)
    return Row(
        f"one Dream run, three edits, {skills} skills, {commits:,} earlier commits",
        "ms",
        median(times["ours"]),
        median(times["theirs"]) if "theirs" in times else None,
        Bar(limit=50),
        "with snapshot, version and two requests on loopback; the peer without a snapshot",
    )


def _ours(stack: Stack, owner: Client, chat: str, model: ModelServer, work: Work) -> float:
    new = [NewHistoryEntry("- [durable] Things have moved on.", conversation="bench")]
    cursor = log.append(work.root, new).entries[0].cursor
    verdict = {"cursor": cursor, "verdict": "saved", "reason": ""}
    edits = work.edits(sources=[cursor])
    _script(model, _is_dream, [*edits, Call("finish", {"entries": [verdict]})])
    before = _newest(stack)[0]
    owner.send(chat, "/dream")
    _, status, seconds = wait_until(
        lambda: found if (found := _newest(stack))[0] > before and found[1] else None,
        60,
        "the run",
    )
    assert status == "completed", status
    return float(seconds) * 1000


def _newest(stack: Stack) -> tuple[int, str, float]:
    with closing(sqlite3.connect(stack.data.root / "db.sqlite3", timeout=20)) as database:
        query = "select id, status, seconds from memory_dreamrun order by id desc limit 1"
        return database.execute(query).fetchone() or (0, "", 0.0)


def _script(model: ModelServer, rule: Callable[[Request], bool], calls: list[Call]) -> None:
    model.script(*calls, when=rule)
    model.script("Done.", when=rule)


def _is_dream(request: Request) -> bool:
    return b"## Conversation History" in request.body


def _is_any(request: Request) -> bool:
    return request.path.endswith("/messages")
