"""What the search page shows: hits with their links, words and what is said of each."""

import datetime as dt
import html
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.test import Client

from jenny.accounts.models import Account
from jenny.chat.models import Block, Conversation, Message, Turn
from tests.support.client import text_of

DAY = dt.datetime(2026, 5, 3, 14, 5, tzinfo=dt.UTC)
BAD = (
    *("", " ", '"', '""""', "AND OR NOT NEAR(", "*", "-", "a* OR (b", "\0", "viola\0 NOT", "%"),
    *("😀😀", "\u202eviola", "שלום עולם", "x" * 10_000, "viola " * 2_000, "' | ! & <-> \\"),
    *("term:viola", '"viola" + ^ {a b}: c', "%s %d", "the of and", "<script>alert(1)</script>"),
    " ".join(f"w{number}" for number in range(500)),
)


def write(root: Path, path: str, text: str, when: dt.datetime | None = None) -> None:
    """A file written by hand."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    if when is not None:
        os.utime(file, (when.timestamp(), when.timestamp()))


def say(ana: Account, said: str, answer: str = "", **values: Any) -> Message:
    """A conversation with a message and its answer."""
    chat = Conversation.objects.create(
        workspace=ana.current_workspace, **{"title": "Boats", **values}
    )
    message = Message.objects.create(
        conversation=chat, kind=Message.Kind.USER, text=said, created_at=DAY
    )
    if answer:
        turn = Turn.objects.create(conversation=chat, state=Turn.State.DONE)
        row = Message.objects.create(
            conversation=chat, kind=Message.Kind.ANSWER, turn=turn, created_at=DAY
        )
        Block.objects.create(turn=turn, message=row, kind=Block.Kind.TEXT, text=answer)
    chat.next_event_number()
    return message


def found(client: Client, query: str, **more: str) -> list[dict[str, str]]:
    """The hits of a page: link, title, words, what is marked, and what is said of each."""
    answer = client.get("/search/", {"q": query, **more})
    assert answer.status_code == 200
    return hits_of(answer.content.decode())


def hits_of(page: str) -> list[dict[str, str]]:
    hits = []
    for one in re.findall(r"<li>\s*<p class=\"hit-title\">.*?</li>", page, re.DOTALL):
        link = re.search(r'href="([^"]*)">(.*?)</a>', one, re.DOTALL)
        # The words of a title are the link.
        words = re.search(r'<p class="snippet"[^>]*>(.*?)</p>', one, re.DOTALL)
        shown = words[1] if words else link[2] if link else ""
        hint = re.search(r'<p class="hint">(.*?)</p>', one, re.DOTALL)
        assert link
        assert hint
        hits.append(
            {
                "href": html.unescape(link[1]),
                "title": html.unescape(re.sub("<[^>]*>", "", link[2])),
                "words": html.unescape(re.sub("<[^>]*>", "", shown)),
                "marked": html.unescape("|".join(re.findall("<mark>(.*?)</mark>", shown))),
                "hint": html.unescape(text_of(hint[1])),
                "is_forgotten": ">Forgotten</span>" in one,
            }
        )
    return hits


def place(client: Client, href: str) -> str:
    """The words of the page that a hit leads to; a part of it that the link names is there."""
    answer = client.get(href, follow=True)
    assert answer.status_code == 200, href
    text = answer.content.decode()
    target = answer.redirect_chain[-1][0] if answer.redirect_chain else href
    if anchor := urlsplit(target).fragment:
        assert f'id="{anchor}"' in text, href
    return html.unescape(text_of(text))
