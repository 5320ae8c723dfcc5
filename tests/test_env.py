"""What an operator can get wrong in the environment is told by its name, in a sentence."""

import pytest

from jenny import env
from jenny.env import EnvironmentProblem

REDIS = ("redis", "rediss", "unix")


@pytest.mark.parametrize(
    "value",
    [
        "postgres://jenny:secret@db/jenny",
        "postgresql://db:5432/jenny",
        "postgres:///jenny?host=/run/postgresql",
        "sqlite:////var/lib/jenny/db.sqlite3",
        "",
    ],
)
def test_databases_that_can_be_used(value):
    """PostgreSQL by name or socket, and SQLite."""
    assert env.database_url({"DATABASE_URL": value}) == value


@pytest.mark.parametrize(
    "value",
    [
        "foo",
        "mysql://a:secret@host/name",
        "postgres://",
        "postgres://jenny:secret@db",
        "postgres://jenny:secret@db/",
        "postgres://jenny:secret@db:port/jenny",
        "://",
    ],
)
def test_a_database_that_cannot_be_used_is_refused_without_repeating_its_password(value):
    """The sentence names the variable and what it takes; a password may stand in the rest."""
    with pytest.raises(EnvironmentProblem, match="DATABASE_URL") as refusal:
        env.database_url({"DATABASE_URL": value})
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("value", ["redis://h", "rediss://:p@h:1/0", "unix:///run/redis.sock"])
def test_addresses_of_redis(value):
    """By host, with TLS, or by socket."""
    assert value.startswith(env.address("REDIS_URL", value, REDIS, is_secret=True).scheme)


@pytest.mark.parametrize("value", ["h", "http://h", "redis://", "unix://", "redis://:p@h:x/0"])
def test_what_is_no_address_of_redis(value):
    """A queue of another kind, or half an address, is not tried."""
    with pytest.raises(EnvironmentProblem, match="REDIS_URL is not an address"):
        env.address("REDIS_URL", value, REDIS, is_secret=True)


@pytest.mark.parametrize("value", ["jenny.example.org", "ftp://h", "https://", "https://h/path"])
def test_what_is_no_origin(value):
    """A name alone would never match what a browser sends."""
    with pytest.raises(EnvironmentProblem, match="JENNY_TRUSTED_ORIGINS"):
        env.origins("JENNY_TRUSTED_ORIGINS", {"JENNY_TRUSTED_ORIGINS": value})


def test_origins():
    """Several, with and without a port."""
    value = "https://jenny.example.org, http://10.0.0.2:8000"
    found = env.origins("JENNY_TRUSTED_ORIGINS", {"JENNY_TRUSTED_ORIGINS": value})
    assert found == ["https://jenny.example.org", "http://10.0.0.2:8000"]


@pytest.mark.parametrize("value", ["Mars/Base", "../etc/passwd", "/etc/localtime", "Europe"])
def test_what_is_no_time_zone(value):
    """A zone that nobody knows is not replaced by another one in silence."""
    with pytest.raises(EnvironmentProblem, match="JENNY_TIME_ZONE"):
        env.zone("JENNY_TIME_ZONE", {"JENNY_TIME_ZONE": value})


def test_time_zones():
    """A known one, or none."""
    assert env.zone("Z", {"Z": "Europe/Vienna"}) == "Europe/Vienna"
    assert env.zone("Z", {}) == ""
