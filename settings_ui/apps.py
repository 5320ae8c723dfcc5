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
        from settings_ui.services import workspaces  # noqa: PLC0415 - apps are loaded first
        from settings_ui.services.backups import exporter, import_job  # noqa: PLC0415 - apps are loaded first

        signals.wiki_deleting.connect(workspaces.copy_before_delete, dispatch_uid="settings.copy")
        jobs.register_job_kind(exporter.KIND, exporter.ABOUT)
        jobs.register_job_kind(import_job.KIND, import_job.ABOUT)
        jobs.register_job_kind(workspaces.CHECK_KIND, workspaces.CHECK_JOB)
