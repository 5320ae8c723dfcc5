"""The chat app."""

from django.apps import AppConfig


class ChatConfig(AppConfig):
    """Conversations, turns, blocks."""

    name = "jenny.chat"
    label = "chat"
    default_auto_field = "django.db.models.BigAutoField"
