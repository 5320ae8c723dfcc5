"""Conversations and turns on the operator's site: how they ran, without words of people."""

from typing import Any

from django.contrib import admin

from jenny.accounts.admin import ReadOnly, site
from jenny.chat.models import Conversation, Turn


@admin.register(Conversation, site=site)
class ConversationAdmin(ReadOnly):
    """Conversations without their titles, which are people's words."""

    list_display = ("id", "workspace", "kind", "created_at", "active_at", "consolidator")
    list_select_related = ("workspace",)
    list_filter = ("kind",)
    fields = (
        "id",
        "workspace",
        "kind",
        "preset",
        "created_at",
        "active_at",
        "consolidate_after",
        "consolidator",
    )
    ordering = ("-active_at",)

    def get_object(self, *args: Any, **kwargs: Any) -> Conversation | None:
        """Load the row without its title, by which the admin page would call it."""
        row: Conversation | None = super().get_object(*args, **kwargs)
        if row is not None:
            row.title = ""
        return row


@admin.register(Turn, site=site)
class TurnAdmin(ReadOnly):
    list_display = (
        "id",
        "workspace",
        "state",
        "reason",
        "model",
        "steps",
        "created_at",
        "started_at",
        "ended_at",
    )
    list_select_related = ("conversation__workspace",)
    list_filter = ("state",)
    readonly_fields = ("chat",)
    fields = (
        "chat",
        "state",
        "reason",
        "model",
        "preset",
        "worker",
        "steps",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cost",
        "created_at",
        "started_at",
        "heartbeat_at",
        "ended_at",
    )
    ordering = ("-pk",)

    @admin.display(description="conversation")
    def chat(self, row: Turn) -> str:
        return str(row.conversation_id)

    @admin.display(description="workspace")
    def workspace(self, row: Turn) -> str:
        return row.conversation.workspace.slug
