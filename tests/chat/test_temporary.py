"""Chats that leave no memory, and what happens when they are kept."""

import json

from tests.model_server import Call
from tests.support.chat import asked
from tests.support.client import text_of
from tests.support.place import FACT, FULL, answers, sums
from tests.support.waiting import wait_until


def begin(place, said: str) -> str:
    """Begin a temporary chat."""
    answer = place.owner.post("/chat/send", text=said, temporary="1")
    return str(answer.json()["conversation"])


def talk(place, words: str, turns: int, *last: object) -> str:
    """A temporary chat of so many turns."""
    return place.talk(words, turns, *last, begin=lambda said: begin(place, said))


def test_a_temporary_chat_leaves_no_memory(place, words):
    """It says what it is, reads as every chat does, is compacted into a summary of its own that
    the model is shown, and nothing of it reaches a file, whatever ends it."""
    history = place.root / "memory/history.jsonl"
    before = history.read_bytes() if history.exists() else b""
    place.model.script(FACT.format(words), when=sums(words))
    chat = talk(place, words, 4, FULL)
    thread = wait_until(
        lambda: "for this chat" in (found := text_of(place.owner.thread(chat))) and found,
        what="the divider",
    )
    assert "summarised for this chat" in thread
    assert "Temporary chat." in text_of(place.owner.page(chat))
    place.model.script("And on.", when=answers("go on " + words))
    place.owner.send(chat, "go on " + words)
    place.owner.answer(chat)
    (request,) = asked(place.model, "go on " + words)
    system = json.dumps(request.json["system"])
    assert "# Earlier in this conversation" in system
    assert system.count(FACT.format(words)) == 1
    assert "This is a temporary chat" in system
    assert "USER.md, about" not in system
    place.idle(chat)
    place.owner.send(chat, "/new")
    place.stack.manage("consolidate", "--all")
    assert place.entries(chat) == []
    assert (history.read_bytes() if history.exists() else b"") == before
    assert place.column(chat, "session_from")


def test_its_tools_write_no_memory_files(place, words):
    """Whatever the model tries, the memory files are refused to it, with a reason; others are
    written."""
    said = "note " + words
    (place.root / "USER.md").write_text("Her name is Ana.\n")
    (place.root / "memory/MEMORY.md").write_text("The hives stand in the garden.\n")
    edits = {"USER.md": "Ana", "memory/MEMORY.md": "garden"}
    writes = [
        *(
            Call("edit_file", {"path": path, "old_text": word, "new_text": "Bo"})
            for path, word in edits.items()
        ),
        *(
            Call("write_file", {"path": path, "content": "Ana keeps bees."})
            for path in ("memory/notes.md", "skills/bees/SKILL.md")
        ),
    ]
    place.model.script(*writes, when=answers(said))
    place.model.script(
        Call("write_file", {"path": "output/bees.md", "content": "Bees."}), when=answers(said)
    )
    place.model.script("Done.", when=answers(said))
    chat = begin(place, said)
    thread = text_of(place.owner.answer(chat))
    assert thread.count("this is a temporary chat, which leaves no memory") == 4
    assert (place.root / "output/bees.md").read_text() == "Bees."
    assert not (place.root / "memory/notes.md").exists()
    assert not (place.root / "skills/bees").exists()
    assert (place.root / "USER.md").read_text() == "Her name is Ana.\n"


def test_a_kept_chat_is_remembered_from_its_start(place, words):
    """Keeping it takes all of it into the history, also what it had summarised for itself, which
    is shown once; from then on it is a chat like any other."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = talk(place, words, 4, FULL)
    wait_until(lambda: "for this chat" in place.owner.thread(chat), what="the divider")
    place.model.script(FACT.format("kept " + words), when=sums(words))
    place.owner.post(f"/chat/{chat}/keep")
    (entry,) = wait_until(lambda: place.entries(chat), what="the entry")
    wait_until(lambda: not place.held(chat), what="the end of it")
    summary = place.summaries(words)[-1]
    assert f"{words} turn 1" in "\n".join(summary.texts("user"))
    thread = text_of(place.owner.thread(chat))
    assert "This chat is kept" in thread
    assert "for this chat" not in thread
    assert "Temporary chat." not in text_of(place.owner.page(chat))
    place.model.script("Yes.", when=answers("still " + words))
    place.owner.send(chat, "still " + words)
    place.owner.answer(chat)
    system = json.dumps(asked(place.model, "still " + words)[0].json["system"])
    assert system.count(FACT.format("kept " + words)) == 1
    assert "This is a temporary chat" not in system
    # Once Dream has read it, it is still known here what was said before.
    cursor = place.root / "memory/.dream_cursor"
    cursor.write_text(str(entry.cursor))
    try:
        place.model.script("Yes.", when=answers("later " + words))
        place.owner.send(chat, "later " + words)
        place.owner.answer(chat)
    finally:
        cursor.unlink()
    system = json.dumps(asked(place.model, "later " + words)[0].json["system"])
    assert "# Earlier in this conversation" in system
    assert system.count(FACT.format("kept " + words)) == 1
    assert place.owner.post(f"/chat/{chat}/keep").status_code == 302
    assert len(place.entries(chat)) == 1


def test_temporary_chats_are_listed_apart_and_begun_by_command(place, words):
    """The column has them under their own heading; ``say --temporary`` begins one, and the next
    plain ``say`` does not go on in it."""
    place.model.script("Hi.", when=answers(words))
    told = json.loads(place.stack.manage("say", "--temporary", "--json", words))
    page = place.owner.page(told["conversation"])
    assert "Nothing said here reaches" in text_of(page)
    listed = page.partition(">Temporary</h2>")[2].partition("</ul>")[0]
    assert told["conversation"] in listed
    place.model.script("Hi.", when=answers("plain " + words))
    plain = json.loads(place.stack.manage("say", "--json", "plain " + words))
    assert plain["conversation"] != told["conversation"]
    assert "New temporary chat" in text_of(place.owner.get("/chat/").text)
    assert 'name="temporary" value="1"' in place.owner.get("/chat/?temporary=1").text
