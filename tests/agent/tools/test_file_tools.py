"""Reading and writing files as the model does it."""

import os
import re
import threading
import zipfile
from pathlib import Path

import pytest

from jenny.agent.tools import Toolbox, ToolContext
from jenny.agent.tools.file_tools import FILE_BYTES, FILE_TOOLS
from jenny.chat.attachment_texts import excerpt
from jenny.documents import file_types
from jenny.documents.reader import read_file
from jenny.workspace.config import fields
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.write_rules import Change, register_rule
from tests.agent.conftest import Call
from tests.support import files


def test_lines_come_with_their_numbers(call: Call) -> None:
    """The model can say where something stands."""
    outcome = call("read_file", path="memory/MEMORY.md")
    assert outcome.content == "    1\t- Bees since 2024\n    2\t- Hive two is weak"


def test_a_long_file_comes_in_pages(root: Path, call: Call) -> None:
    """Every line can be reached, and each page says how to go on."""
    lines = [f"line {number} {'x' * 50}" for number in range(1, 1001)]
    (root / "long.md").write_text("\n".join(lines) + "\n")
    seen: list[str] = []
    offset = 1
    while offset:
        outcome = call("read_file", path="long.md", offset=offset)
        assert len(outcome.content) <= 16_000
        seen += [row.split("\t", 1)[1] for row in outcome.content.split("\n") if "\t" in row]
        note = outcome.content.rsplit("\n", 1)[1]
        offset = outcome.data["last"] + 1 if "Go on with" in note else 0
    assert seen == lines


def test_the_end_of_a_file_is_read_by_a_negative_offset(root: Path, call: Call) -> None:
    """The newest lines of a log are a call away."""
    (root / "log.md").write_text("a\nb\nc\nd\n")
    outcome = call("read_file", path="log.md", offset=-2)
    assert outcome.content == "    3\tc\n    4\td\n[Lines 3–4 of 4.]"
    assert call("read_file", path="log.md", offset=-99).data["first"] == 1


def test_a_line_longer_than_a_page_is_cut_and_said_to_be(root: Path, call: Call) -> None:
    """A page of minified text does not flood the conversation."""
    (root / "min.js").write_text("y" * 50_000 + "\nshort\n")
    outcome = call("read_file", path="min.js")
    assert len(outcome.content) <= 16_000
    assert (
        "Line 1 is 50,000 characters long and is cut here. Go on with offset=2." in outcome.content
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nope.md", "There is no file “nope.md”."),
        ("MEMORY.md", "There is “memory/MEMORY.md”."),
        ("memory/memry.md", "There is “memory/MEMORY.md”."),
        ("memory", "is a folder"),
        ("binary", "(Binary file, 5 bytes) cannot be read as text."),
        ("huge", "21,000,000 bytes"),
        ("", "is a folder"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_reason(
    root: Path, call: Call, path: str, said: str
) -> None:
    """Missing, binary and oversize files give a sentence, never a fault."""
    (root / "binary").write_bytes(b"\x00\x01\x02ab")
    with (root / "huge").open("wb") as file:
        file.truncate(21_000_000)
    outcome = call("read_file", path=path)
    assert not outcome.ok
    assert said in outcome.content


def test_an_empty_file_and_an_offset_beyond_the_end(root: Path, call: Call) -> None:
    """Both are told apart from a missing file."""
    (root / "empty.md").write_text("")
    assert call("read_file", path="empty.md").content == "empty.md is empty."
    assert "has 2 lines" in call("read_file", path="memory/MEMORY.md", offset=9).content


def test_a_byte_order_mark_and_windows_line_ends_are_not_shown(root: Path, call: Call) -> None:
    """A file from elsewhere reads like any other."""
    (root / "win.md").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    assert call("read_file", path="win.md").content == "    1\ta\n    2\tb"


def test_shipped_files_are_read_where_the_workspace_has_none(
    root: Path, context: ToolContext, call: Call
) -> None:
    """A bundled skill is read by its path; the workspace's own of that path wins."""
    context.shipped = {"skills/x/SKILL.md": "shipped\n"}
    assert "shipped" in call("read_file", path="skills/x/SKILL.md").content
    (root / "skills" / "x").mkdir(parents=True)
    (root / "skills" / "x" / "SKILL.md").write_text("own\n")
    assert "own" in call("read_file", path="skills/x/SKILL.md").content


def test_a_folder_is_listed_folders_first(root: Path, call: Call) -> None:
    """Names, sizes, and what is a link."""
    (root / "link").symlink_to("USER.md")
    content = call("list_dir").content
    assert content.split("\n") == ["memory/", "USER.md  35 bytes", "link (a link)"]
    assert call("list_dir", path="memory").content == "MEMORY.md  37 bytes"
    assert not call("list_dir", path="nowhere").ok


def test_a_full_folder_is_listed_in_part(root: Path, call: Call) -> None:
    """Thousands of files do not flood the conversation."""
    (root / "many").mkdir()
    for number in range(600):
        (root / "many" / f"{number:04}.md").touch()
    content = call("list_dir", path="many").content
    assert content.count("\n") == 500
    assert "[100 more are not listed; use find_files.]" in content


def test_a_new_file_is_made_with_its_folders(root: Path, call: Call) -> None:
    """What was made is said from what was written."""
    outcome = call("write_file", path="output/letters/a.md", content="Dear Ana,\nhello\n")
    assert outcome.content == "Made output/letters/a.md: 2 lines, 16 characters."
    assert (root / "output/letters/a.md").read_text() == "Dear Ana,\nhello\n"


def test_a_file_that_was_not_read_is_not_replaced(root: Path, call: Call) -> None:
    """TOO5: whoever replaces all of a file must know all of it."""
    before = (root / "USER.md").read_bytes()
    outcome = call("write_file", path="USER.md", content="new\n")
    assert not outcome.ok
    assert "you have not read all of it" in outcome.content
    assert (root / "USER.md").read_bytes() == before


def test_a_file_that_was_read_in_part_is_not_replaced(root: Path, call: Call) -> None:
    """The lines that were not seen would be lost."""
    (root / "a.md").write_text("1\n2\n3\n4\n")
    call("read_file", path="a.md", limit=2)
    assert not call("write_file", path="a.md", content="new\n").ok
    call("read_file", path="a.md", offset=4)
    assert not call("write_file", path="a.md", content="new\n").ok
    call("read_file", path="a.md", offset=3)
    assert call("write_file", path="a.md", content="new\n").ok
    assert (root / "a.md").read_text() == "new\n"


def test_a_file_that_changed_since_it_was_read_is_not_replaced(root: Path, call: Call) -> None:
    """TOO5: a line that somebody else added meanwhile survives."""
    call("read_file", path="USER.md")
    (root / "USER.md").write_text("# User\n\nAdded by hand.\n")
    outcome = call("write_file", path="USER.md", content="new\n")
    assert not outcome.ok
    assert "has changed since you read it" in outcome.content
    assert "Added by hand." in (root / "USER.md").read_text()


def test_a_file_that_was_written_can_be_written_again(call: Call) -> None:
    """Who wrote all of a file knows it."""
    call("write_file", path="a.md", content="one\n")
    assert call("write_file", path="a.md", content="two\n").ok
    assert "exactly that already" in call("write_file", path="a.md", content="two\n").content


def test_replacing_keeps_windows_line_ends(root: Path, call: Call) -> None:
    """A file of another system stays one."""
    (root / "win.md").write_bytes(b"a\r\nb\r\n")
    call("read_file", path="win.md")
    call("write_file", path="win.md", content="a\nc\n")
    assert (root / "win.md").read_bytes() == b"a\r\nc\r\n"


def test_an_edit_shows_what_stands_there_now(root: Path, call: Call) -> None:
    """The model sees its work, and all other bytes stay."""
    outcome = call("edit_file", path="USER.md", old_text="“short”", new_text="“brief”")
    assert outcome.ok
    assert "    3\tLikes “brief” answers." in outcome.content
    assert (root / "USER.md").read_text() == "# User\n\nLikes “brief” answers.\n"


def test_a_text_in_an_older_coding_is_read(root: Path, call: Call) -> None:
    """It can be read as a document is; it cannot be edited, since that would change its coding."""
    (root / "latin.txt").write_bytes("Grüße aus Köln\n".encode("latin-1"))
    assert "Grüße aus Köln" in call("read_file", path="latin.txt").content
    assert "no text file" in call("edit_file", path="latin.txt", old_text="G", new_text="g").content


def test_an_edit_that_does_not_fit_writes_nothing(root: Path, call: Call) -> None:
    """The refusal names the nearest line and the kind of difference."""
    before = (root / "USER.md").stat().st_mtime_ns
    outcome = call("edit_file", path="USER.md", old_text='likes "short" answers', new_text="x")
    assert not outcome.ok
    assert outcome.content.startswith("Nothing was written to USER.md: ")
    assert "Line 3 differs only in case and quotes" in outcome.content
    assert (root / "USER.md").stat().st_mtime_ns == before


def test_an_edit_of_no_file_or_no_text_is_refused(root: Path, call: Call) -> None:
    """Missing and binary files are told apart."""
    (root / "binary").write_bytes(b"\xff\x00")
    assert "There is no file" in call("edit_file", path="x.md", old_text="a", new_text="b").content
    assert "no text file" in call("edit_file", path="binary", old_text="a", new_text="b").content
    assert (root / "binary").read_bytes() == b"\xff\x00"


def test_two_chats_that_edit_one_file_at_once_both_land(root: Path) -> None:
    """TOO7: edits of one file go one after the other; none is lost."""
    (root / "list.md").write_text("".join(f"item {number}\n" for number in range(40)))
    problems: list[str] = []

    def edit(numbers: range) -> None:
        own = ToolContext(open_workspace(root, Actor("chat")))
        box = Toolbox([FILE_TOOLS["edit_file"]], own)
        for number in numbers:
            outcome = box.call(
                "edit_file",
                {"path": "list.md", "old_text": f"item {number}\n", "new_text": f"done {number}\n"},
            )
            if not outcome.ok:
                problems.append(outcome.content)

    threads = [threading.Thread(target=edit, args=(range(at, 40, 4),)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert (root / "list.md").read_text() == "".join(f"done {number}\n" for number in range(40))


def test_a_patch_changes_several_files_as_one_act(root: Path, call: Call) -> None:
    """Replace, create and delete land together; a later edit sees the earlier ones."""
    (root / "old.md").write_text("old\n")
    call("read_file", path="old.md")
    outcome = call(
        "apply_patch",
        edits=[
            {"path": "USER.md", "old_text": "short", "new_text": "brief"},
            {"path": "USER.md", "old_text": "“brief”", "new_text": "brief"},
            {"path": "new/file.md", "action": "create", "new_text": "new\n"},
            {"path": "old.md", "action": "delete"},
        ],
    )
    assert outcome.content == "Made new/file.md\nEdited USER.md\nDeleted old.md"
    assert (root / "USER.md").read_text() == "# User\n\nLikes brief answers.\n"
    assert (root / "new/file.md").read_text() == "new\n"
    assert not (root / "old.md").exists()


def test_a_patch_of_which_one_edit_fails_writes_nothing(root: Path, call: Call) -> None:
    """All or none, and every edit that does not fit is named."""
    before = {path: path.read_bytes() for path in root.rglob("*.md")}
    outcome = call(
        "apply_patch",
        edits=[
            {"path": "USER.md", "old_text": "short", "new_text": "brief"},
            {"path": "memory/MEMORY.md", "old_text": "no such text at all", "new_text": "x"},
            {"path": "USER.md", "action": "create", "new_text": "x"},
            {"path": "gone.md", "old_text": "a", "new_text": "b"},
        ],
    )
    assert not outcome.ok
    assert outcome.content.startswith("Nothing was written.")
    for number in (2, 3, 4):
        assert f"Edit {number} (" in outcome.content
    assert {path: path.read_bytes() for path in root.rglob("*.md")} == before


def test_a_patch_deletes_only_what_was_read_whole(root: Path, call: Call) -> None:
    """A file goes only by who has seen what goes."""
    outcome = call("apply_patch", edits=[{"path": "USER.md", "action": "delete"}])
    assert not outcome.ok
    assert (root / "USER.md").exists()


@pytest.mark.parametrize("edits", [[], [{"path": "a", "action": "create"}] * 101])
def test_a_patch_has_a_bounded_number_of_edits(call: Call, edits: list[dict[str, str]]) -> None:
    """Nothing is written by an empty or an endless one."""
    assert "1 to 100 edits" in call("apply_patch", edits=edits).content


def test_a_patch_is_tried_again_on_what_another_wrote_meanwhile(
    root: Path, context: ToolContext, call: Call
) -> None:
    """TOO2: an edit starts from what is on disk, not from an older copy."""
    real = context.workspace.write_many
    others = iter([True, False])

    def write_many(*args: object, **kwargs: object) -> object:
        if next(others):
            (root / "USER.md").write_text("# User\n\nLikes “short” answers.\nAdded.\n")
        return real(*args, **kwargs)  # type: ignore[arg-type]

    context.workspace.write_many = write_many  # type: ignore[method-assign, assignment]
    outcome = call("apply_patch", edits=[{"path": "USER.md", "old_text": "short", "new_text": "x"}])
    assert outcome.ok
    assert (root / "USER.md").read_text() == "# User\n\nLikes “x” answers.\nAdded.\n"


ESCAPES = [
    "../workspace_evil/secret.md",
    "memory/../../workspace_evil/secret.md",
    "/etc/passwd",
    "~/x",
    "%2e%2e/workspace_evil/secret.md",
    "out/secret.md",
    "file-out",
    "a\0b",
    "a/" * 600,
    "\ud800",
]


@pytest.mark.parametrize("path", ESCAPES)
def test_no_tool_reaches_outside_the_workspace(root: Path, call: Call, path: str) -> None:
    """AUT4: whatever the path says, nothing outside is read, listed, found or written."""
    outside = root.parent / "workspace_evil"
    (root / "out").symlink_to(outside)
    (root / "file-out").symlink_to(outside / "secret.md")
    edit = {"path": path, "old_text": "secret", "new_text": "x"}
    outcomes = [
        call("read_file", path=path),
        call("list_dir", path=path),
        call("find_files", pattern="*", path=path),
        call("grep", pattern="secret", path=path),
        call("write_file", path=path, content="x"),
        call("edit_file", **edit),
        call("apply_patch", edits=[edit]),
        call("apply_patch", edits=[{"path": path, "action": "create", "new_text": "x"}]),
        call("apply_patch", edits=[{"path": path, "action": "delete"}]),
    ]
    assert not any(outcome.ok for outcome in outcomes), outcomes
    assert not any("secret\n" in outcome.content for outcome in outcomes)
    assert {each.name: each.read_text() for each in outside.iterdir()} == {"secret.md": "secret\n"}


def test_what_lies_behind_a_link_out_is_neither_found_nor_grepped(root: Path, call: Call) -> None:
    """A link is named, never followed."""
    (root / "out").symlink_to(root.parent / "workspace_evil")
    (root / "file-out.md").symlink_to(root.parent / "workspace_evil" / "secret.md")
    assert call("grep", pattern="secret").data["matches"] == 0
    assert call("find_files", pattern="secret*").data["count"] == 0


def test_a_hard_link_is_not_written(root: Path, call: Call) -> None:
    """AUT4: the other name of the file may lie outside."""
    os.link(root.parent / "workspace_evil" / "secret.md", root / "hard.md")
    assert not call("edit_file", path="hard.md", old_text="secret", new_text="x").ok
    assert (root.parent / "workspace_evil" / "secret.md").read_text() == "secret\n"


def test_a_hard_link_is_not_read(root: Path, call: Call) -> None:
    """Nothing tells whether its other name lies outside: no tool gives a word of it away, and the
    refusal says what a person can do. A copy in its place is read."""
    os.link(root.parent / "workspace_evil" / "secret.md", root / "hard.md")
    outcome = call("read_file", path="hard.md")
    assert not outcome.ok
    assert "is a hard link" in outcome.content
    assert "put a copy" in outcome.content
    found = call("grep", pattern="secret")
    assert found.data["matches"] == 0
    assert "hard links" in found.content
    (root / "hard.md").unlink()
    (root / "hard.md").write_text("secret\n")
    assert call("read_file", path="hard.md").ok


def test_a_write_rule_holds_for_every_tool_that_writes(root: Path, call: Call) -> None:
    """TOO1: what a rule protects no tool writes, by any spelling, and the model hears why."""

    def guard(change: Change) -> None:
        if change.path.casefold() == "guarded.md" and change.workspace == root.resolve():
            raise WriteRefused("“guarded.md” is kept by somebody else.", "protected")

    register_rule(guard)
    (root / "guarded.md").write_text("kept\n")
    (root / "alias.md").symlink_to("guarded.md")
    for path in ("guarded.md", "./guarded.md", "memory/../guarded.md", "alias.md", "GUARDED.md"):
        call("read_file", path=path)
        edit = {"path": path, "old_text": "kept", "new_text": "x"}
        for outcome in (
            call("write_file", path=path, content="x"),
            call("edit_file", **edit),
            call("apply_patch", edits=[edit]),
            call("apply_patch", edits=[{"path": path, "action": "delete"}]),
            call("apply_patch", edits=[{"path": path, "action": "create", "new_text": "x"}]),
        ):
            assert not outcome.ok
    assert (root / "guarded.md").read_text() == "kept\n"
    assert not (root / "GUARDED.md").exists()


LINES = [f"line {number}: Größe\x0c of\u2028it {'x' * 70}" for number in range(400)]


@pytest.mark.parametrize(
    "data",
    [
        "\n".join(LINES).encode(),
        "\r\n".join(LINES).encode("utf-16"),
        "\n".join(line.replace("\u2028", " ") for line in LINES).encode("cp1252"),
        "\n".join([*LINES[:20], "y" * 9_000, *LINES[20:]]).encode(),
    ],
    ids=["separators", "UTF-16", "Windows", "a long line"],
)
def test_the_lines_after_an_excerpt_are_those_that_it_names(
    root: Path, call: Call, data: bytes
) -> None:
    """Nothing is left out or repeated between what came with a message and what is read after."""
    (root / "sent.txt").write_bytes(data)
    found = read_file(root / "sent.txt", "sent.txt", chars=8_000)
    shown = excerpt("text", found.pages, page_count=0, has_more=found.has_more, room=8_000)
    text, _, note = shown.text.rpartition("\n[")
    offset = int(re.search(r"read_file, offset=(\d+)\.", note)[1])  # type: ignore[index]
    outcome = call("read_file", path="sent.txt", offset=offset, limit=1)
    whole = file_types.decoded(data).replace("\r\n", "\n").split("\n")
    assert text.split("\n") == whole[: offset - 1]
    assert outcome.content.split("\n")[0] == f"{offset:>5}\t{whole[offset - 1]}"


def test_an_excerpt_of_one_long_line_names_no_line(root: Path) -> None:
    """There is no second line to go on with."""
    (root / "a.json").write_text(f"[{'1, ' * 20_000}1]")
    found = read_file(root / "a.json", "a.json", chars=8_000)
    shown = excerpt("text", found.pages, page_count=0, has_more=found.has_more, room=8_000)
    assert shown.text.startswith("[1, 1")
    assert "offset" not in shown.text
    assert "Line 1 is too long" in shown.text


def test_all_of_a_long_page_can_be_read(root: Path, call: Call) -> None:
    """Where a result ends inside a page, it says so and how to go on; the excerpt of a message
    does, too."""
    words = [" ".join(f"{name}{number}" for number in range(5_000)) for name in "ab"]
    data = files.slides(*words)
    (root / "long.pptx").write_bytes(data)
    sent = read_file(root / "long.pptx", "long.pptx", chars=3_000)
    shown = excerpt("document", sent.pages, page_count=2, has_more=sent.has_more, room=3_000)
    head, _, rest = shown.text.partition("\n")
    text, _, note = rest.rpartition("\n[")
    assert head == "--- page 1 of 2 ---"
    seen = {1: text, 2: ""}
    while found := re.search(r"page=(\d+)(?:, offset=(\d+))?\.", note):
        page, offset = int(found[1]), int(found[2] or 1)
        outcome = call("read_file", path="long.pptx", page=page, offset=offset)
        assert len(outcome.content) <= 16_000
        assert outcome.content.count("--- page") == 1
        head, _, rest = outcome.content.partition("\n")
        text, _, note = rest.rpartition("\n[")
        seen[page] += text
    assert seen == {1: words[0], 2: words[1]}


def test_no_page_of_many_is_cut(root: Path, call: Call) -> None:
    """The marks of pages count: what does not fit with its mark is for the next result."""
    pages = [f"{number}x" * 12 for number in range(1_000, 1_900)]
    (root / "many.pdf").write_bytes(files.pdf(pages))
    seen: list[str] = []
    page = 1
    while page:
        outcome = call("read_file", path="many.pdf", page=page)
        assert len(outcome.content) <= 16_000
        seen += re.findall(r"--- page \d+ ---\n(.*)", outcome.content)
        found = re.search(r"Go on with page=(\d+)\.", outcome.content)
        page = int(found[1]) if found else 0
    assert seen == pages


def test_a_document_as_large_as_a_message_may_have_is_read(root: Path, call: Call) -> None:
    """What can be attached can be read on."""
    (root / "large.docx").write_bytes(files.word("The boiler stays."))
    with zipfile.ZipFile(root / "large.docx", "a") as archive:
        archive.writestr("word/media/photo.png", os.urandom(21_000_000))
    assert "The boiler stays." in call("read_file", path="large.docx").content
    assert fields.BY_KEY["attachments.maxFileMb"].default * 1_000_000 <= FILE_BYTES
