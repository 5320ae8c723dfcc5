"""A backup goes out of one browser and comes back in, through a real worker."""

import os
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_look import VIEWS, faults, options, overflow
from tests.support.browser import Complaints, follow
from tests.support.stack import OWNER, Stack

PASSPHRASE = "walnut ferry quilt ninety"
BIG = 9_000_000  # more than one piece


@pytest.fixture
def root(scripted: Stack) -> Path:
    """The owner's workspace."""
    return scripted.data.workspaces / OWNER


def exported(page: Page) -> None:
    """Ask for a backup, and wait until it is there."""
    page.goto("/settings/backup/")
    page.get_by_label("Passphrase", exact=True).fill(PASSPHRASE)
    page.get_by_label("The same once more").fill(PASSPHRASE)
    follow(page, page.get_by_role("button", name="Make a backup").click)
    expect(page.get_by_role("heading", name="Done")).to_be_visible(timeout=60_000)


def test_a_backup_goes_out_and_comes_back(
    signed_in: Callable[..., Page], root: Path, tmp_path: Path, complaints: Complaints
) -> None:
    """Made, left and found again, downloaded, sent back in pieces, looked at with a mistyped
    passphrase first, brought back, and undone."""
    page = signed_in()
    name = f"{uuid.uuid4().hex}.bin"
    data = os.urandom(BIG)
    (root / name).write_bytes(data)
    exported(page)
    page.goto("/settings/backup/")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download").first.click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert path.name.endswith(".zip.age")
    assert path.read_bytes().startswith(b"age-encryption.org/v1")

    (root / name).write_bytes(b"ruined")
    page.get_by_label("Backup", exact=True).set_input_files(path)
    page.get_by_label("Its passphrase").fill("something else")
    follow(page, page.get_by_role("button", name="Look at it").click)
    expect(page.get_by_role("alert")).to_contain_text("passphrase is another one")
    follow(page, page.locator("main").get_by_role("link", name="Backup").click)
    expect(page.get_by_text("The file you sent is still here")).to_be_visible()
    page.get_by_label("Its passphrase").fill(PASSPHRASE)
    follow(page, page.get_by_role("button", name="Look at it").click)
    see = page.get_by_role("link", name="See what it would change")
    expect(see).to_be_visible(timeout=60_000)
    expect(page.get_by_role("heading", name="Checked, not brought back yet")).to_be_visible()
    follow(page, see.click)
    expect(page.get_by_text("1 file changed")).to_be_visible()
    assert (root / name).read_bytes() == b"ruined"
    follow(page, page.get_by_role("button", name="Bring it back").click)
    expect(page.get_by_role("heading", name="Done")).to_be_visible(timeout=60_000)
    assert (root / name).read_bytes() == data
    follow(page, page.get_by_role("link", name="Undo this import…").click)
    follow(page, page.get_by_role("button", name="Restore everything").click)
    expect(page.get_by_role("heading", name="Done")).to_be_visible(timeout=60_000)
    assert (root / name).read_bytes() == b"ruined"


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_axe_finds_nothing_on_the_pages_of_backups(
    signed_in: Callable[..., Page],
    root: Path,
    complaints: Complaints,
    width: int,
    scheme: str,
) -> None:
    """The page, with a problem and with a backup that is ready, and what an import would change;
    none is wider than its window."""
    complaints.allow("422")
    page = signed_in(**options(width, scheme))
    (root / f"{uuid.uuid4().hex}.md").write_text("something to bring back")
    exported(page)
    found = faults(page)
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download").first.click()
    path = waiting.value.path()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
    page.goto("/settings/backup/")
    found += faults(page)
    assert overflow(page) <= 0
    follow(page, page.get_by_role("button", name="Make a backup").click)
    expect(page.get_by_role("alert")).to_contain_text("at least 12")
    found += faults(page)
    (root / "made later, with a name that is rather long for a phone.md").write_text("x")
    page.get_by_label("Backup", exact=True).set_input_files(path)
    page.get_by_label("Its passphrase").fill(PASSPHRASE)
    follow(page, page.get_by_role("button", name="Look at it").click)
    follow(page, page.get_by_role("link", name="See what it would change").click)
    found += faults(page)
    assert overflow(page) <= 0
    follow(page, page.get_by_role("button", name="Cancel, and remove the file").click)
    expect(page.locator("#notices")).to_contain_text("removed from this machine")
    assert not found
