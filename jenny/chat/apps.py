"""The chat app."""

from django.apps import AppConfig

from memory import provenance
from memory.dream.reporting import telling
from memory.history import edited
from wikis import before


class ChatConfig(AppConfig):
    """Conversations, turns, blocks."""

    name = "jenny.chat"
    label = "chat"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Whoever reads the history can ask which messages were edited away; Dream tells what
        came of its runs where it was asked."""
        # It needs the models, which are loaded only now.
        from jenny.accounts.management import notices  # noqa: PLC0415 - apps are loaded first
        from jenny.chat.models.edited import messages_gone  # noqa: PLC0415 - apps are loaded first
        from jenny.chat.models.spoken import speech  # noqa: PLC0415 - apps are loaded first
        from jenny.chat.tasks import dreaming, projects, tidying  # noqa: PLC0415 - apps are loaded first
        from memory.management import restoring  # noqa: PLC0415 - apps are loaded first

        edited.register(messages_gone)
        provenance.register_speech(speech)
        telling.register(dreaming.PREFIX, dreaming.tell)
        telling.register_announcer(dreaming.announce)
        tidying.register()
        before.register_talks(projects.talks, projects.take)
        before.register_made(projects.begun)
        restoring.register_touched(projects.taken_back)
        notices.register("projects", tidying.notices)
