"""Resolves links and pictures of an answer that name files of the workspace.

A link opens the file browser, which checks access and serves pictures, too. An answer is stored as
HTML, and files come and go, so `mark_missing` looks for them whenever it is shown.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import override
from urllib.parse import quote, unquote

from jenny.markdown.link_context import NOT_THERE, ResolvedLink
from jenny.markdown.render import render
from jenny.workspace import paths
from jenny.workspace.errors import WorkspaceError

# Shown in place. SVG is opened instead.
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif")
_LINKED = re.compile(r'<a [^>]*href="/workspace/([^"#]+)[^>]*>.*?</a>', re.DOTALL)
_PICTURED = re.compile(r'<img [^>]*src="/files/raw/([^"]+)/"[^>]*>')
_DESCRIBED = re.compile(r' alt="([^"]*)"')
_ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|[/\\#?]|\Z")


@dataclass(frozen=True, slots=True)
class WorkspaceLinks:
    """The files that an answer may name: paths start at the workspace or the project's folder."""

    project: str = ""
    # The conversation in which the text's diagrams are drawn; empty: they are shown as source.
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

    def diagram(self, source: str) -> str | None:
        return f"/chat/{self.chat}/diagram/{_digest(source)}/" if self.chat else None

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


@dataclass(frozen=True, slots=True)
class _Diagrams(WorkspaceLinks):
    found: dict[str, str] = field(default_factory=dict)

    @override
    def diagram(self, source: str) -> str | None:
        self.found[_digest(source)] = source
        return None


def diagram_source(texts: Iterable[str], name: str) -> str | None:
    """Return the source of the diagram in one of *texts* whose address ends with *name*."""
    around = _Diagrams()
    for text in texts:
        render(text, around=around)
        if name in around.found:
            return around.found[name]
    return None


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:16]


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
