"""The chat app."""

from django.apps import AppConfig

from memory.history import edited


class ChatConfig(AppConfig):
    """Conversations, turns, blocks."""

    name = "jenny.chat"
    label = "chat"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Whoever reads the history can ask which messages were edited away."""
        # It needs the models, which are loaded only now.
        from jenny.chat.models.edited import messages_gone  # noqa: PLC0415

        edited.register(messages_gone)
