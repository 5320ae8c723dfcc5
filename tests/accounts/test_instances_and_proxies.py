"""Two instances on one host, and an nginx in front: whose cookies, whose address, whose origin."""

import contextlib
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, ROOT, Stack
from tests.support.waiting import free_port, wait_until

NAME = "jenny.example.org"
ORIGIN = f"https://{NAME}"
BEHIND_TLS = {"JENNY_ALLOWED_HOSTS": NAME, "JENNY_TRUSTED_ORIGINS": ORIGIN}


CONFIG = """
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {folder}/cert.pem;
        ssl_certificate_key {folder}/key.pem;
        {lines}
    }}
}}
"""


def nginx_lines() -> str:
    """The lines for nginx in docs/deploy.md."""
    page = (ROOT / "docs" / "deploy.md").read_text()
    found = re.search(r"```\n(location / \{.*?\n\})\n```", page, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def proxied(
    start_stack: Callable[..., Stack], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Stack, str]]:
    """An instance with an owner, and the address of the nginx in front of it."""
    port = free_port()
    url = f"https://127.0.0.1:{port}"
    stack = start_stack(
        JENNY_ALLOWED_HOSTS=f"{NAME},127.0.0.1",
        JENNY_TRUSTED_ORIGINS=f"{ORIGIN},{url}",
        has_owner=True,
    )
    request = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -keyout key.pem"
    extra = ["subjectAltName=IP:127.0.0.1", "keyUsage=critical,digitalSignature,keyCertSign"]
    extensions = [word for one in extra for word in ("-addext", one)]
    words = ["openssl", *request.split(), "-out", "cert.pem", *extensions]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    lines = nginx_lines().replace("127.0.0.1:8000", f"127.0.0.1:{stack.port}")
    config = tmp_path / "nginx.conf"
    config.write_text(CONFIG.format(port=port, folder=tmp_path, lines=lines))
    with subprocess.Popen(["nginx", "-p", tmp_path, "-c", config]) as server:
        wait_until(lambda: is_open(port), 30, "nginx")
        yield stack, url
        server.terminate()


def is_open(port: int) -> bool:
    """Whether something listens there."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def test_streams_and_large_pieces_pass_nginx(proxied: tuple[Stack, str]) -> None:
    """With the lines of docs/deploy.md a login over TLS works, the words of an answer come while
    its stream is open, a piece of an upload arrives, and what is too large is said by Jenny."""
    browser = Client(proxied[1]).login(OWNER, PASSWORD)
    chat = browser.begin("Hello")
    browser.answer(chat)
    with browser.events(chat, after=browser.position(chat)) as stream:
        browser.send(chat, "Hello again")
        stream.wait_for(lambda event: event["kind"] == "final")
        assert not stream.ended.is_set()
    for size, status in ((8_000_000, 200), (17_000_000, 413)):
        answer = browser.http.post(
            "/settings/backup/piece",
            data={"id": f"{size:032}", "at": "0", "size": str(size)},
            files={"piece": ("piece", b"x" * size)},
            headers={"X-CSRFToken": browser.token(), "Accept": "application/json"},
        )
        assert answer.status_code == status
        assert answer.json().get("there", size) == size
    assert "too large to be sent at once" in answer.json()["message"]


class Visitor:
    """Somebody who tries passwords through the proxy, and says what they like of their address."""

    def __init__(self, url: str) -> None:
        self.http = httpx2.Client(base_url=url, timeout=60, headers={"Host": NAME})
        self.cookies: dict[str, str] = {}

    def log_in(self, password: str, said: str, name: str = OWNER) -> httpx2.Response:
        """Try it."""
        page = self.http.get("/login/", headers=self._headers(said))
        self._keep(page)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert token, page.text
        answer = self.http.post(
            "/login/",
            data={"csrfmiddlewaretoken": token[1], "username": name, "password": password},
            headers={**self._headers(said), "Referer": f"{ORIGIN}/login/"},
        )
        self._keep(answer)
        return answer

    def _headers(self, said: str) -> dict[str, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"X-Forwarded-For": said, "Cookie": cookies}

    def _keep(self, answer: httpx2.Response) -> None:
        for line in answer.headers.get_list("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value


def test_an_invented_address_passes_no_throttle(proxied: tuple[Stack, str]) -> None:
    """With the proxy lines of docs/deploy.md, whoever names another address at each try is stopped
    as soon as anybody else, also from a private network."""
    stranger = Visitor(proxied[1])
    statuses = [
        stranger.log_in("wrong", f"10.1.2.{number}, 203.0.113.{number}").status_code
        for number in range(9)
    ]
    assert statuses[:7] == [422] * 7
    assert statuses[-1] == 429
    assert stranger.log_in(PASSWORD, "198.51.100.7").status_code == 429


def test_a_client_at_the_address_of_a_private_network_is_no_proxy(
    start_stack: Callable[..., Stack],
) -> None:
    """Where the operator says where the proxy runs, nobody else's word counts."""
    stack = start_stack(has_owner=True, **BEHIND_TLS, JENNY_TRUSTED_PROXIES="10.9.9.9")
    stranger = Visitor(stack.url)
    statuses = [stranger.log_in("wrong", f"203.0.113.{n}").status_code for n in range(9)]
    assert statuses[-1] == 429


def test_two_instances_on_one_host_leave_each_other_logged_in(
    start_stack: Callable[..., Stack],
) -> None:
    """Browsers send cookies to every port of a host."""
    stacks = [start_stack(has_owner=True), start_stack(has_owner=True)]
    browser = Client(stacks[0].url)
    for stack in stacks:
        browser.http.base_url = stack.url
        browser.http.headers["Origin"] = stack.url
        page = browser.get("/login/")
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert token
        answer = browser.http.post(
            "/login/",
            data={"csrfmiddlewaretoken": token[1], "username": OWNER, "password": PASSWORD},
        )
        assert answer.status_code == 302
    for stack in stacks:
        assert browser.get(f"{stack.url}/settings/account/").status_code == 200
    assert len([name for name in browser.http.cookies if name.startswith("jenny_session_")]) == 2


def test_a_login_of_an_earlier_version_stays(live: Stack) -> None:
    """The session under the old cookie's name is taken over once; another instance's is not."""
    live.manage("create_account", "--username", "earlier", said=PASSWORD)
    browser = Client(live.url).login("earlier", PASSWORD)
    session = browser.cookie("session")
    upgraded = Client(live.url)
    answer = upgraded.get("/settings/account/", headers={"Cookie": f"sessionid={session}"})
    assert answer.status_code == 200
    assert upgraded.cookie("session") == session
    assert upgraded.get("/settings/account/").status_code == 200
    stranger = Client(live.url)
    answer = stranger.get("/settings/account/", headers={"Cookie": "sessionid=another0instance"})
    assert answer.status_code == 302
    assert "sessionid" not in str(answer.headers.get("set-cookie"))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}, f"JENNY_TRUSTED_ORIGINS={ORIGIN}"),
        ({"Origin": ORIGIN, "X-Forwarded-Host": NAME}, f"JENNY_TRUSTED_ORIGINS={ORIGIN}"),
        ({"Origin": "https://127.0.0.1"}, "JENNY_TRUSTED_ORIGINS=https://127.0.0.1"),
        ({"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"}, "a page of another site"),
        ({"Origin": "https://evil.example"}, "a page of another site"),
        ({"Origin": "null"}, "did not say which page"),
        ({"Origin": "https://[", "Sec-Fetch-Site": "same-origin"}, "did not say which page"),
        ({"Origin": ""}, "older than your login"),
    ],
)
def test_a_refused_origin_is_told_with_what_to_set(
    live: Stack, headers: dict[str, str], expected: str
) -> None:
    """Only an address that may be Jenny's own is one to be trusted; others keep their sentence."""
    for extra in ({}, {"Accept": "application/json"}, {"HX-Request": "true"}):
        if extra and "Origin" not in headers:
            continue
        if extra and not headers["Origin"]:
            continue
        given = {name: value for name, value in (headers | extra).items() if value}
        answer = httpx2.post(f"{live.url}/login/", data={"username": "a"}, headers=given)
        assert answer.status_code == 403
        text = answer.json()["message"] if "Accept" in extra else answer.text
        assert expected in text
        if "JENNY_TRUSTED" not in expected:
            assert "JENNY_TRUSTED" not in text
