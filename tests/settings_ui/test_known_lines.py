"""The first page of Memory: every line that Jenny knows, and what can be done to it."""

import re
import resource
from pathlib import Path

import pytest
from django.test import Client

from jenny.accounts.models import Account
from jenny.chat.models import Conversation, Turn
from jenny.chat.services import commands
from jenny.workspace import locks
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Workspace, open_workspace
from jenny.workspace.versions.history import open_history
from jenny.workspace.write_rules import Actor
from memory import archive, line_edits, pins, suppression
from memory.facts import Fact, stated
from memory.line_edits import LineRef, line_ref, parse_line_ref
from memory.models import TurnChange
from memory.services import approvals
from tests.support.dreams import MEMORY, Dreams, add, finish
from tests.support.stack import PASSWORD

HEADERS = {"Sec-Fetch-Site": "same-origin"}
HTMX = {"HX-Request": "true"}
USER = """# User

## Person

- Is called Ana
- Has a dog called Rex
  - Rex is afraid of thunder

## Preferences

- Drinks green tea
"""
NOTES = "# Memory\n\n## Work\n\n- The boiler is serviced in May\n- Has a dog called Rex\n"


@pytest.fixture
def client(dreams: Dreams) -> Client:
    """The browser of a person whose memory has some lines."""
    (dreams.root / "USER.md").write_text(USER)
    (dreams.root / MEMORY).write_text(NOTES)
    client = Client(headers=HEADERS)
    client.force_login(dreams.workspace.owner)
    return client


def page(client: Client, path: str = "/memory/") -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.content.decode()[:2000]
    return answer.content.decode()


def ref(root: Path, text: str, path: str = "USER.md") -> str:
    """A line as the page's forms name it."""
    found = stated((root / path).read_bytes())
    return str(next(line_ref(path, fact) for fact in found if fact.text == text))


def offered(text: str) -> list[tuple[str, str]]:
    """The ticks of the page that asks: each with what stands beside it."""
    return re.findall(r'name="chosen" value="(\w+)" checked>(.*?)</li>', text, re.DOTALL)


def undo_of(answer: str) -> str:
    (where,) = re.findall(r'action="(/memory/changes/[0-9a-f]{12}/)"', answer)
    return where


def test_the_page_shows_every_line_by_heading(client: Client, dreams: Dreams) -> None:
    """Lines of all three files stand under their headings, each with its five acts."""
    text = page(client)
    for line in ("Is called Ana", "Rex is afraid of thunder", "The boiler is serviced in May"):
        assert f'dir="auto">{line}</p>' in text
    assert text.index("<h3>Person</h3>") < text.index("Is called Ana") < text.index("Drinks green")
    row = text[text.index("Is called Ana") :].partition("</li>")[0]
    for act in ("Edit", "Forget", "Pin", "Why", "Move"):
        assert f">{act}<" in row


def test_a_chat_leads_to_ticks_when_several_lines_are_meant(client: Client, dreams: Dreams) -> None:
    """/forget with words of several lines forgets none of them, and leads to a form in which the
    lines are ticked; only the ticked one goes, and the way back is the chat, with an Undo."""
    chat = Conversation.objects.create(workspace=dreams.workspace)
    call = commands.parse("/forget Rex")
    assert call is not None
    told = commands.run_command(chat, call)
    assert "Nothing was forgotten yet: this stands in 3 lines." in told
    (link,) = re.findall(r"\]\((/memory/lines/forget\?[^)]*)\)", told)
    asked = page(client, link)
    lines = offered(asked)
    assert len(lines) == 3
    (chosen,) = (one for one, text in lines if "thunder" in text)
    sent = {"words": "Rex", "back": f"chat {chat.pk}", "chosen": [chosen]}
    for name in ("words", "back"):
        assert f'name="{name}" value="{sent[name]}"' in asked
    answer = client.post("/memory/lines/forget", sent, follow=True)
    assert answer.redirect_chain[-1][0] == f"/chat/{chat.pk}/"
    assert (dreams.root / "USER.md").read_text() == USER.replace(
        "  - Rex is afraid of thunder\n", ""
    )
    assert (dreams.root / MEMORY).read_text() == NOTES
    client.post(undo_of(answer.content.decode()))
    assert (dreams.root / "USER.md").read_text() == USER


def test_one_field_searches_lines_archive_and_forgotten(client: Client, dreams: Dreams) -> None:
    """Words are found in what is known, what was removed, and what was forgotten."""
    suppression.forget(dreams.root, "Is called Ana", Actor("browser"))
    open_workspace(dreams.root, Actor("chat")).write(MEMORY, b"# Memory\n")
    text = page(client, "/memory/?q=dog")
    assert "Has a dog called Rex" in text
    assert "Drinks green tea" not in text
    text = page(client, "/memory/?q=boiler")
    assert "Removed from memory" in text
    assert "Bring back" in text
    text = page(client, "/memory/?q=ana")
    assert "Allow again" in text


def test_a_line_is_edited_as_a_version_and_undone(client: Client, dreams: Dreams) -> None:
    """Only that line changes; a version has it; Undo puts the old words back."""
    line = ref(dreams.root, "Drinks green tea")
    assert "Drinks green tea" in page(client, f"/memory/lines/edit?line={line}")
    answer = client.post(
        "/memory/lines/edit", {"line": line, "text": "Drinks black tea"}, follow=True
    )
    assert dreams.text("USER.md") == USER.replace("green", "black")
    with open_history(dreams.root) as history:
        assert b"black tea" in (history.file_as_of("USER.md", history.tip or "") or b"")
    client.post(undo_of(answer.content.decode()))
    assert dreams.text("USER.md") == USER


def test_an_edit_of_a_line_that_changed_keeps_the_typed_words(
    client: Client, dreams: Dreams
) -> None:
    """Another tab changed the line meanwhile: the reason is said, the words stay in the form."""
    line = ref(dreams.root, "Drinks green tea")
    client.post("/memory/lines/edit", {"line": line, "text": "Drinks black tea"})
    answer = client.post("/memory/lines/edit", {"line": line, "text": "Drinks <b>rooibos</b>"})
    assert answer.status_code == 422
    assert "was changed meanwhile" in answer.content.decode()
    assert "Drinks &lt;b&gt;rooibos&lt;/b&gt;" in answer.content.decode()
    assert "rooibos" not in dreams.text("USER.md")


def test_one_line_is_forgotten_at_once_and_comes_back_by_undo(
    client: Client, dreams: Dreams
) -> None:
    """It is archived and remembered as forgotten; Undo takes both back."""
    form = {"forget": ref(dreams.root, "Drinks green tea")}
    answer = client.post("/memory/lines/", form, headers=HTMX, follow=True)
    assert "green tea" not in dreams.text("USER.md")
    assert [row.text for row in suppression.list_tombstones(dreams.root)] == ["Drinks green tea"]
    assert [row.text for row in archive.listing(dreams.root)] == ["Drinks green tea"]
    client.post(undo_of(answer.content.decode()))
    assert dreams.text("USER.md") == USER
    assert not suppression.list_tombstones(dreams.root)


def test_forgetting_more_than_one_line_asks_and_names_each(client: Client, dreams: Dreams) -> None:
    """The same statement in another file and what stands below it are named with ticks; only
    what stays ticked is forgotten."""
    form = {"forget": ref(dreams.root, "Has a dog called Rex"), "back": "q dog"}
    answer = client.post("/memory/lines/", form, follow=True)
    text = answer.content.decode()
    assert dreams.text("USER.md") == USER
    assert "Forget 3 lines?" in text
    ticks = offered(text)
    assert len(ticks) == 3
    kept = [one for one, shown in ticks if MEMORY not in shown]
    form = {"line": form["forget"], "chosen": kept, "back": "q dog"}
    answer = client.post("/memory/lines/forget", form)
    assert answer["Location"] == "/memory/?q=dog"
    assert "Rex" not in dreams.text("USER.md")
    assert "Has a dog called Rex" in dreams.text()
    assert "Forgotten: 2 lines in USER.md." in page(client)
    # What was left is still known.
    assert suppression.match(dreams.root, "Has a dog called Rex") is None
    assert suppression.match(dreams.root, "Rex is afraid of thunder") is not None


def test_a_part_of_a_line_is_shown_before_and_after(client: Client, dreams: Dreams) -> None:
    """Another line says it among other things: only that part goes, after a question that shows
    both wordings; Undo brings both lines back."""
    other = f"{NOTES}- Works in Lund. Drinks green tea.\n  - since May\n"
    (dreams.root / MEMORY).write_text(other)
    form = {"forget": ref(dreams.root, "Drinks green tea")}
    text = client.post("/memory/lines/", form, follow=True).content.decode()
    assert "Forget 2 lines?" in text
    assert "<del>Works in Lund. Drinks green tea.</del>" in text
    assert "<ins>Works in Lund.</ins>" in text
    assert (dreams.text("USER.md"), dreams.text()) == (USER, other)
    form = {"line": form["forget"], "chosen": [one for one, _ in offered(text)]}
    answer = client.post("/memory/lines/forget", form, follow=True).content.decode()
    assert "Forgotten: 1 line and a part of 1 line in " in answer
    assert dreams.text() == f"{NOTES}- Works in Lund.\n  - since May\n"
    client.post(undo_of(answer))
    assert (dreams.text("USER.md"), dreams.text()) == (USER, other)
    assert not suppression.list_tombstones(dreams.root)


def test_what_changed_since_it_was_shown_is_not_forgotten(client: Client, dreams: Dreams) -> None:
    """Nothing goes that was not on the page when it was confirmed."""
    form = {"line": ref(dreams.root, "Drinks green tea"), "chosen": ["0" * 12]}
    answer = client.post("/memory/lines/forget", form, follow=True)
    assert "these lines have changed since they were shown" in answer.content.decode()
    assert dreams.text("USER.md") == USER


def test_forgetting_takes_out_what_waits_and_a_person_may_remember_it(
    client: Client, dreams: Dreams
) -> None:
    """The answer says that a waiting change went with the line; the review page offers to remember
    it after all, and never shows what a model is told."""
    dreams.set(approve="all")
    (cursor,) = dreams.say("- [durable] Drinks green tea every day")
    dreams.model.script(add("Green tea is what the user drinks", cursor), finish(saved=[cursor]))
    dreams.model.script("Done.")
    dreams.run()
    (hunk,) = approvals.waiting(dreams.workspace)
    form = {"forget": ref(dreams.root, "Drinks green tea")}
    answer = client.post("/memory/lines/", form, headers=HTMX, follow=True).content.decode()
    assert "1 change that waited for your review went with it" in answer
    decide = f"/memory/approvals/{hunk.id}/"
    answer = client.post(decide, {"decision": "accept"})
    assert answer.status_code == 422
    assert "You had this forgotten, so it was not written" in answer.content.decode()
    assert "Remember it after all" in answer.content.decode()
    assert "That is final" not in answer.content.decode()
    shown = page(client, "/memory/approvals/")
    assert "Remember it after all" in shown
    (form,) = re.findall(rf'<form[^>]*action="{decide}".*?</form>', shown, re.DOTALL)
    client.post(decide, dict(re.findall(r'name="(decision)" value="(\w+)"', form)))
    assert "Green tea is what the user drinks" in dreams.text()
    assert "Remember it after all" not in page(client, "/memory/approvals/")


def test_several_lines_are_pinned_and_moved(client: Client, dreams: Dreams) -> None:
    """Ticked lines move together under a heading of another file, with their pins."""
    lines = [ref(dreams.root, "Is called Ana"), ref(dreams.root, "Drinks green tea")]
    client.post("/memory/lines/", {"pin": "ticked", "line": lines})
    assert {row.text for row in pins.pins(dreams.root)} == {"Is called Ana", "Drinks green tea"}
    answer = client.post("/memory/lines/", {"move": "ticked", "line": lines}, follow=True)
    assert "Move 2 lines" in answer.content.decode()
    answer = client.post("/memory/lines/move", {"line": lines, "to": f"{MEMORY}#Work"}, follow=True)
    assert dreams.text() == f"{NOTES}- Is called Ana\n- Drinks green tea\n"
    assert "Ana" not in dreams.text("USER.md")
    assert {row.path for row in pins.pins(dreams.root) if row.line} == {MEMORY}
    client.post(undo_of(answer.content.decode()))
    assert (dreams.text("USER.md"), dreams.text()) == (USER, NOTES)


@pytest.mark.parametrize("text", ["- Sails\n", "- Sails\n- Sings\n"])
def test_lines_of_a_file_without_headings_stay_once(
    client: Client, dreams: Dreams, text: str
) -> None:
    """Moving all of a file's lines under a heading of the same file doubles none."""
    (dreams.root / MEMORY).write_text(text)
    lines = [ref(dreams.root, row[2:], MEMORY) for row in text.splitlines()]
    client.post("/memory/lines/move", {"line": lines, "to": f"{MEMORY}#Sport"})
    assert dreams.text().split("## Sport\n\n") == ["", text]


def test_pins_stay_with_lines_that_cannot_be_moved(client: Client, dreams: Dreams) -> None:
    """They move with the line and what is below it, in one transaction: when the file cannot be
    written, the lines stay pinned where they are."""
    texts = ("Has a dog called Rex", "Rex is afraid of thunder")
    lines = [ref(dreams.root, text) for text in texts]
    client.post("/memory/lines/", {"pin": "ticked", "line": lines})
    (dreams.root / MEMORY).write_text(NOTES + "- Sails\n" * 10_000)
    place = open_workspace(dreams.root, Actor("browser"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, hard))
    try:
        with pytest.raises(WorkspaceError):
            line_edits.move_lines(place, [parse_line_ref(lines[0])], MEMORY, "Work")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert dreams.text("USER.md") == USER
    assert {(row.path, row.text) for row in pins.pins(dreams.root) if row.line} == {
        ("USER.md", text) for text in texts
    }
    client.post("/memory/lines/move", {"line": lines[:1], "to": f"{MEMORY}#Work"})
    assert "Rex" not in dreams.text("USER.md")
    assert {(row.path, row.text) for row in pins.pins(dreams.root) if row.line} == {
        (MEMORY, text) for text in texts
    }


def test_a_line_is_added_once(client: Client, dreams: Dreams) -> None:
    """It stands at the end of its section; a second press leads to the page, which says so."""
    form = {"text": "Sleeps badly at full moon", "to": "USER.md#Person"}
    client.post("/memory/lines/add", form)
    assert "thunder\n- Sleeps badly at full moon\n\n## Preferences" in dreams.text("USER.md")
    answer = client.post("/memory/lines/add", form, follow=True)
    assert answer.status_code == 200
    assert "This stands in USER.md already, in line 8." in answer.content.decode()
    assert dreams.text("USER.md").count("full moon") == 1


@pytest.mark.parametrize(
    "line", ["", "x", "1:aa:config.json", "1:aa:../USER.md", "9" * 40, "1:0000:memory/x.md"]
)
def test_a_form_that_names_no_line_changes_nothing(
    client: Client, dreams: Dreams, line: str
) -> None:
    """No other file is reached, and nothing breaks."""
    for form in ({"forget": line}, {"pin": line}, {"forget": "ticked", "line": [line]}):
        assert client.post("/memory/lines/", form).status_code == 302
    for path in ("edit", "move", "forget"):
        answer = client.post(f"/memory/lines/{path}", {"line": line, "text": "x", "to": "USER.md#"})
        assert answer.status_code in {302, 422}
    assert dreams.text("USER.md") == USER


def test_nobody_else_reads_or_undoes_it(client: Client, dreams: Dreams) -> None:
    """A change belongs to its workspace."""
    form = {"forget": ref(dreams.root, "Drinks green tea")}
    answer = client.post("/memory/lines/", form, headers=HTMX, follow=True)
    where = undo_of(answer.content.decode())
    stranger = Client(headers=HEADERS)
    stranger.force_login(Account.objects.make_account("bo", PASSWORD, "UTC"))
    assert stranger.get(where).status_code == 404
    assert stranger.post(where).status_code == 404
    assert "green tea" not in dreams.text("USER.md")
    assert "green tea" in page(client, where)


def test_an_undo_says_first_what_was_changed_since(client: Client, dreams: Dreams) -> None:
    """The line was written anew by hand: the page asks, and changes nothing before."""
    line = ref(dreams.root, "Drinks green tea")
    answer = client.post("/memory/lines/edit", {"line": line, "text": "Drinks tea"}, follow=True)
    where = undo_of(answer.content.decode())
    text = dreams.text("USER.md")
    (dreams.root / "USER.md").write_text(text.replace("Drinks tea", "Drinks coffee"))
    answer = client.post(where)
    assert "The same lines were changed since" in answer.content.decode()
    assert "Drinks coffee" in dreams.text("USER.md")


def test_references_are_parsed_as_they_were_made() -> None:
    """A path may hold a colon; the number and the key may not."""
    row = LineRef("skills/a:b/SKILL.md", 3, "00ff")
    assert str(row) == "3:00ff:skills/a:b/SKILL.md"


def test_enter_on_a_tick_forgets_nothing(client: Client, dreams: Dreams) -> None:
    """The first button of the ticks' form asks, so that Enter on a tick takes no line out; without
    script a line's own Forget asks as well."""
    text = page(client)
    first = re.search(r'<button[^>]* form="acts"[^>]*>', text)
    assert first is None
    form = text.partition('<form id="acts"')[2].partition("</form>")[0]
    assert re.findall(r"<button[^>]*>", form)[0].endswith('name="forget" value="ticked">')
    line = ref(dreams.root, "Drinks green tea")
    for sent in ({"forget": "ticked", "line": line}, {"forget": line}):
        answer = client.post("/memory/lines/", sent)
        assert "Forget 1 line?" in answer.content.decode()
    assert dreams.text("USER.md") == USER


TWO_CARS = """# Memory

## A

- Car
  - red
    - since May

## B

- Car
  - blue
"""


def test_a_line_goes_with_what_stands_below_it(client: Client, dreams: Dreams) -> None:
    """Lines of the same words elsewhere keep theirs: a move takes the own block as it is indented,
    also when its children are ticked as well, and Forget ticks nothing that leaves lines below
    nothing."""
    (dreams.root / MEMORY).write_text(TWO_CARS)
    car, red = (ref(dreams.root, text, MEMORY) for text in ("Car", "red"))
    client.post("/memory/lines/move", {"line": [red, car], "to": "USER.md#Preferences"})
    assert dreams.text("USER.md") == f"{USER}- Car\n  - red\n    - since May\n"
    assert dreams.text() == "# Memory\n\n## A\n\n## B\n\n- Car\n  - blue\n"
    (dreams.root / "USER.md").write_text(USER)
    (dreams.root / MEMORY).write_text(TWO_CARS)
    text = client.post("/memory/lines/", {"forget": car}).content.decode()
    ticks = offered(text)
    assert [shown.count("<ins>") for _, shown in ticks] == [0, 0, 0]
    assert "blue" not in text
    client.post("/memory/lines/forget", {"line": car, "chosen": [one for one, _ in ticks]})
    assert dreams.text() == "# Memory\n\n## A\n\n\n## B\n\n- Car\n  - blue\n"


def test_an_edit_keeps_the_form_of_its_rows(client: Client, dreams: Dreams) -> None:
    """Indentation, blank rows of code and the levels of a skill's header stay; other rows stay
    byte for byte."""
    skill = "---\nname: tea\ndescription: Tea.\nmetadata:\n  cup: blue\n---\n\n# Tea\n"
    code = "```yaml\na:\n  b: 1\n\n  c: 2\n```"
    notes = f"# Memory\n\n{code}\n\n- Rex\n\tbarks\n  much\n\n  Indented words\n"
    (dreams.root / "skills/tea").mkdir(parents=True)
    (dreams.root / "skills/tea/SKILL.md").write_text(skill)
    (dreams.root / MEMORY).write_text(notes)

    def edit(path: str, old: str, new: str) -> None:
        line = ref(dreams.root, old, path)
        client.post("/memory/lines/edit", {"line": line, "text": new.replace("\n", "\r\n")})

    edit("skills/tea/SKILL.md", "cup: blue", "cup: red")
    edit(MEMORY, code, code.replace("c: 2", "c: 3"))
    edit(MEMORY, "Rex\nbarks\nmuch", "Rex\nbarks\na lot")
    edit(MEMORY, "Indented words", "Indented text")
    assert dreams.text("skills/tea/SKILL.md") == skill.replace("blue", "red")
    wanted = notes.replace("c: 2", "c: 3").replace("much", "a lot").replace("words", "text")
    assert dreams.text() == wanted


def test_a_byte_that_is_no_text_takes_no_page_down(client: Client, dreams: Dreams) -> None:
    """The other lines are shown, found and pinned; a file that cannot be read at all is named with
    a link to it."""
    (dreams.root / MEMORY).write_bytes(b"# Memory\n\n- Caf\xe9 at noon\n- Reads Pessoa\n")
    text = page(client)
    assert "Reads Pessoa" in text
    assert "Is called Ana" in text
    client.post("/memory/lines/", {"pin": ref(dreams.root, "Reads Pessoa", MEMORY)})
    assert [row.text for row in pins.pins(dreams.root)] == ["Reads Pessoa"]
    (dreams.root / MEMORY).write_bytes(b"- " + b"x" * 4_100_000)
    text = page(client)
    assert "Is called Ana" in text
    assert f'href="/workspace/{MEMORY}">Open the file' in text
    answer = client.get(f"/memory/files/{MEMORY}")
    assert answer.status_code == 413
    assert f'href="/workspace/{MEMORY}"' in answer.content.decode()


def test_an_undo_that_is_done_in_part_says_so(client: Client, dreams: Dreams) -> None:
    """The file that was changed since is named as left, and stays open for another try."""
    line = ref(dreams.root, "Drinks green tea")
    answer = client.post("/memory/lines/move", {"line": line, "to": f"{MEMORY}#Work"}, follow=True)
    where = undo_of(answer.content.decode())
    (dreams.root / MEMORY).write_text(dreams.text().replace("green tea", "white tea"))
    answer = client.post(where, {"confirm": "yes"}, follow=True).content.decode()
    assert "Undone in USER.md: its lines are as they were before." in answer
    assert f"Not undone in {MEMORY}" in answer
    assert dreams.text("USER.md") == USER
    assert "This was undone." not in page(client, where)


def test_an_undo_in_a_chat_marks_only_what_it_undid(client: Client, dreams: Dreams) -> None:
    """The file whose lines were changed since stays to be undone."""
    chat = Conversation.objects.create(workspace=dreams.workspace)
    turn = Turn.objects.create(conversation=chat, state=Turn.State.DONE)
    actor = Actor("chat", run=f"turn:{turn.pk}")
    files = open_workspace(dreams.root, actor)
    files.write("USER.md", USER.replace("green", "black").encode())
    files.write(MEMORY, NOTES.replace("May", "June").encode())
    (dreams.root / MEMORY).write_text(NOTES.replace("May", "July"))
    client.post(f"/chat/{chat.pk}/changes/{turn.pk}", {"confirm": "yes"})
    assert (dreams.text("USER.md"), dreams.text()) == (USER, NOTES.replace("May", "July"))
    marked = TurnChange.objects.exclude(undone_at=None).values_list("path", flat=True)
    assert list(marked) == ["USER.md"]


def pinned(dreams: Dreams) -> set[tuple[str, str]]:
    return {(row.path, row.text) for row in pins.pins(dreams.root) if row.line}


def test_a_pin_stays_with_its_line(client: Client, dreams: Dreams) -> None:
    """It goes with the line that is moved or reworded, with those below it too, and back when that
    is undone; a move that is refused leaves it."""
    lines = [
        ref(dreams.root, text) for text in ("Has a dog called Rex", "Rex is afraid of thunder")
    ]
    client.post("/memory/lines/", {"pin": "ticked", "line": lines})
    before = pinned(dreams)
    (dreams.root / "SOUL.md").unlink()
    (dreams.root / "SOUL.md").mkdir()
    client.post("/memory/lines/move", {"line": lines[0], "to": "SOUL.md#"})
    assert pinned(dreams) == before
    form = {"line": lines[0], "to": f"{MEMORY}#Work"}
    answer = client.post("/memory/lines/move", form, follow=True)
    assert pinned(dreams) == {(MEMORY, text) for _, text in before}
    client.post(undo_of(answer.content.decode()))
    assert pinned(dreams) == before
    form = {"line": lines[1], "text": "Nothing frightens this old dog any more"}
    answer = client.post("/memory/lines/edit", form, follow=True)
    assert ("USER.md", "Nothing frightens this old dog any more") in pinned(dreams)
    client.post(undo_of(answer.content.decode()))
    assert pinned(dreams) == before


def test_a_line_is_found_and_pinned_under_one_lock(
    client: Client, dreams: Dreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can write between the search for the line and the pin."""
    real = line_edits.find_line
    seen: list[bool] = []

    def watched(workspace: Workspace, ref: LineRef) -> Fact:
        seen.append(locks.holds(workspace.root, locks.Level.WORKSPACE))
        return real(workspace, ref)

    monkeypatch.setattr(line_edits, "find_line", watched)
    client.post("/memory/lines/", {"pin": ref(dreams.root, "Drinks green tea")})
    assert seen == [True]
    assert pinned(dreams) == {("USER.md", "Drinks green tea")}


def test_why_explains_the_line_that_was_shown(client: Client, dreams: Dreams) -> None:
    """Also when it stands elsewhere by now, and of a line that is gone it says so."""
    line = ref(dreams.root, "Drinks green tea")
    link = f"/memory/files/USER.md?why={line}"
    assert f'hx-get="{link}"' in page(client).replace("%3A", ":")
    (dreams.root / "USER.md").write_text(USER.replace("# User\n", "# User\n\n- A line above\n"))
    text = page(client, link)
    assert text.index("Drinks green tea</p>") < text.index('class="list"')
    (dreams.root / "USER.md").write_text(USER.replace("green", "black"))
    answer = client.get(link, headers=HTMX).content.decode()
    assert "That line was changed meanwhile" in answer
    assert "writes-of" not in answer


def test_an_edit_overwrites_no_line_that_differs_in_signs(client: Client, dreams: Dreams) -> None:
    """A line that differs in case or punctuation alone was changed meanwhile."""
    (dreams.root / MEMORY).write_text("# Memory\n\n- Temperature is 5 degrees.\n")
    line = ref(dreams.root, "Temperature is 5 degrees.", MEMORY)
    now = "# Memory\n\n- TEMPERATURE: is 5 degrees!\n"
    (dreams.root / MEMORY).write_text(now)
    answer = client.post("/memory/lines/edit", {"line": line, "text": "Temperature is 6 degrees."})
    assert answer.status_code == 422
    assert dreams.text() == now


@pytest.mark.parametrize("text", ["```x", "words\n```x", "nul \x00 sign", "---\nx"])
def test_words_that_take_in_the_rest_of_a_file_are_refused(
    client: Client, dreams: Dreams, text: str
) -> None:
    """An open code block or a control character is neither added nor edited in; the
    words stay in the form."""
    answer = client.post("/memory/lines/add", {"text": text, "to": "USER.md#Person"})
    assert answer.status_code == 422
    assert "Nothing was changed" in answer.content.decode()
    (dreams.root / "USER.md").write_text(f"{USER}\nA paragraph.\n\n- The end\n")
    before = dreams.text("USER.md")
    if text != "---\nx":
        line = ref(dreams.root, "A paragraph.")
        assert client.post("/memory/lines/edit", {"line": line, "text": text}).status_code == 422
        assert dreams.text("USER.md") == before


@pytest.mark.parametrize("text", ["# 1 priority is family", "| a | b |", "> said Ana", "A:\n- b"])
def test_what_is_added_is_always_a_bullet(client: Client, dreams: Dreams, text: str) -> None:
    """Words that begin with a sign of Markdown stand on the page as they were typed."""
    client.post("/memory/lines/add", {"text": text, "to": "USER.md#Person"})
    first = text.partition("\n")[0]
    assert f"\n- {first}\n" in dreams.text("USER.md")
    facts = stated((dreams.root / "USER.md").read_bytes())
    assert {(row.heading, row.kind) for row in facts if row.text == first} == {("Person", "bullet")}
    for path, words in ((MEMORY, "Work"), ("SOUL.md", "Laughs")):
        (dreams.root / "SOUL.md").write_text("")
        client.post("/memory/lines/add", {"text": words, "to": f"{path}#Work"})
        assert dreams.text(path).endswith(f"\n- {words}\n")
    answer = client.post("/memory/lines/add", {"text": "[durable] ", "to": "SOUL.md#"})
    assert answer.status_code == 422


def test_more_lines_than_a_form_takes_are_refused(client: Client, dreams: Dreams) -> None:
    """Nothing is dropped silently; what is asked about many lines has a short address."""
    rows = [f"- Fact number {number} of many" for number in range(240)]
    (dreams.root / MEMORY).write_text("\n".join(["# Memory", "", *rows, ""]))
    lines = [ref(dreams.root, row[2:], MEMORY) for row in rows]
    answer = client.post("/memory/lines/", {"pin": "ticked", "line": lines}, follow=True)
    assert "240 lines are ticked, and at most 200" in answer.content.decode()
    assert not pins.pins(dreams.root)
    answer = client.post("/memory/lines/", {"move": "ticked", "line": lines[:150]})
    assert (answer.status_code, "Move 150 lines" in answer.content.decode()) == (200, True)
    answer = client.get("/memory/lines/")
    assert answer["Location"] == "/memory/"


def test_a_refusal_in_place_is_a_notice_and_leaves_the_lines(
    client: Client, dreams: Dreams
) -> None:
    """What htmx asks about a line that is gone is answered by a sentence alone, which the page
    shows; a form without lines leads back."""
    line = ref(dreams.root, "Drinks green tea")
    (dreams.root / "USER.md").write_text(USER.replace("green", "black"))
    for answer in (
        client.get(f"/memory/lines/edit?line={line}", headers=HTMX),
        client.post("/memory/lines/edit", {"line": "x", "text": "y"}, headers=HTMX),
        client.get(f"/memory/lines/move?line={line}", headers=HTMX),
    ):
        assert answer.status_code == 409
        assert answer["Content-Type"].startswith("text/plain")
        assert "Nothing was changed" in answer.content.decode()
    assert client.get("/memory/lines/forget")["Location"] == "/memory/"


def test_acts_lead_back_to_the_part_of_a_long_file(client: Client, dreams: Dreams) -> None:
    """A pin on the second hundred of lines shows that part again."""
    rows = [f"- Fact number {number} of many" for number in range(150)]
    (dreams.root / MEMORY).write_text("\n".join([*rows, ""]))
    text = page(client, f"/memory/files/{MEMORY}?from=101")
    (back,) = set(re.findall(r'name="back" value="([^"]*)"', text))
    line = ref(dreams.root, "Fact number 104 of many", MEMORY)
    answer = client.post("/memory/lines/", {"pin": line, "back": back})
    assert answer["Location"] == f"/memory/files/{MEMORY}?from=101"
    hostile = {"pin": line, "back": f"{MEMORY}?from=//example.org"}
    assert client.post("/memory/lines/", hostile)["Location"] == f"/memory/files/{MEMORY}"


def test_a_byte_order_mark_hides_no_heading(client: Client, dreams: Dreams) -> None:
    """A line goes under the first heading of such a file, and its first line can be edited."""
    (dreams.root / MEMORY).write_text("\ufeff# Memory\n\n- One\n")
    client.post("/memory/lines/add", {"text": "Two", "to": f"{MEMORY}#Memory"})
    assert dreams.text() == "\ufeff# Memory\n\n- One\n- Two\n"
    (dreams.root / MEMORY).write_text("\ufeff- One\n")
    line = ref(dreams.root, "One", MEMORY)
    client.post("/memory/lines/edit", {"line": line, "text": "Three"})
    assert dreams.text() == "\ufeff- Three\n"


def test_unpinning_a_line_of_a_pinned_file_says_what_holds(client: Client, dreams: Dreams) -> None:
    """Dream may not change it as long as the whole file is pinned."""
    line = ref(dreams.root, "Drinks green tea")
    client.post("/memory/lines/", {"pin": line})
    client.post("/memory/pin/USER.md", {"pin": "on"})
    answer = client.post("/memory/lines/", {"unpin": line}, follow=True).content.decode()
    assert "USER.md is pinned whole: Dream leaves it." in answer
    assert "may change" not in answer


def test_hiding_a_notice_without_a_page_leads_to_one(client: Client) -> None:
    """A browser that does not say where it was is led to the first page."""
    assert client.post("/notices/", {"key": "x"})["Location"] == "/"
