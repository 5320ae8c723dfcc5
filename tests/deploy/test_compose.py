"""docker-compose.yml, its commands run as processes on real Redis and PostgreSQL."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import psycopg
import pytest

from tests.model_server import Call, Gate, ModelServer, Say
from tests.support.chat import asked, is_title
from tests.support.client import Client, text_of
from tests.support.compose import (
    COMPOSE,
    DOCKERFILE,
    Composition,
    Service,
    skewed_clock,
    start_redis,
)
from tests.support.stack import OWNER, PASSWORD, environment_for, manage
from tests.support.waiting import free_port, wait_until

# The second host's clock is wrong by this much.
SKEW_SECONDS = 300


@dataclass
class Deployment:
    """Two web servers, two workers, one scheduler, on two hosts whose clocks differ."""

    webs: list[Client]
    workers: list[Service]
    model: ModelServer
    database: str
    composition: Composition

    def turns(self, chat: str) -> list[tuple[object, ...]]:
        """What became of a conversation's turns."""
        with psycopg.connect(self.database) as connection:
            return connection.execute(
                "SELECT id, state, reason, message, worker, steps, started_at, ended_at,"
                " (SELECT count(*) FROM chat_block WHERE turn_id = chat_turn.id)"
                " FROM chat_turn WHERE conversation_id = %s",
                [chat],
            ).fetchall()

    def holders(self) -> dict[int, str]:
        """Process id of the worker that runs each turn now."""
        with psycopg.connect(self.database) as connection:
            rows = connection.execute("SELECT id, worker FROM chat_turn WHERE state = 'running'")
            return {turn: worker.split(":")[1] for turn, worker in rows.fetchall()}


@pytest.fixture(scope="module")
def deployment(scratch, postgres) -> Iterator[Deployment]:
    """All services of the compose file, healthy, with an owner who is logged in at both webs."""
    folder = scratch / "deploy"
    folder.mkdir()
    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as connection:
        connection.execute("CREATE DATABASE jenny")
    database = f"{postgres}/jenny"
    redis_port = free_port()
    redis = start_redis(folder / "redis", redis_port)
    hosts = {
        "postgres:5432": postgres.rpartition("@")[2],
        "redis:6379": f"127.0.0.1:{redis_port}",
        "/data": str(folder / "data"),
    }
    composition = Composition(folder, hosts)
    ahead = skewed_clock(folder, SKEW_SECONDS)
    with ModelServer() as model:
        model.always(is_title, "A title")
        told = dict(environment_for(model.url))
        ports = [str(free_port()), str(free_port())]
        try:
            composition.start("web", JENNY_PORT=ports[0], **told)
            composition.start("web", JENNY_PORT=ports[1], **told, **ahead)
            workers = [
                composition.start("worker", **told),
                composition.start("worker", **told, **ahead),
            ]
            composition.start("beat", **told)
            composition.wait()
            manage(
                folder / "data", "create_owner", "--username", OWNER,
                JENNY_OWNER_PASSWORD=PASSWORD, DATABASE_URL=database,
            )  # fmt: skip
            webs = [Client(f"http://127.0.0.1:{port}").login(OWNER, PASSWORD) for port in ports]
            yield Deployment(webs, workers, model, database, composition)
        finally:
            codes = composition.end()
            redis.terminate()
            redis.wait(timeout=60)
    assert set(codes) == {0}


def test_every_service_is_there_and_bounded():
    """The file has the five services, publishes one port on loopback, and nothing runs as root."""
    services = COMPOSE["services"]
    assert set(services) >= {"web", "worker", "beat", "redis", "postgres"}
    published = {name: one["ports"] for name, one in services.items() if "ports" in one}
    assert list(published) == ["web"]
    assert published["web"][0].startswith("${JENNY_HOST:-127.0.0.1}:")
    assert all("profiles" in one or one.get("restart") for one in services.values())
    images = {one["image"] for name, one in services.items() if name in {"web", "worker", "beat"}}
    assert len(images) == 1
    assert re.search(r"^USER (?!root)", DOCKERFILE, re.MULTILINE)
    assert all(
        set(services[name]["volumes"]) == {"data:/data"} for name in ("web", "worker", "beat")
    )
    assert services["ollama"]["profiles"] == ["local-model"]


def test_the_hosts_disagree_about_the_time(deployment):
    """The second web server's clock is minutes ahead, so the tests here mean something."""
    here, there = [
        parsedate_to_datetime(web.get("/health/live").headers["date"]) for web in deployment.webs
    ]
    assert (there - here).total_seconds() > SKEW_SECONDS / 2


def test_a_chat_is_held_through_both_hosts(deployment):
    """What is asked at one web server streams at the other, whichever worker answers."""
    words = "across the hosts"
    first, second = deployment.webs
    deployment.model.script(
        Say("The **first** half, "), Gate("second half"), Say("and the second."),
        when=lambda request: words in str(request.json) and not is_title(request),
    )  # fmt: skip
    chat = first.begin(words)
    with second.events(chat) as stream:
        stream.wait_for(lambda event: "first" in str(event), "the first half at the other host")
        deployment.model.open("second half")
        stream.wait_for(lambda event: "second." in str(event), "the second half")
    thread = first.answer(chat)
    assert "<strong>first</strong> half, and the second." in thread
    assert steady(thread) == steady(second.thread(chat))


def steady(thread: str) -> str:
    """A thread without what is another each time: the position, which a title moves on, and the
    tokens of its forms."""
    return re.sub(r'data-position="[^"]*"|name="csrfmiddlewaretoken" value="[^"]*"', "", thread)


def test_files_are_shared_by_all_hosts(deployment):
    """A file that a turn writes on one host is there for a turn on the other."""
    words = "write it down"
    deployment.model.script(
        Call("write_file", {"path": "shared.md", "content": "for all hosts\n"}),
        when=lambda request: words in str(request.json) and not is_title(request),
    )
    deployment.webs[0].answer(deployment.webs[0].begin(words))
    files = list((deployment.composition.folder / "data" / "workspaces").glob("*/shared.md"))
    assert [file.read_text() for file in files] == ["for all hosts\n"]


def test_each_turn_runs_once_with_two_workers(deployment):
    """Twenty questions asked at both web servers are answered, each by one request."""
    questions = [f"question number {number} of twenty" for number in range(20)]
    chats = [
        (deployment.webs[number % 2], deployment.webs[number % 2].begin(words))
        for number, words in enumerate(questions)
    ]
    for web, chat in chats:
        thread = web.answer(chat)
        assert "ok" in text_of(thread), deployment.turns(chat)
    counts = Counter(words for words in questions for _ in asked(deployment.model, words))
    assert counts == Counter(questions)


def test_a_lost_worker_is_noticed_and_the_other_goes_on(deployment):
    """Its turns end as interrupted with their text kept; the other's, with clocks five minutes
    apart, are left alone and end well; new turns are answered."""
    web = deployment.webs[0]
    words = "a long one"
    deployment.model.always(
        lambda request: words in str(request.json) and not is_title(request),
        Say("So far so good"), Gate("long ones"), Say(", and done."),
    )  # fmt: skip
    chats: list[str] = []
    begun = {f"{words} {number}" for number in range(24)}

    def both_are_busy() -> dict[int, str]:
        if begun:
            chats.append(web.begin(begun.pop()))
        holders = deployment.holders()
        return holders if len(set(holders.values())) == 2 else {}

    wait_until(both_are_busy, what="both workers to hold a turn")
    for chat in chats:
        wait_until(lambda chat=chat: "So far so good" in text_of(web.thread(chat)))
    before = deployment.holders()
    victim, survivor = deployment.workers
    victim.kill()
    wait_until(lambda: len(set(deployment.holders().values())) == 1, what="the loss to be noticed")
    kept = set(deployment.holders())
    assert len({before[turn] for turn in kept}) == 1
    assert {before[turn] for turn in kept} != {before[turn] for turn in set(before) - kept}
    # More turns than the pool has connections: one that waits for its model holds none.
    many = [web.begin(f"{words} on one host {number}") for number in range(30)]
    for chat in many:
        wait_until(lambda chat=chat: "So far so good" in text_of(web.thread(chat)))
    deployment.model.open("long ones")
    threads = [text_of(web.answer(chat)) for chat in chats]
    finished = [thread for thread in threads if "So far so good, and done." in thread]
    assert len(finished) == len(kept)
    assert all("So far so good" in thread for thread in threads)
    assert all("and done." in text_of(web.answer(chat)) for chat in many)
    assert survivor.process.poll() is None
    assert "ok" in text_of(web.answer(web.begin("is anybody there?")))
