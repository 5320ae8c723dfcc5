"""A form that was sent with a session that had ended loses nothing that was typed."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import Complaints, follow
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack

PAGES = (
    ("/wiki/create/", {"name": "garden", "scope": "What grows where"}, ""),
    ("/settings/workspaces/", {"name": "Second home"}, ""),
    ("/files/new/", {"name": "later.md"}, ""),
)


@pytest.mark.parametrize("case", PAGES, ids=lambda case: case[0])
def test_what_was_typed_is_filled_in_again(
    new_page: Callable[..., Page],
    scripted: Stack,
    owner: Client,
    case: tuple[str, dict[str, str], str],
    complaints: Complaints,
) -> None:
    """The login page says that nothing was stored; after it the form has what was typed, but no
    password, says so, and says it once."""
    path, typed, button = case
    complaints.allow("401")  # the answer to a form without a session
    page = new_page(base_url=scripted.url)

    def log_in() -> None:
        page.locator("[name=username]").fill(OWNER)
        page.locator("[name=password]").fill(PASSWORD)
        follow(page, page.get_by_role("button", name="Log in").click)

    page.goto(f"/login/?next={path}")
    log_in()
    fields = {name: page.locator(f"form [name={name}]:visible").first for name in typed}
    for name, field in fields.items():
        field.fill(typed[name])
    form = next(iter(fields.values())).locator("xpath=ancestor::form")
    page.context.clear_cookies(name=re.compile("^jenny_session_"))
    sender = form.get_by_role("button", name=button) if button else form.get_by_role("button")
    follow(page, sender.first.click)
    expect(page.locator("[data-nothing-stored]")).to_contain_text("nothing was stored")
    log_in()
    expect(page.locator(".kept-form")).to_contain_text("Nothing was stored before")
    for name, words in typed.items():
        expect(fields[name]).to_have_value(words)
    follow(page, lambda: page.goto(path))
    expect(page.locator(".kept-form")).to_have_count(0)


def test_another_account_is_shown_nothing_of_it(
    new_page: Callable[..., Page], scripted: Stack, owner: Client
) -> None:
    """What one person typed is gone for the next one who logs in in the same tab."""
    page = new_page(base_url=scripted.url)
    page.goto("/login/?next=/files/new/")
    page.evaluate(
        "() => sessionStorage.setItem('jenny-form', JSON.stringify({account: '0', lost: true,"
        " page: '/files/new/', form: '/files/new/', fields: [['name', 'private', null]]}))"
    )
    page.locator("[name=username]").fill(OWNER)
    page.locator("[name=password]").fill(PASSWORD)
    follow(page, page.get_by_role("button", name="Log in").click)
    expect(page.locator(".kept-form")).to_have_count(0)
    expect(page.locator("form [name=name]").first).to_have_value("")
    assert page.evaluate("() => sessionStorage.getItem('jenny-form')") is None
