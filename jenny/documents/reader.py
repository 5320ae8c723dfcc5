"""Reads one file in a process of its own, whose time and memory are bounded.

A file may be made to break or to stall whoever opens it. ``python -m jenny.documents.reader`` takes
one JSON line, the arguments of ``read_file``, and prints one with the fields of ``Reading``.
"""

import base64
import contextlib
import fcntl
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jenny.documents import file_types
from jenny.documents.file_types import FileType

# Seconds of processor time and of the clock; address space.
_CPU_SECONDS = 30
_SECONDS = 60.0
_MEMORY_BYTES = 3 << 29
# Readers that the machine has at the same time; each may take the memory above.
_READERS = 2
# Seconds that a file waits for its reader.
_WAIT_SECONDS = 90.0
# What a reader may print.
_OUTPUT_BYTES = 64_000_000
BUSY = "Too many files were read at the same time, so this one was not. Try it again."
_ROOT = Path(__file__).parents[2]
# Characters of the order on standard input.
_LONGEST_ORDER = 20_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """The content that was read of a file.

    *type* names its ``FileType``. *pages*: the texts of the pages from *first* on; *page_count*:
    how many there are, 0 when that is not known; *has_more*: text follows. *problem*: a sentence on
    why nothing, or no more, was read. *picture*: for a model, *width* × *height*.
    """

    type: str
    kind: str
    label: str
    media_type: str
    problem: str = ""
    pages: list[str] = field(default_factory=list)
    first: int = 1
    page_count: int = 0
    has_more: bool = False
    width: int = 0
    height: int = 0
    picture_type: str = ""
    picture: bytes = b""
    thumbnail: bytes = b""


def read_file(
    path: Path,
    name: str,
    *,
    first: int = 1,
    chars: int = 100_000,
    page_chars: int = 0,
    pictures: bool = True,
) -> Reading:
    """Read the file at *path*: pages from *first* on, until they have *chars* characters.

    The first one is cut at *page_chars*; 0: at *chars*. Never raises for what is in the file: the
    reading says what is wrong with it.
    """
    found = file_types.recognise_head(path, name)
    if found.problem or (found.kind in {"archive", "other"} and found.name != "zip"):
        return _reading(found, found.problem)
    order = {
        "path": str(path), "name": name, "first": first, "chars": chars,
        "page_chars": page_chars or chars, "pictures": pictures,
    }  # fmt: skip
    with _reader_slot() as slot:
        if slot is None:
            return _reading(found, BUSY)
        output = _answered(json.dumps(order).encode(), slot)
    if output is None:
        return _reading(found, "Reading it takes too long.")
    try:
        row: dict[str, Any] = json.loads(output)
        for key in ("picture", "thumbnail"):
            row[key] = base64.b64decode(row[key])
        return Reading(**row)
    except (ValueError, TypeError, KeyError):
        # Killed at a limit, or by a fault of a library.
        return _reading(found, "Reading it takes more time or memory than a file may.")


def _answered(order: bytes, slot: int) -> bytes | None:
    """Return what a reader prints for *order*; ``None``: it took too long.

    It inherits nothing of the environment, which has secrets, and has *slot* as long as it lives.
    """
    late = threading.Event()
    with subprocess.Popen(  # noqa: S603 - our own module; the path is in JSON
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=_ROOT,
        env={},
        pass_fds=(slot,),
    ) as process:

        def give_up() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(_SECONDS, give_up)
        timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(order)  # type: ignore[union-attr]
                process.stdin.close()  # type: ignore[union-attr]
            output = process.stdout.read(_OUTPUT_BYTES)  # type: ignore[union-attr]
        finally:
            timer.cancel()
            process.kill()
    return None if late.is_set() else output


@contextlib.contextmanager
def _reader_slot() -> Iterator[int | None]:
    """Hold one of the machine's places for readers, as a locked file; ``None``: all stay taken."""
    folder = Path(tempfile.gettempdir()) / f"jenny-readers-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    places = [
        os.open(folder / str(number), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        for number in range(_READERS)
    ]
    try:
        yield _locked(places)
    finally:
        for place in places:
            os.close(place)


def _locked(places: Sequence[int]) -> int | None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        for place in places:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return place
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.05)


def read_data(data: bytes, name: str, **more: Any) -> Reading:
    """As ``read_file``, for content that is in memory."""
    with tempfile.NamedTemporaryFile(prefix="jenny-") as file:
        file.write(data)
        file.flush()
        return read_file(Path(file.name), name, **more)


def _reading(found: FileType, problem: str, **more: Any) -> Reading:
    return Reading(found.name, found.kind, found.label, found.media_type, problem, **more)


def _read(order: dict[str, Any]) -> Reading:
    from jenny.documents import pages, pictures  # noqa: PLC0415 - only this process needs them

    path = Path(order["path"])
    found = file_types.recognise(path, order["name"])
    if found.problem or found.kind in {"archive", "other"}:
        return _reading(found, found.problem)
    try:
        if found.kind == "picture":
            if not order["pictures"]:
                return _reading(found, "It is a picture.")
            made = pictures.scale(path)
            return _reading(
                found, "", width=made.width, height=made.height, picture_type=made.media_type,
                picture=made.data, thumbnail=made.thumbnail,
            )  # fmt: skip
        return _text(found, pages.open_pages(path, found.name, order["first"]), order)
    except pages.Unreadable as error:
        return _reading(found, str(error))


def _text(found: FileType, document: Any, order: dict[str, Any]) -> Reading:
    taken: list[str] = []
    room = order["chars"]
    has_more = False
    problem = ""
    try:
        for text in document.texts:
            if room <= 0 or (taken and len(text) > room):
                has_more = True
                break
            if len(text) > order["page_chars"]:
                taken.append(text[: order["page_chars"]])
                has_more = True
                break
            taken.append(text)
            room -= len(text)
    except Exception:
        if not taken:
            raise
        # What was read of it counts; a broken page deep inside hides none before it. The words of
        # the exception stay here: a file can choose them.
        problem = "It is broken after this part: the rest cannot be read."
    if not any(text.strip() for text in taken):
        count = document.count or len(taken)
        if found.name == "pdf" and count:
            problem = "Its pages have no text; they may be scanned pictures."
        else:
            problem = problem or "It has no text."
        return _reading(found, problem, page_count=document.count)
    first = order["first"]
    count = document.count if document.count or has_more else first - 1 + len(taken)
    return _reading(found, problem, pages=taken, first=first, page_count=count, has_more=has_more)


def _bound() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - POSIX only

        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable()
    order = json.loads(sys.stdin.readline(_LONGEST_ORDER))
    _bound()
    try:
        found = _read(order)
    except MemoryError:
        found = _reading(
            file_types.recognise_head(Path(order["path"]), order["name"]),
            "Reading it takes more memory than a file may.",
        )
    except Exception:  # noqa: BLE001 - the outermost edge: whatever a library raised for this file
        found = _reading(
            file_types.recognise_head(Path(order["path"]), order["name"]),
            "It is broken: it cannot be read.",
        )
    row = {name: getattr(found, name) for name in Reading.__slots__}
    for name in ("picture", "thumbnail"):
        row[name] = base64.b64encode(row[name]).decode()
    sys.stdout.write(json.dumps(row))


if __name__ == "__main__":
    main()
