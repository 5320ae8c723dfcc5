"""What deleting a conversation covers, and what becomes of the memory of it."""

import html

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


def delete_several(place, *chats: str, **form: str) -> str:
    """Press Delete for several, or answer what is asked then; the page."""
    done = place.owner.http.post(
        "/chat/all/act",
        data={"act": "delete", "chosen": list(chats), **form},
        headers={"X-CSRFToken": place.owner.token()},
        follow_redirects=True,
    )
    assert done.status_code == 200
    return html.unescape(text_of(done.text))


def test_several_are_deleted_after_the_same_question(place, words):
    """The page counts over all of them what the memory has and lacks, and deletes none before it
    is answered; the answer holds for each of them."""
    noted = [compacted(place, f"{name} {words}") for name in ("first", "second")]
    new = place.talk(f"third {words}", 2)
    secret = str(place.owner.post("/chat/send", text="/help", temporary="1").json()["conversation"])
    asked = delete_several(place, *noted, new, secret)
    assert "Delete these 4 conversations?" in asked
    assert "1 of them is a temporary chat and is deleted for good at once" in asked
    assert "2 notes stay, for the next memory update to read" in asked
    assert "take the 2 notes that no memory update has read out, too" in asked
    assert "first add the 4 messages to the history, word for word" in asked
    assert place.owner.get(f"/chat/{new}/").status_code == 200
    assert "2 conversations deleted." in delete_several(place, noted[0], new, memory="add")
    assert len(place.entries(noted[0])) == 1
    (entry,) = place.entries(new)
    assert f"answer 2 of third {words}" in entry.content
    assert "Deleted." in delete_several(place, noted[1], memory="take")
    assert place.entries(noted[1]) == []
    asked = delete_several(place, secret)
    assert "Delete this conversation?" in asked
    assert "trash" not in asked.split("Delete this conversation?")[1]
    assert "deleted for good" in delete_several(place, secret, memory="keep")


def test_what_cannot_be_deleted_of_several_is_said(place, words):
    """While the history cannot be changed those with notes in it stay, and the page says why."""
    chats = [compacted(place, f"{name} {words}") for name in ("first", "second")]
    cursor = place.root / "memory/.dream_cursor"
    cursor.write_text("many")
    try:
        assert "holds 'many' and not a number" in delete_several(place, *chats)
        said = delete_several(place, *chats, memory="take")
    finally:
        cursor.unlink()
    assert "holds 'many' and not a number" in said
    assert "2 conversations not deleted." in said
    assert [len(place.entries(chat)) for chat in chats] == [1, 1]


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
