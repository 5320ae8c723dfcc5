"""A fact that may be known again comes back, also when only the history has it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from jenny.chat.models import Conversation
from jenny.workspace.files import open_workspace
from jenny.workspace.write_rules import Actor
from memory import suppression
from memory.history import log, reader
from memory.history.entries import HistoryEntry
from memory.services import forgotten_facts
from memory.suppression.tombstones import State
from tests.support.dreams import Dreams, add, batch_of, finish

FACT = "The boat of Ana is painted red"
OTHER = "Ana lent Ben fifty euros in May"


def forgotten_unread(dreams: Dreams) -> int:
    """A fact that was forgotten before any file had it, and passed over by Dream; its entry."""
    (cursor,) = dreams.say(f"- [durable] {FACT}\n- [durable] {OTHER}")
    suppression.forget(dreams.root, FACT, Actor("command"))
    dreams.model.script(add(f"- {OTHER}", cursor), finish(saved=[cursor]), when=batch_of)
    dreams.run()
    assert dreams.cursor == cursor
    assert FACT not in batch_of(dreams.shown()[-1])
    return cursor


def shown_next(dreams: Dreams, cursor: int) -> str:
    """What the next run is shown, and writes."""
    dreams.model.requests.clear()
    dreams.model.script(add(f"- {FACT}", cursor), finish(saved=[cursor]), when=batch_of)
    dreams.run()
    return "".join(map(batch_of, dreams.shown()))


@pytest.mark.parametrize("way", ["page", "files", "command", "thread"])
def test_dream_is_shown_again_what_it_passed_over(
    dreams: Dreams, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever a person lifts it, the answer says that the next update reads it, and after that
    update a memory file has it."""
    cursor = forgotten_unread(dreams)
    (tombstone,) = suppression.list_tombstones(dreams.root)
    client = Client(headers={"Sec-Fetch-Site": "same-origin"})
    client.force_login(dreams.workspace.owner)
    if way == "command":
        call_command("forget", lift=tombstone.id)
        told = capsys.readouterr().out
    else:
        chat = Conversation.objects.create(workspace=dreams.workspace)
        address = {
            "page": reverse("memory_lift", args=[tombstone.id]),
            "files": reverse("files_lift", args=[tombstone.id]),
            "thread": reverse("chat:back", args=[chat.pk, tombstone.id]),
        }
        told = client.post(address[way], follow=True).content.decode()
    assert "the next memory update is shown it again" in told
    assert FACT in shown_next(dreams, cursor)
    assert FACT in dreams.text()


def test_an_archived_entry_is_shown_again(dreams: Dreams) -> None:
    """Also when the entry left the history for the archive."""
    cursor = forgotten_unread(dreams)
    history = dreams.root / log.PATH
    segment = dreams.root / log.segment_path("2026-01")
    segment.parent.mkdir(exist_ok=True)
    segment.write_bytes(history.read_bytes())
    history.write_bytes(b"")
    (tombstone,) = suppression.list_tombstones(dreams.root)
    assert forgotten_facts.lift(dreams.workspace, tombstone.id, Actor("browser")).entries == (
        cursor,
    )
    assert FACT in shown_next(dreams, cursor)
    assert FACT in dreams.text()


def test_what_waits_comes_by_itself(dreams: Dreams) -> None:
    """An entry that Dream has not read is no entry to show again, and is named all the same."""
    (cursor,) = dreams.say(f"- [durable] {FACT}")
    suppression.forget(dreams.root, FACT, Actor("command"))
    (tombstone,) = suppression.list_tombstones(dreams.root)
    done = forgotten_facts.lift(dreams.workspace, tombstone.id, Actor("browser"))
    assert (done.entries, bool(done.more)) == ((cursor,), True)
    assert not dreams.workspace.dream_entries.exists()
    assert FACT in shown_next(dreams, cursor)


def test_what_can_be_brought_back_is_not_shown_again(dreams: Dreams) -> None:
    """A copy in the archive, or another line that says it, is enough."""
    (cursor,) = dreams.say(f"- [durable] {FACT}")
    dreams.model.script(add(f"- {FACT}", cursor), finish(saved=[cursor]), when=batch_of)
    dreams.run()
    suppression.forget(dreams.root, FACT, Actor("command"))
    (tombstone,) = suppression.list_tombstones(dreams.root)
    done = forgotten_facts.lift(dreams.workspace, tombstone.id, Actor("browser"))
    assert (done.entries, done.more) == ((), "")


def test_a_long_history_keeps_no_writer_waiting(
    dreams: Dreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is searched, others write to the workspace."""
    cursor = forgotten_unread(dreams)
    (tombstone,) = suppression.list_tombstones(dreams.root)
    every = reader.newest_first

    def write() -> None:
        open_workspace(dreams.root, Actor("browser")).write("notes.md", b"Written meanwhile.\n")

    def slowly(root: Path) -> Iterator[HistoryEntry]:
        with ThreadPoolExecutor(1) as threads:
            threads.submit(write).result(timeout=120)
        yield from every(root)

    monkeypatch.setattr(reader, "newest_first", slowly)
    done = forgotten_facts.lift(dreams.workspace, tombstone.id, Actor("browser"))
    assert done.entries == (cursor,)
    assert (dreams.root / "notes.md").read_text() == "Written meanwhile.\n"


def test_few_lines_of_a_long_history_are_judged(
    dreams: Dreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those with the words of the fact; of a history full of them only the newest."""
    cursor = forgotten_unread(dreams)
    dreams.say("\n".join(f"- [durable] Met Olivia in room {number}" for number in range(2_000)))
    (tombstone,) = suppression.list_tombstones(dreams.root)
    judged = []
    match = State.match

    def counted(state: State, text: str) -> suppression.Tombstone | None:
        judged.append(text)
        return match(state, text)

    monkeypatch.setattr(State, "match", counted)
    assert forgotten_facts._only_in_history(dreams.root, tombstone) == [cursor]
    assert len(judged) == 1
    near = "\n".join(f"- [durable] Ana painted boat {number} red?" for number in range(2_000))
    dreams.say(*[near] * 5)
    judged.clear()
    forgotten_facts._only_in_history(dreams.root, tombstone)
    assert len(judged) < 5_000


def test_a_run_under_way_does_not_pass_over_what_is_lifted(dreams: Dreams) -> None:
    """Its batch was chosen before, so that the entry is shown to the next run; that holds for an
    entry that it was shown again as for one that it had not read."""
    told = f"- [durable] {FACT}\n- [durable] {OTHER}"
    again, new = dreams.say(told, told)
    dreams.place(again)
    dreams.workspace.dream_entries.create(cursor=again, place="reoffered")
    suppression.forget(dreams.root, FACT, Actor("command"))
    (tombstone,) = suppression.list_tombstones(dreams.root)

    def lift(_: object) -> bool:
        if suppression.list_tombstones(dreams.root):
            forgotten_facts.lift(dreams.workspace, tombstone.id, Actor("browser"))
        return False

    dreams.model.script(add("- Never asked for", new), when=lift)
    dreams.model.script(add(f"- {OTHER}", again, new), finish(saved=[again, new]), when=batch_of)
    dreams.run()
    assert dreams.cursor == new
    assert not any(FACT in batch_of(row) for row in dreams.shown())
    assert set(dreams.workspace.dream_entries.values_list("cursor", "place")) == {
        (again, "reoffered"),
        (new, "reoffered"),
    }
    assert FACT in shown_next(dreams, new)
    assert FACT in dreams.text()
