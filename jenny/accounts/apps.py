"""The accounts app."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out


class AccountsConfig(AppConfig):
    """Accounts, workspace rows, API keys and sessions."""

    name = "jenny.accounts"
    label = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Keep the list of sessions in step with logins and logouts; say on every page what is
        wrong with a workspace's files."""
        # Models can be imported only once the apps are loaded.
        from jenny.accounts import access  # noqa: PLC0415 - apps are loaded first
        from jenny.accounts.management import (  # noqa: PLC0415 - apps are loaded first
            metering,
            notices,
            workspace_notices,
        )

        notices.register("settings", workspace_notices.settings)
        notices.register("versions", workspace_notices.versions)
        notices.register("usage", metering.notices)
        user_logged_in.connect(access.note_login, dispatch_uid="accounts.note_login")
        user_logged_out.connect(access.note_logout, dispatch_uid="accounts.note_logout")
