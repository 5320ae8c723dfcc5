"""The accounts app."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Accounts, workspace rows, API keys and sessions."""

    name = "jenny.accounts"
    label = "accounts"
    default_auto_field = "django.db.models.BigAutoField"
