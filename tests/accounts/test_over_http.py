"""Accounts over real HTTP: the web server, its proxy headers, its asynchronous views."""

import re
import threading
from collections.abc import Callable

import httpx2
import pytest

from tests.support.client import Client
from tests.support.stack import PASSWORD, Stack
from tests.support.waiting import wait_until

TLS = {
    "JENNY_TRUSTED_ORIGINS": "https://jenny.example",
    "JENNY_ALLOWED_HOSTS": "jenny.example",
}
FORWARDED = {
    "Host": "jenny.example",
    "Origin": "https://jenny.example",
    "X-Forwarded-Proto": "https",
}


def form_token(page: str) -> str:
    """The hidden token of a page's form."""
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found
    return found[1]


def test_the_first_run(start_stack: Callable[..., Stack]) -> None:
    """The printed link, two people at once, one owner; the log holds no token and no password."""
    stack = start_stack()
    link = httpx2.URL(stack.link)
    token = link.params["token"]
    statuses: list[int] = []
    gate = threading.Barrier(2)

    def finish(name: str) -> None:
        with httpx2.Client(base_url=stack.url, follow_redirects=True, timeout=60) as http:
            page = http.get(link.raw_path.decode())
            assert str(page.url) == f"{stack.url}/setup/"
            form = {
                "csrfmiddlewaretoken": form_token(page.text),
                "username": name,
                "password": PASSWORD,
                "zone": "Europe/Berlin",
            }
            gate.wait()
            answer = http.post("/setup/", data=form)
            statuses.append(answer.status_code)
            if answer.status_code == 200:
                assert str(answer.url) == f"{stack.url}/setup/model/"

    threads = [threading.Thread(target=finish, args=(name,)) for name in ("ana", "bo")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 404]
    assert len(list((stack.data.root / "workspaces").iterdir())) == 1
    assert token not in stack.logs()
    assert PASSWORD not in stack.logs()


def test_behind_a_proxy_that_ends_tls(start_stack: Callable[..., Stack]) -> None:
    """Cookies only over TLS, HSTS, and the client's address as the nearest proxy tells it."""
    stack = start_stack(**TLS)
    stack.manage("create_owner", "--username", "ana", JENNY_OWNER_PASSWORD=PASSWORD)
    with httpx2.Client(base_url=stack.url, headers=FORWARDED, timeout=60) as http:
        page = http.get("/login/")
        assert page.headers["strict-transport-security"] == "max-age=31536000"
        csrf = next(name for name in page.cookies if name.startswith("jenny_csrf_"))
        answer = http.post(
            "/login/",
            data={
                "csrfmiddlewaretoken": form_token(page.text),
                "username": "ana",
                "password": PASSWORD,
            },
            headers={
                "Cookie": f"{csrf}={page.cookies[csrf]}",
                "Referer": "https://jenny.example/login/",
                # What stands before the proxy's own entry is the client's invention.
                "X-Forwarded-For": "6.6.6.6, 203.0.113.9",
            },
        )
        assert answer.status_code == 302, answer.text
        assert all("Secure" in line for line in answer.headers.get_list("set-cookie"))
        session = re.search(r"jenny_session_\w+=\w+", str(answer.headers))
        assert session
        page = http.get(
            "/settings/account/",
            headers={"Cookie": session[0], "X-Forwarded-For": "203.0.113.9"},
        )
    assert "203.0.113.9" in page.text
    assert "6.6.6.6" not in page.text


def test_without_a_named_proxy_nobodys_word_counts(live: Stack) -> None:
    """X-Forwarded-For and X-Forwarded-Proto of a client are ignored."""
    live.manage("create_account", "--username", "proxied", said=PASSWORD)
    client = Client(live.url)
    client.http.headers["X-Forwarded-For"] = "6.6.6.6"
    client.http.headers["X-Forwarded-Proto"] = "https"
    client.login("proxied", PASSWORD)
    page = client.get("/settings/account/")
    assert "127.0.0.1" in page.text
    assert "6.6.6.6" not in page.text
    assert "strict-transport-security" not in page.headers


def test_an_ended_session_ends_its_event_stream(live: Stack) -> None:
    """Somebody who is put out sees nothing more, on a page that stands open as well."""
    live.manage("create_account", "--username", "streamer", said=PASSWORD)
    watcher, ender = (Client(live.url).login("streamer", PASSWORD) for _ in range(2))
    chat = watcher.begin("hello")
    watcher.answer(chat)
    with watcher.events(chat, after=watcher.position(chat)) as stream:
        watcher.send(chat, "again")
        stream.wait_for(lambda event: event["kind"] == "item")
        ender.post("/settings/account/sessions/end-others")
        wait_until(stream.ended.is_set, what="the stream to end")
        assert stream.kinds()[-1] == "expired"
    assert watcher.get(f"/chat/{chat}/").status_code == 302
    assert ender.get(f"/chat/{chat}/").status_code == 200


@pytest.mark.parametrize("path", ["/chat/", "/settings/account/", "/login/"])
def test_responses_keep_their_walls_over_the_wire(live: Stack, path: str) -> None:
    """What the settings promise is what a browser gets."""
    answer = Client(live.url).get(path)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "server" not in answer.headers
