"""A person's browser without the browser: real HTTP, cookies, forms, event streams."""

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.support.waiting import wait_until

ACCEPT_JSON = {"Accept": "application/json"}


@dataclass
class Stream:
    """An open event source that collects what it gets."""

    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)

    def kinds(self) -> list[str]:
        """The kinds of the events so far."""
        return [event["kind"] for _, event in list(self.events)]

    def wait_for(self, test: Callable[[dict[str, Any]], bool], what: str = "an event") -> Any:
        """The first event that passes *test*."""
        return wait_until(
            lambda: next((event for _, event in list(self.events) if test(event)), None), 60, what
        )

    def position(self) -> str:
        """The newest position."""
        return self.events[-1][0]


class Client:
    """Somebody at the address *url*."""

    def __init__(self, url: str) -> None:
        self.http = httpx2.Client(base_url=url, timeout=60, follow_redirects=False)
        self.http.headers["Sec-Fetch-Site"] = "same-origin"
        self.http.headers["Origin"] = url

    def get(self, path: str, **options: Any) -> httpx2.Response:
        """GET."""
        return self.http.get(path, **options)

    def post(self, path: str, **data: str) -> httpx2.Response:
        """POST a form as the page's script does, and get JSON."""
        return self.http.post(path, data=data, headers=ACCEPT_JSON | {"X-CSRFToken": self.token()})

    def token(self) -> str:
        """The CSRF token, from its cookie."""
        if not self.cookie("csrf"):
            self.get("/login/")
        return self.cookie("csrf")

    def cookie(self, kind: str) -> str:
        """The value of the instance's cookie of that kind: ``csrf`` or ``session``; or nothing."""
        names = (name for name in self.http.cookies if name.startswith(f"jenny_{kind}_"))
        return self.http.cookies.get(next(names, ""), "")

    def login(self, username: str, password: str) -> "Client":
        """Log in."""
        answer = self.http.post(
            "/login/",
            data={"username": username, "password": password},
            headers={"X-CSRFToken": self.token()},
        )
        assert answer.status_code in {302, 303}, answer.text
        return self

    def begin(self, text: str) -> str:
        """Begin a conversation; its id."""
        answer = self.post("/chat/send", text=text)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["conversation"])

    def send(self, chat: str, text: str, **more: str) -> httpx2.Response:
        """Send a message."""
        return self.post(f"/chat/{chat}/send", text=text, **more)

    def page(self, chat: str) -> str:
        """The conversation's page."""
        answer = self.get(f"/chat/{chat}/")
        assert answer.status_code == 200, answer.text
        return answer.text

    def thread(self, chat: str) -> str:
        """The thread alone, as a page gets it after ``reset``."""
        return self.get(f"/chat/{chat}/thread").text

    def position(self, chat: str) -> str:
        """The position that the page stands for."""
        found = re.search(r'data-position="([^"]*)"', self.thread(chat))
        assert found
        return found[1]

    def answer(self, chat: str) -> str:
        """The thread, once nothing runs any more."""

        def idle() -> str:
            text = self.thread(chat)
            head = text[text.index('id="thread"') :][:600]
            return text if 'data-state="idle"' in head else ""

        return wait_until(idle, 90, "the turn to end")

    @contextlib.contextmanager
    def events(self, chat: str, after: str = "0-0", **headers: str) -> Iterator[Stream]:
        """The conversation's event source, read in a thread."""
        stream = Stream()
        client = httpx2.Client(
            base_url=self.http.base_url, cookies=self.http.cookies, timeout=httpx2.Timeout(60)
        )

        def read() -> None:
            try:
                with client.stream(
                    "GET",
                    f"/chat/{chat}/events?after={after}",
                    headers={"Accept": "text/event-stream", **headers},
                ) as response:
                    if response.status_code != 200:
                        return
                    identifier = ""
                    for line in response.iter_lines():
                        if stream.closing.is_set():
                            return
                        if line.startswith("id: "):
                            identifier = line[4:]
                        elif line.startswith("data: "):
                            event = json.loads(line[6:])
                            if event["kind"] != "alive":
                                stream.events.append((identifier, event))
            except httpx2.HTTPError:
                return
            finally:
                stream.ended.set()

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        try:
            yield stream
        finally:
            stream.closing.set()
            client.close()


def words_of(event: dict[str, Any]) -> str:
    """The words that an event brings: of a piece of text, or of a block that is told whole."""
    return event.get("source", "") + text_of(event.get("html", ""))


def text_of(html: str) -> str:
    """What a person reads of a piece of HTML."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())
