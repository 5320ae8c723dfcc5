"""Resolves links and pictures of an answer that name files of the workspace.

A link opens the file browser, which checks access and serves pictures, too, each without script.
An answer is stored as HTML, and files come and go, so `mark_missing` looks for them whenever it is
shown.
"""

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import override
from urllib.parse import quote, unquote

from jenny.markdown.link_context import NOT_THERE, ResolvedLink, frame_name
from jenny.markdown.render import render
from jenny.workspace import paths
from jenny.workspace.errors import WorkspaceError

# Shown in place, as pictures: also an SVG runs no script and loads nothing.
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg")
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

    def frame(self, _language: str, source: str) -> str | None:
        return f"/chat/{self.chat}/frame/{frame_name(source)}/" if self.chat else None

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


@dataclass(frozen=True, slots=True)
class _Frames(WorkspaceLinks):
    found: dict[str, tuple[str, str]] = field(default_factory=dict)

    @override
    def frame(self, language: str, source: str) -> str | None:
        self.found[frame_name(source)] = language, source
        return None


def frame_content(texts: Iterable[str], name: str) -> tuple[str, str] | None:
    """Return language and source of the block in one of *texts* whose frame has this *name*."""
    around = _Frames()
    for text in texts:
        render(text, around=around)
        if name in around.found:
            return around.found[name]
    return None


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
