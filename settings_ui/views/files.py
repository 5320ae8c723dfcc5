"""The file browser: folders, files as what they are, their raw content, and their versions."""

import asyncio
import itertools
import os
import re
import string
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.csp import CSP
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from jenny.accounts.services.workspace_context import (
    WorkspaceContext,
    WorkspaceErrorPage,
    get_workspace_context,
)
from jenny.documents.reader import BUSY, read_data
from jenny.workspace import content, files, names, paths
from jenny.workspace import content as contents
from jenny.workspace.content import read_text
from jenny.workspace.diffs import MOST_LINES_ALONE, difference
from jenny.workspace.errors import FileMissing, WorkspaceError
from jenny.workspace.files import Entry
from jenny.workspace.paths import Place
from jenny.workspace.trash import Item
from jenny.workspace.versions import tracked_files
from jenny.workspace.versions.history import History, open_history
from jenny.workspace.versions.messages import Version
from memory import archive
from memory import files as memory_files
from memory.suppression import Tombstone, list_tombstones
from memory.versions import version_title
from settings_ui import file_browser
from settings_ui.file_browser import Kind, shown
from settings_ui.views.memory.base_context import number_in
from wikis.page_rename import Moved

# Template context of every page of the file browser: breadcrumbs and folder tree.


TREE_FOLDERS = 100
workspace_error_page = WorkspaceErrorPage("Files", "files")


@dataclass(frozen=True)
class Row:
    entry: Entry
    href: str
    changed: datetime
    purpose: str
    is_hidden: bool


@dataclass(frozen=True)
class Branch:
    """A folder of the tree. ``depth`` starts at 0; *is_open*: its subfolders are shown."""

    name: str
    href: str
    depth: int
    is_open: bool
    is_current: bool


def address(path: str, page: str = "workspace") -> str:
    """Return the address of a path, or of another *page* about it (``files/edit`` …)."""
    end = "" if page == "workspace" or not path else "/"
    return f"/{page}/{quote(path)}{end}"


def rows(ctx: WorkspaceContext, entries: tuple[Entry, ...]) -> list[Row]:
    return [
        Row(
            entry,
            address(entry.path),
            ctx.local(entry.modified),
            file_browser.PURPOSES.get(entry.path, ""),
            files.is_hidden(entry.path),
        )
        for entry in entries
    ]


def base_context(ctx: WorkspaceContext, path: str, *, is_folder: bool) -> dict[str, Any]:
    folder = path if is_folder else path.rpartition("/")[0]
    return {
        "path": path,
        "name": path.rpartition("/")[2],
        "purpose": file_browser.PURPOSES.get(path, ""),
        "crumbs": [(name, address(at)) for name, at in file_browser.crumbs(path)],
        "tree": list(_tree(ctx, folder)),
        "up": address(path.rpartition("/")[0]),
        "links": {
            page: address(path, f"files/{page}")
            for page in ("edit", "raw", "download", "history", "move", "copy", "delete", "new")
        }
        | {"upload": address(path, "files/upload")},
    }


def _tree(ctx: WorkspaceContext, current: str, at: str = "", depth: int = 0) -> Any:
    try:
        entries = ctx.files.list(at)
    except WorkspaceError:
        return
    shown = [
        entry
        for entry in entries
        if entry.kind == "folder"
        and (ctx.account.developer_mode or not files.is_hidden(entry.path))
    ]
    for entry in shown[:TREE_FOLDERS]:
        is_open = current == entry.path or current.startswith(f"{entry.path}/")
        yield Branch(entry.name, address(entry.path), depth, is_open, current == entry.path)
        if is_open:
            yield from _tree(ctx, current, entry.path, depth + 1)


# Result of an action of the file browser: a sentence, and the effects of the memory's rules.


_RUN = re.compile(r"page:[0-9a-f]{12}")
# A file that was emptied may have left hundreds of lines; the archive lists them all.
MOST = 30


@dataclass(frozen=True)
class Traces:
    """Effects of one write: archived texts, and texts that are forgotten now."""

    archived: tuple[archive.Archived, ...] = ()
    forgotten: tuple[Tombstone, ...] = ()
    left_out: int = 0


def traces(ctx: WorkspaceContext, run: str) -> Traces:
    """Return the effects of the write named *run*; none for names that are not of these pages."""
    if not _RUN.fullmatch(run):
        return Traces()
    root = ctx.files.root
    kept = archive.removed_by(root, {run})
    dead = [row for row in list_tombstones(root) if row.run == run]
    more = max(0, len(kept) - MOST) + max(0, len(dead) - MOST)
    return Traces(kept[:MOST], tuple(dead[:MOST]), more)


def saved(ctx: WorkspaceContext, path: str) -> str:
    del ctx
    known = path in memory_files.BY_PATH or memory_files.skill_of(path) is not None
    more = " Jenny reads it from the next message on." if known else ""
    return f"{path} is saved.{more}"


def moved(old: str, done: Moved) -> str:
    new, count = done.path, done.links
    is_renamed = old.rpartition("/")[0] == new.rpartition("/")[0]
    said = f"called {new.rpartition('/')[2]} now" if is_renamed else f"now {new}"
    links = f" {count:,} link{'' if count == 1 else 's'} changed with it." if count else ""
    return f"{old} is {said}.{links}"


def thrown(ctx: WorkspaceContext, item: Item) -> str:
    goes = ctx.local(item.purge_at)
    return f"{item.path} is in the trash, and stays there until {goes:%-d %B %Y}."


def before_delete(path: str) -> str:
    """Return a warning to show before *path* is deleted; empty for ordinary files."""
    if path in memory_files.BY_PATH:
        return f"Jenny reads this file at every message. {file_browser.PURPOSES[path]}"
    if memory_files.skill_of(path) is not None or path == memory_files.SKILLS:
        return "Jenny can do what this skill describes only as long as it is here."
    return ""


# A longer text is cut here.
SHOWN_BYTES = 200_000
PAGE_DIGITS = 6
# Lines above and below the one that a link names.
AROUND = 200


@require_safe
@workspace_error_page
def browse(request: HttpRequest, path: str = "") -> HttpResponseBase:
    ctx = get_workspace_context(request)
    place = paths.locate(ctx.files.root, path)
    if place.status is None:
        raise FileMissing(contents.missing(place))
    if place.relative != path.rstrip("/") or (path.endswith("/") and not place.is_folder):
        return redirect(address(place.relative))
    if place.is_folder:
        return _folder(request, ctx, place)
    return _file(request, ctx, place)


def _folder(request: HttpRequest, ctx: WorkspaceContext, place: Place) -> HttpResponse:
    order = request.GET.get("order", "name")
    number = request.GET.get("page", "1")
    words = request.GET.get("filter", "")[:200]
    page = file_browser.page_of(
        ctx.files.list(place.relative),
        words=words,
        order=order if order in file_browser.ORDERS else "name",
        number=int(number) if number.isdecimal() and len(number) <= PAGE_DIGITS else 1,
        shows_hidden=ctx.account.developer_mode,
    )
    context = base_context(ctx, place.relative, is_folder=True) | {
        "page": page,
        "rows": rows(ctx, page.entries),
        "filter": words,
        "order": order,
        "orders": file_browser.ORDERS,
    }
    part = "#listing" if request.headers.get("HX-Request") == "true" else ""
    return render(request, f"files/folder.html{part}", context)


def _file(request: HttpRequest, ctx: WorkspaceContext, place: Place) -> HttpResponse:
    with open(paths.open_file(place), "rb") as file:  # noqa: PTH123  (a descriptor, no path)
        head = file.read(SHOWN_BYTES)
    size = place.status.st_size if place.status else 0
    kind = file_browser.kind_of(place.parts[-1], head[: file_browser.HEAD_BYTES])
    is_whole = size <= len(head)
    line = number_in(request.GET.get("line", ""))
    around = lines_around(ctx, place.relative, line) if line and kind.is_text else None
    content = {"around": around} if around else shown(kind, place.parts[-1], head)
    context = base_context(ctx, place.relative, is_folder=False) | {
        "kind": kind,
        "size": size,
        "changed": ctx.local(place.status.st_mtime) if place.status else None,
        "is_whole": is_whole or bool(around),
        "shown_bytes": SHOWN_BYTES,
        "can_edit": can_edit(ctx, place.relative, kind, size),
        "is_tracked": tracked_files.is_tracked(place.relative),
        "file": memory_files.BY_PATH.get(place.relative),
        "is_kept": file_browser.is_managed_file(place.relative),
        "traces": traces(ctx, request.GET.get("after", "")),
    }
    return render(request, "files/file.html", context | content)


def lines_around(ctx: WorkspaceContext, path: str, wanted: int) -> dict[str, Any] | None:
    """Return the lines of a file around a line, as they are written; ``None``: it has no such
    line."""
    lines = read_text(ctx.root, path).text.split("\n")
    if wanted > len(lines):
        return None
    first = max(wanted - 1 - AROUND, 0)
    rows = list(enumerate(lines[first : wanted + AROUND], first + 1))
    return {"rows": rows, "wanted": wanted, "last": rows[-1][0], "count": len(lines)}


def can_edit(ctx: WorkspaceContext, path: str, kind: Kind, size: int) -> bool:
    if names.is_settings(path):
        return ctx.account.developer_mode and path == "config.json"
    return (
        kind.is_text and size <= file_browser.TEXT_BYTES and not file_browser.is_managed_file(path)
    )


# Raw files, and folders as zip files. They are streamed, and nothing in them can run.


CHUNK_BYTES = 256 * 1024
# A larger picture is not converted.
CONVERTED_BYTES = 100_000_000
_PLAIN = frozenset(string.ascii_letters + string.digits + "._- ")
# A file may hold anything: as a page it gets no script, no connection to this host, no frame;
# styles inside a drawing are harmless.
LOCKED_IN: dict[str, Any] = {
    "default-src": [CSP.NONE],
    "style-src": [CSP.UNSAFE_INLINE],
    "sandbox": True,
    "frame-ancestors": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.NONE],
}


@require_safe
@csp_override(LOCKED_IN)
@workspace_error_page
def raw(request: HttpRequest, path: str) -> HttpResponseBase:
    """Serve a file: pictures and PDF as such, everything else as plain text or bytes. A picture
    that no browser shows is served as one that was made of it."""
    ctx = get_workspace_context(request)
    place = paths.locate(ctx.files.root, path)
    with open(paths.open_file(place), "rb") as file:  # noqa: PTH123  (a descriptor, no path)
        head = file.read(file_browser.HEAD_BYTES)
        kind = file_browser.kind_of(place.parts[-1], head)
        if kind.is_converted and os.fstat(file.fileno()).st_size <= CONVERTED_BYTES:
            return converted(head + file.read(CONVERTED_BYTES), place.parts[-1])
    is_shown = kind.view != "binary"
    return _bytes(place, kind.media_type, "inline" if is_shown else "attachment")


@require_safe
@csp_override(LOCKED_IN)
@workspace_error_page
def download(request: HttpRequest, path: str = "") -> HttpResponseBase:
    """The file to keep, or the folder as a zip."""
    ctx = get_workspace_context(request)
    place = paths.locate(ctx.files.root, path)
    if place.status is None:
        raise FileMissing(content.missing(place))
    if place.is_folder:
        return _zip(ctx, place)
    return _bytes(place, file_browser.BYTES, "attachment")


def _zip(ctx: WorkspaceContext, place: Place) -> HttpResponseBase:
    """Stream the folder's files, with hidden ones only when the person sees them."""
    is_developer = ctx.account.developer_mode
    walk = ctx.files.walk(place.relative)
    # The folder itself is read here, so that a folder that cannot be read is an answer of its own.
    first = list(itertools.islice(walk, 1))
    listed = (
        entry
        for entry in itertools.chain(first, walk)
        if is_developer or not files.is_hidden(entry.path)
    )
    name = f"{place.parts[-1] if place.parts else ctx.row.slug}.zip"
    response = StreamingHttpResponse(
        apart(file_browser.stream_zip(ctx.files, place.relative, listed)),
        content_type="application/zip",
    )
    return named(response, name, "attachment")


def converted(data: bytes, name: str) -> HttpResponse:
    """Serve a picture that is made of one that no browser shows."""
    found = read_data(data, name)
    if not found.picture:
        is_busy = found.problem == BUSY
        status = HTTPStatus.SERVICE_UNAVAILABLE if is_busy else HTTPStatus.UNPROCESSABLE_ENTITY
        problem = found.problem or "It cannot be read as a picture."
        return HttpResponse(problem, content_type=file_browser.PLAIN, status=status)
    ending = found.picture_type.rpartition("/")[2]
    response = HttpResponse(found.picture, content_type=found.picture_type)
    return named(response, f"{name}.{ending}", "inline")


def _bytes(place: Place, media_type: str, how: str) -> HttpResponseBase:
    descriptor = paths.open_file(place)
    size = os.fstat(descriptor).st_size
    response = StreamingHttpResponse(apart(_pieces(descriptor, size)), content_type=media_type)
    response["Content-Length"] = str(size)
    return named(response, place.parts[-1], how)


def _pieces(descriptor: int, size: int) -> Iterator[bytes]:
    """Yield exactly *size* bytes, as announced, even when the file grows meanwhile."""
    with open(descriptor, "rb") as file:
        while size > 0 and (chunk := file.read(min(CHUNK_BYTES, size))):
            size -= len(chunk)
            yield chunk


async def apart(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Read in a thread, so that a slow disk does not block other requests of the process."""
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        if piece:
            yield piece


def named[Response: HttpResponseBase](response: Response, name: str, how: str) -> Response:
    plain = "".join(char if char in _PLAIN else "_" for char in name)
    coded = quote(name, safe="")
    response["Content-Disposition"] = f"{how}; filename=\"{plain}\"; filename*=UTF-8''{coded}"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


# Versions of a tracked file, and what each changed.


VERSIONS_LISTED = 50
TEXT_CHARS = 500_000


@require_safe
@workspace_error_page
def history(request: HttpRequest, path: str) -> HttpResponseBase:
    """List the newest versions of the file; with ``?version=`` show its change and the file at
    that time."""
    ctx = get_workspace_context(request)
    path = paths.locate(ctx.files.root, path).relative
    if not tracked_files.is_tracked(path):
        raise Http404
    context = base_context(ctx, path, is_folder=False)
    with open_history(ctx.files.root) as past:
        wanted = request.GET.get("version", "")
        if wanted:
            version = past.resolve(wanted)
            return render(request, "files/version.html", context | _shown(past, ctx, path, version))
        before = request.GET.get("before", "")
        start = past.resolve(before).sha if before else None
        found = past.log(limit=VERSIONS_LISTED + 1, path=path, before=start)
        minutes = Counter(version.when // 60 for version in found)
        context |= {
            "versions": [
                _row(ctx, path, version, is_alone=minutes[version.when // 60] == 1)
                for version in found[:VERSIONS_LISTED]
            ],
            "older": found[VERSIONS_LISTED - 1].sha if len(found) > VERSIONS_LISTED else "",
        }
    return render(request, "files/history.html", context)


def _row(
    ctx: WorkspaceContext, path: str, version: Version, *, is_alone: bool = False
) -> dict[str, object]:
    """*is_alone*: no other version is of the same minute, so its time needs no seconds."""
    counts = re.search(rf"^{re.escape(path)}: \+(\d+) -(\d+)", version.body, re.MULTILINE)
    return {
        "version": version,
        "when": ctx.local(version.when),
        "time": "j F Y, H:i" if is_alone else "j F Y, H:i:s",
        "title": version_title(version),
        "counts": f"+{counts[1]} −{counts[2]}" if counts else "",
        "href": f"{address(path, 'files/history')}?version={version.sha}",
    }


def _shown(past: History, ctx: WorkspaceContext, path: str, version: Version) -> dict[str, object]:
    """Return the change of a version and the file's content in it."""
    new = past.file_as_of(path, version.sha)
    old = past.file_as_of(path, version.parent) if version.parent else None
    changed = difference(old, new, most=MOST_LINES_ALONE)
    return {
        "row": _row(ctx, path, version),
        "difference": changed,
        "text": (new or b"").decode("utf-8", "replace")[:TEXT_CHARS] if changed.is_text else "",
        "is_gone": new is None,
        "can_restore": new is not None
        and not file_browser.is_managed_file(path)
        and not _is_now(ctx, path, new),
    }


def _is_now(ctx: WorkspaceContext, path: str, data: bytes) -> bool:
    try:
        return ctx.files.exists(path) and ctx.files.read(path).data == data
    except WorkspaceError:
        return False
