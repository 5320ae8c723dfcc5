"""Encryption of backups: only the passphrase opens one, and only whole."""

import io
import struct
from pathlib import Path

import pytest

from jenny.workspace.backup import encryption
from jenny.workspace.backup.encryption import (
    HEADER_BYTES,
    TAG_BYTES,
    Header,
    Opened,
    Sealer,
    header_of,
)
from jenny.workspace.errors import BackupRefused, BackupUnreadable

CHUNK = 4096
SEALED = CHUNK + TAG_BYTES
HEADER = Header(encryption.SCRYPT, 15, 8, 1, 0, CHUNK, b"s" * 32, b"p" * 7)
KEY = HEADER.derive("secret")


def sealed(data: bytes, header: Header = HEADER, key: bytes = KEY) -> bytes:
    """*data* encrypted."""
    buffer = io.BytesIO()
    sealer = Sealer(buffer, header, key)
    for start in range(0, len(data), 1000):
        sealer.write(data[start : start + 1000])
    sealer.close()
    return buffer.getvalue()


def opened(path: Path, data: bytes, key: bytes = KEY) -> bytes:
    """What a file with these bytes holds, all of it checked."""
    path.write_bytes(data)
    with Opened(path, key) as file:
        file.verify()
        return file.read()


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 50_000])
def test_what_was_sealed_comes_back_whole_and_from_any_place(tmp_path: Path, size: int) -> None:
    """Sizes around a chunk's border are no trouble, and reading may begin anywhere."""
    data = bytes(number % 251 for number in range(size))
    path = tmp_path / "file"
    assert opened(path, sealed(data)) == data
    with Opened(path, KEY) as file:
        for start in (0, size // 3, max(0, size - 5), size):
            file.seek(start)
            assert file.read() == data[start:]


def test_every_damage_is_told_in_the_same_words_as_a_wrong_passphrase(tmp_path: Path) -> None:
    """A flipped bit anywhere behind the costs, chunks that are cut off, moved, doubled, added or
    taken from another file: the sentence never says which, and is that of a wrong passphrase."""
    data = bytes(range(256)) * 64
    good, path = sealed(data), tmp_path / "file"
    body = good[HEADER_BYTES:]
    chunks = [body[start : start + SEALED] for start in range(0, len(body), SEALED)]
    head = good[:HEADER_BYTES]
    other = sealed(data, Header(encryption.SCRYPT, 15, 8, 1, 0, CHUNK, b"t" * 32, b"q" * 7))
    bad = {
        "truncated": good[:-1],
        "last chunk gone": head + b"".join(chunks[:-1]),
        "only the header": head,
        "half a header": head[:20],
        "a byte more": good + b"x",
        "a chunk more": good + chunks[-1],
        "swapped": head + chunks[1] + chunks[0] + b"".join(chunks[2:]),
        "doubled": head + chunks[0] + b"".join(chunks),
        "dropped": head + b"".join(chunks[1:]),
        "of another file": other[:HEADER_BYTES] + body,
        "first byte": b"X" + good[1:],
    }
    for place in (20, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + SEALED, len(good) - 1):
        bad[f"bit at {place}"] = good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :]
    sentences = set()
    for name, content in bad.items():
        sentences.add(refusal(name, path, content))
    with pytest.raises(BackupUnreadable) as found:
        opened(path, good, HEADER.derive("Secret"))
    assert sentences == {found.value.message}


def refusal(name: str, path: Path, content: bytes) -> str:
    """What is said of a damaged file."""
    try:
        opened(path, content)
    except BackupUnreadable as error:
        return error.message
    pytest.fail(name)


def absurd() -> dict[str, bytes]:
    """Headers that ask for what no backup takes."""

    def head(*values: object) -> bytes:
        return encryption._HEADER.pack(encryption.MAGIC, *values, b"s" * 32, b"p" * 7)

    return {
        "a terabyte of memory": head(1, 1, 33, 8, 1, 0, CHUNK),
        "wide blocks": head(1, 1, 16, 255, 1, 0, CHUNK),
        "many lanes": head(1, 1, 16, 8, 255, 0, CHUNK),
        "almost no work": head(1, 1, 1, 8, 1, 0, CHUNK),
        "four billion rounds": head(1, 2, 0, 0, 0, 0xFFFFFFFF, CHUNK),
        "too few rounds": head(1, 2, 0, 0, 0, 599_999, CHUNK),
        "costly product": head(1, 1, 18, 8, 4, 0, CHUNK),
        "unknown derivation": head(1, 3, 16, 8, 1, 0, CHUNK),
        "huge chunks": head(1, 1, 16, 8, 1, 0, 0xFFFFFFFF),
        "no chunks": head(1, 1, 16, 8, 1, 0, 0),
        "older version": head(0, 1, 16, 8, 1, 0, CHUNK),
    }


@pytest.mark.parametrize("name", absurd())
def test_a_header_that_asks_for_absurd_work_is_refused_before_any_is_done(
    tmp_path: Path, name: str
) -> None:
    """A file cannot make the machine work for hours, or be cheap to guess at."""
    path = tmp_path / "file"
    path.write_bytes(absurd()[name] + bytes(5000))
    with pytest.raises(BackupRefused, match="asks for more work, or for less"):
        header_of(path)


def test_a_newer_format_is_told_apart(tmp_path: Path) -> None:
    """What a later Jenny made is refused with what to do."""
    path = tmp_path / "file"
    path.write_bytes(HEADER.data[:8] + b"\2" + HEADER.data[9:] + bytes(5000))
    with pytest.raises(BackupRefused, match=r"format 2.*Update Jenny"):
        header_of(path)


def test_pbkdf2_opens_what_it_sealed(tmp_path: Path) -> None:
    """The other derivation that the format knows works."""
    header = Header(encryption.PBKDF2, 0, 0, 0, 600_000, CHUNK, b"s" * 32, b"p" * 7)
    key = header.derive("päss")
    assert opened(tmp_path / "file", sealed(b"hello", header, key), key) == b"hello"
    assert struct.unpack(">I", header.data[14:18]) == (600_000,)


def test_no_two_files_have_the_same_key() -> None:
    """The same passphrase gives another key each time, so that no nonce is ever used twice."""
    one, two = Header.new(), Header.new()
    assert one.salt != two.salt
    assert one.derive("x") != two.derive("x")
