"""Zip files that are sent while they are written: kept neither in memory nor on disk."""

import zipfile

CHUNK_BYTES = 256 * 1024


class ZipBuffer:
    """The output of such a zip: what was written and not fetched yet."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_begun = False

    @property
    def is_due(self) -> bool:
        """True when it is time to send: the first bytes at once, then small files together."""
        return self._size >= CHUNK_BYTES or not self._is_begun

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        self._size += len(data)
        return len(data)

    def flush(self) -> None: ...

    def fetch(self) -> bytes:
        """Return what was written since the last call."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._is_begun = True
        return data


def open_zip(buffer: ZipBuffer) -> zipfile.ZipFile:
    """Open a zip in a buffer, which cannot seek: ``zipfile`` only asks for write and flush."""
    archive: zipfile.ZipFile = zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1)  # type: ignore[call-overload]
    return archive
