"""Django configuration of the settings app."""

from django.apps import AppConfig

from wikis import signals


class SettingsConfig(AppConfig):
    name = "settings_ui"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register job kinds and the snapshot before a wiki is deleted."""
        # Models can be imported only now.
        from jenny.accounts.services import jobs  # noqa: PLC0415 - apps are loaded first
        from memory.services import snapshots  # noqa: PLC0415 - apps are loaded first
        from settings_ui.services import workspaces  # noqa: PLC0415 - apps are loaded first
        from settings_ui.services.backups import exporter, import_job  # noqa: PLC0415 - apps are loaded first

        signals.register_keeper(lambda row: snapshots.take_snapshot(row, "delete").message)
        jobs.register_job_kind(exporter.KIND, exporter.ABOUT)
        jobs.register_job_kind(import_job.KIND, import_job.ABOUT)
        jobs.register_job_kind(workspaces.CHECK_KIND, workspaces.CHECK_JOB)
