"""The Django app of the whole product: its commands and its queue."""

from collections.abc import Callable

from django.apps import AppConfig

# Imported wherever Django is set up, so that shared tasks belong to this app everywhere. Otherwise
# they would be sent to Celery's default broker.
from jenny import celery


class JennyConfig(AppConfig):
    """Contains ``manage.py up``; has no tables."""

    name = "jenny"
    queue = celery.app

    def ready(self) -> None:
        """Let every command prepare the database as ``up`` does."""
        # It needs the models, which are loaded only now.
        from jenny.accounts.services.json_command import Preparation  # noqa: PLC0415

        Preparation.prepare = staticmethod(_prepare_database)


def _prepare_database(say: Callable[[str], None]) -> None:
    # Slow to import, and seldom needed.
    from jenny.runtime.upgrade import prepare_for_command  # noqa: PLC0415

    prepare_for_command(say)
