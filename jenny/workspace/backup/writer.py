"""Write a backup of a workspace as a stream: the files of one snapshot and the tables beside it.

A snapshot is taken for the backup, so all files are of one moment while others go on writing.
"""

import contextlib
import json
import stat
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

from jenny.workspace import names, stat_signature
from jenny.workspace.backup import bundles
from jenny.workspace.backup.format import (
    FILES,
    FORMAT,
    FREE_RATIO_BYTES,
    MANIFEST,
    MOST_DIRECTORY_BYTES,
    MOST_ENTRIES,
    MOST_LEFT_OUT,
    MOST_LEFT_OUT_CHARS,
    MOST_LINE_BYTES,
    MOST_REFS,
    README,
    SNAPSHOTS,
    VERSIONS,
    Manifest,
    Places,
)
from jenny.workspace.errors import BackupRefused
from jenny.workspace.git.store import MAIN
from jenny.workspace.snapshots import reader
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.store import REFS
from jenny.workspace.snapshots.values import FileRow, Snapshot, sized

_BIG = 1 << 31
_SAMPLE = 1 << 14
_WORTH, _LEAST_SHARE = 0.9, 0.02
# One record of the zip directory without its name, with the numbers of a large file.
_LINE_BYTES = 46 + 32
# Reserved for tables, history and manifest.
_SPARE = 20
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
    """The output of the zip: the methods that ``zipfile`` needs of a file that cannot seek."""

    def write(self, data: bytes, /) -> int:
        """Write bytes and return how many."""

    def flush(self) -> None: ...


class _Abandonable:
    """A sink that ignores writes once it is abandoned."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.is_abandoned = False

    def write(self, data: bytes, /) -> int:
        return len(data) if self.is_abandoned else self._sink.write(data)

    def flush(self) -> None:
        """Do nothing: the owner of the sink flushes it."""


class Archive:
    """A zip that is being written, as a context manager. ``close`` ends it with its manifest."""

    def __init__(self, sink: Sink) -> None:
        self._sink = _Abandonable(sink)
        self._zip = zipfile.ZipFile(self._sink, "w", allowZip64=True)  # type: ignore[call-overload]  # what it asks of a file is write and flush
        self._entries = self._directory_bytes = self._unpacked = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # ``zipfile`` writes its directory even after an error; that is dropped.
            self._sink.is_abandoned = True
            with contextlib.suppress(OSError, ValueError):
                self._zip.close()

    def folder(self, name: str, mode: int) -> None:
        info = self._info(f"{name.rstrip('/')}/", stat.S_IFDIR | mode & 0o777, None)
        self._zip.writestr(info, b"")

    def file(
        self, name: str, pieces: Iterable[bytes], *, size: int, mode: int, when: int | None
    ) -> None:
        """Add a file: *size* in bytes, *when* in nanoseconds since 1970 (``None``: unknown)."""
        waiting = iter(pieces)
        first = next(waiting, b"")
        info = self._info(name, stat.S_IFREG | mode & 0o777, when)
        self._unpacked += size
        # Once the whole is large, data that shrinks to nearly nothing is stored uncompressed: a
        # reader takes a zip that unpacks to a hundred times its size for a zip bomb.
        least = _LEAST_SHARE if self._unpacked > FREE_RATIO_BYTES // 2 else 0.0
        is_packed = least < _share(first) < _WORTH
        info.compress_type = zipfile.ZIP_DEFLATED if is_packed else zipfile.ZIP_STORED
        # ZipFile.open takes no level, but reads it from here.
        info._compresslevel = 1  # type: ignore[attr-defined]  # noqa: SLF001 - zipfile has no public name for it
        with self._zip.open(info, "w", force_zip64=size >= _BIG) as target:
            target.write(first)
            for piece in waiting:
                target.write(piece)

    def stream(self, name: str, write: Callable[[Write], object]) -> None:
        info = self._info(name, stat.S_IFREG | 0o644, time.time_ns())
        with self._zip.open(info, "w", force_zip64=True) as target:
            write(target.write)

    def lines(self, name: str, rows: Iterable[Mapping[str, Any]]) -> int:
        """Write one line of JSON for each row and return how many."""
        count = 0

        def pieces() -> Iterator[bytes]:
            nonlocal count
            for row in rows:
                count += 1
                yield json_line(row)

        self.file(name, pieces(), size=_BIG, mode=0o644, when=time.time_ns())
        return count

    def close(self, manifest: Manifest) -> None:
        text = _TEXT.format(**asdict(manifest))
        for name, data in ((README, text), (MANIFEST, json.dumps(_told(manifest), indent=1))):
            info = self._info(name, stat.S_IFREG | 0o644, time.time_ns())
            self._zip.writestr(info, data.encode())
        self._zip.close()

    def _info(self, name: str, mode: int, when: int | None) -> zipfile.ZipInfo:
        """Return the zip directory record of an entry.

        Raises:
            BackupRefused: there are more entries than a backup may hold.
        """
        info = zipfile.ZipInfo(name)
        info.create_system = 3  # Unix: its permissions are in the upper half
        info.external_attr = mode << 16
        if when is not None:
            stat_signature.set_zip_time(info, when)
        self._entries += 1
        self._directory_bytes += _LINE_BYTES + len(name.encode()) + len(info.extra)
        if self._entries > MOST_ENTRIES - _SPARE or self._directory_bytes > MOST_DIRECTORY_BYTES:
            raise BackupRefused(
                f"The workspace has more files than a backup can hold ({MOST_ENTRIES:,}, with "
                "names of a usual length). None was made. Move some out of it, then try again."
            )
        return info


def json_line(row: Mapping[str, Any]) -> bytes:
    """Return a row as a line of JSON.

    NULs and lone surrogates, which databases refuse, are replaced.
    """
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    if "\\u0000" in text:  # a NUL, or a text that mentions one
        text = json.dumps(_without_nul(row), ensure_ascii=False, separators=(",", ":"))
    data = text.encode("utf-8", "replace") + b"\n"
    if len(data) > MOST_LINE_BYTES:
        raise BackupRefused("A message is longer than a backup can hold. None was made.")
    return data


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, Mapping):
        return {_without_nul(name): _without_nul(one) for name, one in value.items()}
    return [_without_nul(one) for one in value] if isinstance(value, list) else value


def _told(manifest: Manifest) -> dict[str, Any]:
    return {"jenny backup": FORMAT} | asdict(manifest)


def _share(data: bytes) -> float:
    """Return the compression ratio of the beginning of the data."""
    sample = data[:_SAMPLE]
    return len(zlib.compress(sample, 1)) / len(sample) if sample else 1.0


type Row = Mapping[str, Any]
type Progress = Callable[[int, int, str], None] | None
type Report = Callable[[int, str], None]


@dataclass(frozen=True)
class Contents:
    """The contents of a backup.

    The snapshot *shot* of the store *repo*; the store of versions *git_dir*, if any; tables of rows
    by their names in the zip; a flag for earlier states; sentences about what the tables leave out,
    which are added while the tables are read.
    """

    repo: Objects
    shot: Snapshot
    git_dir: Path | None
    tables: Mapping[str, Iterable[Row]] = field(default_factory=dict)
    with_history: bool = True
    left_out: list[str] = field(default_factory=list)


def write_backup(
    sink: Sink, contents: Contents, manifest: Manifest, progress: Progress = None
) -> Manifest:
    """Write the zip to *sink* and return the manifest with all counts.

    Raises:
        StoreBroken: a file or an earlier state is damaged.
        BackupRefused: there is more than a backup may hold.
        OSError: the disk refused.
    """
    half = max(contents.shot.size, 1)
    whole = 2 * half if contents.with_history else half

    def report(done: int, doing: str) -> None:
        if progress is not None:
            progress(min(done, whole), whole, doing)

    with Archive(sink) as archive:
        manifest = _files(archive, contents, manifest, report)
        counts: dict[str, int] = {}
        for name, rows in contents.tables.items():
            report(half, "Conversations and ledgers are written.")
            counts[name] = archive.lines(name, _counted(rows, counts))
        manifest = replace(
            manifest,
            left_out=_bounded((*manifest.left_out, *contents.left_out)),
            conversations=counts.get("kind conversation", 0),
            messages=counts.get("kind message", 0),
        )
        if contents.with_history:
            manifest = _history(archive, contents, manifest, report)
        archive.close(manifest)
    return manifest


def _files(archive: Archive, contents: Contents, manifest: Manifest, report: Report) -> Manifest:
    repo, shot, places = contents.repo, contents.shot, Places()
    left_out = [row.message for row in reader.read_skipped(repo, shot)]
    done = files = 0
    for row in reader.list_files(repo, shot):
        if why := places.problem(row.path, is_folder=row.is_folder):
            left_out.append(_left_out(row, why))
        elif row.is_folder:
            archive.folder(FILES + row.path, row.mode)
        else:
            size = repo.size(row.sha)
            archive.file(
                FILES + row.path, reader.read_content(repo, row), size=size, mode=row.mode,
                when=row.modified,
            )  # fmt: skip
            done, files = done + size, files + 1
            report(done, f"{sized(done)} of {sized(shot.size)} of files are written.")
    return replace(manifest, files=files, size=done, left_out=tuple(left_out))


def _bounded(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sentences, or as many as a manifest holds."""
    room, kept = MOST_LEFT_OUT_CHARS, []
    for message in sentences[:MOST_LEFT_OUT]:
        room -= len(json.dumps(message))
        if room < 0:
            break
        kept.append(message)
    if more := len(sentences) - len(kept):
        kept.append(f"{more:,} more are left out.")
    return tuple(kept)


def _left_out(row: FileRow, why: str) -> str:
    return f"{names.shown(row.path)} is only in the earlier states, since its name {why}."


def _counted(rows: Iterable[Row], counts: dict[str, int]) -> Iterable[Row]:
    for row in rows:
        kind = f"kind {row.get('row')}"
        counts[kind] = counts.get(kind, 0) + 1
        yield row


def _history(archive: Archive, contents: Contents, manifest: Manifest, report: Report) -> Manifest:
    repo, half = contents.repo, max(contents.shot.size, 1)

    def report_progress(done: int, total: int) -> None:
        report(half + half * done // total, "Earlier states are written.")

    shots = {name: sha for name, sha in repo.refs(REFS).items() if bundles.REF.fullmatch(name)}
    if len(shots) > MOST_REFS:
        raise BackupRefused(
            f"The workspace has more than {MOST_REFS:,} snapshots, which a backup cannot hold. "
            "None was made. Delete some, or export without the history."
        )
    archive.stream(SNAPSHOTS, lambda out: bundles.write_bundle(repo, shots, out, report_progress))
    versions = 0
    if contents.git_dir is not None:
        with Objects(contents.git_dir) as store:
            tip = store.ref(MAIN)
            if tip is not None:
                archive.stream(VERSIONS, lambda out: bundles.write_bundle(store, {MAIN: tip}, out))
                versions = _depth(store, tip)
    return replace(manifest, snapshots=len(shots), versions=versions)


def _depth(store: Objects, tip: str) -> int:
    count, here = 0, tip
    while True:
        count += 1
        above = store.commit(here).parent
        if above is None:
            return count
        here = above
