"""The file browser at a real browser: look, write, upload, throw away, at every width."""

import re
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_look import VIEWS, faults, options, overflow
from tests.support.browser import Complaints, follow
from tests.support.stack import OWNER, Stack
from tests.support.waiting import wait_until

MARKDOWN = """# The garden

| Plant | Water |
|---|---:|
| Basil | daily |

- [x] seeds
- [ ] soil

```python
def water(plants: list[str]) -> None:
    \"\"\"All of them.\"\"\"
```
"""


@pytest.fixture
def folder(scripted: Stack) -> Path:
    """A folder of its own in the owner's workspace, with one of every kind of file."""
    workspace = scripted.data.workspaces / OWNER
    made = workspace / f"files {uuid.uuid4().hex[:8]}"
    (made / "deep").mkdir(parents=True)
    (made / "garden.md").write_text(MARKDOWN)
    (made / "plants.csv").write_text("name;height;place\nbasil;20;window\nrosemary;45;balcony\n")
    (made / "log.jsonl").write_text('{"day": 1, "what": "sown"}\n{broken\n')
    (made / "water.py").write_text("def water() -> None:\n    print('done')\n")
    (made / "plain.txt").write_text("Just words.\n" * 40)
    (made / "leaf.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="80" onload="alert(1)">'
        '<script>alert(1)</script><ellipse cx="60" cy="40" rx="50" ry="20" fill="seagreen"/></svg>'
    )
    (made / "book.pdf").write_bytes(b"%PDF-1.4\n%%EOF\n")
    (made / "thing.bin").write_bytes(bytes(range(256)))
    return made


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_axe_finds_nothing_on_any_page_of_files(
    signed_in: Callable[..., Page], folder: Path, width: int, scheme: str
) -> None:
    """Every kind of file, every form; none is wider than its window."""
    page = signed_in(**options(width, scheme))
    at = f"/workspace/{folder.name}"
    paths = ["/workspace/", at, *(f"{at}/{path.name}" for path in folder.iterdir())]
    paths += [
        f"/files/{act}/{folder.name}/garden.md/" for act in ("edit", "move", "copy", "delete")
    ]
    paths += ["/files/history/USER.md/", "/files/trash/", f"/files/upload/{folder.name}/"]
    paths += [f"/files/new/{folder.name}/", "/settings/system/", "/workspace/USER.md"]
    found: list[str] = []
    for path in paths:
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        assert overflow(page) <= 0, path
        found += faults(page)
    assert not found


def test_a_text_is_written_saved_and_seen(signed_in: Callable[..., Page], folder: Path) -> None:
    """Preview, then save by keyboard; the page shows what was written."""
    page = signed_in()
    page.goto(f"/workspace/{folder.name}/garden.md")
    follow(page, page.get_by_role("link", name="Edit").click)
    field = page.get_by_label("Text of garden.md")
    field.fill("# Winter\n\nNothing grows.\n")
    expect(page.get_by_text("Not saved yet.")).to_be_visible()
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview").get_by_role("heading", name="Winter")).to_be_visible()
    field.focus()
    follow(page, lambda: page.keyboard.press("Control+s"))
    expect(page.get_by_text("garden.md is saved")).to_be_visible()
    expect(page.get_by_role("heading", name="Winter")).to_be_visible()
    assert (folder / "garden.md").read_text() == "# Winter\n\nNothing grows.\n"


def test_two_writers_see_each_other(
    signed_in: Callable[..., Page], folder: Path, complaints: Complaints
) -> None:
    """Who saves second sees both texts, keeps the draft, and decides."""
    complaints.allow("status of 409")
    page = signed_in()
    page.goto(f"/files/edit/{folder.name}/garden.md/")
    page.get_by_label("Text of garden.md").fill("mine\n")
    (folder / "garden.md").write_text("theirs\n")
    follow(page, page.get_by_role("button", name="Save").click)
    expect(page.get_by_role("alert")).to_contain_text("was changed while you were editing")
    expect(page.locator(".diff del")).to_have_text("theirs")
    expect(page.locator(".diff ins")).to_have_text("mine")
    assert (folder / "garden.md").read_text() == "theirs\n"
    expect(page.get_by_label("Text of garden.md")).to_have_value("mine\n")
    follow(page, page.get_by_role("button", name="Save mine over it").click)
    assert (folder / "garden.md").read_text() == "mine\n"


def test_what_was_typed_outlives_the_session(
    signed_in: Callable[..., Page], folder: Path, complaints: Complaints
) -> None:
    """A save that finds nobody logged in leads to the login, and back to the text."""
    complaints.allow("status of 4")
    page = signed_in()
    page.goto(f"/files/edit/{folder.name}/garden.md/")
    page.get_by_label("Text of garden.md").fill("words that stay\n")
    page.context.clear_cookies(name=re.compile("^jenny_session_"))
    follow(page, page.get_by_role("button", name="Save").click)
    expect(page.get_by_label("Password")).to_be_visible()
    page.get_by_label("User name").fill("owner")
    page.get_by_label("Password").fill("correct horse battery staple")
    follow(page, page.get_by_role("button", name="Log in").click)
    expect(page.get_by_label("Text of garden.md")).to_have_value("words that stay\n")
    assert (folder / "garden.md").read_text() == MARKDOWN


def test_files_are_uploaded_with_progress(
    signed_in: Callable[..., Page], folder: Path, tmp_path: Path
) -> None:
    """Several at once, one larger than a request may be; the list shows them afterwards."""
    large = tmp_path / "large.bin"
    large.write_bytes(bytes(range(256)) * 80_000)
    small = tmp_path / "small & <b>.txt"
    small.write_text("small")
    page = signed_in()
    page.goto(f"/workspace/{folder.name}")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("link", name="Upload", exact=True).click()
    with page.expect_navigation():
        chosen.value.set_files([large, small])
    expect(page.get_by_role("link", name="large.bin")).to_be_visible()
    expect(page.get_by_role("link", name="small & <b>.txt")).to_be_visible()
    assert (folder / "large.bin").read_bytes() == large.read_bytes()


def test_a_folder_is_filtered_while_typing(signed_in: Callable[..., Page], folder: Path) -> None:
    """The rows change, the page stays."""
    page = signed_in()
    page.goto(f"/workspace/{folder.name}")
    page.get_by_label("Filter by name").fill("plant")
    expect(page.locator(".listing tbody tr")).to_have_count(1)
    expect(page.get_by_role("link", name="plants.csv")).to_be_visible()


def test_everything_works_without_script(
    signed_in: Callable[..., Page], folder: Path, tmp_path: Path
) -> None:
    """Make, write, upload, move, throw away and put back, by forms and links alone."""
    page = signed_in(java_script_enabled=False)
    page.goto(f"/workspace/{folder.name}")
    follow(page, page.get_by_role("link", name="New", exact=True).click)
    page.get_by_label("Name").fill("new.md")
    follow(page, page.get_by_role("button", name="Create").click)
    page.get_by_label("Text of new.md").fill("- one\n")
    follow(page, page.get_by_role("button", name="Save").click)
    expect(page.get_by_text("is saved")).to_be_visible()
    page.locator("summary", has_text="More").click()
    follow(page, page.get_by_role("link", name="Rename or move").click)
    page.get_by_label("Path").fill(f"{folder.name}/deep/old.md")
    follow(page, page.get_by_role("button", name="Move it").click)
    assert (folder / "deep/old.md").read_text() == "- one\n"
    page.goto(f"/files/upload/{folder.name}/")
    sent = tmp_path / "sent.txt"
    sent.write_text("sent")
    page.get_by_label("Files").set_input_files(sent)
    follow(page, page.get_by_role("button", name="Upload").click)
    expect(page.get_by_role("link", name="sent.txt")).to_be_visible()
    page.goto(f"/files/delete/{folder.name}/deep/")
    follow(page, page.get_by_role("button", name="Move it to the trash").click)
    assert not (folder / "deep").exists()
    follow(page, page.get_by_role("link", name="Trash").click)
    row = page.locator(".rows > li", has_text=f"{folder.name}/deep")
    follow(page, row.get_by_role("button", name="Put back").click)
    wait_until((folder / "deep/old.md").exists, what="the folder to be back")


def test_a_drawing_runs_nothing(
    signed_in: Callable[..., Page], folder: Path, complaints: Complaints
) -> None:
    """Neither as a picture in its page nor opened by itself."""
    complaints.allow("Blocked script execution")
    complaints.allow("violates the following Content Security Policy")
    page = signed_in()
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.goto(f"/workspace/{folder.name}/leaf.svg")
    picture = page.get_by_role("img", name="leaf.svg")
    assert picture.evaluate("(image) => image.complete && image.naturalWidth") == 120
    page.goto(f"/files/raw/{folder.name}/leaf.svg/")
    assert not asked


def test_a_text_of_a_megabyte_is_edited_and_saved(
    signed_in: Callable[..., Page], folder: Path
) -> None:
    """The largest text that is edited here opens, takes words at its end, and is saved whole."""
    line = "A line of a long book, with an end.\n"
    book = line * (990_000 // len(line))
    (folder / "book.md").write_text(book)
    page = signed_in()
    page.goto(f"/files/edit/{folder.name}/book.md/")
    field = page.get_by_label("Text of book.md")
    field.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("The end.")
    follow(page, lambda: page.keyboard.press("Control+s"))
    expect(page.get_by_text("book.md is saved")).to_be_visible()
    assert (folder / "book.md").read_text() == f"{book}The end."


def test_numbers_of_a_table_stay_whole_on_a_phone(
    signed_in: Callable[..., Page], folder: Path
) -> None:
    """No number breaks across lines; a table that is wider than the window scrolls by itself."""
    row = ",".join(f"{number}234567.89" for number in range(1, 9))
    (folder / "sums.csv").write_text(",".join("abcdefgh") + f"\n{row}\n")
    page = signed_in(**options(360, "light"))
    page.goto(f"/workspace/{folder.name}/sums.csv")
    assert overflow(page) <= 0
    lines = page.locator("table.grid td").evaluate_all(
        """cells => cells.map(cell => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          return new Set([...range.getClientRects()].map(rect => rect.top)).size;
        })"""
    )
    assert lines == [1] * 8
    assert page.locator(".scrolls").evaluate("node => node.scrollWidth > node.clientWidth")
