"""Turns a conversation's rows into the items of the thread. Plain: it is given rows."""

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from jenny.markdown.link_context import NOT_THERE, ResolvedLink, frame_name
from jenny.markdown.render import framed_code, render
from jenny.markdown.streaming import StreamRenderer
from jenny.workspace import paths
from jenny.workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from jenny.chat.models import Attachment, Block, Message, Turn


# Resolves links and pictures of an answer that name files of the workspace.
#
# A link opens the file browser, which checks access and serves pictures, too, each without script.
# An answer is stored as HTML, and files come and go, so `mark_missing` looks for them whenever it
# is shown.


# Shown in place, as pictures: also an SVG runs no script and loads nothing.
# A phone's HEIC and a scanner's TIFF are served as pictures that were made of them.
PICTURES = (
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg"),
    *(".heic", ".heif", ".tif", ".tiff"),
)
_LINKED = re.compile(r'<a [^>]*href="/workspace/([^"#]+)[^>]*>.*?</a>', re.DOTALL)
_PICTURED = re.compile(r'<img [^>]*src="/files/raw/([^"]+)/"[^>]*>')
_DESCRIBED = re.compile(r' alt="([^"]*)"')
_ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|[/\\#?]|\Z")


@dataclass(frozen=True, slots=True)
class WorkspaceLinks:
    """The files that an answer may name: paths start at the workspace or the project's folder."""

    project: str = ""
    # The conversation that has frames for the text's diagrams and previews; empty: none are shown.
    chat: str = ""

    def wiki_link(self, inner: str) -> ResolvedLink:
        return ResolvedLink("missing", "", inner)

    def near(self, address: str) -> str | None:
        """Return a relative address in the file browser; ``None`` outside of the workspace."""
        named, _, heading = address.partition("#")
        path = self._path(named)
        if not path:
            return None
        return f"/workspace/{quote(path)}" + (f"#{quote(unquote(heading))}" if heading else "")

    def picture(self, address: str) -> str | None:
        path = self._path(address.partition("#")[0])
        return f"/files/raw/{quote(path)}/" if path.lower().endswith(PICTURES) else None

    def missing(self, _address: str) -> bool:
        return False

    def frame(self, language: str, source: str) -> str | None:
        return f"/chat/{self.chat}/frame/{frame_name(language, source)}/" if self.chat else None

    def tag(self, _name: str) -> str:
        return ""

    def embed(self, _inner: str) -> str | None:
        return None

    def _path(self, address: str) -> str:
        if _ELSEWHERE.match(address):
            return ""
        written = unquote(address.partition("?")[0])
        folder = f"wikis/{self.project}" if self.project else ""
        if written.startswith(f"{folder}/"):
            folder = ""
        path = posixpath.normpath(posixpath.join(folder, written))
        is_inside = path not in (".", "..") and not path.startswith(("../", "/"))
        return path if is_inside and "\0" not in path and "\\" not in path else ""


def frame_content(texts: Iterable[str], name: str) -> tuple[str, str] | None:
    """Return language and source of the block in one of *texts* whose frame has this *name*."""
    code = (block for text in texts for block in framed_code(text))
    return next((block for block in code if frame_name(*block) == name), None)


def mark_missing(html: str, root: Path) -> str:
    """Return the HTML of an answer with a note beside each link and picture of the workspace at
    *root* whose file is not there now."""

    def linked(match: re.Match[str]) -> str:
        return f"{match[0]} ({NOT_THERE})" if _is_missing(root, match[1]) else match[0]

    def pictured(match: re.Match[str]) -> str:
        if not _is_missing(root, match[1]):
            return match[0]
        alt = _DESCRIBED.search(match[0])
        name = f"Image \u201c{alt[1]}\u201d" if alt and alt[1] else "Image"
        return f'<span class="remote-image">{name} ({NOT_THERE})</span>'

    return _PICTURED.sub(pictured, _LINKED.sub(linked, html))


def _is_missing(root: Path, written: str) -> bool:
    try:
        return paths.locate(paths.real_root(root), unquote(unescape(written))).status is None
    except WorkspaceError:
        return False


# Characters of a tool's first argument shown on its line.
SHORT_ARGUMENT = 60
# Tools in everyday words.
TOOL_WORDS = {
    "read_file": "Read file",
    "list_dir": "List folder",
    "find_files": "Find files",
    "grep": "Search files",
    "write_file": "Write file",
    "edit_file": "Change file",
    "apply_patch": "Change files",
    "plot": "Draw chart",
    "python_exec": "Calculate",
    "recall": "Look up",
    "search_chats": "Search chats",
    "remember": "Remember",
    "forget": "Forget",
    "note": "Note in the log",
    "add_page": "Add page",
    "list_pages": "List pages",
    "read_skill": "Read skill",
}
_QUESTION = re.compile(r"[^.!。\n]*[?？؟]\s*")
# A message of more characters is folded.
LONG_TEXT = 4_000


@dataclass(frozen=True)
class BlockView:
    """A block of an answer, as ``templates/chat/thread.html#block`` shows it."""

    id: str
    kind: str
    html: str = ""
    open_html: str = ""
    done_count: int = 0
    is_open: bool = False
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """An element of the thread, as ``templates/chat/thread.html#item`` shows it."""

    id: str
    kind: str
    message: "Message"
    text: str = ""
    html: str = ""
    blocks: tuple[BlockView, ...] = ()
    turn: "Turn | None" = None
    waiting: bool = False
    day: date | None = None
    is_last_of_turn: bool = False
    # The summaries of messages up to this one (rows of ``Summary``).
    summaries: Iterable[Any] = ()
    attachments: "Iterable[Attachment]" = ()

    @property
    def is_question(self) -> bool:
        """True for a message that is one question, which states nothing to remember."""
        return self.kind == "user" and _QUESTION.fullmatch(self.text) is not None

    @property
    def is_long(self) -> bool:
        return len(self.text) > LONG_TEXT


def block_view(block: "Block") -> BlockView:
    """Return a block as the page shows it.

    Text being written is in the state that the stream's next event expects.
    """
    view = BlockView(
        id=f"b{block.pk}",
        kind=block.kind,
        html=_marked(block.html, lambda: block.message),
        is_open=block.is_open,
        text=block.text,
        data=_tool_data(block.data) if block.kind == "tool" else block.data,
    )
    if block.kind != "text" or not block.is_open:
        return view
    # Only the chunks that the worker has published count as finished. It reads the text in pieces,
    # and may be behind a renderer that reads it whole.
    count = block.data.get("done", 0)
    done, open_html = renderer_of(block).snapshot(count)
    return replace(view, html=done, open_html=open_html, done_count=count)


def renderer_of(block: "Block") -> StreamRenderer:
    """Return the renderer of a text block in its row's state; element ids are the block's own."""
    around = WorkspaceLinks(block.message.conversation.project)
    return StreamRenderer(block.text, prefix=f"b{block.pk}-", around=around)


def final_html(block: "Block", renderer: StreamRenderer | None = None) -> str:
    """Return the rendering of a text block that is finished; its diagrams are drawn."""
    chat = block.message.conversation
    return (renderer or renderer_of(block)).finish(WorkspaceLinks(chat.project, str(chat.pk)))


def _tool_data(data: dict[str, Any]) -> dict[str, Any]:
    """Return a tool call's data, with its arguments formatted and shortened."""
    arguments = data.get("arguments") or {}
    first = next((value for value in arguments.values() if isinstance(value, str)), "")
    short = "the workspace" if first == "." else " ".join(first.split())
    return {
        **data,
        "words": TOOL_WORDS.get(data.get("name", ""), data.get("name", "")),
        "arguments_pretty": json.dumps(arguments, ensure_ascii=False, indent=2),
        "short": short[:SHORT_ARGUMENT] + ("…" if len(short) > SHORT_ARGUMENT else ""),
    }


def item(
    message: "Message",
    *,
    day: date | None = None,
    is_last: bool = True,
    blocks: "Iterable[Block] | None" = None,
    summaries: Iterable[Any] | None = None,
) -> Item:
    """Return a message with its turn, and the given or else the stored blocks and summaries."""
    if blocks is None:
        blocks = message.blocks.all() if message.kind == "answer" else ()
    kind = message.kind
    return Item(
        id=f"m{message.pk}",
        kind=kind,
        message=message,
        text=message.text,
        html=_reply(message) if kind == "reply" else "",
        blocks=tuple(block_view(row) for row in blocks),
        turn=message.turn,
        waiting=kind == "user" and message.turn_id is None,
        day=day,
        is_last_of_turn=is_last,
        summaries=message.summaries.all() if summaries is None else summaries,
        attachments=tuple(message.attachments.all()) if kind == "user" else (),
    )


def _reply(message: "Message") -> str:
    around = WorkspaceLinks(message.conversation.project)
    return _marked(render(message.text, prefix=f"m{message.pk}-", around=around), lambda: message)


def _marked(html: str, get_message: Callable[[], "Message"]) -> str:
    """Return *html* with notes beside the files that are missing now. The message, whose workspace
    they are looked for in, is loaded only for a text that names files."""
    if "/workspace/" not in html and "/files/raw/" not in html:
        return html
    return mark_missing(html, get_message().conversation.workspace.root)


def items(messages: Iterable["Message"], zone: tzinfo) -> Iterator[Item]:
    """Yield the messages in order, with the day where it changes (in *zone*)."""
    rows = list(messages)
    last_of_turn = {row.turn_id: row.pk for row in rows if row.kind == "answer"}
    day: date | None = None
    for row in rows:
        today = row.created_at.astimezone(zone).date()
        yield item(
            row,
            day=today if today != day else None,
            is_last=last_of_turn.get(row.turn_id) == row.pk,
        )
        day = today


def by_day[T](
    rows: Iterable[T], when: Callable[[T], datetime], now: datetime
) -> list[tuple[str, list[T]]]:
    """Group *rows*, newest first, by the day labels of a list of conversations."""
    groups: dict[str, list[T]] = {}
    for row in rows:
        groups.setdefault(
            day_label(when(row).astimezone(now.tzinfo).date(), now.date()), []
        ).append(row)
    return list(groups.items())


def day_label(day: date, today: date) -> str:
    """Return the label for *day*: today, yesterday, this week, this month, or its month."""
    age = (today - day).days
    if age <= 1:
        return "Today" if age < 1 else "Yesterday"
    if age < 7:  # noqa: PLR2004 - a week
        return "This week"
    if (day.year, day.month) == (today.year, today.month):
        return "This month"
    return f"{day:%B}" if day.year == today.year else f"{day:%B %Y}"
