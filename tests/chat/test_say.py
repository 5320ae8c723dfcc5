"""``say``: a turn from the command line, whether the app runs or not."""

import json

import redis

from jenny.env import DataFolder
from jenny.runtime import valkey
from tests.model_server import Fail
from tests.support.chat import asked
from tests.support.stack import OWNER, PASSWORD, environment_for, give_owner, manage


def say(data, url, *words, check=True):
    """Run ``say --json`` and return what it told."""
    printed = manage(data, "say", "--json", *words, check=check, **environment_for(url))
    return json.loads(printed.splitlines()[0])


def test_a_turn_without_the_app(short_path, model_server):
    """Nothing runs: ``say`` runs its turn itself and goes on in the same conversation."""
    url = model_server.url
    give_owner(short_path)
    model_server.script("First.", when=lambda r: any("say one" in t for t in r.texts("user")))
    first = say(short_path, url, "say one")
    assert (first["reply"], first["state"]) == ("First.", "done")
    second = say(short_path, url, "say two")
    assert second["conversation"] == first["conversation"]
    (request,) = asked(model_server, "say two")
    assert "First." in request.texts("assistant")
    third = say(short_path, url, "--new", "/history")
    assert third["conversation"] != first["conversation"]
    assert "Nothing has been said" in third["reply"]
    data = DataFolder(short_path)
    assert not valkey.answers(data), "the queue's server outlived the command that started it"
    with valkey.for_command(data), redis.Redis(unix_socket_path=str(data.redis_socket)) as queue:
        assert queue.llen("chat") == 1, "the title is made at the next start"


def test_a_failed_turn_is_no_success(short_path, model_server):
    """The exit code is 0 only when an answer came; what went wrong is said."""
    give_owner(short_path)
    model_server.script(Fail(401), when=lambda r: any("say fail" in t for t in r.texts("user")))
    told = say(short_path, model_server.url, "say fail", check=False)
    assert told["ok"] is False
    assert "key" in told["error"]


def test_nonsense_is_refused_with_a_sentence(short_path):
    """No workspace, an unknown one, an unknown conversation, an empty text."""
    manage(short_path, "migrate")
    assert "no workspace yet" in manage(short_path, "say", "hello", check=False)
    manage(short_path, "create_owner", "--username", OWNER, JENNY_OWNER_PASSWORD=PASSWORD)
    for words, message in (
        (("--workspace", "nowhere", "hello"), "no workspace called"),
        (("--conversation", "nonsense", "hello"), "no conversation"),
        (("  ",), "empty"),
    ):
        assert message in manage(short_path, "say", *words, check=False)


def test_a_turn_beside_the_running_app(scripted, model_server, owner):
    """The app runs: the same database, and the page shows what was said."""
    model_server.script("Beside.", when=lambda r: any("say beside" in t for t in r.texts("user")))
    told = json.loads(scripted.manage("say", "--json", "--workspace", OWNER, "--new", "say beside"))
    assert told["reply"] == "Beside."
    assert "Beside." in owner.thread(told["conversation"])
