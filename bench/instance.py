"""A running instance of ours, as its user starts it, and somebody who is logged in to it."""

import contextlib
import http.client
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlencode

from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack, environment_for, start
from tests.support.waiting import wait_until

# The product's own default; the tests' instances have fewer.
THREADS = "64"
# The server closes a connection that was silent for five seconds.
KEPT_SECONDS = 3.0


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's name."""
    folder = Path(tempfile.mkdtemp(prefix="b-", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def launch(data: Path, model_url: str) -> Stack:
    """Start ``manage.py up`` on *data*, with the model at *model_url*."""
    return start(data, JENNY_WORKER_THREADS=THREADS, **environment_for(model_url))


@contextlib.contextmanager
def running(data: Path, model_url: str) -> Iterator[Stack]:
    """An instance with an owner, ended when the block is left."""
    stack = launch(data, model_url)
    try:
        stack.manage("create_owner", "--username", OWNER, JENNY_OWNER_PASSWORD=PASSWORD)
        yield stack
    finally:
        stack.end()


class Visitor:
    """Somebody's browser, with as little of its own work as can be: one kept connection."""

    def __init__(self, stack: Stack, name: str = OWNER) -> None:
        self.client = Client(stack.url).login(name, PASSWORD)
        self.client.get("/chat/")
        self.cookie = "; ".join(f"{key}={value}" for key, value in self.client.http.cookies.items())
        self.port = stack.port
        self._connection = http.client.HTTPConnection("127.0.0.1", stack.port, timeout=60)
        self._used_at = 0.0

    def connect(self) -> None:
        """Make the connection anew: the server closes one that was silent for some seconds."""
        self._connection.close()
        self._connection.connect()
        self._used_at = time.monotonic()

    def get(self, path: str, *, most: int | None = None) -> bytes:
        """GET a page, or only its first *most* bytes."""
        return self._ask("GET", path, "", {}, most)

    def send(self, chat: str, text: str) -> None:
        """Send a message into a conversation."""
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
            "X-CSRFToken": self.client.token(),
            "Origin": f"http://127.0.0.1:{self.port}",
            "Sec-Fetch-Site": "same-origin",
        }
        self._ask("POST", f"/chat/{chat}/send", urlencode({"text": text}), headers)

    def wait_idle(self, chat: str) -> None:
        """Wait until no turn of the conversation runs."""

        def idle() -> bool:
            found = re.search(r'data-state="(\w+)"', self.get(f"/chat/{chat}/thread").decode())
            return found is not None and found[1] == "idle"

        wait_until(idle, 60, "the turn to end")

    def _ask(
        self, method: str, path: str, body: str, headers: Mapping[str, str], most: int | None = None
    ) -> bytes:
        if time.monotonic() - self._used_at > KEPT_SECONDS:
            self.connect()
        self._connection.request(method, path, body, {"Cookie": self.cookie, **headers})
        answer = self._connection.getresponse()
        text = answer.read(most)
        self._used_at = time.monotonic() if most is None else 0.0
        if answer.status >= http.client.BAD_REQUEST:
            message = f"{method} {path}: {answer.status} {text[:300]!r}"
            raise RuntimeError(message)
        return text
