"""Fixtures that every test may use. Nothing here needs a network beyond loopback.

The environment is set before Django reads its settings: each test process (xdist starts
several) has a data folder of its own, and so a database and an embedded Valkey of its own.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import django
import hypothesis
import pytest
from django.db.models.signals import post_migrate

# Short, since a Unix socket's path may have about 100 bytes.
SCRATCH = Path(tempfile.mkdtemp(prefix="jenny-", dir="/tmp"))
for name in [name for name in os.environ if name.startswith(("JENNY_", "ANTHROPIC_"))]:
    if name != "JENNY_SOAK":
        del os.environ[name]
for name in ("DATABASE_URL", "REDIS_URL"):
    os.environ.pop(name, None)
os.environ["JENNY_DATA_DIR"] = str(SCRATCH / "data")
# No test asks a real provider: whatever would leave this machine goes to a proxy that is not there.
os.environ["HTTPS_PROXY"] = os.environ["https_proxy"] = "http://127.0.0.1:9"
os.environ["DJANGO_SETTINGS_MODULE"] = "jenny.settings"
# Playwright's synchronous API runs an event loop in the test's thread; Django takes that
# for asynchronous code, which it is not.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

# No test of this project is timed. `make test` tries the same examples each time, so that a pass
# is one everywhere; `make soak` tries others, and prints what to repeat one with.
hypothesis.settings.register_profile(
    "untimed",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    print_blob=True,
    derandomize="JENNY_SOAK" not in os.environ,
)
hypothesis.settings.load_profile("untimed")

# A test process that reads the settings only now must also load the apps now: test modules
# import models.
django.setup()

# After a test that empties the tables Django writes its permissions anew, which takes longer than
# most tests, and which nothing reads: whoever runs an instance may do everything.
post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")

pytest_plugins = [
    "tests.support.valkey",
    "tests.support.stack",
    "tests.support.postgres",
    "tests.support.browser",
    "tests.support.chat",
    "tests.support.dreams",
    "tests.support.place",
]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Let each test process read the settings with an environment of its own.

    One that inherits the name of the settings reads them before this file runs there, and so
    would share this process's data folder, its Valkey and its database.
    """
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)


# Tests of these start instances, databases or a browser, and take longest.
SLOW = {"start_stack", "live", "scripted", "place", "postgres", "_chromium"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the files with slow tests first, so that at the end no test process waits for another."""
    slow = {item.path for item in items if SLOW & {*getattr(item, "fixturenames", ())}}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session", autouse=True)
def scratch() -> Iterator[Path]:
    """This test process's own folder, taken away at its end."""
    # Imported here: settings must be read after the environment was set above.
    from django.conf import settings

    # Pages rendered in this process name static files without their hash, so that no test
    # depends on what was last collected; running instances serve the collected ones.
    settings.STATIC_ROOT = SCRATCH / "static"
    settings.STATIC_ROOT.mkdir()
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    yield SCRATCH
    shutil.rmtree(SCRATCH, ignore_errors=True)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(scratch: Path) -> None:
    """The test database is a file in WAL mode, as in production, and not one in memory."""
    from django.conf import settings

    settings.DATABASES["default"].setdefault("TEST", {})["NAME"] = scratch / "test.sqlite3"


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder in memory where there is one: killing needs no disk, and syncing is free."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)
