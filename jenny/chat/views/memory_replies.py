"""What the commands about memory answer: /remember, /forget, /recall."""

from django.urls import reverse

from jenny.chat.models import Conversation
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor
from memory import archive, forgotten, recall, recalling, remembering
from memory.recalling import literal
from memory.remembering import About

# Lines that are quoted in an answer to /forget, and archived texts without a question.
_QUOTED, _NEWEST = 12, 10
_TEMPORARY = (
    "This is a temporary chat, which leaves no memory: nothing was changed. Keep the chat with the "
    "button beside the field, or say it in another conversation."
)


def remember(chat: Conversation, argument: str) -> str:
    """Note it for good."""
    if not chat.feeds_history:
        return _TEMPORARY
    if not argument:
        return "Say what is to be remembered, as in `/remember I am allergic to nuts`."
    owner = chat.workspace.owner
    try:
        about = About(str(chat.pk))
        done = remembering.remember(
            chat.workspace.root, argument, about, zone=owner.time_zone, by_person=True
        )
    except WorkspaceError as error:
        return literal(error.sentence)
    page = reverse("chat:entry", args=[done.entry.cursor])
    secrets = ", ".join(hit.kind for hit in done.secrets)
    left_out = f" A secret was left out of it: {literal(secrets)}." if secrets else ""
    return (
        f"Remembered: “{literal(remembering.said(done.entry))}”. Every conversation knows it from "
        f"now on; Dream puts it where it belongs ([entry {done.entry.cursor}]({page})).{left_out}"
    )


def forget(chat: Conversation, argument: str) -> str:
    """Take it out of the memory, with the way back."""
    if not chat.feeds_history:
        return _TEMPORARY
    if not argument:
        return "Say what is to be forgotten, as in `/forget I live in Bern`."
    actor = Actor("command", account=chat.workspace.owner_id, reason="forgotten")
    try:
        done = forgotten.forget(chat.workspace.root, argument, actor)
    except WorkspaceError as error:
        return literal(error.sentence)
    lines = [
        f"- {literal(path)}: {literal(' '.join(line.split()))}"
        for path, rows in done.removed.items()
        for line in rows
    ]
    more = [f"- and {len(lines) - _QUOTED} more"] if len(lines) > _QUOTED else []
    told = [literal(done.sentence), "", *lines[:_QUOTED], *more]
    if done.ids:
        undo = reverse("chat:back", args=[chat.pk, ",".join(done.ids[:_QUOTED])])
        told += ["", f"[Undo]({undo})"]
    return "\n".join(told)


def look_up(chat: Conversation, argument: str) -> str:
    """Archived facts and entries, with the way back for each."""
    root = chat.workspace.root
    try:
        if argument:
            found = recall.recall(root, argument)
        else:
            rows = archive.listing(root)
            kept = [row for row in rows if forgotten.match(root, row.text) is None][:_NEWEST]
            found = recall.Recalled(tuple(kept), standing=archive.standing(root, kept))
            if not kept:
                return (
                    "Nothing has left the memory files yet. `/recall words` looks through what "
                    "was said, too."
                )
    except WorkspaceError as error:
        return literal(error.sentence)
    return recalling.markdown(
        found,
        lambda row: reverse("chat:back", args=[chat.pk, row.id]),
        lambda row: reverse("chat:entry", args=[row.cursor]),
    )
