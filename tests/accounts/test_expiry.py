"""A session that ended in the middle of work loses nothing that was typed (AUT1)."""

import uuid
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from django.test import Client

from jenny.accounts import access
from jenny.accounts.models import Account, LoginSession
from tests.support.stack import PASSWORD

pytestmark = pytest.mark.django_db
CHAT = f"/chat/{uuid.UUID(int=7)}/"
TEXT = "a long <b>thought</b> & more"
ESCAPED = "a long &lt;b&gt;thought&lt;/b&gt; &amp; more"
ORIGIN = "http://testserver"


def way(answer_url: str) -> str:
    """Where a login at that address leads."""
    parts = urlsplit(answer_url)
    assert parts.path == "/login/"
    return parse_qs(parts.query)["next"][0]


def test_a_page_leads_to_the_login_and_back(client: Client, ana: Account) -> None:
    """A link that was kept still leads where it did, after the login."""
    assert way(client.get("/chat/?q=%C3%A4&x=1")["Location"]) == "/chat/?q=%C3%A4&x=1"


def test_htmx_gets_a_redirect_of_the_whole_page(client: Client, ana: Account) -> None:
    """And back to the page it stood on, not to the fragment it asked for."""
    headers = {"HX-Request": "true", "HX-Current-URL": f"{ORIGIN}{CHAT}?x=1"}
    for answer in (
        client.get(f"{CHAT}thread", headers=headers),
        client.post(f"{CHAT}stop", headers=headers),
    ):
        assert answer.status_code == 200
        assert way(answer["HX-Redirect"]) == f"{CHAT}?x=1"
        assert answer.text == ""


@pytest.mark.parametrize(
    "headers",
    [
        {"Accept": "application/json"},
        {"X-Requested-With": "XMLHttpRequest"},
        {"Accept": "text/event-stream"},
        {"Sec-Fetch-Dest": "empty"},
    ],
)
def test_scripts_get_the_login_as_json(
    client: Client, ana: Account, headers: dict[str, str]
) -> None:
    """A script knows that the session is over and where to send the person."""
    answer = client.get(f"{CHAT}thread", headers={"Referer": f"{ORIGIN}{CHAT}", **headers})
    assert answer.status_code == 401
    assert way(answer.json()["login"]) == CHAT


def test_a_page_that_comes_through_the_service_worker_is_a_page(
    client: Client, ana: Account
) -> None:
    """The worker passes a visit on as a fetch; whoever visits can read no JSON."""
    headers = {"Sec-Fetch-Dest": "empty", "Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    answer = client.get(CHAT, headers=headers)
    assert answer.status_code == 302
    assert way(answer["Location"]) == CHAT


@pytest.mark.parametrize(
    "page", ["https://evil.example/chat/", "//evil.example/", "javascript:alert(1)", "", "nonsense"]
)
def test_the_way_back_is_a_page_of_ours(client: Client, ana: Account, page: str) -> None:
    """Whatever a request claims to come from, the login does not lead there."""
    headers = {"HX-Request": "true", "HX-Current-URL": page}
    answer = client.get(f"{CHAT}thread", headers=headers)
    assert way(answer["HX-Redirect"]).startswith("/chat/")


@pytest.mark.parametrize(
    ("url", "page"), [(f"{CHAT}send", CHAT), ("/chat/send", "/chat/"), (f"{CHAT}draft", CHAT)]
)
def test_typed_text_waits_behind_the_login(
    visitor: Callable[..., Client], ana: Account, url: str, page: str
) -> None:
    """The text is shown at the login, and is there for its page after it, once."""
    client = visitor()
    answer = client.post(url, {"text": TEXT})
    assert answer.status_code == 303
    assert way(answer["Location"]) == page
    login = client.get(answer["Location"])
    assert ESCAPED in login.text
    assert TEXT not in login.text
    client.post("/login/", {"username": "Ana", "password": PASSWORD})
    request = client.get("/settings/account/").wsgi_request
    assert access.take_kept_text(request, page) == TEXT
    assert access.take_kept_text(request, page) == ""


def test_a_new_chat_opens_with_the_kept_text(visitor: Callable[..., Client], ana: Account) -> None:
    """From an ended session over the login into the composer."""
    client = visitor()
    client.force_login(ana)
    LoginSession.objects.get().end()
    client.post("/chat/send", {"text": TEXT})
    answer = client.post("/login/", {"username": "Ana", "password": PASSWORD}, follow=True)
    assert answer.redirect_chain == [("/chat/", 302)]
    assert ESCAPED in answer.text


def test_text_is_kept_for_htmx_and_scripts_as_well(
    visitor: Callable[..., Client], ana: Account
) -> None:
    """However the form was sent."""
    for headers in ({"HX-Request": "true"}, {"Accept": "application/json"}):
        client = visitor()
        client.post(f"{CHAT}send", {"text": TEXT}, headers=headers)
        assert ESCAPED in client.get("/login/").text


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "same-site", "Origin": "https://sub.testserver"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Referer": "https://evil.example/"},
        {},
    ],
)
def test_another_site_puts_no_words_into_a_composer(
    client: Client, ana: Account, headers: dict[str, str]
) -> None:
    """A forged form keeps nothing, and no session takes the place of the visitor's own."""
    for one in (client, Client(enforce_csrf_checks=True)):
        answer = one.post("/chat/send", {"text": TEXT}, headers=headers)
        assert answer.status_code in {303, 403}
        assert settings.SESSION_COOKIE_NAME not in answer.cookies
        assert ESCAPED not in one.get("/login/").text


class TestOldForm:
    """Logged in again in another tab; then the old form is sent."""

    @pytest.fixture
    def client(self, ana: Account) -> Client:
        """A browser that checks tokens, with a session; the forms it has are older."""
        client = Client(enforce_csrf_checks=True, headers={"Sec-Fetch-Site": "same-origin"})
        client.force_login(ana)
        return client

    def test_the_text_is_shown_and_kept(self, client: Client) -> None:
        """Nothing was sent, the page says so, and the composer has the text when it loads."""
        answer = client.post(
            "/chat/send", {"text": TEXT}, headers={"Referer": f"{ORIGIN}/chat/", "Origin": ORIGIN}
        )
        assert answer.status_code == 403
        assert ESCAPED in answer.text
        assert 'href="/chat/"' in answer.text
        assert ESCAPED in client.get("/chat/").text

    def test_htmx_loads_the_page_again(self, client: Client) -> None:
        """It cannot show a page of its own, so the whole page comes anew, with the text."""
        headers = {"HX-Request": "true", "HX-Current-URL": f"{ORIGIN}/chat/"}
        answer = client.post("/chat/send", {"text": TEXT}, headers=headers)
        assert answer["HX-Redirect"] == "/chat/"
        assert ESCAPED in client.get("/chat/").text

    def test_a_script_is_told_to_load_it(self, client: Client) -> None:
        """In JSON, with a sentence for the person."""
        headers = {"Accept": "application/json", "Referer": f"{ORIGIN}/chat/"}
        answer = client.post("/chat/send", {"text": TEXT}, headers=headers)
        assert answer.status_code == 403
        assert answer.json()["reload"] == "/chat/"
        assert answer.json()["message"].endswith(".")

    def test_a_form_without_text_says_so(self, client: Client) -> None:
        """Nothing was done, and nothing is said to be kept."""
        answer = client.post("/settings/account/password", {"old_password": "x"})
        assert answer.status_code == 403
        assert "Nothing was done" in answer.text


def test_a_huge_text_is_bounded(visitor: Callable[..., Client], ana: Account) -> None:
    """Megabytes do not end up in a session row."""
    client = visitor()
    client.post("/chat/send", {"text": "x" * 1_000_000})
    assert len(client.get("/login/").context["kept_text"]) == 200_000
