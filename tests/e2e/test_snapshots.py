"""Memory that was pruned badly comes back in three ways, and so does what was undone by mistake."""

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions.commits import RunNote, begin_run, commit_run
from tests.e2e.test_look import VIEWS, faults, options, overflow
from tests.support.browser import follow
from tests.support.stack import OWNER, Stack

GOOD = "# User\n\n- Lives in Bern\n- Works as a gardener\n- Allergic to nuts\n"
BAD = "# User\n\n- Lives in Bern\n"


@pytest.fixture
def root(scripted: Stack) -> Path:
    """The owner's workspace, with something to lose."""
    root = scripted.data.workspaces / OWNER
    (root / "USER.md").write_text(GOOD)
    return root


def pruned(root: Path) -> str:
    """A run of Dream that took too much out of USER.md; its version's id."""
    run = f"dream:9{uuid.uuid4().int % 10**8}"
    begin_run(root, RunNote(run, "dream: scheduled run", (0, None)))
    open_workspace(root, Actor("dream", run=run)).write("USER.md", BAD.encode())
    return commit_run(root, RunNote(run, "dream: scheduled run", (0, None))).versions[-1].sha


def taken(page: Page, label: str) -> None:
    """A snapshot by hand."""
    page.goto("/snapshots/")
    page.get_by_label("Words to find it by").fill(label)
    follow(page, page.get_by_role("button", name="Take one now").click)
    expect(page.locator("#notices")).to_contain_text("was taken by hand")


def row(page: Page, label: str) -> object:
    """The snapshot of that label, in the list."""
    page.goto("/snapshots/")
    return page.locator(".shots > li").filter(has_text=label)


def restored(page: Page, button: str) -> None:
    """Agree to the plan that is shown, and wait until it is done."""
    follow(page, page.get_by_role("button", name=button).click)
    expect(page.get_by_role("heading", name="Done")).to_be_visible(timeout=60_000)


def test_memory_comes_back_in_three_ways_and_the_undo_is_undone(
    signed_in: Callable[..., Page], root: Path
) -> None:
    """Undo the run; take one file from a snapshot; bring back the whole snapshot; and each of them
    can be taken back again."""
    page = signed_in()
    label = f"before {uuid.uuid4().hex[:8]}"
    (root / "notes.md").write_text("kept")
    taken(page, label)

    # One: undo what the run did, and undo the undoing.
    sha = pruned(root)
    page.goto("/snapshots/")
    follow(page, page.locator(f"a.button[href*='{sha}']").click)
    expect(page.get_by_text("Works as a gardener").first).to_be_visible()
    follow(page, page.get_by_role("link", name="Undo…").click)
    follow(page, page.get_by_role("button", name="Undo").click)
    expect(page.locator("#notices")).to_contain_text("Undone")
    assert (root / "USER.md").read_text() == GOOD
    follow(page, page.get_by_role("link", name="Redo…").click)
    follow(page, page.get_by_role("button", name="Redo").click)
    assert (root / "USER.md").read_text() == BAD

    # Two: the one file, out of the snapshot.
    (root / "notes.md").write_text("written since")
    follow(page, row(page, label).get_by_role("link").first.click)
    follow(page, page.get_by_role("link", name="USER.md").click)
    expect(page.get_by_text("Works as a gardener")).to_be_visible()
    follow(page, page.get_by_role("link", name="Restore this file…").click)
    expect(page.locator(".fold > summary")).to_contain_text("Gets its old content back")
    restored(page, "Restore it")
    assert (root / "USER.md").read_text() == GOOD
    assert (root / "notes.md").read_text() == "written since"

    # Three: everything, with the plan that names what goes; and the way back.
    pruned(root)
    (root / "made later.md").write_text("later")
    follow(page, row(page, label).get_by_role("link", name="Restore…").click)
    expect(page.get_by_text("made later.md")).to_be_visible()
    restored(page, "Restore everything")
    assert (root / "USER.md").read_text() == GOOD
    assert (root / "notes.md").read_text() == "kept"
    assert not (root / "made later.md").exists()
    follow(page, page.get_by_role("link", name="Undo this restore…").click)
    restored(page, "Restore everything")
    assert (root / "USER.md").read_text() == BAD
    assert (root / "notes.md").read_text() == "written since"
    assert (root / "made later.md").read_text() == "later"


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_axe_finds_nothing_on_any_page_of_snapshots(
    signed_in: Callable[..., Page], root: Path, width: int, scheme: str
) -> None:
    """Every page of them; none is wider than its window."""
    page = signed_in(**options(width, scheme))
    taken(page, f"look {uuid.uuid4().hex[:8]}")
    top = row(page, "look").first.get_by_role("link").first.get_attribute("href")
    sha = pruned(root)
    paths = ["/snapshots/", top, f"{top}files/USER.md", f"{top}files/memory", f"{top}diff/"]
    paths += [f"{top}diff/?path=USER.md", f"{top}restore/", f"{top}restore/?path=USER.md"]
    paths += ["/snapshots/keep/", "/snapshots/versions/", f"/snapshots/versions/{sha}/"]
    found: list[str] = []
    for path in paths:
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        assert overflow(page) <= 0, path
        found += faults(page)
    assert not found


def test_a_difference_is_one_column_on_a_phone(signed_in: Callable[..., Page], root: Path) -> None:
    """Lines that went stand above those that came, each as wide as the page."""
    page = signed_in(**options(360, "light"))
    taken(page, f"narrow {uuid.uuid4().hex[:8]}")
    (root / "USER.md").write_text((root / "USER.md").read_text() + f"- {'words ' * 20}\n")
    top = row(page, "narrow").first.get_by_role("link").first.get_attribute("href")
    page.goto(f"{top}diff/?path=USER.md")
    came = page.locator(".diff tr.came td").last.bounding_box()
    assert came is not None
    assert came["width"] > 250
    assert overflow(page) <= 0
