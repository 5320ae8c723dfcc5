"""``manage.py dream``, ``/dream`` with words behind it, and ``say``."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from jenny.chat.models import Conversation, Message
from jenny.chat.services import commands
from memory import signals
from memory.models import DreamRun
from memory.services import dream_scheduler
from tests.model_server import Fail
from tests.support.dreams import MEMORY, add, batch_of, finish


def command(capsys, *words):
    """What the command prints."""
    call_command("dream", *words)
    return capsys.readouterr().out


def test_the_command_runs_dream_itself(dreams, capsys):
    """Its JSON says everything about the run, files before and after included."""
    (one,) = dreams.say("- [durable] Bees.")
    dreams.model.script(add("- Bees.", one))
    dreams.model.script(finish(saved=[one]))
    told = json.loads(command(capsys, "--json"))
    assert (told["ok"], told["status"]) == (True, "completed")
    assert told["cursor"] == {"before": 0, "after": one}
    assert told["entries"][0]["verdict"] == "saved"
    assert told["writes"][0]["ok"]
    assert "- Bees." not in told["files"][MEMORY]["before"]
    assert "- Bees." in told["files"][MEMORY]["after"]
    assert told["commits"]
    assert told["snapshot"]
    assert told["tokens"]["input"] > 0
    assert "Nothing to do" in command(capsys)


def test_the_command_fails_when_dream_does_not_get_on(dreams, capsys):
    """Exit code and sentence tell it; a run that is under way is not disturbed."""
    dreams.say("- [durable] Bees.")
    dreams.model.always(batch_of, Fail(401))
    with pytest.raises(CommandError, match="Dream failed"):
        command(capsys)
    assert json.loads(command(capsys, "--json"))["ok"] is False
    run = dream_scheduler.start_run(dreams.workspace, "manual").run
    DreamRun.claim(run.pk, "somebody", 600)
    with pytest.raises(CommandError, match="already running"):
        command(capsys)


def replies(chat):
    """The replies in a conversation."""
    rows = Message.objects.filter(conversation=chat, kind=Message.Kind.REPLY)
    return list(rows.order_by("pk").values_list("text", flat=True))


def test_the_chat_gets_one_outcome(dreams):
    """Dreaming… at once, then one outcome however often it is told; words behind the command
    are answered with where the settings are, and start nothing."""
    chat = Conversation.objects.create(workspace=dreams.workspace)
    assert commands.run_command(chat, commands.parse("/dream"), in_process=True).startswith(
        "Nothing to do"
    )
    run = DreamRun.objects.get()
    signals.run_reported.send(sender=None, asker=run.asker, message=run.full_message)
    assert [text.split(".")[0] for text in replies(chat)] == ["Dreaming…", "Nothing to do"]
    told = commands.run_command(chat, commands.parse("/dream budget 5000"), in_process=True)
    assert "/settings/memory/" in told
    assert DreamRun.objects.count() == 1


def test_an_outcome_outlives_its_conversation(dreams):
    """Who asked may be gone by then; the alarm is told where the person was last."""
    chat = Conversation.objects.create(workspace=dreams.workspace)
    signals.run_reported.send(sender=None, asker=f"chat:{dreams.workspace.pk}:1", message="Gone.")
    signals.outcome_announced.send(
        sender=None,
        workspace=str(dreams.workspace.pk),
        key="dream:9:failures",
        message="Dream has failed.",
    )
    signals.outcome_announced.send(
        sender=None,
        workspace=str(dreams.workspace.pk),
        key="dream:9:failures",
        message="Dream has failed.",
    )
    assert replies(chat) == ["Dream has failed."]


def test_the_alarm_is_everywhere_until_dream_gets_on(dreams, caplog):
    """At the fourth failure in a row: on every page, in the newest chat (once), and in the log as
    an error, with the cause, since it is known. Once a run gets on no page says it any more."""
    chat = Conversation.objects.create(workspace=dreams.workspace)
    client = Client()
    client.force_login(dreams.workspace.owner)
    (one,) = dreams.say("- [durable] Bees.")
    dreams.model.always(batch_of, Fail(401))
    pages = ("/chat/", "/settings/memory/", "/memory/")
    words = "Dream has failed 4 times in a row."
    for number in range(1, 6):
        dreams.run("scheduled")
        for page in pages:
            assert (words in noticed(client, page)) == (number == 4), (number, page)
    assert [text.startswith(words) for text in replies(chat)] == [True]
    assert "key" in replies(chat)[0]
    errors = [row for row in caplog.records if row.message == "dream.alarm"]
    assert [(row.levelname, row.alarm) for row in errors] == [("ERROR", "failures")]
    assert "Dream has failed 5 times in a row." in noticed(client, "/chat/")
    dreams.model._rules.clear()
    dreams.model.script(finish(not_kept=[one]), when=batch_of)
    assert dreams.run("scheduled").status == "nothing_new"
    assert not any("Dream has failed" in noticed(client, page) for page in pages)


def noticed(client, page):
    """What stands in a page's one place for notices."""
    text = client.get(page).content.decode()
    return text[text.index('id="notices"') :].split("</section>")[0]
