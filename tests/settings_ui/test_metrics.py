"""``/metrics``."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from jenny.accounts.models import Account, UpSpan, UsageDay
from jenny.chat.models import Conversation, Turn
from jenny.runtime.asgi_middleware import REQUESTS, RequestLog
from memory.models import DreamRun
from settings_ui.services import metrics

SAID = "a title that is nobody's business"
LINE = re.compile(
    r"(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+=\"[^\"]*\"(,[a-z]+=\"[^\"]*\")*\})? [0-9.e+-]+)"
)


@pytest.fixture(autouse=True)
def a_first_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees what another one's look found."""
    monkeypatch.setattr(metrics._Latest, "text", b"")


@pytest.fixture
def read(settings: Any, ana: Account) -> Callable[..., str]:
    """Switched on, read by somebody without a session."""
    settings.JENNY_METRICS = "on"

    def get(**headers: str) -> str:
        answer = Client().get("/metrics", headers=headers)
        assert answer.status_code == 200
        assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
        return answer.text

    return get


def test_it_is_off_unless_switched_on(ana: Account, client: Client) -> None:
    """For the owner, too."""
    assert Client().get("/metrics").status_code == 404
    assert client.get("/metrics").status_code == 404


def test_a_token_is_asked_for_where_one_is_set(settings: Any, read: Callable[..., str]) -> None:
    """No other opens it; nothing of it is said."""
    settings.JENNY_METRICS_TOKEN = "a secret token"
    for given in ("", "Bearer", "Bearer wrong", "Basic a secret token", "Bearer a secret tokens"):
        answer = Client().get("/metrics", headers={"Authorization": given} if given else {})
        assert answer.status_code == 401, given
    assert "jenny_info" in read(Authorization="Bearer a secret token")
    assert Client().post("/metrics").status_code == 405


def test_numbers_and_nothing_else(read: Callable[..., str], ana: Account) -> None:
    """Turns by ending, runs by status, tokens; every line is one that Prometheus reads, and none
    holds a name or a word of anybody's."""
    workspace = ana.current_workspace
    assert workspace is not None
    chat = Conversation.objects.create(workspace=workspace, title=SAID)
    for reason in ("", "stopped", ""):
        turn = Turn.objects.create(conversation=chat, state="done", reason=reason, message=SAID)
        Turn.objects.filter(pk=turn.pk).update(ended_at=turn.created_at)
    Turn.objects.create(conversation=chat)
    DreamRun.begin(workspace, "manual")
    UsageDay.objects.create(
        account=ana, day="2026-01-01", kind="chat", model=SAID, requests=2, input_tokens=40, cost=1
    )
    UpSpan.beat("web", "a-host-of-mine")
    told = read()
    for line in told.splitlines():
        assert LINE.fullmatch(line), line
    for part in (
        'jenny_turns_last_hour{reason="",state="done"} 2.0',
        'jenny_turns_last_hour{reason="stopped",state="done"} 1.0',
        'jenny_turns{state="queued"} 1.0',
        'jenny_dream_runs{state="queued"} 1.0',
        'jenny_tokens_total{kind="chat",sort="input"} 40.0',
        'jenny_model_requests_total{kind="chat"} 2.0',
        'jenny_part_up{part="web"} 1.0',
        'jenny_part_up{part="beat"} 0.0',
        'jenny_http_request_seconds_bucket{le="+Inf"}',
    ):
        assert part in told, part
    for word in (SAID, "ana", "a-host-of-mine", str(chat.pk)):
        assert word not in told


def test_it_is_told_before_there_is_an_owner(settings: Any, db: None) -> None:
    """Whoever watches a fresh instance is not led to the set-up."""
    settings.JENNY_METRICS = "on"
    assert "jenny_accounts 0.0" in Client().get("/metrics").text


def test_it_is_looked_up_now_and_then(
    read: Callable[..., str], ana: Account, django_assert_num_queries: Callable[..., object]
) -> None:
    """Whoever asks every second costs no query; a broken queue is a number, not an error."""
    assert "jenny_redis_up" in read()
    with django_assert_num_queries(0):
        read()


def test_requests_are_counted_by_time_and_status() -> None:
    """Each bucket holds those below it, too; files and health checks are not counted."""

    def sample(name: str, **labels: str) -> float:
        return REQUESTS.get_sample_value(f"jenny_http_{name}", labels) or 0

    def counts() -> list[float]:
        return [
            sample("requests_total", status="2xx"),
            sample("requests_total", status="5xx"),
            sample("request_seconds_bucket", le="10.0"),
            sample("request_seconds_bucket", le="+Inf"),
            sample("request_seconds_count"),
        ]

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None: ...

    async def application(scope: Any, receive: Any, send: Any) -> None:
        status = 503 if scope["path"] == "/broken/" else 200
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    before = counts()
    log = RequestLog(application)
    for path in ("/chat/", "/chat/", "/broken/", "/static/app.js", "/health/live"):
        scope = {"type": "http", "method": "GET", "path": path, "headers": []}
        asyncio.run(log(scope, receive, send))
    assert [now - then for now, then in zip(counts(), before, strict=True)] == [2, 1, 3, 3, 3]


def test_no_figure_is_renamed(valkey: Redis, read: Callable[..., str]) -> None:
    """Dashboards ask for them by name."""
    assert set(re.findall(r"^# TYPE (\w+ \w+)$", read(), re.MULTILINE)) == {
        "jenny_info gauge",
        "jenny_accounts gauge",
        "jenny_workspaces gauge",
        "jenny_part_up gauge",
        "jenny_redis_up gauge",
        "jenny_queue_depth gauge",
        "jenny_queue_taken gauge",
        "jenny_turns gauge",
        "jenny_turns_last_hour gauge",
        "jenny_dream_runs gauge",
        "jenny_dream_runs_last_hour gauge",
        "jenny_model_requests_total counter",
        "jenny_tokens_total counter",
        "jenny_cost_dollars_total counter",
        "jenny_http_requests_total counter",
        "jenny_http_request_seconds histogram",
    }
