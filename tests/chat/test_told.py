"""What pages are told of a turn is its newest state, whoever tells it late, or not at all."""

import json
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from jenny.agent.cancellation import CancellationToken
from jenny.chat.models import Conversation, Turn
from jenny.chat.services import publish, send_message, turn_claims, turn_recovery
from jenny.chat.services.recorder import Recorder
from jenny.chat.stream import START, Position, key, replay
from tests.support.client import text_of
from tests.support.stack import PASSWORD


@pytest.fixture
def chat(transactional_db, valkey) -> Conversation:
    """A conversation."""
    from jenny.accounts.models import Account

    owner = Account.objects.make_owner("ana", PASSWORD, "UTC")
    return Conversation.objects.create(workspace=owner.current_workspace)


def shown(valkey, chat: Conversation) -> dict[str, str]:
    """What a page that follows the stream shows in the end: the state, and each element."""
    page = {}
    for entry in replay(valkey, str(chat.pk), START):
        event = json.loads(entry.data)
        page[event.get("id", event["kind"])] = event.get("state") or event.get("html", "")
    return page


def begun(turn_id: int) -> Recorder:
    """A worker's first steps: the turn is claimed, and the message taken."""
    claimed = turn_claims.claim_turn(turn_id)
    assert claimed is not None
    recorder = Recorder(claimed.turn, CancellationToken())
    recorder.took(claimed.rows)
    return recorder


@pytest.mark.parametrize("is_told", [False, True])
def test_a_slow_web_process_does_not_put_the_message_back_to_waiting(chat, valkey, is_told):
    """CHA2, CHA3: the worker has taken the message, and may have told so, before the web process
    comes to tell of it."""

    def work(turn_id: int) -> None:
        recorder = begun(turn_id)
        if is_told:
            recorder.text("Hello.")

    accepted = send_message.accept_message(chat, "Good day", start=work)
    page = shown(valkey, chat)
    assert "Good day" in page[f"m{accepted.message.pk}"]
    assert "Waiting" not in page[f"m{accepted.message.pk}"]
    assert page["state"] == "running"


def test_a_web_process_that_comes_after_the_end_tells_of_the_end(chat, valkey):
    """A whole turn may pass before it: the page must not wait for an answer that is there."""

    def work(turn_id: int) -> None:
        begun(turn_id).text("Hello.")
        Turn.objects.filter(pk=turn_id).update(state=Turn.State.DONE)

    send_message.accept_message(chat, "Good day", start=work)
    assert shown(valkey, chat)["state"] == "idle"


def test_a_message_is_handed_over_before_anything_else_is_done(chat, valkey):
    """What a person waits for begins at once; the message itself is stored by then."""
    seen = []

    def look(turn_id: int) -> None:
        seen.append((valkey.exists(key(str(chat.pk))), Turn.objects.filter(pk=turn_id).count()))

    send_message.accept_message(chat, "Good day", start=look)
    assert seen == [(0, 1)]


def test_a_worker_killed_before_it_told_anything_leaves_no_waiting_message(chat, valkey):
    """CHA4: it had taken the message and asked the model; nothing was said yet. The page hears
    that the turn was lost, and that the message is no longer one that waits."""
    accepted = send_message.accept_message(chat, "Good day", start=begun)
    # As the page saw it before: the web process was quicker than the worker.
    valkey.delete(key(str(chat.pk)))
    Turn.objects.update(heartbeat_at=Now() - timedelta(seconds=60))
    turn_recovery.recover_turns()
    page = shown(valkey, chat)
    assert "Waiting" not in page[f"m{accepted.message.pk}"]
    assert page["state"] == "idle"
    [answer] = [html for html in page.values() if 'data-reason="lost"' in html]
    assert "Try again" in answer


def test_a_silent_model_does_not_keep_the_page_waiting(chat, valkey):
    """Where the first word takes long, the pulse tells that the turn runs."""
    held: list[Recorder] = []
    accepted = send_message.accept_message(
        chat, "Good day", start=lambda turn: held.append(begun(turn))
    )
    valkey.delete(key(str(chat.pk)))
    held[0].flush_due()
    held[0]._taken_at -= 1
    held[0].flush_due()
    page = shown(valkey, chat)
    assert page["state"] == "running"
    assert "Waiting" not in page[f"m{accepted.message.pk}"]


def test_the_first_words_come_with_their_answer(chat, valkey):
    """They are one event, stored with what it tells; a reload shows the same."""
    held: list[Recorder] = []
    send_message.accept_message(chat, "Good day", start=lambda turn: held.append(begun(turn)))
    held[0].text("First words, ")
    [block] = held[0].turn.blocks.all()
    assert block.text == "First words, "
    events = [json.loads(entry.data) for entry in replay(valkey, str(chat.pk), START)]
    [first] = [event for event in events if "First words" in event.get("html", "")]
    assert first["kind"] == "item"
    assert f'id="b{block.pk}"' in first["html"]
    held[0].end()
    block.refresh_from_db()
    assert block.html.strip() == '<p dir="auto">First words,</p>'


@pytest.mark.parametrize("more", ["more words. ", "more\n\nwords in\n\nseveral paragraphs. "])
def test_a_page_read_while_a_block_gets_another_number_shows_no_word_twice(chat, valkey, more):
    """CHA1: something else is told meanwhile, so that the text goes on under a new number. A page
    that knew of no such number, but read the row behind it, holds those words already."""
    held: list[Recorder] = []
    send_message.accept_message(chat, "Good day", start=lambda turn: held.append(begun(turn)))
    held[0].text("First words, ")
    publish.Publisher(chat).conversation_title()
    chat.refresh_from_db()
    before = Position(chat.event_number)
    held[0].text(more)
    held[0]._flushed = 0.0
    held[0].flush_due()
    [block] = held[0].turn.blocks.all()
    assert block.event_number > before.number
    held[0].text("Last words.")
    held[0]._flushed = 0.0
    held[0].flush_due()
    page = block.text
    for entry in replay(valkey, str(chat.pk), before):
        event = json.loads(entry.data)
        if event["kind"] == "block":
            page = text_of(event["html"])
        page = f"{page} {event.get('source', '')}"
    assert page.split() == f"First words, {more} Last words.".split()


def test_what_follows_the_first_words_costs_no_number(chat, valkey):
    """That the turn runs and took the message is told behind its first words; the next ones go on
    where they stood, and nothing is told twice."""
    held: list[Recorder] = []
    send_message.accept_message(chat, "Good day", start=lambda turn: held.append(begun(turn)))
    held[0].text("First words, ")
    page = shown(valkey, chat)
    assert page["state"] == "running"
    assert any("Good day" in html and "Waiting" not in html for html in page.values())
    [block] = held[0].turn.blocks.all()
    held[0].text("more words.")
    held[0].end()
    events = [json.loads(entry.data) for entry in replay(valkey, str(chat.pk), START)]
    assert "".join(event.get("source", "") for event in events) == "more words."
    assert not [event for event in events if event["kind"] == "block"]
    number = block.event_number
    block.refresh_from_db()
    assert block.event_number == number
