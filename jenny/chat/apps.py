"""The chat app."""

from django.apps import AppConfig

from memory import message_sources
from memory import signals as memory_signals
from memory.message_sources import MessageSource
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
        from jenny.chat.services import command_replies, consent_requests, gardener, projects  # noqa: PLC0415 - apps are loaded first
        from jenny.chat.services.memory_links import edited_messages, source_messages  # noqa: PLC0415 - apps are loaded first

        message_sources.register_message_source(MessageSource(source_messages, edited_messages))
        jobs.register_job_kind(gardener.KIND, gardener.ABOUT)
        for signal, receiver in (
            (signals.conversations_counted, projects.talks),
            (signals.conversations_deleting, projects.take_conversations),
            (signals.wiki_created, projects.begun),
            (signals.wiki_renamed, projects.renamed),
            (memory_signals.files_restoring, projects.taken_back),
            (memory_signals.run_reported, command_replies.post_outcome),
            (memory_signals.outcome_announced, command_replies.announce),
        ):
            signal.connect(receiver, dispatch_uid=f"chat.{receiver.__name__}")
        notices.register_notices("projects", gardener.notices)
        notices.register_notices("consent", consent_requests.consent_notices)
