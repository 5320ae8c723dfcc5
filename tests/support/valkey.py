"""A real Valkey for tests that run in this process."""

from collections.abc import Iterator

import pytest
import redis

from jenny.runtime import valkey as embedded


@pytest.fixture(scope="session")
def valkey_server(scratch) -> Iterator[str]:
    """The server on this process's data folder; yields ``settings.REDIS_URL``."""
    from django.conf import settings

    with embedded.for_command(settings.JENNY_DATA):
        yield settings.REDIS_URL


@pytest.fixture
def valkey(valkey_server: str) -> Iterator[redis.Redis]:
    """An empty server, and a client of it."""
    with redis.Redis.from_url(valkey_server) as client:
        client.flushall()
        yield client
