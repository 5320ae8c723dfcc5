"""Writing the zip of a backup in one go: nothing is kept in memory, or on disk beside it."""

import json
import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Protocol

from jenny.workspace.backup.values import FORMAT, MANIFEST, README, Manifest

_EARLIEST = (1980, 1, 1, 0, 0, 0)
_LATEST = (2107, 12, 31, 23, 59, 58)
_STAMP = struct.Struct("<HHBl")
_STAMP_ID, _STAMP_BYTES = 0x5455, 5
_BIG = 1 << 31
_SAMPLE = 1 << 14
_WORTH = 0.9
_TEXT = """\
A backup of the workspace “{name}”, made by Jenny {version} at {made}.

workspace/            your files, as they were
conversations.jsonl   what was said: one piece of JSON on each line
history/              earlier states, as git bundles (git clone reads them)
ledgers/              what Jenny knows of where each line of its memory comes from

No API keys, passwords or sessions are in it. Jenny takes it back under Settings → Backup.
"""

type Write = Callable[[bytes], object]


class Sink(Protocol):
    """Where the zip goes; what ``zipfile`` asks of a file that cannot be wound back."""

    def write(self, data: bytes, /) -> int:
        """Take bytes."""

    def flush(self) -> None:
        """Nothing needs to be done."""


class Archive:
    """A zip in the making. ``close`` ends it with its manifest."""

    def __init__(self, sink: Sink) -> None:
        self._zip = zipfile.ZipFile(sink, "w", allowZip64=True)  # type: ignore[call-overload]  # what it asks of a file is write and flush

    def folder(self, name: str, mode: int) -> None:
        """A folder, with its permissions."""
        info = _info(f"{name.rstrip('/')}/", stat.S_IFDIR | mode & 0o777, 0)
        self._zip.writestr(info, b"")

    def file(self, name: str, pieces: Iterable[bytes], *, size: int, mode: int, when: int) -> None:
        """A file: *size* in bytes, *mode* its permissions, *when* it was written (nanoseconds
        since 1970)."""
        waiting = iter(pieces)
        first = next(waiting, b"")
        info = _info(name, stat.S_IFREG | mode & 0o777, when)
        info.compress_type = zipfile.ZIP_DEFLATED if _shrinks(first) else zipfile.ZIP_STORED
        # ZipFile.open takes no level, but reads it from here.
        info._compresslevel = 1  # type: ignore[attr-defined]  # noqa: SLF001 - zipfile has no public name for it
        with self._zip.open(info, "w", force_zip64=size >= _BIG) as target:
            target.write(first)
            for piece in waiting:
                target.write(piece)

    def stream(self, name: str, write: Callable[[Write], object]) -> None:
        """What *write* writes, as it is."""
        info = _info(name, stat.S_IFREG | 0o644, time.time_ns())
        with self._zip.open(info, "w", force_zip64=True) as target:
            write(target.write)

    def lines(self, name: str, rows: Iterable[Mapping[str, Any]]) -> int:
        """A line of JSON for each row; how many."""
        count = 0

        def pieces() -> Iterator[bytes]:
            nonlocal count
            for row in rows:
                count += 1
                yield line(row)

        self.file(name, pieces(), size=_BIG, mode=0o644, when=time.time_ns())
        return count

    def close(self, manifest: Manifest) -> None:
        """End the zip."""
        text = _TEXT.format(**asdict(manifest))
        for name, data in ((README, text), (MANIFEST, json.dumps(_told(manifest), indent=1))):
            info = _info(name, stat.S_IFREG | 0o644, time.time_ns())
            self._zip.writestr(info, data.encode())
        self._zip.close()


def line(row: Mapping[str, Any]) -> bytes:
    """A row as a line. A NUL, or half of a character, which no database keeps, is replaced."""
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    if "\\u0000" in text:  # a NUL, or a text that speaks of one
        text = json.dumps(_without_nul(row), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, Mapping):
        return {_without_nul(name): _without_nul(one) for name, one in value.items()}
    return [_without_nul(one) for one in value] if isinstance(value, list) else value


def _told(manifest: Manifest) -> dict[str, Any]:
    return {"jenny backup": FORMAT} | asdict(manifest)


def _shrinks(data: bytes) -> bool:
    sample = data[:_SAMPLE]
    return not sample or len(zlib.compress(sample, 1)) < _WORTH * len(sample)


def _info(name: str, mode: int, when: int) -> zipfile.ZipInfo:
    """An entry's line. Whole seconds in UTC stand beside what a zip tells of its own time."""
    seconds = max(0, when // 1_000_000_000)
    info = zipfile.ZipInfo(name, min(max(_EARLIEST, time.gmtime(seconds)[:6]), _LATEST))
    info.create_system = 3  # Unix: its permissions stand in the upper half
    info.external_attr = mode << 16
    if 0 < seconds < _BIG:
        info.extra = _STAMP.pack(_STAMP_ID, _STAMP_BYTES, 1, seconds)
    return info


def modified(info: zipfile.ZipInfo) -> int:
    """When the file of an entry was written, in nanoseconds since 1970; 0: it does not say."""
    extra = info.extra
    while len(extra) >= 4:  # noqa: PLR2004  (an id and a length)
        kind, length = struct.unpack_from("<HH", extra)
        if kind == _STAMP_ID and length >= _STAMP_BYTES and len(extra) >= _STAMP.size:
            seconds = int(_STAMP.unpack_from(extra)[3])
            return max(0, seconds) * 1_000_000_000
        extra = extra[4 + length :]
    return 0
