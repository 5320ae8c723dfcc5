"""What deleting a conversation covers, and what becomes of the memory of it."""

from tests.model_server import Gate
from tests.support.client import text_of
from tests.support.place import FACT, sums
from tests.support.waiting import wait_until


def compacted(place, words: str, turns: int = 1) -> str:
    """A conversation that is in the history."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, turns)
    place.owner.send(chat, "/compact")
    wait_until(lambda: place.entries(chat), what="the entry")
    wait_until(lambda: not place.held(chat), what="the end of it")
    return chat


def test_the_entries_that_wait_go_along_on_request(place, words):
    """HIS5: the page says what deletion covers; by the person's choice the entries that Dream has
    not read go too, and move nowhere; those it has read stay, and the page says so."""
    kept = compacted(place, f"kept {words}")
    chat = compacted(place, words)
    page = text_of(place.owner.get(f"/chat/{chat}/delete").text)
    assert "1 note stays, for the next memory update to read" in page
    assert "take the 1 note that no memory update has read out, too" in page
    place.owner.post(f"/chat/{chat}/delete", memory="take")
    assert place.owner.get(f"/chat/{chat}/").status_code == 404
    assert place.entries(chat) == []
    assert words not in "".join(
        path.read_text() for path in (place.root / "memory").rglob("*.jsonl")
    ).replace(f"kept {words}", "")
    (entry,) = place.entries(kept)
    cursor = place.root / "memory/.dream_cursor"
    cursor.write_text(str(entry.cursor))
    try:
        page = text_of(place.owner.get(f"/chat/{kept}/delete").text)
        assert "1 note about it was read by Dream already" in page
        assert "take the" not in page
        place.owner.post(f"/chat/{kept}/delete", memory="take")
        assert place.entries(kept) == [entry]
    finally:
        cursor.unlink()
    page = place.owner.get(f"/memory/history/{entry.cursor}/").text
    assert "It was deleted; this note stays." in text_of(page)


def test_entries_stay_unless_asked(place, words):
    """Deleting without a choice leaves what the memory has."""
    chat = compacted(place, words)
    place.owner.post(f"/chat/{chat}/delete")
    assert len(place.entries(chat)) == 1


def test_what_is_not_in_the_history_can_be_added_first(place, words):
    """CON7: a conversation that ends by being deleted is kept word for word when the person
    wants that, without asking a model."""
    chat = place.talk(words, 2)
    page = text_of(place.owner.get(f"/chat/{chat}/delete").text)
    assert "first add the 4 messages to the history, word for word" in page
    place.owner.post(f"/chat/{chat}/delete", memory="add")
    (entry,) = place.entries(chat)
    assert (entry.kind, place.summaries(words)) == ("raw", [])
    assert f"{words} turn 1" in entry.content
    assert f"answer 2 of {words}" in entry.content


def test_nothing_is_deleted_while_the_history_cannot_be_changed(place, words):
    """Nobody knows what Dream has read: the page says so, and the conversation stays."""
    chat = compacted(place, words)
    cursor = place.root / "memory/.dream_cursor"
    cursor.write_text("many")
    try:
        page = place.owner.get(f"/chat/{chat}/delete").text
        assert "holds 'many' and not a number" in text_of(page).replace("&#x27;", "'")
        refused = place.owner.post(f"/chat/{chat}/delete", memory="take")
        assert refused.status_code == 409
        assert "The conversation was not deleted." in text_of(refused.text)
    finally:
        cursor.unlink()
    assert place.owner.get(f"/chat/{chat}/").status_code == 200
    assert len(place.entries(chat)) == 1


def test_a_summary_under_way_leaves_nothing_of_a_deleted_conversation(place, words):
    """What was being summarised when the conversation was deleted does not turn up afterwards."""
    place.model.script(Gate("late " + words), FACT.format(words), when=sums(words))
    chat = place.talk(words, 1)
    place.owner.send(chat, "/compact")
    wait_until(lambda: place.summaries(words), what="the request")
    place.owner.post(f"/chat/{chat}/delete", memory="take")
    place.model.open("late " + words)
    # The worker takes one at a time: when the next conversation is through, so is this one.
    compacted(place, "next " + words)
    assert place.entries(chat) == []
