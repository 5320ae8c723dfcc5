"""Encryption of backups: only the passphrase opens one, only whole, and other programs can, too."""

import base64
import io
import tracemalloc
import zipfile
from pathlib import Path

import pyrage
import pytest

from jenny.workspace.backup.encryption import (
    CHUNK_BYTES,
    TAG_BYTES,
    DecryptedFile,
    Encryptor,
    FileKey,
    is_encrypted,
    read_header,
)
from jenny.workspace.errors import BackupRefused, BackupUnreadable

PASSPHRASE = "walnut ferry quilt ninety"
FILES = Path(__file__).parent / "files"
BEFORE_AGE = FILES / "before-age.jenny-backup"
BY_AGE = FILES / "by-the-age-command.zip.age"
FILE_KEY = FileKey.new("secret")
START = len(FILE_KEY.header) + 16
ENCRYPTED = CHUNK_BYTES + TAG_BYTES


def encrypted(data: bytes, file_key: FileKey = FILE_KEY) -> bytes:
    buffer = io.BytesIO()
    encryptor = Encryptor(buffer, file_key)
    for start in range(0, len(data), 10_000):
        encryptor.write(data[start : start + 10_000])
    encryptor.close()
    return buffer.getvalue()


def decrypted(path: Path, data: bytes, key: bytes = FILE_KEY.key) -> bytes:
    """What a file with these bytes holds, all of it checked."""
    path.write_bytes(data)
    with DecryptedFile(path, key) as file:
        file.verify()
        return file.read()


SIZES = [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES, 500_000]


@pytest.mark.parametrize("size", SIZES)
def test_what_was_encrypted_comes_back_whole_and_from_any_place(tmp_path: Path, size: int) -> None:
    """Sizes around a chunk's border are no trouble, and reading may begin anywhere."""
    data = bytes(number % 251 for number in range(size))
    path = tmp_path / "file"
    assert decrypted(path, encrypted(data)) == data
    with DecryptedFile(path, FILE_KEY.key) as file:
        for start in (0, size // 3, max(0, size - 5), size):
            file.seek(start)
            assert file.read() == data[start:]


@pytest.mark.parametrize("size", SIZES)
def test_another_program_opens_it_with_the_passphrase(size: int) -> None:
    """It is an age file: the Rust implementation of age reads it."""
    data = bytes(number % 251 for number in range(size))
    assert pyrage.passphrase.decrypt(encrypted(data), "secret") == data


@pytest.mark.parametrize("path", [BEFORE_AGE, BY_AGE], ids=lambda path: path.name)
def test_files_of_others_are_opened(path: Path) -> None:
    """A backup that Jenny made before backups were age files, and a zip that somebody encrypted
    with the age command: both are whole zips with a manifest."""
    assert is_encrypted(path)
    key = read_header(path).derive(PASSPHRASE)
    with DecryptedFile(path, key) as file:
        file.verify()
        with zipfile.ZipFile(io.BufferedReader(file)) as archive:
            assert archive.testzip() is None
            assert "manifest.json" in archive.namelist()
            assert b"Maru" in archive.read("workspace/memory/history.jsonl")


@pytest.mark.parametrize("path", [BEFORE_AGE, BY_AGE], ids=lambda path: path.name)
def test_their_wrong_passphrase_and_damage_are_told_in_the_same_words(
    tmp_path: Path, path: Path
) -> None:
    data, key = path.read_bytes(), read_header(path).derive(PASSPHRASE)
    for bad in (data[:-1], data + b"x", data[:-1] + bytes([data[-1] ^ 1]), data[:70]):
        with pytest.raises(BackupUnreadable):
            decrypted(tmp_path / "file", bad, key)
    with pytest.raises(BackupUnreadable):
        decrypted(tmp_path / "file", data, read_header(path).derive("walnut ferry quilt"))


def test_every_damage_is_told_in_the_same_words_as_a_wrong_passphrase(tmp_path: Path) -> None:
    """A flipped bit anywhere behind the costs, chunks that are cut off, moved, doubled, added or
    taken from another file: the sentence never says which, and is that of a wrong passphrase."""
    data = bytes(range(256)) * 1_000
    good, path = encrypted(data), tmp_path / "file"
    body = good[START:]
    chunks = [body[start : start + ENCRYPTED] for start in range(0, len(body), ENCRYPTED)]
    head = good[:START]
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
        "of another file": encrypted(data, FileKey.new("secret"))[:START] + body,
        "first byte": b"X" + good[1:],
        "less work": good.replace(b" 16\n", b" 15\n", 1),
    }
    for place in (40, START - 20, START - 1, START, START + ENCRYPTED, len(good) - 1):
        bad[f"bit at {place}"] = good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :]
    sentences = {refusal(name, path, content) for name, content in bad.items()}
    path.write_bytes(good)
    with pytest.raises(BackupUnreadable) as found:
        read_header(path).derive("Secret")
    assert sentences == {found.value.message}


def refusal(name: str, path: Path, content: bytes) -> str:
    """What is said of a damaged file."""
    try:
        decrypted(path, content)
    except BackupUnreadable as error:
        return error.message
    pytest.fail(name)


@pytest.mark.parametrize("log_n", [19, 33, 99])
def test_a_header_that_asks_for_absurd_work_is_refused_before_any_is_done(
    tmp_path: Path, log_n: int
) -> None:
    """A file cannot make the machine work for hours, or take its memory."""
    path = tmp_path / "file"
    path.write_bytes(encrypted(b"x").replace(b" 16\n", b" %d\n" % log_n, 1))
    with pytest.raises(BackupRefused, match="more than 256 MB"):
        read_header(path)


def test_an_old_header_that_jenny_never_wrote_is_refused(tmp_path: Path) -> None:
    """The costs in an old header are not followed, whatever they are."""
    path = tmp_path / "file"
    data = BEFORE_AGE.read_bytes()
    for place in range(8, 22):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(BackupRefused, match="differs from those that Jenny wrote"):
            read_header(path)


def test_a_file_for_a_key_is_told_apart(tmp_path: Path) -> None:
    """An age file that no passphrase opens is refused with what to do."""
    path = tmp_path / "file"
    identity = pyrage.x25519.Identity.generate()
    path.write_bytes(pyrage.encrypt(b"PK", [identity.to_public()]))
    assert is_encrypted(path)
    with pytest.raises(BackupRefused, match="Decrypt it with the age command"):
        read_header(path)


def test_a_passphrase_is_the_same_however_it_is_typed(tmp_path: Path) -> None:
    """A letter with its accent apart opens what the composed letter closed."""
    data = encrypted(b"hello", FileKey.new("p\u00e4ss"))
    path = tmp_path / "file"
    path.write_bytes(data)
    assert decrypted(path, data, read_header(path).derive("pa\u0308ss")) == b"hello"


def test_no_two_files_have_the_same_key() -> None:
    """The same passphrase gives another key each time, and no nonce is ever used twice."""
    one, two = FileKey.new("x"), FileKey.new("x")
    assert one.key != two.key
    assert one.header != two.header
    assert base64.b64encode(one.key)[:-2] not in one.header


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Writing and checking 64 MB takes a few chunks of memory."""
    path, piece = tmp_path / "file", bytes(1 << 20)
    tracemalloc.start()
    try:
        with path.open("wb") as file:
            encryptor = Encryptor(file, FILE_KEY)
            for _ in range(64):
                encryptor.write(piece)
            encryptor.close()
        with DecryptedFile(path, FILE_KEY.key) as opened:
            opened.verify()
            assert opened.size == 64 << 20
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
