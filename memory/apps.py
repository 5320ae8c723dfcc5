"""The memory app."""

from django.apps import AppConfig

from jenny.workspace.check import register_check
from jenny.workspace.rules import register_rule
from memory import check, protected


class MemoryConfig(AppConfig):
    """The memory pipeline; registers the write rules of the memory files."""

    name = "memory"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """From here on every write in every workspace is asked about."""
        register_rule(protected.guard)
        register_check(check.check)
