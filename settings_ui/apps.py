"""The settings app."""

from django.apps import AppConfig


class SettingsConfig(AppConfig):
    """Settings pages."""

    name = "settings_ui"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say on every page that all calls are paused, while they are; keep what is deleted."""
        # Models are ready only now.
        from jenny.accounts.management import working  # noqa: PLC0415 - apps are loaded first
        from settings_ui.management import keeping, standing  # noqa: PLC0415 - apps are loaded first
        from settings_ui.management.backups import making, taking_in  # noqa: PLC0415 - apps are loaded first

        standing.register()
        keeping.register()
        working.register(making.KIND, making.ABOUT)
        working.register(taking_in.KIND, taking_in.ABOUT)
