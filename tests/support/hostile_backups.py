"""Backups that nobody should have made: each is refused whole, before anything is written."""

import io
import json
import stat
import struct
import subprocess
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from hashlib import sha1
from pathlib import Path

MANIFEST = {
    "jenny backup": 1,
    "source": "0b0e3a3e-2c1f-4f0a-9d8e-000000000001",
    "name": "stranger",
    "made": "2026-01-02T03:04:05+00:00",
    "version": "1.0",
    "files": 1,
    "size": 3,
    "conversations": 0,
    "messages": 0,
    "snapshots": 0,
    "versions": 0,
    "left_out": [],
}
CHAT = {"kind": "conversation", "id": "5f0f3cb0-16d4-4a0b-8a5c-3f3d6a0d7f11"}


def zipped(fill: Callable[[zipfile.ZipFile], None], manifest: object = MANIFEST) -> bytes:
    """A zip with a manifest, a file, and what *fill* puts in."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that are there twice
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("workspace/notes.txt", b"hi\n")
            fill(archive)
            if manifest is not None:
                text = manifest if isinstance(manifest, str) else json.dumps(manifest)
                archive.writestr("manifest.json", text)
    return buffer.getvalue()


def named(*files: str) -> bytes:
    """With files of these names in the workspace."""

    def fill(archive: zipfile.ZipFile) -> None:
        for name in files:
            archive.writestr(f"workspace/{name}", b"evil\n")

    return zipped(fill)


def typed(mode: int, name: str = "workspace/odd") -> bytes:
    """With an entry of that type."""

    def fill(archive: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo(name)
        info.create_system = 3
        info.external_attr = mode << 16
        archive.writestr(info, b"/etc/passwd")

    return zipped(fill)


def part(name: str, data: bytes | str) -> bytes:
    """With a part beside the workspace's files."""
    return zipped(lambda archive: archive.writestr(name, data))


def told(**changes: object) -> bytes:
    """With another manifest."""
    return zipped(lambda archive: None, MANIFEST | changes)


def bomb() -> bytes:
    """Three gigabytes of nothing, in three megabytes: the first part of each flood is real."""

    def fill(archive: zipfile.ZipFile) -> None:
        for number in range(3):
            archive.writestr(f"workspace/zeros-{number}", bytes(1_000_000))

    return sized(zipped(fill), b"zeros-", 1_000_000_000)


def liar() -> bytes:
    """A file that says it is small, and is not."""
    data = zipped(lambda archive: archive.writestr("workspace/zeros", bytes(1_000_000)))
    return sized(data, b"zeros", 10)


def sized(data: bytes, name: bytes, size: int) -> bytes:
    """The zip with another size told of files of that name."""
    out, at = bytearray(data), 0
    while (at := out.find(b"PK\1\2", at + 1)) > 0:
        if out[at + 46 :].startswith(b"workspace/" + name):
            out[at + 24 : at + 28] = size.to_bytes(4, "little")
    return bytes(out)


def overlapping() -> bytes:
    """Two entries that share their bytes."""
    data = bytearray(zipped(lambda archive: archive.writestr("workspace/twin.txt", b"hi\n")))
    first = data.find(b"PK\1\2")
    second = data.find(b"PK\1\2", first + 4)
    data[second + 42 : second + 46] = data[first + 42 : first + 46]
    return bytes(data)


def crc_wrong() -> bytes:
    """A file whose checksum is another one."""
    data = bytearray(zipped(lambda archive: None))
    at = data.find(b"PK\1\2")
    data[at + 16] ^= 1
    return bytes(data)


def hidden_name() -> bytes:
    """A name that ends earlier for some readers than for others."""
    data = named("innocent.txtX.exe")
    return data.replace(b"innocent.txtX.exe", b"innocent.txt\0.exe")


def locked() -> bytes:
    """An entry with a password of its own."""
    data = bytearray(zipped(lambda archive: None))
    at = data.find(b"PK\1\2")
    data[at + 8] |= 1
    return bytes(data)


def many() -> bytes:
    """A directory that says it has millions of entries."""
    data = bytearray(zipped(lambda archive: None))
    at = data.rfind(b"PK\5\6")
    head = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1 << 40, 1 << 40, 1 << 50, 0)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
    return bytes(data[:at]) + head + locator + bytes(data[at:])


def lines(*rows: object) -> bytes:
    """With these rows as conversations."""
    text = "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)
    return part("conversations.jsonl", text)


def object_in_pack(number: int, data: bytes, *, claimed: int | None = None) -> bytes:
    """An object as a pack has it, with a size that may be a lie."""
    size = len(data) if claimed is None else claimed
    head, rest = (number << 4) | (size & 15), size >> 4
    out = bytearray()
    while rest:
        out.append(head | 0x80)
        head, rest = rest & 0x7F, rest >> 7
    out.append(head)
    return bytes(out) + zlib.compress(data)


def bundle(
    refs: str, *objects: bytes, count: int | None = None, tail: bytes | None = None
) -> bytes:
    """A bundle of these objects."""
    amount = len(objects) if count is None else count
    pack = b"PACK" + struct.pack(">II", 2, amount) + b"".join(objects)
    total = sha1(pack, usedforsecurity=False).digest() if tail is None else tail
    return b"# v2 git bundle\n" + refs.encode() + b"\n" + pack + total


def history(data: bytes, name: str = "versions") -> bytes:
    """With that history."""
    return part(f"history/{name}.bundle", data)


def _sha(kind: str, data: bytes) -> str:
    return sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


def committed(tree: bytes, *more: bytes, subject: str = "dream: evil") -> bytes:
    """A bundle of a commit of that tree."""
    commit = (
        f"tree {_sha('tree', tree)}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\n{subject}"
    ).encode()
    refs = f"{_sha('commit', commit)} refs/heads/main\n"
    return bundle(refs, object_in_pack(1, commit), object_in_pack(2, tree), *more)


def tree_of(name: bytes, mode: bytes = b"100644", data: bytes = b"x") -> bytes:
    """A folder with one entry."""
    return mode + b" " + name + b"\0" + bytes.fromhex(_sha("blob", data))


def with_file(name: bytes, mode: bytes = b"100644") -> bytes:
    """A history of a folder with one file of that name."""
    return history(committed(tree_of(name, mode), object_in_pack(3, b"x")))


def of_git() -> bytes:
    """A bundle as git makes it, with a branch of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)

        def git(*words: str) -> None:
            subprocess.run(
                ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
                cwd=path, check=True, capture_output=True,
            )  # fmt: skip

        git("init", "-q", "-b", "stranger")
        (path / "a").write_text("x")
        git("add", "a")
        git("commit", "-q", "-m", "x")
        git("bundle", "create", "b", "stranger")
        return history((path / "b").read_bytes())


_ID = "a" * 40
_DEEP = '{"kind":"conversation","id":' + "[" * 100_000 + "]" * 100_000 + "}\n"
_BLOB = object_in_pack(3, b"x")
_REF = f"{_sha('blob', b'x')} refs/heads/main\n"


def every() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Names and makers."""
    yield from _PATHS
    yield from _ZIPS
    yield from _HISTORIES
    yield from _ROWS


_PATHS: list[tuple[str, Callable[[], bytes]]] = [
    ("up", lambda: named("../evil.txt")),
    ("far up", lambda: named("a/../../../../etc/cron.d/evil")),
    ("absolute", lambda: named("/etc/evil")),
    ("absolute entry", lambda: part("/etc/evil", "x")),
    ("drive letter", lambda: named("C:evil.txt")),
    ("drive path", lambda: named("C:\\Windows\\evil.txt")),
    ("backslash", lambda: named("..\\evil.txt")),
    ("encoded up", lambda: named("%2e%2e/evil.txt")),
    ("double encoded", lambda: named("%252e%252e%252fevil")),
    ("look-alike slash", lambda: named("a\uff0fb")),
    ("home", lambda: named("~root")),
    ("empty part", lambda: named("a//b")),
    ("dot part", lambda: named("a/./b")),
    ("twice", lambda: named("a.txt", "a.txt")),
    ("case clash", lambda: named("Notes/a.txt", "notes/b.txt")),
    ("case clash of files", lambda: named("NOTES.txt")),
    ("unicode clash", lambda: named("caf\u00e9.md", "cafe\u0301.md")),
    ("file and folder", lambda: named("a", "a/b")),
    ("device", lambda: named("CON")),
    ("device with suffix", lambda: named("aux.txt")),
    ("end dot", lambda: named("config.json.")),
    ("bidi", lambda: named("gpj.\u202eexe")),
    ("too long", lambda: named("n" * 300)),
    ("too deep", lambda: named("/".join(["d"] * 300))),
    ("git hook", lambda: named(".git/hooks/post-checkout")),
    ("git of a wiki", lambda: named("wikis/a/.GIT/config")),
    ("disguised git", lambda: named("wikis/a/.g\u200cit/config")),
    ("own versions", lambda: named("memory/.git/config")),
    ("own lock", lambda: named(".jenny/workspace.lock")),
    ("own journal", lambda: named(".jenny/journal/swap-0000000000000000.json")),
    ("history lock", lambda: named("memory/.history.lock")),
    ("temporary file", lambda: named("memory/.jenny-0123456789abcdef.tmp")),
    ("link", lambda: typed(stat.S_IFLNK | 0o777)),
    ("device node", lambda: typed(stat.S_IFCHR | 0o666)),
    ("pipe", lambda: typed(stat.S_IFIFO | 0o666)),
    ("folder that is a link", lambda: typed(stat.S_IFLNK | 0o777, "workspace/odd/")),
    ("foreign part", lambda: part("keys.json", "{}")),
    ("part twice", lambda: zipped(lambda archive: archive.writestr("manifest.json", "{}"))),
    ("hidden name", hidden_name),
]
_ZIPS: list[tuple[str, Callable[[], bytes]]] = [
    ("no zip", lambda: b"GIF89a" + bytes(1000)),
    ("empty", lambda: b""),
    ("cut short", lambda: zipped(lambda archive: None)[:-30]),
    ("bomb", bomb),
    ("liar", liar),
    ("overlapping", overlapping),
    ("wrong checksum", crc_wrong),
    ("password", locked),
    ("millions of entries", many),
    ("no manifest", lambda: zipped(lambda archive: None, None)),
    ("manifest is no JSON", lambda: zipped(lambda archive: None, "{")),
    ("manifest is a list", lambda: zipped(lambda archive: None, [1])),
    ("newer format", lambda: told(**{"jenny backup": 2})),
    ("format is a word", lambda: told(**{"jenny backup": "1"})),
    ("counts are negative", lambda: told(files=-1)),
    ("unknown fact", lambda: told(hook="rm -rf")),
]
_HISTORIES: list[tuple[str, Callable[[], bytes]]] = [
    ("bundle of git's", of_git),
    ("bundle is text", lambda: history(b"hello\n\n")),
    ("bundle version 3", lambda: history(b"# v3 git bundle\n\n")),
    ("reference up", lambda: history(bundle(f"{_ID} refs/heads/../../config\n"))),
    ("reference HEAD", lambda: history(bundle(f"{_ID} HEAD\n"))),
    ("reference is an option", lambda: history(bundle(f"{_ID} --upload-pack=evil\n"))),
    ("id is none", lambda: history(bundle("nothing refs/heads/main\n"))),
    ("prerequisite", lambda: history(bundle(f"-{_ID} x\n{_ID} refs/heads/main\n"))),
    ("reference to nothing", lambda: history(bundle(f"{_ID} refs/heads/main\n", _BLOB))),
    ("reference to a file", lambda: history(bundle(_REF, _BLOB))),
    ("pack cut short", lambda: history(bundle(_REF, _BLOB, count=9))),
    ("pack with wrong sum", lambda: history(bundle(_REF, _BLOB, tail=bytes(20)))),
    ("pack with a rest", lambda: history(bundle(_REF, _BLOB) + b"rest")),
    ("object twice", lambda: history(bundle(_REF, _BLOB, _BLOB))),
    ("object lies long", lambda: history(bundle(_REF, object_in_pack(3, b"x", claimed=9)))),
    ("object lies short", lambda: history(bundle(_REF, object_in_pack(3, b"xyz", claimed=1)))),
    ("delta", lambda: history(bundle(_REF, object_in_pack(6, b"\x01\x01x")))),
    ("tag", lambda: history(bundle(_REF, object_in_pack(4, b"x")))),
    ("tree with ..", lambda: with_file(b"..")),
    ("tree with a path", lambda: with_file(b"a/b")),
    ("tree with .git", lambda: with_file(b".git")),
    ("tree with a coded .git", lambda: with_file(b"%2Egit")),
    ("tree with a link", lambda: with_file(b"evil", b"120000")),
    ("tree with a repository", lambda: with_file(b"evil", b"160000")),
    ("tree without its file", lambda: history(committed(tree_of(b"a")))),
    ("snapshot that is none", lambda: history(
        committed(tree_of(b"a"), object_in_pack(3, b"x")).replace(
            b"refs/heads/main", b"refs/snapshots/1-aaaaaaaa"), "snapshots")),
]  # fmt: skip
_ROWS: list[tuple[str, Callable[[], bytes]]] = [
    ("rows are no JSON", lambda: lines("nonsense\n")),
    ("row is a list", lambda: lines([1])),
    ("row is deep", lambda: lines(_DEEP)),
    ("row is not UTF-8", lambda: part("conversations.jsonl", b'{"kind":"\xff"}\n')),
    ("half a character", lambda: lines('{"kind":"conversation","title":"\\ud800"}\n')),
    ("NUL", lambda: lines('{"kind":"conversation","title":"a\\u0000b"}\n')),
    ("infinity", lambda: lines('{"kind":"conversation","n":Infinity}\n')),
]
