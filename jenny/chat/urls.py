"""The chat's routes."""

from django.urls import path

from jenny.chat.views import (
    changes,
    consent,
    conversations,
    entries,
    events,
    pages,
    remembering,
    sending,
    versions,
)

app_name = "chat"

# /chat/, and /memory/history/: an entry leads back to what was said.
urlpatterns = [
    path("chat/", pages.start, name="start"),
    path("chat/send", sending.begin, name="begin"),
    path("chat/draft", sending.first_draft, name="first_draft"),
    path("chat/<uuid:conversation_id>/", pages.conversation, name="conversation"),
    path("chat/<uuid:conversation_id>/at/<int:message_id>", entries.at, name="at"),
    path("chat/<uuid:conversation_id>/thread", pages.thread, name="thread"),
    path("chat/<uuid:conversation_id>/events", events.events, name="events"),
    path("chat/<uuid:conversation_id>/send", sending.send, name="send"),
    path("chat/<uuid:conversation_id>/stop", sending.stop, name="stop"),
    path("chat/<uuid:conversation_id>/retry", sending.retry, name="retry"),
    path("chat/<uuid:conversation_id>/edit/<int:message_id>", versions.edit, name="edit"),
    path("chat/<uuid:conversation_id>/regenerate", versions.regenerate, name="regenerate"),
    path("chat/<uuid:conversation_id>/version", versions.version, name="version"),
    path("chat/<uuid:conversation_id>/draft", sending.draft, name="draft"),
    path("chat/<uuid:conversation_id>/model", conversations.choose_model, name="model"),
    path("chat/<uuid:conversation_id>/rename", conversations.rename, name="rename"),
    path("chat/<uuid:conversation_id>/changes/<int:turn_id>", changes.changes, name="changes"),
    path(
        "chat/<uuid:conversation_id>/asks/<int:request_id>",
        consent.asked,
        name="consent",
    ),
    path("chat/<uuid:conversation_id>/remember", remembering.remember, name="remember"),
    path("chat/<uuid:conversation_id>/back/<str:ids>", remembering.back, name="back"),
    path("chat/<uuid:conversation_id>/keep", conversations.keep, name="keep"),
    path("chat/<uuid:conversation_id>/delete", conversations.delete, name="delete"),
    path("memory/history/<int:cursor>/", entries.entry, name="entry"),
]
