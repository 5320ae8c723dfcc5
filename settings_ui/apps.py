"""The settings app."""

from django.apps import AppConfig


class SettingsConfig(AppConfig):
    """Settings pages."""

    name = "settings_ui"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say on every page that all calls are paused, while they are."""
        from settings_ui.management import standing  # noqa: PLC0415 - models are ready only now

        standing.register()
