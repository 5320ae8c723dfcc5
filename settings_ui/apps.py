"""The settings app."""

from django.apps import AppConfig


class SettingsConfig(AppConfig):
    """Settings pages."""

    name = "settings_ui"
    default_auto_field = "django.db.models.BigAutoField"
