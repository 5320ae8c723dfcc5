"""``/metrics``."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from jenny.accounts.models import Account, UpSpan, UsageDay
from jenny.chat.models import Conversation, Turn
from jenny.runtime.asgi_middleware import EDGES, Times
from memory.models import DreamRun
from settings_ui.exposition import gauge, render
from settings_ui.services import metrics

SAID = "a title that is nobody's business"
LINE = re.compile(
    r"(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+=\"[^\"]*\"(,[a-z]+=\"[^\"]*\")*\})? [0-9.e+-]+)"
)


@pytest.fixture(autouse=True)
def a_first_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees what another one's look found."""
    monkeypatch.setattr(metrics._Kept, "text", "")


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
    for given in ("", "Bearer", "Bearer wrong", "Basic a secret token", "Bearer a secret token "):
        answer = Client().get("/metrics", headers={"Authorization": given} if given else {})
        assert answer.status_code == 401 or given.strip() == "Bearer a secret token"
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
        'jenny_turns_last_hour{state="done",reason=""} 2',
        'jenny_turns_last_hour{state="done",reason="stopped"} 1',
        'jenny_turns{state="queued"} 1',
        'jenny_dream_runs{state="queued"} 1',
        'jenny_tokens_total{kind="chat",sort="input"} 40',
        'jenny_model_requests_total{kind="chat"} 2',
        'jenny_part_up{part="web"} 1',
        'jenny_part_up{part="beat"} 0',
        'jenny_http_request_seconds_bucket{le="+Inf"}',
    ):
        assert part in told, part
    for word in (SAID, "ana", "a-host-of-mine", str(chat.pk)):
        assert word not in told


def test_it_is_told_before_there_is_an_owner(settings: Any, db: None) -> None:
    """Whoever watches a fresh instance is not led to the set-up."""
    settings.JENNY_METRICS = "on"
    assert "jenny_accounts 0" in Client().get("/metrics").text


def test_it_is_looked_up_now_and_then(
    read: Callable[..., str], ana: Account, django_assert_num_queries: Callable[..., object]
) -> None:
    """Whoever asks every second costs no query; a broken queue is a number, not an error."""
    assert "jenny_redis_up" in read()
    with django_assert_num_queries(0):
        read()


def test_times_are_counted_by_edge() -> None:
    """Each bucket holds those below it, too."""
    times = Times()
    for seconds in (0.001, 0.005, 0.3, 60.0):
        times.add(200 if seconds < 1 else 503, seconds)
    sums, seconds, statuses = times.read()
    assert (sums[0], sums[-2], sums[-1]) == (2, 3, 4)
    assert len(sums) == len(EDGES) + 1
    assert seconds == pytest.approx(60.306)
    assert statuses == {"2xx": 3, "5xx": 1}


def test_labels_cannot_break_a_line() -> None:
    """Whatever stands in one."""
    told = render([gauge("x", "Help.", {(("a", 'b"\n\\c'),): 1})])
    assert told.splitlines()[2] == 'x{a="b\\"\\n\\\\c"} 1'
