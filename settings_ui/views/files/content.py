"""A file's bytes, and a folder as a zip: sent as they are read, never so that they could run."""

import asyncio
import os
import string
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils.csp import CSP
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from jenny.workspace import content, paths
from jenny.workspace.errors import FileMissing, FileTooLarge
from jenny.workspace.paths import Place
from settings_ui.browsing import folders, kinds, zips
from settings_ui.views.files import frame
from settings_ui.views.files.frame import Desk, told

CHUNK_BYTES = 256 * 1024
ZIP_FILES = 50_000
_PLAIN = frozenset(string.ascii_letters + string.digits + "._- ")
# Whatever a stranger wrote into a file: as a page of its own it gets no script, no address of
# ours, no frame; styles inside a drawing are harmless.
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
@told
def raw(request: HttpRequest, path: str) -> HttpResponseBase:
    """The file as it is: pictures and PDF as such, everything else as plain text or bytes."""
    desk = frame.desk(request)
    place = paths.locate(desk.files.root, path)
    with open(paths.open_file(place), "rb") as file:  # noqa: PTH123  (a descriptor, no path)
        kind = kinds.kind_of(place.parts[-1], file.read(kinds.HEAD_BYTES))
    is_shown = kind.view != "binary"
    return _bytes(place, kind.media_type, "inline" if is_shown else "attachment")


@require_safe
@csp_override(LOCKED_IN)
@told
def download(request: HttpRequest, path: str = "") -> HttpResponseBase:
    """The file to keep, or the folder as a zip."""
    desk = frame.desk(request)
    place = paths.locate(desk.files.root, path)
    if place.status is None:
        raise FileMissing(content.missing(place))
    if place.is_folder:
        return _zip(desk, place)
    return _bytes(place, kinds.BYTES, "attachment")


def _zip(desk: Desk, place: Place) -> HttpResponseBase:
    """The folder's files, without hidden ones unless the person sees them."""
    listed = []
    for entry in desk.files.walk(place.relative):
        if not desk.account.developer_mode and folders.is_hidden(entry.path):
            continue
        listed.append(entry)
        if len(listed) > ZIP_FILES:
            message = (
                f"This folder holds more than {ZIP_FILES:,} files, which is too much for one zip. "
                "Download its folders one by one."
            )
            raise FileTooLarge(message)
    name = f"{place.parts[-1] if place.parts else desk.row.slug}.zip"
    response = StreamingHttpResponse(
        apart(zips.stream(desk.files, place.relative, listed)), content_type="application/zip"
    )
    return named(response, name, "attachment")


def _bytes(place: Place, media_type: str, how: str) -> HttpResponseBase:
    descriptor = paths.open_file(place)
    size = os.fstat(descriptor).st_size
    response = StreamingHttpResponse(apart(_pieces(descriptor, size)), content_type=media_type)
    response["Content-Length"] = str(size)
    return named(response, place.parts[-1], how)


def _pieces(descriptor: int, size: int) -> Iterator[bytes]:
    """*size* bytes, as many as were promised, also when the file grows meanwhile."""
    with open(descriptor, "rb") as file:
        while size > 0 and (chunk := file.read(min(CHUNK_BYTES, size))):
            size -= len(chunk)
            yield chunk


async def apart(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Read in a thread, so that no disk holds up the other requests of this process."""
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        if piece:
            yield piece


def named(response: StreamingHttpResponse, name: str, how: str) -> StreamingHttpResponse:
    """What every such answer says of itself."""
    plain = "".join(char if char in _PLAIN else "_" for char in name)
    coded = quote(name, safe="")
    response["Content-Disposition"] = f"{how}; filename=\"{plain}\"; filename*=UTF-8''{coded}"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response
