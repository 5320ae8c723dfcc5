"""Bodies that are too large: answered with a sentence, never taken in."""

import socket

import pytest

from tests.support.chat import asked
from tests.support.client import ACCEPT_JSON

MEGABYTE = b"x" * 1_000_000


def answered(port: int, head: str, pieces: list[bytes]) -> str:
    """What the server says to a request of that head and body."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        line.sendall(f"{head}\r\nHost: 127.0.0.1\r\n".encode())
        for piece in pieces:
            line.sendall(piece)
        text = b""
        while more := line.recv(65536):
            text += more
    return text.decode()


def test_a_stranger_cannot_fill_the_disk(scripted):
    """Twenty megabytes to the login page are refused, whether their length is told or not."""
    head = "POST /login/ HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded"
    told = answered(scripted.port, head, [b"Content-Length: 20000000\r\n\r\n", *[MEGABYTE] * 20])
    assert told.startswith("HTTP/1.1 413")
    assert "too large" in told
    chunk = f"{len(MEGABYTE):x}\r\n".encode() + MEGABYTE + b"\r\n"
    untold = answered(
        scripted.port,
        head,
        [b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 20, b"0\r\n\r\n"],
    )
    assert untold.startswith("HTTP/1.1 413")


@pytest.mark.parametrize("letter", ["é", "😀"])
def test_the_longest_message_can_be_sent_in_any_script(owner, model_server, letter):
    """A million characters are a million characters, however many bytes a form makes of them."""
    text = f"longest {letter} " + letter * 900_000
    chat = owner.begin(text)
    owner.answer(chat)
    assert asked(model_server, f"longest {letter} ")


@pytest.mark.parametrize("size", [1_000_001, 5_000_000, 20_000_000])
def test_a_message_that_is_too_long_is_refused_in_a_sentence(owner, size):
    """The page gets words to show, and keeps the text."""
    chat = owner.begin("/help")
    headers = ACCEPT_JSON | {"X-CSRFToken": owner.token()}
    answer = owner.http.post(
        f"/chat/{chat}/send", files={"text": (None, "x" * size)}, headers=headers
    )
    assert answer.status_code in {413, 422}
    assert "Nothing was" in answer.json()["message"]
