"""The chat's routes."""

from django.urls import path

from jenny.chat.views import (
    attachments,
    conversation_list,
    conversation_pages,
    conversations,
    events,
    memory,
    send,
)

app_name = "chat"

# /chat/, and /memory/history/, since an entry links to its messages.
urlpatterns = [
    path("chat/", conversation_pages.start, name="start"),
    path("chat/list", conversation_list.rail, name="list"),
    path("chat/all/", conversation_list.conversation_list, name="all"),
    path("chat/all/act", conversation_list.act, name="act"),
    path("chat/trash/", conversation_list.trash, name="trash"),
    path("chat/trash/act", conversation_list.act_on_trash, name="act_on_trash"),
    path("chat/trash/undo/<int:batch>", conversation_list.undelete, name="undelete"),
    path("chat/attach", attachments.attach, name="first_attach"),
    path("chat/attach/cancel", attachments.cancel, name="attach_cancel"),
    path(
        "chat/attachments/<int:attachment_id>/thumbnail",
        attachments.thumbnail,
        name="attachment_thumbnail",
    ),
    path(
        "chat/attachments/<int:attachment_id>/remove",
        attachments.remove,
        name="attachment_remove",
    ),
    path("chat/send", send.begin_conversation, name="begin"),
    path("chat/draft", send.first_draft, name="first_draft"),
    path("chat/<uuid:conversation_id>/", conversation_pages.conversation, name="conversation"),
    path("chat/<uuid:conversation_id>/at/<int:message_id>", memory.at, name="at"),
    path("chat/<uuid:conversation_id>/thread", conversation_pages.thread, name="thread"),
    path(
        "chat/<uuid:conversation_id>/frame/<slug:name>/",
        conversation_pages.frame,
        name="frame",
    ),
    # The address of diagrams in answers that were stored before there were previews.
    path("chat/<uuid:conversation_id>/diagram/<slug:name>/", conversation_pages.frame),
    path("chat/<uuid:conversation_id>/events", events.events, name="events"),
    path("chat/<uuid:conversation_id>/send", send.send, name="send"),
    path("chat/<uuid:conversation_id>/attach", attachments.attach, name="attach"),
    path("chat/<uuid:conversation_id>/stop", send.stop, name="stop"),
    path("chat/<uuid:conversation_id>/retry", send.retry, name="retry"),
    path("chat/<uuid:conversation_id>/edit/<int:message_id>", send.edit, name="edit"),
    path("chat/<uuid:conversation_id>/regenerate", send.regenerate, name="regenerate"),
    path("chat/<uuid:conversation_id>/version", send.version, name="version"),
    path("chat/<uuid:conversation_id>/draft", send.draft, name="draft"),
    path("chat/<uuid:conversation_id>/model", conversations.choose_model, name="model"),
    path("chat/<uuid:conversation_id>/branch", send.branch, name="branch"),
    path("chat/<uuid:conversation_id>/about", conversations.about, name="about"),
    path("chat/<uuid:conversation_id>/export/<slug:ending>", conversations.export, name="export"),
    path("chat/<uuid:conversation_id>/seen", conversations.seen, name="seen"),
    path("chat/<uuid:conversation_id>/rename", conversations.rename, name="rename"),
    path("chat/<uuid:conversation_id>/changes/<int:turn_id>", memory.changes, name="changes"),
    path(
        "chat/<uuid:conversation_id>/asks/<int:request_id>",
        memory.asked,
        name="consent",
    ),
    path("chat/<uuid:conversation_id>/remember", memory.remember, name="remember"),
    path("chat/<uuid:conversation_id>/back/<str:ids>", memory.back, name="back"),
    path("chat/<uuid:conversation_id>/keep", conversations.keep_temporary_chat, name="keep"),
    path("chat/<uuid:conversation_id>/delete", conversations.delete, name="delete"),
    path("memory/history/<int:cursor>/", memory.entry, name="entry"),
]
