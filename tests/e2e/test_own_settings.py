"""Usage, two-factor, look and the operator's pages, in a real browser."""

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from jenny.accounts import totp
from tests.e2e.conftest import new_words, only_for
from tests.e2e.test_look import VIEWS, faults, options, overflow
from tests.model_server import ModelServer
from tests.support.browser import follow
from tests.support.client import Client
from tests.support.stack import Stack, manage

SECRET = "another horse battery staple"
PAGES = (
    "/settings/usage/",
    "/settings/usage/?days=7&show=cost",
    "/settings/system/",
    "/settings/appearance/",
    "/settings/system/health/",
    "/settings/account/",
    "/settings/account/two-factor/",
    "/settings/account/delete/",
    "/operator/",
    "/operator/chat/turn/",
)
# Visited only: axe reads the style sheet that Django's imports there, by a style of its own, which
# the policy refuses.
ROW = "/operator/accounts/account/1/change/"


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_axe_finds_nothing(
    signed_in: Callable[..., Page],
    owner: Client,
    model_server: ModelServer,
    width: int,
    scheme: str,
) -> None:
    """On each page with something on it: a plot, its tables, strips; none wider than its window.
    Django's own pages are wide, and scroll within themselves."""
    words = new_words()
    model_server.script("Counted.", when=only_for(words))
    owner.answer(owner.begin(f"What is counted? {words}"))
    page = signed_in(**options(width, scheme))
    found: list[str] = []
    for path in PAGES:
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        if not path.startswith("/operator/"):
            assert overflow(page) <= 0, path
        found += faults(page)
    assert not found
    answer = page.goto(ROW)
    assert answer is not None
    assert answer.status == 200


def log_in(page: Page, name: str) -> None:
    """Name and password, by keyboard."""
    page.goto("/login/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(SECRET)
    follow(page, lambda: page.keyboard.press("Enter"))


def test_two_factor_from_its_set_up_to_the_next_login(
    new_page: Callable[..., Page], scripted: Stack
) -> None:
    """By keyboard: password, code, recovery codes shown once, and the second step of a login."""
    manage(scripted.data.root, "create_account", "--username", "fay", said=SECRET)
    page = new_page(base_url=scripted.url, **options(360, "dark"))
    log_in(page, "fay")
    page.goto("/settings/account/two-factor/")
    page.get_by_label("Your password").fill(SECRET)
    follow(page, lambda: page.keyboard.press("Enter"))
    expect(page.get_by_role("img", name=re.compile("QR code"))).to_be_visible()
    secret = page.locator(".secret").inner_text().replace(" ", "")
    assert not faults(page)
    assert overflow(page) <= 0
    # It stays good when the next half minute begins before it arrives.
    step = int(time.time()) // 30
    page.get_by_label("Six digits that the app shows").fill(totp.code_at(secret, step))
    follow(page, lambda: page.keyboard.press("Enter"))
    codes = page.get_by_role("list", name="Recovery codes").get_by_role("listitem")
    expect(codes).to_have_count(10)
    assert not faults(page)
    recovery = codes.first.inner_text()
    page.context.clear_cookies()
    log_in(page, "fay")
    expect(page.get_by_role("heading", name="One more step")).to_be_visible()
    assert not faults(page)
    page.get_by_label("Code").fill(recovery)
    follow(page, lambda: page.keyboard.press("Enter"))
    expect(page).to_have_url(re.compile("/chat/"))


def test_the_look_is_there_before_any_script(signed_in: Callable[..., Page], owner: Client) -> None:
    """Dark on a light system, and light on a dark one, also without script."""
    grounds = {"light": "rgb(250, 248, 244)", "dark": "rgb(26, 24, 22)"}
    try:
        for chosen, system in (("dark", "light"), ("light", "dark")):
            owner.post("/settings/appearance/", theme=chosen)
            page = signed_in(**options(1280, system), java_script_enabled=False)
            page.goto("/settings/appearance/")
            expect(page.locator("html")).to_have_css("background-color", grounds[chosen])
            assert page.get_by_role("radio", name=chosen.capitalize()).is_checked()
    finally:
        owner.post("/settings/appearance/", theme="system")


def test_links_of_the_operators_pages_are_large_enough_for_a_thumb(
    signed_in: Callable[..., Page],
) -> None:
    """On a touch screen every link of Django's pages is 44 pixels high."""
    page = signed_in(**options(360, "light"))
    for path in ("/operator/", "/operator/accounts/account/", ROW):
        page.goto(path)
        small = page.evaluate(
            """() => [...document.querySelectorAll('#container a, #container input')]
              .filter(node => node.checkVisibility() && !node.matches('.skip-to-content-link'))
              .filter(node => node.getBoundingClientRect().height < 43.5)
              .map(node => node.outerHTML.slice(0, 120))"""
        )
        assert small == [], path


@pytest.mark.parametrize("width", [1440, 360])
def test_tables_of_usage_show_every_column(
    signed_in: Callable[..., Page], owner: Client, model_server: ModelServer, width: int
) -> None:
    """Each column fits, or the table scrolls with a shadow where it is cut; none is hidden, and
    none is there that is empty in every row."""
    words = new_words()
    model_server.script("Counted.", when=only_for(words))
    owner.answer(owner.begin(f"What is counted? {words}"))
    page = signed_in(**options(width, "light"))
    page.goto("/settings/usage/")
    tables = page.locator("section > .table")
    expect(tables).to_have_count(2)
    for table in tables.all():
        about = table.evaluate(
            """node => {
              const heads = [...node.querySelectorAll('th[scope=col]')];
              return {
                hidden: heads.filter(head => !head.checkVisibility()).length,
                empty: heads.filter((_, at) => [...node.querySelectorAll('tbody tr')]
                  .every(row => !row.children[at].textContent.trim())).length,
                fits: node.scrollWidth <= node.clientWidth,
                shades: getComputedStyle(node).backgroundImage.split('linear-gradient').length - 1,
              };
            }"""
        )
        assert (about["hidden"], about["empty"]) == (0, 0)
        assert about["fits"] or about["shades"] == 4
        assert width == 360 or about["fits"]
