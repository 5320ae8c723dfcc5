"""A Redis that fails costs pages their live view, and nothing else."""

import socket
import threading
import uuid
from collections.abc import Iterator

import pytest

from jenny.broker import redis_client
from jenny.chat import stream
from jenny.chat.models import Conversation
from jenny.chat.services import publish
from jenny.chat.stream import Position


class Silence:
    """A server that takes connections and never answers."""

    def __init__(self) -> None:
        self.connections: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        while True:
            try:
                self.connections.append(self._listener.accept()[0])
            except OSError:
                return

    def close(self) -> None:
        """Let go of everybody."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self.connections:
            connection.close()


@pytest.fixture
def silence(settings) -> Iterator[Silence]:
    """Redis accepts connections and does not answer."""
    server = Silence()
    settings.REDIS_URL = server.url
    yield server
    redis_client().close()
    server.close()


def test_a_redis_that_does_not_answer_is_waited_for_once(silence):
    """Many turns write at once; only the first finds out, or all of them would wait in turn
    and lose their leases."""
    for _ in range(20):
        publisher = publish.Publisher(Conversation(pk=uuid.uuid4()))
        publisher.send(Position(1), lambda: [stream.RESET], lambda: Position(2))
    assert publish.PAUSE.is_on
    assert len(silence.connections) == 1
