"""A damaged store is found out, said, and made whole where the workspace still can."""

import os
import subprocess
from pathlib import Path

import pytest

from jenny.workspace.errors import StoreBroken
from jenny.workspace.snapshots import reader, retention
from tests.workspace.snapshots.conftest import contents, fsck, on_disk, put


def packs(store) -> list[Path]:
    """The store's packs, oldest first."""
    return sorted(
        (store.path / "objects/pack").glob("*.pack"), key=lambda path: path.stat().st_mtime_ns
    )


def overwrite(path: Path, start: int, data: bytes) -> None:
    """Damage a file."""
    path.chmod(0o600)
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)


def verified(store) -> dict[int, list[str]]:
    """What is wrong with each snapshot."""
    with store.open() as repo:
        return {
            shot.number: reader.verify_snapshot(repo, shot) for shot in reader.list_snapshots(store)
        }


def test_a_sound_store(store, root, take):
    """Nothing is said where nothing is wrong, nor where there is no store."""
    assert list(reader.check_snapshots(store)) == []
    take()
    put(root, "USER.md", b"2")
    take()
    assert list(reader.check_snapshots(store)) == []
    assert verified(store) == {1: [], 2: []}


def test_every_flipped_byte_is_noticed(store, root, take):
    """Whichever byte of a pack is damaged, the content is never taken for right."""
    shot = take().snapshot
    right = contents(store, shot)
    (pack,) = packs(store)
    whole = pack.read_bytes()
    for place in range(12, len(whole) - 20, 97):
        overwrite(pack, place, bytes([whole[place] ^ 0x55]))
        try:
            assert contents(store, shot) == right
        except StoreBroken:
            assert list(reader.check_snapshots(store))
        overwrite(pack, place, whole[place : place + 1])
    assert verified(store) == {1: []}


def test_what_is_lost_is_named(store, root, take):
    """A damaged file is named with its path, in the snapshots that hold it and in no other."""
    put(root, "victim.bin", os.urandom(50_000))
    take()
    put(root, "victim.bin", b"small")
    take()
    first, _ = packs(store)
    overwrite(first, first.stat().st_size // 2, b"\0" * 10_000)
    found = verified(store)
    assert found[2] == [] or all("victim" not in told for told in found[2])
    assert any("“victim.bin”: it is missing or damaged." in told for told in found[1])


def test_a_lost_pack_is_found_and_saved_anew(store, root, take):
    """When a pack is gone, the check says so; reading everything again makes the newest whole."""
    shot = take().snapshot
    put(root, "later.md", b"later")
    second = take().snapshot
    first, _ = packs(store)
    first.unlink()
    first.with_suffix(".idx").unlink()
    told = list(reader.check_snapshots(store))
    assert any(shot.id in message for message in told)
    assert any(second.id in message for message in told)
    outcome = take(reread=True)
    assert contents(store, outcome.snapshot) == on_disk(root)
    assert verified(store)[outcome.snapshot.number] == []


def test_a_daily_look_finds_what_is_missing(store, root, take):
    """The daily snapshot does not rely on a content that the store has lost."""
    put(root, "big.bin", b"x" * 1000)
    take()
    (pack,) = packs(store)
    pack.unlink()
    pack.with_suffix(".idx").unlink()
    put(root, "new.md", b"new")
    outcome = take("daily")
    assert contents(store, outcome.snapshot) == on_disk(root)


@pytest.mark.parametrize("damage", [b"", b"\0" * 2000, b"\xfftOc\0\0\0\x02" + b"\xff" * 100])
def test_a_damaged_index_is_set_aside(store, root, take, damage):
    """A pack that cannot be opened is said to be damaged, set aside, and its content saved anew."""
    take()
    (pack,) = packs(store)
    index = pack.with_suffix(".idx")
    index.chmod(0o600)
    index.write_bytes(damage)
    assert list(reader.check_snapshots(store))
    assert retention.set_aside_broken(store) == [index.name]
    outcome = take(reread=True)
    assert contents(store, outcome.snapshot) == on_disk(root)
    assert verified(store)[outcome.snapshot.number] == []


def test_a_damaged_reference(store, root, take):
    """A reference that holds no id is named; the other snapshots stay usable."""
    first = take().snapshot
    put(root, "USER.md", b"2")
    take()
    (store.path / "refs/snapshots" / first.id).write_text("nonsense\n")
    assert any(first.id in told for told in reader.check_snapshots(store))
    (store.own / "list.jsonl").unlink()
    assert [shot.number for shot in reader.list_snapshots(store)] == [2]
    put(root, "USER.md", b"3")
    assert take().snapshot.number == 3


def test_another_gits_housekeeping_does_no_harm(store, root, take):
    """Who runs ``git gc`` on the store by hand changes how it lies on disk, not what it says."""
    first = take().snapshot
    right = contents(store, first)
    put(root, "USER.md", b"# User\nmore\n" * 50)
    second = take().snapshot
    for words in (["gc", "-q", "--aggressive"], ["pack-refs", "--all"]):
        subprocess.run(["git", "-C", store.path, *words], check=True)
    assert [shot.number for shot in reader.list_snapshots(store)] == [2, 1]
    assert contents(store, first) == right
    assert contents(store, second) == on_disk(root)
    assert not take().is_new
    put(root, "USER.md", b"3")
    assert take().is_new
    assert list(reader.check_snapshots(store)) == []
    fsck(store)
