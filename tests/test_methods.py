"""Methods: a page that can be got can be asked for its headers; nothing else is done by them."""

import pytest

PAGES = [
    "/chat/",
    "/chat/{chat}/",
    "/chat/{chat}/thread",
    "/chat/{chat}/delete",
    "/chat/{chat}/about",
    "/chat/{chat}/export/md",
    "/chat/all/",
    "/chat/trash/",
    "/settings/models/",
    "/settings/account/",
    "/settings/memory/",
    "/settings/conversation/",
    "/settings/system/",
    "/settings/appearance/",
    "/settings/system/health/",
    "/settings/usage/",
    "/settings/account/two-factor/",
    "/settings/account/delete/",
    "/memory/",
    "/memory/runs/",
    "/memory/approvals/",
    "/memory/archive/",
    "/memory/forgotten/",
    "/memory/files/USER.md",
    "/workspace/",
    "/workspace/USER.md",
    "/files/edit/USER.md/",
    "/files/history/USER.md/",
    "/files/new/",
    "/files/upload/",
    "/files/move/USER.md/",
    "/files/copy/USER.md/",
    "/files/delete/USER.md/",
    "/files/trash/",
    "/snapshots/",
    "/snapshots/keep/",
    "/snapshots/versions/",
    "/wikis/",
    "/wiki/create/",
    "/wiki/search/",
    "/wiki/graph/",
    "/health/live",
    "/health/ready",
    "/manifest.webmanifest",
    "/offline/",
    "/offline/worker.js",
]
FORMS = [
    "/chat/send",
    "/chat/draft",
    "/chat/{chat}/send",
    "/chat/{chat}/stop",
    "/chat/{chat}/retry",
    "/chat/{chat}/draft",
    "/chat/{chat}/model",
    "/chat/{chat}/rename",
    "/chat/{chat}/branch",
    "/chat/{chat}/seen",
    "/chat/all/act",
    "/chat/trash/act",
    "/logout/",
    "/memory/dream",
    "/memory/offer-again",
    "/memory/approvals/accept-all",
    "/memory/pin/USER.md",
    "/files/preview",
    "/files/piece/",
    "/wiki/example/",
]


@pytest.fixture(scope="module")
def chat(owner) -> str:
    """A conversation that these tests only look at."""
    return owner.begin("/help")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_answers_head_as_get_without_its_body(owner, chat, path):
    """Link checkers, previews and monitors ask so."""
    address = path.format(chat=chat)
    head, got = owner.http.head(address), owner.get(address)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == got.headers["content-type"]


@pytest.mark.parametrize("path", [*PAGES, *FORMS])
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE"])
def test_methods_that_nothing_takes_are_refused(owner, chat, path, method):
    """Each with the list of what is taken."""
    headers = {"X-CSRFToken": owner.token()}
    answer = owner.http.request(method, path.format(chat=chat), headers=headers)
    assert answer.status_code == 405
    assert method not in answer.headers["allow"]


@pytest.mark.parametrize("path", FORMS)
def test_what_changes_something_is_not_done_by_a_link(owner, chat, path):
    """GET and HEAD change nothing."""
    address = path.format(chat=chat)
    assert owner.get(address).status_code == 405
    assert owner.http.head(address).status_code == 405
