"""The accounts app."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out


class AccountsConfig(AppConfig):
    name = "jenny.accounts"
    label = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Connect the session list to logins and logouts, and register notices about workspace
        files.
        """
        # Models can be imported only once the apps are loaded.
        from jenny.accounts import access  # noqa: PLC0415 - apps are loaded first
        from jenny.accounts.services import notices, usage  # noqa: PLC0415 - apps are loaded first

        notices.register_notices("settings", notices.settings_notices)
        notices.register_notices("data folder", notices.data_folder_notices)
        notices.register_notices("found folder", notices.found_folder_notices)
        notices.register_notices("versions", notices.version_notices)
        notices.register_notices("usage", usage.limit_notices)
        notices.register_notices("pause", usage.pause_notices)
        user_logged_in.connect(access.note_login, dispatch_uid="accounts.note_login")
        user_logged_out.connect(access.note_logout, dispatch_uid="accounts.note_logout")
