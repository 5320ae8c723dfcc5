"""Conversations as documents for people and other programs: Markdown, JSON, or one HTML file.

A backup, which Jenny can take in again, has everything; a document has what was said.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils import timezone

from jenny.agent.clock import zone_of
from jenny.chat.models import Block, Conversation, Message
from jenny.markdown.render import render
from jenny.workspace.zip_stream import ZipBuffer, open_zip

# Media types by the file's ending.
FORMATS = {"md": "text/markdown", "json": "application/json", "html": "text/html"}
_SPEAKERS = {
    Message.Kind.USER: "You",
    Message.Kind.ANSWER: "Jenny",
    Message.Kind.COMMAND: "You",
    Message.Kind.REPLY: "Jenny",
    Message.Kind.DIVIDER: "",
}
_UNFIT = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]+')
_NAME_CHARS = 80
# A name has at most 255 bytes on most systems; the day, a number and the ending need some.
_NAME_BYTES = 200


def document(chat: Conversation, ending: str) -> bytes:
    """Return what was said in the thread that is shown, in the format of that *ending*."""
    with timezone.override(zone_of(chat.workspace.owner.time_zone)):
        text = _WRITERS[ending](chat, list(_messages(chat)))
    return text.encode("utf-8", "replace")


def file_name(chat: Conversation, ending: str) -> str:
    """Return a name that every system can store: the day and the title."""
    zone = zone_of(chat.workspace.owner.time_zone)
    plain = unicodedata.normalize("NFC", _UNFIT.sub(" ", chat.title or "Untitled"))
    short = " ".join(plain.split())[:_NAME_CHARS].encode("utf-8", "replace")[:_NAME_BYTES]
    title = short.decode("utf-8", "ignore").rstrip(". ") or "Untitled"
    return f"{chat.created_at.astimezone(zone):%Y-%m-%d} {title}.{ending}"


def stream_zip(chats: QuerySet[Conversation], ending: str) -> Iterator[bytes]:
    """Yield a zip with a document of each conversation; one is in memory at a time.

    Equal names get a number. What is deleted meanwhile is left out.
    """
    buffer = ZipBuffer()
    used: set[str] = set()
    keys = list(chats.order_by("created_at", "pk").values_list("pk", flat=True))
    with open_zip(buffer) as archive:
        for key in keys:
            chat = Conversation.objects.select_related("workspace__owner").filter(pk=key).first()
            if chat is None:
                continue
            name = file_name(chat, ending)
            plain, number = name.removesuffix(f".{ending}"), 1
            while name.casefold() in used:
                number += 1
                name = f"{plain} ({number}).{ending}"
            used.add(name.casefold())
            archive.writestr(name, document(chat, ending))
            if buffer.is_due:
                yield buffer.fetch()
    yield buffer.fetch()


def _messages(chat: Conversation) -> Iterable[Message]:
    rows = Message.objects.filter(conversation=chat, is_current=True)
    return rows.select_related("turn").prefetch_related("blocks", "attachments").order_by("pk")


def text_of(message: Message) -> str:
    """Return a message's text as it was written: Markdown, without what the tools did."""
    if message.kind != Message.Kind.ANSWER:
        return message.text
    blocks = [block.text for block in message.blocks.all() if block.kind == Block.Kind.TEXT]
    return "\n\n".join(text.strip() for text in blocks if text.strip())


def _with_files(message: Message) -> str:
    """Return a message's text and the names of the files that were sent with it."""
    files = [f"[Attached: {one.name} ({one.path})]" for one in message.attachments.all()]
    return "\n\n".join(filter(None, [text_of(message), "\n".join(files)]))


def _markdown(chat: Conversation, rows: list[Message]) -> str:
    parts = [f"# {_title(chat)}\n", f"{timezone.localtime(chat.created_at):%Y-%m-%d %H:%M}\n"]
    if chat.project:
        parts.append(f"Project: {chat.project}\n")
    for row in rows:
        if row.kind == Message.Kind.DIVIDER:
            parts.append(f"---\n\n*{row.text}*\n")
        elif text := _with_files(row).strip():
            when = f"{timezone.localtime(row.created_at):%Y-%m-%d %H:%M}"
            parts.append(f"## {_SPEAKERS[Message.Kind(row.kind)]}, {when}\n\n{text}\n")
    return "\n".join(parts)


def _json(chat: Conversation, rows: list[Message]) -> str:
    found: dict[str, Any] = {
        "id": str(chat.pk),
        "title": chat.title,
        "kind": chat.kind,
        "project": chat.project,
        "created_at": chat.created_at.isoformat(),
        "tags": [tag.name for tag in chat.tags.order_by("key")],
        "messages": [
            {
                "id": row.pk,
                "kind": row.kind,
                "created_at": row.created_at.isoformat(),
                "text": text_of(row),
                "attachments": [
                    {"name": one.name, "path": one.path, "type": one.label}
                    for one in row.attachments.all()
                ],
                "model": row.turn.model if row.turn and row.kind == Message.Kind.ANSWER else "",
                "tools": [_tool(block) for block in row.blocks.all() if block.kind == "tool"],
            }
            for row in rows
        ],
    }
    return json.dumps(found, ensure_ascii=False, indent=2) + "\n"


def _tool(block: Block) -> dict[str, Any]:
    return {name: block.data.get(name) for name in ("name", "arguments", "result", "ok")}


def _html(chat: Conversation, rows: list[Message]) -> str:
    items = [
        {
            "message": row,
            "speaker": _SPEAKERS[Message.Kind(row.kind)],
            # Rendered again without links into the workspace, which lead nowhere in a file.
            "text": _with_files(row),
            "html": render(text_of(row), prefix=f"m{row.pk}-")
            if row.kind in {Message.Kind.ANSWER, Message.Kind.REPLY}
            else "",
        }
        for row in rows
        if _with_files(row).strip()
    ]
    return render_to_string(
        "chat/document.html", {"title": _title(chat), "chat": chat, "items": items}
    )


def _title(chat: Conversation) -> str:
    return " ".join(chat.title.split()) or "Untitled"


_WRITERS = {"md": _markdown, "json": _json, "html": _html}
