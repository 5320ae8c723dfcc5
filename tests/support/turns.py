"""Very many turns, as quickly as an instance takes them, and the memory of its processes then."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psutil

from tests.support.client import Client
from tests.support.stack import Stack
from tests.support.waiting import wait_until

AT_ONCE = 16
# A conversation is left after so many turns, as people do; its history would grow for ever.
TURNS_OF_ONE = 8
PARTS = ("web", "chat")
_LIVE = "select count(*) from chat_turn where state in ('queued', 'running')"
_ENDED = "select state, count(*) from chat_turn group by state"


class Crowd:
    """Some people who talk at once; the instance is on SQLite."""

    def __init__(self, stack: Stack, person: Client) -> None:
        self._stack = stack
        self._person = person
        person.token()
        self._chats: list[str] = []
        self._said = 0

    def talk(self, turns: int) -> None:
        """Have so many turns, or a few more."""
        with ThreadPoolExecutor(AT_ONCE) as pool, closing(self._database()) as database:
            for number in range(-(-turns // AT_ONCE)):
                texts = [f"turn {self._said + at}" for at in range(AT_ONCE)]
                self._said += AT_ONCE
                if number % TURNS_OF_ONE == 0:
                    self._chats = list(pool.map(self._person.begin, texts))
                else:
                    list(pool.map(self._person.send, self._chats, texts))
                wait_until(lambda: not database.execute(_LIVE).fetchone()[0], 120, "all answers")

    def states(self) -> dict[str, int]:
        """How the turns so far ended."""
        with closing(self._database()) as database:
            return dict(database.execute(_ENDED).fetchall())

    def memory(self) -> dict[str, float]:
        """Megabytes that each part has to itself."""
        pids = self._stack.pids()
        return {part: psutil.Process(pids[part]).memory_full_info().uss / 2**20 for part in PARTS}

    def _database(self) -> sqlite3.Connection:
        path = self._stack.data.root / "db.sqlite3"
        return sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None, timeout=20)
