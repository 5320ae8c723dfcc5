"""The wikis app."""

from django.apps import AppConfig


class WikisConfig(AppConfig):
    """Wikis and, in them, projects."""

    name = "wikis"
    default_auto_field = "django.db.models.BigAutoField"
