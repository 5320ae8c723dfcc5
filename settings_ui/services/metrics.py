"""Metrics of the instance for ``/metrics``; they contain no texts and no names.

Collecting them takes a few indexed queries and one request to Redis, at most every ten seconds.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

import redis
from django.conf import settings
from django.db.models import Count, Max, Sum
from django.db.models.functions import Now
from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from jenny.accounts.models import Account, UpSpan, UsageDay, Workspace
from jenny.accounts.models.activity import GAP
from jenny.broker import redis_client
from jenny.celery import QUEUES
from jenny.chat.models import Turn
from jenny.runtime.asgi_middleware import REQUESTS
from memory.models import DreamRun
from settings_ui import plots

_AGAIN_AFTER = 10.0
_HOUR = timedelta(hours=1)
# Rows of the last hour are searched among the newest ones: a large table is not scanned.
_NEWEST = 20_000


# Values by the values of their labels.
type _Values = Iterable[tuple[tuple[str, ...], Any]]

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class _Instance(Collector):
    """Metrics of the instance, from the database and Redis."""

    def collect(self) -> Iterator[Metric]:
        yield _gauge(
            "jenny_info", "The version that runs.", [((settings.JENNY_VERSION,), 1)], "version"
        )
        yield _gauge("jenny_accounts", "Accounts.", [((), Account.objects.count())])
        workspaces = Workspace.objects.count()
        yield _gauge("jenny_workspaces", "Workspaces, without deleted ones.", [((), workspaces)])
        yield _parts()
        yield from _queues()
        yield _live("jenny_turns", "Turns that wait or run now.", Turn)
        yield _live("jenny_dream_runs", "Dream runs that wait or run now.", DreamRun)
        yield _ended("jenny_turns_last_hour", "Turns of the last hour, by ending.", Turn, "reason")
        about = "Dream runs of the last hour, by status."
        yield _ended("jenny_dream_runs_last_hour", about, DreamRun, "status")
        yield from _usage()


class _Latest:
    """The last result of this process."""

    lock = threading.Lock()
    text = b""
    at = -_AGAIN_AFTER


def text() -> bytes:
    """Return the metrics as text. Request metrics are those of this process."""
    with _Latest.lock:
        if not _Latest.text or time.monotonic() - _Latest.at >= _AGAIN_AFTER:
            registry = CollectorRegistry(auto_describe=False)
            registry.register(_Instance())
            _Latest.text, _Latest.at = generate_latest(registry), time.monotonic()
        return _Latest.text + generate_latest(REQUESTS)


def _gauge(name: str, about: str, values: _Values, *labels: str) -> Metric:
    return _filled(GaugeMetricFamily(name, about, labels=labels), values)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, values: _Values) -> Metric:
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def _parts() -> Metric:
    up = set(UpSpan.objects.filter(last_at__gte=Now() - GAP).values_list("part", flat=True))
    about = "Whether a part said lately that it is up, on any host."
    values = [((part,), int(part in up)) for part in plots.PARTS]
    return _gauge("jenny_part_up", about, values, "part")


def _queues() -> Iterator[Metric]:
    about = "Whether the queue's server answers."
    try:
        server = redis_client()
        lengths = [((name,), server.llen(name)) for name in QUEUES]
        taken = server.hlen("unacked")
    except redis.RedisError:
        yield _gauge("jenny_redis_up", about, [((), 0)])
        return
    yield _gauge("jenny_redis_up", about, [((), 1)])
    yield _gauge("jenny_queue_depth", "Messages that wait in a queue.", lengths, "queue")
    yield _gauge("jenny_queue_taken", "Messages that a worker has.", [((), taken)])


def _live(name: str, about: str, model: Any) -> Metric:
    counted = dict.fromkeys(model.LIVE, 0)
    rows = model.objects.filter(state__in=model.LIVE).values_list("state")
    counted |= dict(rows.annotate(count=Count("pk")))
    return _gauge(name, about, [((str(state),), n) for state, n in counted.items()], "state")


def _ended(name: str, about: str, model: Any, label: str) -> Metric:
    newest = model.objects.aggregate(newest=Max("pk"))["newest"] or 0
    rows = model.objects.filter(pk__gt=newest - _NEWEST, ended_at__gte=Now() - _HOUR)
    counted = rows.values_list("state", label).annotate(count=Count("pk")).order_by("state")
    return _gauge(name, about, [((state, text), n) for state, text, n in counted], "state", label)


def _usage() -> Iterator[Metric]:
    sorts = ("input", "output", "cache_read", "cache_write")
    rows = UsageDay.objects.order_by("kind").values_list("kind")
    sums = {f"sum_{sort}": Sum(f"{sort}_tokens") for sort in sorts}
    found = list(rows.annotate(asked=Sum("requests"), money=Sum("cost"), **sums))
    for name, about, values, labels in (
        (
            "jenny_model_requests_total",
            "Requests to models, by kind of run.",
            [((kind,), asked) for kind, asked, *_ in found],
            ["kind"],
        ),
        (
            "jenny_tokens_total",
            "Tokens, by kind of run and sort.",
            [
                ((kind, sort), count)
                for kind, _, _, *counts in found
                for sort, count in zip(sorts, counts, strict=True)
            ],
            ["kind", "sort"],
        ),
        (
            "jenny_cost_dollars_total",
            "Cost of what has a price.",
            [((kind,), money) for kind, _, money, *_ in found],
            ["kind"],
        ),
    ):
        yield _filled(CounterMetricFamily(name, about, labels=labels), values)
