"""Raw files, and folders as zip files. They are streamed, and nothing in them can run."""

import asyncio
import itertools
import os
import string
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils.csp import CSP
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from jenny.workspace import content, files, paths
from jenny.workspace.errors import FileMissing
from jenny.workspace.paths import Place
from settings_ui.browsing import kinds, zips
from settings_ui.views.files import base_context
from settings_ui.views.files.base_context import WorkspaceContext, workspace_error_page

CHUNK_BYTES = 256 * 1024
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
    """Serve a file: pictures and PDF as such, everything else as plain text or bytes."""
    ctx = base_context.get_workspace_context(request)
    place = paths.locate(ctx.files.root, path)
    with open(paths.open_file(place), "rb") as file:  # noqa: PTH123  (a descriptor, no path)
        kind = kinds.kind_of(place.parts[-1], file.read(kinds.HEAD_BYTES))
    is_shown = kind.view != "binary"
    return _bytes(place, kind.media_type, "inline" if is_shown else "attachment")


@require_safe
@csp_override(LOCKED_IN)
@workspace_error_page
def download(request: HttpRequest, path: str = "") -> HttpResponseBase:
    """The file to keep, or the folder as a zip."""
    ctx = base_context.get_workspace_context(request)
    place = paths.locate(ctx.files.root, path)
    if place.status is None:
        raise FileMissing(content.missing(place))
    if place.is_folder:
        return _zip(ctx, place)
    return _bytes(place, kinds.BYTES, "attachment")


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
        apart(zips.stream(ctx.files, place.relative, listed)), content_type="application/zip"
    )
    return named(response, name, "attachment")


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


def named(response: StreamingHttpResponse, name: str, how: str) -> StreamingHttpResponse:
    plain = "".join(char if char in _PLAIN else "_" for char in name)
    coded = quote(name, safe="")
    response["Content-Disposition"] = f"{how}; filename=\"{plain}\"; filename*=UTF-8''{coded}"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response
