"""What the file browser shows, without the web: kinds of files, folder lists, tables, zips.

The name's ending decides the kind. The first bytes decide for unknown endings, and must fit the
ending of a picture.
"""

import csv
import io
import json
import stat
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jenny.agent.messages import clean
from jenny.markdown.comments import without_comments
from jenny.markdown.highlight import highlight
from jenny.markdown.render import render as render_markdown
from jenny.workspace import names, paths, stat_signature
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Entry, Workspace, is_hidden
from jenny.workspace.zip_stream import CHUNK_BYTES, ZipBuffer, open_zip

# Kinds of files, and the media type with which each is served.
#
# The name's ending decides. The first bytes decide for unknown endings, and must fit the ending of
# a picture.


# Folder pages: hidden entries, filter, order and pagination.


PAGE = 200
# What the files and folders of every workspace are for, in a person's words.
PURPOSES = {
    "AGENTS.md": "How Jenny is to work: your standing instructions, read in every chat.",
    "SOUL.md": "Who Jenny is: her character and her voice.",
    "USER.md": "What stays true about you: who you are, your habits, how you like to be answered.",
    "config.json": "The settings. Change them in Settings.",
    "memory": "What Jenny knows, her notes of what was said, and the archive.",
    "memory/MEMORY.md": "What stays true about your work: projects, decisions, open questions.",
    "memory/archive": "What left the memory files. Memory → Archive brings it back.",
    "memory/history.jsonl": "Notes of what was said, until Dream has read them.",
    "output": "What Jenny writes for you: notes, lists, drafts.",
    "prompts": "Your own instructions for Dream, the nightly clean-up of memory.",
    "prompts/dream.md": "Your own instructions for Dream, in place of the built-in ones.",
    "skills": "Ways of doing something that Jenny has learnt, a folder each.",
    "uploads": "Files that you sent in messages, by day.",
    "wikis": "Your wikis, a folder of pages each.",
}
type Order = Literal["name", "size", "changed"]
ORDERS: tuple[Order, ...] = ("name", "size", "changed")


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a folder.

    *total* counts the entries that pass the filter, *hidden* those that are left out as hidden.
    *number* of *count* is the page.
    """

    entries: tuple[Entry, ...]
    total: int
    hidden: int
    number: int
    count: int


def is_managed_file(path: str) -> bool:
    """True for files that the memory pipeline maintains; pages show them and nobody edits them."""
    plain = "/".join(names.disguised(part) for part in path.split("/"))
    return plain == "memory/history.jsonl" or plain.startswith("memory/.")


def page_of(
    entries: Sequence[Entry],
    *,
    words: str = "",
    order: Order = "name",
    number: int = 1,
    shows_hidden: bool = False,
) -> Page:
    """Return a page of a folder without hidden entries, filtered by name, folders first.

    An entry passes when its name contains every word of *words*.
    """
    listed = [entry for entry in entries if shows_hidden or not is_hidden(entry.path)]
    hidden = len(entries) - len(listed)
    if wanted := names.folded(words).split():
        listed = [row for row in listed if all(word in names.folded(row.name) for word in wanted)]
    if order == "size":
        listed.sort(key=lambda row: (row.kind != "folder", -row.size, row.name))
    elif order == "changed":
        listed.sort(key=lambda row: (row.kind != "folder", -row.modified, row.name))
    else:
        listed.sort(key=lambda row: (row.kind != "folder", names.folded(row.name), row.name))
    count = max(1, -(-len(listed) // PAGE))
    number = min(max(1, number), count)
    start = (number - 1) * PAGE
    return Page(tuple(listed[start : start + PAGE]), len(listed), hidden, number, count)


def crumbs(path: str) -> list[tuple[str, str]]:
    """List (name, path) of the folders from the top down to *path*."""
    parts = [part for part in path.split("/") if part]
    return [(part, "/".join(parts[: end + 1])) for end, part in enumerate(parts)]


type View = Literal["markdown", "code", "text", "table", "lines", "image", "pdf", "binary"]

HEAD_BYTES = 4096
TEXT_BYTES = 1_000_000
PLAIN = "text/plain; charset=utf-8"
BYTES = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Kind:
    view: View
    label: str
    media_type: str = PLAIN
    # No browser shows it: it is served as a picture that was made of it.
    is_converted: bool = False

    @property
    def is_text(self) -> bool:
        return self.view in {"markdown", "code", "text", "table", "lines"}


TEXT = Kind("text", "Text")
BINARY = Kind("binary", "Binary file", BYTES)

_BY_ENDING: dict[str, Kind] = {
    **dict.fromkeys(("md", "markdown"), Kind("markdown", "Markdown")),
    **dict.fromkeys(("txt", "log", "text", "rst", "org", ""), TEXT),
    **dict.fromkeys(("csv", "tsv"), Kind("table", "Table")),
    **dict.fromkeys(("jsonl", "ndjson"), Kind("lines", "JSON lines")),
    "png": Kind("image", "Picture", "image/png"),
    "jpg": Kind("image", "Picture", "image/jpeg"),
    "jpeg": Kind("image", "Picture", "image/jpeg"),
    "gif": Kind("image", "Picture", "image/gif"),
    "webp": Kind("image", "Picture", "image/webp"),
    "avif": Kind("image", "Picture", "image/avif"),
    **dict.fromkeys(("heic", "heif"), Kind("image", "Picture", "image/heic", is_converted=True)),
    **dict.fromkeys(("tif", "tiff"), Kind("image", "Picture", "image/tiff", is_converted=True)),
    "bmp": Kind("image", "Picture", "image/bmp"),
    "ico": Kind("image", "Picture", "image/x-icon"),
    # Shown as a picture, a drawing runs no script; served raw, it is plain text.
    "svg": Kind("image", "Drawing", "image/svg+xml"),
    "pdf": Kind("pdf", "PDF", "application/pdf"),
}

_MARKS: dict[str, tuple[bytes, ...]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "image/bmp": (b"BM",),
    "image/tiff": (b"II*\0", b"MM\0*"),
    "image/x-icon": (b"\0\0\1\0",),
    "application/pdf": (b"%PDF-",),
}

# Pygments lexers by file ending.
LANGUAGES: dict[str, str] = {
    "py": "python",
    "js": "javascript",
    "mjs": "javascript",
    "ts": "typescript",
    "tsx": "tsx",
    "jsx": "jsx",
    "json": "json",
    "html": "html",
    "htm": "html",
    "xml": "xml",
    "css": "css",
    "scss": "scss",
    "sh": "bash",
    "bash": "bash",
    "zsh": "bash",
    "fish": "fish",
    "ps1": "powershell",
    "bat": "batch",
    "toml": "toml",
    "yaml": "yaml",
    "yml": "yaml",
    "ini": "ini",
    "cfg": "ini",
    "conf": "ini",
    "env": "bash",
    "sql": "sql",
    "go": "go",
    "rs": "rust",
    "rb": "ruby",
    "php": "php",
    "java": "java",
    "kt": "kotlin",
    "swift": "swift",
    "c": "c",
    "h": "c",
    "cc": "cpp",
    "cpp": "cpp",
    "hpp": "cpp",
    "cs": "csharp",
    "lua": "lua",
    "r": "r",
    "pl": "perl",
    "tex": "latex",
    "diff": "diff",
    "patch": "diff",
    "dockerfile": "docker",
    "makefile": "make",
    "mk": "make",
    "nix": "nix",
    "vue": "vue",
    "svelte": "html",
    "graphql": "graphql",
    "proto": "protobuf",
}


def ending(name: str) -> str:
    lower = name.lower()
    if lower in {"makefile", "dockerfile"}:
        return lower
    return lower.rpartition(".")[2] if "." in lower.lstrip(".") else ""


def kind_of(name: str, head: bytes) -> Kind:
    suffix = ending(name)
    kind = _BY_ENDING.get(suffix)
    if suffix in LANGUAGES:
        kind = Kind("code", f"{LANGUAGES[suffix].capitalize()} source")
    if kind is not None and not kind.is_text:
        marks = _MARKS.get(kind.media_type)
        is_believed = marks is None or head.startswith(marks)
        if kind.media_type == "image/svg+xml":
            is_believed = looks_like_text(head) and b"<svg" in head.lower()
        if kind.media_type == "image/heic":
            is_believed = head[4:8] == b"ftyp"
        if is_believed:
            return kind
        return TEXT if looks_like_text(head) and head else BINARY
    if not looks_like_text(head):
        return BINARY
    return kind or TEXT


def looks_like_text(head: bytes) -> bool:
    """True when the first bytes are UTF-8 without control characters that text does not have."""
    if any(byte in head for byte in (b"\0", b"\x1b[", b"\x7fELF")):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be cut.
        return error.start >= len(head) - 3 and len(head) >= HEAD_BYTES
    return True


# CSV files and JSON lines as tables of bounded size; damaged rows are named.


ROWS = 500
COLUMNS = 60
CELL_CHARS = 500
LINE_CHARS = 20_000
# Lists and objects of a line that is shown with indentation.
INDENTED = 200


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and columns of a table. *left_out* counts the rows that are not shown; *is_cut*:
    columns were cut."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class JsonLine:
    """A line of a JSON lines file: its number and its text, or why it cannot be read."""

    number: int
    text: str
    problem: str = ""


def csv_table(text: str, *, tabs: bool = False) -> Table:
    rows = list(_csv_rows(text, tabs=tabs))
    width = max((len(row) for row in rows[: ROWS + 1]), default=0)
    shown = min(width, COLUMNS)
    squared = [
        tuple(_short(cell) for cell in row[:shown]) + ("",) * (shown - len(row))
        for row in rows[: ROWS + 1]
    ]
    head = squared[0] if squared else ()
    return Table(head, tuple(squared[1:]), max(0, len(rows) - 1 - ROWS), width > COLUMNS)


def json_lines(text: str) -> tuple[list[JsonLine], int]:
    """Return the last lines and how many before them are not shown."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    shown = lines[-ROWS:]
    return [_json_line(number, line) for number, line in shown], len(lines) - len(shown)


def _csv_rows(text: str, *, tabs: bool) -> list[list[str]]:
    plain = text.replace("\0", "\ufffd").removeprefix("\ufeff")
    delimiter = "\t" if tabs else _delimiter(plain)
    try:
        return [row for row in csv.reader(io.StringIO(plain), delimiter=delimiter) if row]
    except csv.Error:
        return [line.split(delimiter) for line in plain.splitlines() if line]


def _delimiter(text: str) -> str:
    """Guess the delimiter: the usual one that the first line has most of."""
    first = text.partition("\n")[0]
    return max(",;\t|", key=first.count)


def _json_line(number: int, line: str) -> JsonLine:
    try:
        value = json.loads(line)
        # Deeply nested values would be mostly indentation.
        indent = 2 if line.count("[") + line.count("{") <= INDENTED else None
        shown = clean(json.dumps(value, ensure_ascii=False, indent=indent))
        return JsonLine(number, shown[:LINE_CHARS])
    except ValueError:
        return JsonLine(number, line[:2_000], "This line is not JSON.")
    except RecursionError:
        return JsonLine(number, line[:2_000], "This line is nested too deeply to be shown whole.")


def _short(cell: str) -> str:
    return cell if len(cell) <= CELL_CHARS else cell[:CELL_CHARS] + "…"


def shown(kind: Kind, name: str, head: bytes) -> dict[str, Any]:
    if not kind.is_text:
        return {}
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    if kind.view == "markdown":
        # Comments are for other authors; the raw file and the editor show them.
        return {"html": render_markdown(without_comments(text))}
    if kind.view == "table":
        tabs = name.lower().endswith(".tsv")
        return {"table": csv_table(text, tabs=tabs)}
    if kind.view == "lines":
        lines, left_out = json_lines(text)
        return {"json_lines": lines, "left_out": left_out}
    language = LANGUAGES.get(ending(name), "")
    return {"code": highlight(text, language) if language else None, "text": text}


# Folders as zip files that are streamed.


def stream_zip(workspace: Workspace, folder: str, listed: Iterable[Entry]) -> Iterator[bytes]:
    """Yield a zip of these files and folders below *folder*.

    Files that vanish or cannot be read are left out and named in a file at the zip's end. Links
    are left out.
    """
    buffer = ZipBuffer()
    top = folder.rsplit("/", 1)[-1] or "workspace"
    troubles: list[str] = []
    with open_zip(buffer) as archive:
        for entry in listed:
            below = entry.path[len(folder) :].lstrip("/") if folder else entry.path
            name = f"{top}/{below}"
            if entry.kind == "folder":
                archive.writestr(_info(name + "/", entry), b"")
            elif entry.kind == "file":
                yield from _file(workspace, archive, buffer, (entry, name), troubles)
            elif entry.kind == "link":
                troubles.append(f"{entry.path}: a link")
            if buffer.is_due:
                yield buffer.fetch()
        if troubles:
            archive.writestr(f"{top}/LEFT OUT.txt", "\n".join(troubles) + "\n")
    yield buffer.fetch()


def _file(
    workspace: Workspace,
    archive: zipfile.ZipFile,
    buffer: ZipBuffer,
    what: tuple[Entry, str],
    troubles: list[str],
) -> Iterator[bytes]:
    entry, name = what
    try:
        place = paths.locate(workspace.root, entry.path)
        descriptor = paths.open_file(place)
    except WorkspaceError:
        troubles.append(f"{entry.path}: not readable")
        return
    with (
        open(descriptor, "rb") as source,  # noqa: PTH123  (a descriptor, no path)
        archive.open(_info(name, entry), "w", force_zip64=entry.size > 2**31) as target,
    ):
        while chunk := source.read(CHUNK_BYTES):
            target.write(chunk)
            if buffer.is_due:
                yield buffer.fetch()


def _info(name: str, entry: Entry) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    stat_signature.set_zip_time(info, int(entry.modified * stat_signature.NANOSECONDS))
    info.compress_type = zipfile.ZIP_DEFLATED
    kind = stat.S_IFDIR | 0o755 if entry.kind == "folder" else stat.S_IFREG | 0o644
    info.external_attr = kind << 16
    return info
