"""The memory app."""

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    """The memory pipeline; registers the write rules of the memory files."""

    name = "memory"
    default_auto_field = "django.db.models.BigAutoField"
