"""Kinds of files, and the media type with which each is served.

The name's ending decides. The first bytes decide for unknown endings, and must fit the ending of
a picture.
"""

from dataclasses import dataclass
from typing import Literal

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
