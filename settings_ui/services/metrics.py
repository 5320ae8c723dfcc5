"""Metrics of the instance for ``/metrics``; they contain no texts and no names.

Collecting them takes a few indexed queries and one request to Redis, at most every ten seconds.
"""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import redis
from django.conf import settings
from django.db.models import Count, Max, Sum
from django.db.models.functions import Now

from jenny.accounts.models import Account, UpSpan, UsageDay, Workspace
from jenny.accounts.models.activity import GAP
from jenny.broker import redis_client
from jenny.celery import QUEUES
from jenny.chat.models import Turn
from jenny.runtime.asgi_middleware import EDGES, TIMES
from memory.models import DreamRun
from settings_ui import activity
from settings_ui.exposition import Family, Number, Values, counter, gauge, render

_AGAIN_AFTER = 10.0
_HOUR = timedelta(hours=1)
# Rows of the last hour are searched among the newest ones: a large table is not scanned.
_NEWEST = 20_000


type _Filled = dict[tuple[tuple[str, str], ...], Number]


class _Kept:
    """The last result of this process."""

    lock = threading.Lock()
    text = ""
    at = -_AGAIN_AFTER


def text() -> str:
    """Return the metrics as text. Request metrics are those of this process."""
    with _Kept.lock:
        if not _Kept.text or time.monotonic() - _Kept.at >= _AGAIN_AFTER:
            _Kept.text, _Kept.at = render(_families()), time.monotonic()
        return _Kept.text + render(_requests())


def _families() -> Iterator[Family]:
    version = (("version", settings.JENNY_VERSION),)
    yield gauge("jenny_info", "The version that runs.", {version: 1})
    yield gauge("jenny_accounts", "Accounts.", {(): Account.objects.count()})
    yield gauge("jenny_workspaces", "Workspaces, without deleted ones.", {(): _workspaces()})
    yield _parts()
    yield from _queues()
    yield _live("jenny_turns", "Turns that wait or run now.", Turn)
    yield _live("jenny_dream_runs", "Dream runs that wait or run now.", DreamRun)
    yield _ended("jenny_turns_last_hour", "Turns of the last hour, by ending.", Turn, "reason")
    yield _ended(
        "jenny_dream_runs_last_hour", "Dream runs of the last hour, by status.", DreamRun, "status"
    )
    yield from _usage()


def _workspaces() -> int:
    return Workspace.objects.count()


def _parts() -> Family:
    up = set(UpSpan.objects.filter(last_at__gte=Now() - GAP).values_list("part", flat=True))
    values: Values = {(("part", part),): int(part in up) for part in activity.PARTS}
    return gauge("jenny_part_up", "Whether a part said lately that it is up, on any host.", values)


def _queues() -> Iterator[Family]:
    about = "Messages that wait in a queue."
    try:
        server = redis_client()
        lengths: Values = {(("queue", name),): int(server.llen(name)) for name in QUEUES}
        taken = int(server.hlen("unacked"))
    except redis.RedisError:
        yield gauge("jenny_redis_up", "Whether the queue's server answers.", {(): 0})
        return
    yield gauge("jenny_redis_up", "Whether the queue's server answers.", {(): 1})
    yield gauge("jenny_queue_depth", about, lengths)
    yield gauge("jenny_queue_taken", "Messages that a worker has.", {(): taken})


def _live(name: str, about: str, model: Any) -> Family:
    counted = dict.fromkeys(model.LIVE, 0)
    rows = model.objects.filter(state__in=model.LIVE).values_list("state")
    counted |= dict(rows.annotate(count=Count("pk")))
    return gauge(name, about, {(("state", str(state)),): n for state, n in counted.items()})


def _ended(name: str, about: str, model: Any, label: str) -> Family:
    newest = model.objects.aggregate(newest=Max("pk"))["newest"] or 0
    rows = model.objects.filter(pk__gt=newest - _NEWEST, ended_at__gte=Now() - _HOUR)
    counted = rows.values_list("state", label).annotate(count=Count("pk")).order_by("state")
    values: Values = {(("state", state), (label, text)): n for state, text, n in counted}
    return gauge(name, about, values)


def _usage() -> Iterator[Family]:
    fields = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    rows = UsageDay.objects.values("kind").annotate(
        asked=Sum("requests"),
        money=Sum("cost"),
        **{f"sum_{name}": Sum(name) for name in fields},
    )
    asked: _Filled = {}
    tokens: _Filled = {}
    money: _Filled = {}
    found: list[dict[str, Any]] = list(rows.order_by("kind"))  # type: ignore[arg-type]  # rows as values
    for row in found:
        kind = ("kind", row["kind"])
        asked[(kind,)] = row["asked"]
        money[(kind,)] = row["money"]
        for name in fields:
            sort = name.removesuffix("_tokens")
            tokens[kind, ("sort", sort)] = row[f"sum_{name}"]
    yield counter("jenny_model_requests_total", "Requests to models, by kind of run.", asked)
    yield counter("jenny_tokens_total", "Tokens, by kind of run and sort.", tokens)
    yield counter("jenny_cost_dollars_total", "Cost of what has a price.", money)


def _requests() -> Iterator[Family]:
    sums, seconds, statuses = TIMES.read()
    ends: Values = {(("status", one),): n for one, n in sorted(statuses.items())}
    yield counter("jenny_http_requests_total", "Requests to this web process, by status.", ends)
    name = "jenny_http_request_seconds"
    edges = [*map(str, EDGES), "+Inf"]
    buckets = [
        (f"{name}_bucket", {"le": edge}, count) for edge, count in zip(edges, sums, strict=True)
    ]
    samples = (*buckets, (f"{name}_sum", {}, round(seconds, 6)), (f"{name}_count", {}, sums[-1]))
    about = "Requests to this web process, without streams, files and health checks."
    yield Family(name, "histogram", about, samples)
