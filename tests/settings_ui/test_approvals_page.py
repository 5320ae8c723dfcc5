"""What waits for a person, over HTTP: decisions, two tabs, conflicts, and what a run took out."""

import html
import re
from urllib.parse import urlencode

import pytest
from django.test import Client

from jenny.accounts.models import Account
from jenny.workspace import transactions
from jenny.workspace.errors import WriteFailed
from jenny.workspace.files import Actor, open_workspace
from memory import suppression
from memory.models import DreamEntry
from memory.services import approvals, large_prunes
from tests.model_server import Call
from tests.settings_ui.test_memory_page import HEADERS, HOSTILE, HTMX, get, together, words
from tests.support.dreams import MEMORY, Dreams, add, finish
from tests.support.stack import PASSWORD

START = "# Memory\n\n## Notes\n\n- The bees are fed on Mondays.\n- The shed is painted red.\n"


@pytest.fixture
def waits(dreams: Dreams) -> Dreams:
    """Everything that Dream would write waits."""
    dreams.set(approve="all")
    (dreams.root / MEMORY).write_text(START)
    return dreams


@pytest.fixture
def client(waits: Dreams) -> Client:
    """The dreamer's browser."""
    client = Client(headers=HEADERS)
    client.force_login(waits.workspace.owner)
    return client


def staged(waits: Dreams, *lines: str) -> list[int]:
    """The numbers of hunks that add these lines, made by one run."""
    (cursor,) = waits.say("\n".join(f"- [durable] {line.removeprefix('- ')}" for line in lines))
    for line in lines:
        waits.model.script(add(line, cursor))
    waits.model.script(finish(saved=[cursor]))
    waits.model.script("Done.")
    waits.run()
    return [row.id for row in approvals.waiting(waits.workspace)]


def decide(client: Client, hunk: int, decision: str, **more: str) -> str:
    """Give a decision without script; the page that follows."""
    form = {"decision": decision} | more
    answer = client.post(f"/memory/approvals/{hunk}/", form, follow=True)
    return answer.content.decode()


def test_each_decision_is_given_once(client: Client, waits: Dreams) -> None:
    """Accept, other words, reject the wording, never store: the file and the lists say so after
    each; a second tab is told what was decided, and changes nothing."""
    hunks = staged(waits, "Keeps bees.", "Sells honey.", "Rents a van.", "Hates rain.")
    first, second, third, fourth = hunks
    page = get(client, "/memory/approvals/")
    assert "1 of 4" in page
    assert "4 changes to review" in words(get(client, "/memory/"))
    assert waits.text() == START

    assert "Accepted" in decide(client, first, "accept")
    assert "- Keeps bees.\n" in waits.text()
    decide(client, second, "edit", text="- Sells honey on Saturdays.")
    assert "- Sells honey on Saturdays.\n" in waits.text()
    assert "- Sells honey.\n" not in waits.text()
    assert "Rejected" in decide(client, third, "reject")
    assert DreamEntry.objects.filter(place="reoffered").exists()
    assert "Never stored" in decide(client, fourth, "never")
    assert [row.text for row in suppression.list_tombstones(waits.root)] == ["Hates rain."]
    runs = words(get(client, "/memory/runs/"))
    assert "memory/MEMORY.md lines that came: +2 lines that went: −0" in runs
    text = waits.text()
    assert "van" not in text
    assert "rain" not in text
    assert "There is nothing to review" in words(get(client, "/memory/approvals/"))

    late = client.post(f"/memory/approvals/{third}/", {"decision": "accept"})
    assert late.status_code == 422
    assert "rejected already" in late.content.decode()
    assert waits.text() == text
    assert "accepted already" in decide(client, first, "accept")
    assert waits.text().count("Keeps bees") == 1


def undo_in(page: str) -> str:
    """The address that the notice's Undo button posts to."""
    (found,) = re.findall(r'action="(/memory/approvals/undo[^"]*)"', page)
    return html.unescape(found)


@pytest.mark.parametrize("decision", ["accept", "edit"])
def test_an_acceptance_is_undone(client: Client, waits: Dreams, decision: str) -> None:
    """The file is as before, the change waits as it was proposed, nothing is forgotten, and it can
    be accepted once more; a second press changes nothing."""
    (hunk,) = staged(waits, "Keeps bees.")
    address = undo_in(decide(client, hunk, decision, text="- Keeps wild bees."))
    written = "- Keeps bees." if decision == "accept" else "- Keeps wild bees."
    assert f"{written}\n" in waits.text()
    page = client.post(address, follow=True).content.decode()
    assert "the change waits for you again" in page
    assert waits.text() == START
    (row,) = approvals.waiting(waits.workspace)
    own = "- Keeps wild bees." if decision == "edit" else None
    assert (row.id, row.after, row.text) == (hunk, "- Keeps bees.", own)
    assert suppression.list_tombstones(waits.root) == ()
    assert "Undone already" in client.post(address, follow=True).content.decode()
    assert waits.text() == START
    assert "Accepted" in decide(client, hunk, "accept")
    assert "- Keeps bees.\n" in waits.text()


def test_all_acceptances_are_undone_at_once(client: Client, waits: Dreams) -> None:
    staged(waits, "Keeps bees.", "Sells honey.", "Rents a van.")
    page = client.post("/memory/approvals/accept-all", follow=True).content.decode()
    assert "Sells honey." in waits.text()
    page = client.post(undo_in(page), follow=True).content.decode()
    assert "3 changes are undone" in page
    assert waits.text() == START
    assert len(approvals.waiting(waits.workspace)) == 3


def test_an_acceptance_that_was_built_on_is_not_undone(client: Client, waits: Dreams) -> None:
    """The line was changed by hand since: nothing is written, and a sentence says why. Other
    lines that changed do not matter."""
    first, second = staged(waits, "Keeps bees.", "Sells honey.")
    kept = undo_in(decide(client, first, "accept"))
    other = undo_in(decide(client, second, "accept"))
    text = waits.text().replace("Keeps bees.", "Keeps twelve bees.").replace("red", "blue")
    (waits.root / MEMORY).write_text(text)
    assert "was changed there since" in client.post(kept, follow=True).content.decode()
    assert waits.text() == text
    client.post(other, follow=True)
    assert waits.text() == text.replace("- Sells honey.\n", "")


def reworded(waits: Dreams, old: str, new: str) -> int:
    """The number of a hunk that changes words of the file."""
    (cursor,) = waits.say(f"- [correction] {new}")
    arguments = {"path": MEMORY, "old_text": old, "new_text": new, "sources": [cursor]}
    waits.model.script(Call("edit_file", arguments))
    waits.model.script(finish(saved=[cursor]))
    waits.model.script("Done.")
    waits.run()
    (hunk,) = approvals.waiting(waits.workspace)
    return hunk.id


def test_an_undo_puts_back_what_stood_there(client: Client, waits: Dreams) -> None:
    """Where an acceptance took the place of the person's own words, these come back, and not what
    stood there when Dream looked."""
    hunk = reworded(waits, "painted red", "painted green")
    own = START.replace("painted red", "painted red, with a white door made by Ana")
    (waits.root / MEMORY).write_text(own)
    (shown,) = approvals.waiting(waits.workspace)
    undo = undo_in(decide(client, hunk, "accept", seen=shown.now))
    assert "painted green" in waits.text()
    client.post(undo)
    assert waits.text() == own


def test_an_undo_brings_nothing_forgotten_back(client: Client, waits: Dreams) -> None:
    """What the change had taken out was forgotten since: the file stays, and a sentence says so."""
    hunk = reworded(waits, "- The shed is painted red.\n", "")
    undo = undo_in(decide(client, hunk, "accept"))
    place = open_workspace(waits.root, Actor("browser"))
    place.write("USER.md", b"# User\n\n- The shed is painted red.\n")
    place.write("USER.md", b"# User\n")
    page = client.post(undo, follow=True).content.decode()
    assert "forgotten since, so nothing was undone" in page
    assert "painted red" not in waits.text()
    assert approvals.waiting(waits.workspace) == ()


def test_an_undo_that_dies_loses_nothing(
    client: Client, waits: Dreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the file is written, the change waits already; a file that says it settles it."""
    (hunk,) = staged(waits, "Keeps bees.")
    undo = undo_in(decide(client, hunk, "accept"))
    with monkeypatch.context() as patched:

        def die(*_args: object, **_more: object) -> None:
            raise KeyboardInterrupt

        patched.setattr(transactions, "commit_transaction", die)
        with pytest.raises(KeyboardInterrupt):
            client.post(undo)
    assert "- Keeps bees.\n" in waits.text()
    assert approvals.waiting(waits.workspace) == ()
    assert [row.state for row in approvals.decided(waits.workspace)] == ["settled"]


def test_a_disk_that_cannot_be_written_leaves_it_accepted(
    client: Client, waits: Dreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence says so, and the undo works once there is room."""
    (hunk,) = staged(waits, "Keeps bees.")
    undo = undo_in(decide(client, hunk, "accept"))
    with monkeypatch.context() as patched:

        def full(*_args: object, **_more: object) -> None:
            raise WriteFailed("No room is left on the disk, so nothing was written.")

        patched.setattr(transactions, "commit_transaction", full)
        assert "No room is left" in client.post(undo, follow=True).content.decode()
    assert approvals.find(waits.workspace, hunk).state == "accepted"
    client.post(undo)
    assert waits.text() == START


@pytest.mark.parametrize("changes", ["", "x", "999999", "1,,2,\0", "9" * 5000])
def test_an_undo_of_nothing_says_so(client: Client, waits: Dreams, changes: str) -> None:
    answer = client.post(f"/memory/approvals/undo?{urlencode({'changes': changes})}", follow=True)
    assert answer.status_code == 200
    assert "Nothing was undone" in answer.content.decode()
    assert waits.text() == START


def test_two_tabs_decide_at_once(client: Client, waits: Dreams) -> None:
    """Accept and never at the same moment: one of them is done, and done once."""
    (hunk,) = staged(waits, "Keeps bees.")
    decisions = ["accept", "never", "accept", "reject"]
    path = f"/memory/approvals/{hunk}/"
    acts = [lambda one, v=decision: one.post(path, {"decision": v}) for decision in decisions]
    answers = together(client, acts)
    assert {row.status_code for row in answers} <= {302, 422}
    (row,) = approvals.decided(waits.workspace)
    is_written = "Keeps bees." in waits.text()
    is_buried = bool(suppression.list_tombstones(waits.root))
    assert (is_written, is_buried) == (row.state == "accepted", row.state == "never")
    assert waits.text().count("Keeps bees.") == is_written


def test_htmx_gets_what_is_left(client: Client, waits: Dreams) -> None:
    """A decision answers with the hunks that still wait; a form without one answers 422 and keeps
    what was typed."""
    first, second = staged(waits, "Keeps bees.", "Sells honey.")
    answer = client.post(f"/memory/approvals/{first}/", {"decision": "accept"}, headers=HTMX)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "<html" not in page
    assert f'id="hunk-{second}"' in page
    assert f'id="hunk-{first}"' not in page
    answer = client.post(f"/memory/approvals/{second}/", {"decision": "perhaps"}, headers=HTMX)
    assert answer.status_code == 422
    assert f'id="hunk-{second}"' in answer.content.decode()
    assert "Sells honey" not in waits.text()


def test_a_conflict_is_solved_with_what_was_shown(client: Client, waits: Dreams) -> None:
    """A line that was changed meanwhile shows both; when it changed once more since, nothing is
    written; other words solve it."""
    (cursor,) = waits.say("- [correction] The shed is green.")
    arguments = {
        "path": MEMORY,
        "old_text": "painted red",
        "new_text": "painted green",
        "sources": [cursor],
    }
    waits.model.script(Call("edit_file", arguments))
    waits.model.script(finish(saved=[cursor]))
    waits.model.script("Done.")
    waits.run()
    (waits.root / MEMORY).write_text(START.replace("painted red", "painted blue"))
    (hunk,) = approvals.waiting(waits.workspace)
    page = words(get(client, "/memory/approvals/"))
    assert "Its place has changed" in page
    assert "painted blue" in page
    (waits.root / MEMORY).write_text(START.replace("painted red", "painted white"))
    form = {"decision": "accept", "seen": hunk.now}
    answer = client.post(f"/memory/approvals/{hunk.id}/", form)
    assert answer.status_code == 422
    assert "painted white" in waits.text()
    (hunk,) = approvals.waiting(waits.workspace)
    decide(client, hunk.id, "edit", text="- The shed is green since May.", seen=hunk.now)
    assert "- The shed is green since May.\n" in waits.text()
    assert "white" not in waits.text()


def test_all_are_accepted_at_once(client: Client, waits: Dreams) -> None:
    """One press; a second one has nothing left to do."""
    staged(waits, "Keeps bees.", "Sells honey.")
    answer = client.post("/memory/approvals/accept-all", follow=True)
    assert "2 changes are accepted" in answer.content.decode()
    assert "- Keeps bees.\n- Sells honey.\n" in waits.text()
    again = client.post("/memory/approvals/accept-all", follow=True)
    assert "nothing waits any more" in again.content.decode()


def test_hunks_are_text_and_the_owners(client: Client, waits: Dreams) -> None:
    """Nothing in a hunk is markup; another account neither sees nor decides it."""
    (waits.root / MEMORY).write_text(f"{START}- {HOSTILE}\n")
    (hunk,) = staged(waits, "Likes <b>bold</b> words.")
    page = get(client, "/memory/approvals/")
    assert "<img" not in page
    assert "<b>bold" not in page
    stranger = Client(headers=HEADERS)
    stranger.force_login(Account.objects.make_account("bo", PASSWORD, "UTC"))
    assert "bold" not in get(stranger, "/memory/approvals/")
    for number in (hunk, 10**25):
        answer = stranger.post(f"/memory/approvals/{number}/", {"decision": "accept"})
        assert answer.status_code == 404
    stranger.post("/memory/approvals/accept-all")
    assert len(approvals.waiting(waits.workspace)) == 1


def test_words_that_say_nothing_are_not_written(client: Client, waits: Dreams) -> None:
    """Other words must be some; what was typed is kept, and the hunk goes on waiting."""
    (hunk,) = staged(waits, "Keeps bees.")
    answer = client.post(f"/memory/approvals/{hunk}/", {"decision": "edit", "text": "  "})
    assert answer.status_code == 422
    assert waits.text() == START
    assert len(approvals.waiting(waits.workspace)) == 1


def test_a_skill_is_agreed_to_in_the_text_that_was_shown(client: Client, waits: Dreams) -> None:
    """One that asks to be read in every conversation waits here; a yes to another text than the
    one that was shown is none."""
    path = waits.root / "skills/honey/SKILL.md"
    path.parent.mkdir(parents=True)
    head = "---\ndescription: How honey is filled\nalways: true\nmade-by: dream\n---\n\n"
    path.write_text(head + "1. Warm the jars.\n2. Fill them.\n")
    page = get(client, "/memory/approvals/")
    assert "How honey is filled" in page
    (waiting,) = approvals.skills_waiting(waits.workspace)
    path.write_text(head + "1. Warm the jars.\n2. Sell them.\n")
    form = {"path": waiting.path, "version": waiting.version}
    client.post("/memory/approvals/skill", form)
    (waiting,) = approvals.skills_waiting(waits.workspace)
    form["version"] = waiting.version
    client.post("/memory/approvals/skill", form)
    assert not approvals.skills_waiting(waits.workspace)
    again = client.post("/memory/approvals/skill", form, follow=True)
    assert "waits for no answer any more" in again.content.decode()


def test_a_large_prune_is_brought_back_whole(client: Client, dreams: Dreams) -> None:
    """The notice lists what went; one click brings all of it back, a second one changes nothing;
    another account has no such run."""
    dreams.set(approve="off")
    lines = "".join(f"- Hive number {at} stands by the river\n" for at in range(12))
    (dreams.root / MEMORY).write_text(f"# Memory\n\n## Hives\n\n{lines}")
    (cursor,) = dreams.say("- [correction] All hives by the river were sold.")
    arguments = {"path": MEMORY, "old_text": lines, "new_text": "", "sources": [cursor]}
    dreams.model.script(Call("edit_file", arguments))
    dreams.model.script(finish(saved=[cursor]))
    dreams.model.script("Done.")
    run = dreams.run()
    large_prunes.note_large_prune(run)
    page = words(get(client, "/memory/overview/"))
    assert f"Dream took 12 entries out of {MEMORY}" in page
    assert "Hive number 7 stands by the river" in page
    stranger = Client(headers=HEADERS)
    stranger.force_login(Account.objects.make_account("bo", PASSWORD, "UTC"))
    path = f"/memory/runs/{run.pk}/prune"
    assert stranger.post(path, {"act": "back"}).status_code == 404
    assert "Hive number" not in dreams.text()
    client.post(path, {"act": "back"})
    assert dreams.text().count("Hive number") == 12
    assert "took 12 entries" not in words(get(client, "/memory/overview/"))
    client.post(path, {"act": "back"})
    assert dreams.text().count("Hive number") == 12


def test_a_runs_page_says_what_was_decided(client: Client, waits: Dreams) -> None:
    """Also what was rejected, and which entries Dream looks at again because of it."""
    (hunk,) = staged(waits, "Keeps bees.")
    decide(client, hunk, "reject")
    found = approvals.find(waits.workspace, hunk)
    assert found is not None
    page = words(get(client, f"/memory/runs/{found.run_id}/"))
    assert "What you decided" in page
    assert "Wording rejected" in page
    assert f"note {found.offered[0]}" in page
    assert "which will be tried again" in page
