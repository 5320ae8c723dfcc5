"""The chat app."""

from django.apps import AppConfig

from memory import provenance
from memory.dream import report
from memory.history import edited_entries
from wikis import signals


class ChatConfig(AppConfig):
    name = "jenny.chat"
    label = "chat"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register what lower layers ask the chat: edited messages, and where to post Dream's
        outcome.
        """
        # These imports need the models, which are loaded only now.
        from jenny.accounts.services import jobs, notices  # noqa: PLC0415 - apps are loaded first
        from jenny.chat.services import consent_requests, dream_command, gardener, projects  # noqa: PLC0415 - apps are loaded first
        from jenny.chat.services.memory_links import messages_gone, speech  # noqa: PLC0415 - apps are loaded first
        from memory.services import restores  # noqa: PLC0415 - apps are loaded first

        edited_entries.register(messages_gone)
        provenance.register_message_source(speech)
        report.register_requester(dream_command.PREFIX, dream_command.post_outcome)
        report.register_announcer(dream_command.announce)
        jobs.register_job_kind(gardener.KIND, gardener.ABOUT)
        for signal, receiver in (
            (signals.conversations_counted, projects.talks),
            (signals.conversations_deleting, projects.take_conversations),
            (signals.wiki_created, projects.begun),
            (signals.wiki_renamed, projects.renamed),
            (restores.files_restoring, projects.taken_back),
        ):
            signal.connect(receiver, dispatch_uid=f"chat.{receiver.__name__}")
        notices.register_notices("projects", gardener.notices)
        notices.register_notices("consent", consent_requests.consent_notices)
