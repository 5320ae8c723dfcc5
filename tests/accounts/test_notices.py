"""What a person should know stands on every page until its cause is gone, and only until then."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError
from django.test import Client

from jenny.accounts import access
from jenny.accounts.models import Account, Workspace
from jenny.accounts.services import notices
from jenny.accounts.services.notices import Notice
from jenny.env import DataFolder


@pytest.fixture
def workspace(db: None, settings: Any, tmp_path: Path) -> Workspace:
    """A new workspace, in a data folder without folders that other tests left."""
    settings.JENNY_DATA = DataFolder(tmp_path)
    return access.made_workspace(Account.objects.make_owner("ana", "a good long password", "UTC"))


@pytest.fixture
def said() -> Iterator[list[Notice]]:
    """What a source of the test's own says."""
    rows: list[Notice] = []
    notices.register_notices("test", lambda _: list(rows))
    yield rows
    notices._SOURCES.pop("test")


def texts(workspace: Workspace) -> list[str]:
    """The sentences that stand there now."""
    return [notice.text for notice in notices.all_notices(workspace)]


def test_settings_that_cannot_be_read_are_said_until_they_can(workspace: Workspace) -> None:
    """The broken file is quarantined and named; corrected, nothing is said any more."""
    file = workspace.root / "config.json"
    file.write_text('{"agents": ')
    (text,) = texts(workspace)
    assert "config.json cannot be read" in text
    assert "config.corrupt-" in text
    file.write_text('{"agents": {"defaults": {"dream": {"modelOverride": "gone"}}}}')
    (text,) = texts(workspace)
    assert "names the preset “gone”, which does not exist; Dream uses the main model" in text
    file.write_text("{}")
    assert texts(workspace) == []


def test_versions_that_are_off_are_said_until_they_are_on(workspace: Workspace) -> None:
    """Something else in the store's place: said with the cure, gone when it is moved away."""
    store = workspace.root / "memory/.git"
    if store.exists():
        store.rename(workspace.root / "moved")
    store.write_text("gitdir: elsewhere")
    (text,) = texts(workspace)
    assert text.startswith("Versions are off: ")
    assert "move away what stands in its place" in text
    store.unlink()
    assert texts(workspace) == []


def test_one_of_each_and_errors_first(workspace: Workspace, said: list[Notice]) -> None:
    """Two sources that speak of the same are heard once; what is broken stands before the rest; a
    source that fails keeps no page from being shown."""
    said += [
        Notice(key="a", kind="info", text="An info."),
        Notice(key="b", kind="error", text="An error."),
        Notice(key="a", kind="warning", text="The same again."),
    ]
    assert texts(workspace) == ["An error.", "An info."]

    def broken(_: Workspace) -> list[Notice]:
        raise DatabaseError

    notices.register_notices("test", broken)
    assert texts(workspace) == []


def test_a_page_shows_the_way_and_the_button(workspace: Workspace, said: list[Notice]) -> None:
    """The sentence as text, a link in its own words, and a button only where there is one."""
    said += [
        Notice(key="a", kind="info", text="<b>Left</b>", href="/chat/", link="See it"),
        Notice(key="b", kind="info", text="Over.", dismiss="/chat/"),
    ]
    client = Client()
    client.force_login(workspace.owner)
    page = client.get("/settings/memory/").content.decode()
    assert "&lt;b&gt;Left&lt;/b&gt;" in page
    (bar,) = re.findall(r'<a class="notice-body" href="/chat/">.*?</a>', page, re.DOTALL)
    assert "See it" in bar
    assert page.count(">Dismiss</button>") == 1


def test_one_is_hidden_until_its_cause_changes(workspace: Workspace, said: list[Notice]) -> None:
    """What is no error can be put away by its reader; a new count shows it again. The fragment
    that pages ask for says the same."""
    said += [
        Notice(key="a", kind="info", text="7 changes to review."),
        Notice(key="b", kind="error", text="Broken."),
    ]
    client = Client()
    client.force_login(workspace.owner)
    for key in ("a", "b", "gone"):
        assert client.post("/notices/", {"key": key}).status_code == 302
    for path in ("/settings/memory/", "/notices/", "/chat/", "/notices/?quiet"):
        page = client.get(path).content.decode()
        assert "7 changes" not in page
        assert "Broken." in page
    said[0] = Notice(key="a", kind="info", text="6 changes to review.")
    page = client.get("/notices/?quiet").content.decode()
    assert "6 changes" in page.partition("<details")[2]
    assert "Broken." in page.partition("<details")[0]


def test_they_cost_a_page_little(workspace: Workspace, django_assert_max_num_queries: Any) -> None:
    """A handful of queries, each by an index, for all sources together."""
    notices.all_notices(workspace)
    with django_assert_max_num_queries(12) as seen:
        notices.all_notices(workspace)
    assert seen.captured_queries
