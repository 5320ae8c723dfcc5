"""Whatever lies in a workspace, a snapshot of it does nothing but save it."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jenny.workspace.names import is_git
from jenny.workspace.snapshots import reader
from jenny.workspace.snapshots.scan import DEEPEST, scan
from jenny.workspace.snapshots.trees import from_stored, to_stored
from tests.workspace.snapshots.conftest import contents, fsck, git, on_disk, put


def sentences(outcome) -> dict[str, str]:
    """What was skipped, and why."""
    return {row.path: row.message for row in outcome.skipped}


def test_links_are_named_never_followed(store, root, take, tmp_path):
    """Links out, in, to themselves, to nothing and to folders are skipped, each with a sentence
    that stays with the snapshot."""
    put(tmp_path, "outside/secret.md", b"secret")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "file").symlink_to(tmp_path / "outside/secret.md")
    (root / "in").symlink_to("memory")
    (root / "loop").symlink_to("loop")
    (root / "up").symlink_to("..")
    (root / "memory/nothing").symlink_to("/does/not/exist")
    outcome = take()
    assert set(sentences(outcome)) == {"out", "file", "in", "loop", "up", "memory/nothing"}
    assert all("is a link, which is skipped" in told for told in sentences(outcome).values())
    assert contents(store, outcome.snapshot) == on_disk(root)
    with store.open() as repo:
        assert tuple(reader.read_skipped(repo, outcome.snapshot)) == outcome.skipped
    assert b"secret" not in b"".join(contents(store, outcome.snapshot).values())
    fsck(store)


def test_what_is_no_file_is_skipped(store, root, take):
    """Pipes and sockets are skipped without waiting for anybody."""
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(root / "socket"))
        outcome = take()
    assert set(sentences(outcome)) == {"pipe", "socket"}
    assert contents(store, outcome.snapshot) == on_disk(root)


def test_a_file_that_becomes_a_link_or_pipe_is_not_followed(store, root, take, monkeypatch):
    """Between the look and the reading a file is replaced by a link out, and another by a pipe."""
    from jenny.workspace.snapshots import trees as reading_files

    secret = root.parent / "secret.md"
    secret.write_bytes(b"secret")
    put(root, "a/link.md", b"plain")
    put(root, "pipe.md", b"plain")
    put(root, "swapped/file.md", b"plain")
    put(root.parent, "elsewhere/file.md", b"secret")
    real, done = reading_files.paths.open_folder, []

    def open_folder(*args, **options):
        if not done:
            done.append(True)
            (root / "a/link.md").unlink()
            (root / "a/link.md").symlink_to(secret)
            (root / "pipe.md").unlink()
            os.mkfifo(root / "pipe.md")
            shutil.rmtree(root / "swapped")
            (root / "swapped").symlink_to(root.parent / "elsewhere")
        return real(*args, **options)

    monkeypatch.setattr(reading_files.paths, "open_folder", open_folder)
    outcome = take()
    monkeypatch.undo()
    assert contents(store, outcome.snapshot) == on_disk(root)
    assert b"secret" not in b"".join(contents(store, outcome.snapshot).values())


@pytest.mark.parametrize(
    "name",
    [
        b"line\nbreak.md",
        b"\xff\xfe\x80.md",
        b"-rf --upload-pack=touch x.md",
        "ü\u0308\u202egpj.exe".encode(),
        b"x" * 255,
        b" ",
        b"%2E%2e",
        b"a%25b.md",
        b"back\\slash\\.git",
        b"refs",
        b"HEAD",
        b"con",
        b"a:b",
        b"\x01\x7f",
    ],
)
def test_odd_names(store, root, take, name):
    """Files of any name that the disk takes are saved under exactly that name."""
    put(root, name, b"odd")
    put(root, b"folder " + name[:200] + b"/inner.md", b"inner")
    outcome = take()
    assert contents(store, outcome.snapshot) == on_disk(root)
    assert contents(store, outcome.snapshot)[os.fsdecode(name)] == b"odd"
    fsck(store)


def test_names_that_git_obeys_do_nothing(store, root, take, tmp_path):
    """Files that mean something to git are saved as files, and mean nothing in the store: not
    even who checks it out by hand runs anything of theirs."""
    hostile = {
        ".gitattributes": b"* filter=evil\n" + b"x" * 5000 + b" text\n",
        ".gitmodules": b'[submodule "x"]\n\tpath = x\n\turl = --upload-pack=touch pwned\n',
        ".gitignore": b"*\n",
        ".gitconfig": b"[core]\n\tfsmonitor = touch pwned\n",
        ".GitModules": b"broken [",
        "GITMOD~1": b'[submodule "y"]\n\turl = -x\n',
        ".git\u200cmodules": b"\xff",
        ".gitmodules ": b"x",
        "wiki/.gitmodules:$DATA": b"x",
    }
    for path, data in hostile.items():
        put(root, path, data)
    outcome = take()
    assert contents(store, outcome.snapshot) == on_disk(root)
    fsck(store)
    names = git(store, "ls-tree", "-r", "-z", "--name-only", outcome.snapshot.commit).split("\0")
    assert not [name for name in names if ".git" in name.casefold()]
    copy = tmp_path / "copy"
    copy.mkdir()
    git(store, "--work-tree", str(copy), "checkout", outcome.snapshot.commit, "--", ".")
    assert (copy / "files/%2Egitattributes").read_bytes() == hostile[".gitattributes"]
    assert not list(tmp_path.rglob("pwned"))


@given(st.text(st.characters(exclude_characters="/\0"), min_size=1))
def test_stored_names_lead_back(name):
    """Every name is found again from how it is stored, and none is stored as one of git's."""
    assert from_stored(to_stored(name)) == name
    assert not is_git(to_stored(name))
    assert "/" not in to_stored(name)


@given(
    st.sampled_from([".git", "git~1", ".gitmodules", "GITMOD~1", "gi7eba~1", "a\\.git"]), st.data()
)
def test_disguises_of_gits_names(name, data):
    """In any case and with trailing dots and spaces, git's names are stored as something else."""
    disguised = "".join(data.draw(st.sampled_from([c.upper(), c.lower()])) for c in name)
    disguised += data.draw(st.sampled_from(["", " ", ".", " . ", "::$INDEX_ALLOCATION"]))
    stored = to_stored(disguised)
    assert from_stored(stored) == disguised
    assert not {".", "~", "\\", ":"} & set(stored)


def test_a_wiki_that_is_a_repository(store, root, take):
    """A wiki with the user's own git in it is saved as files; its ``.git`` is neither saved nor
    touched, be it a folder, a file or a link."""
    wiki = root / "wikis/mine"
    put(wiki, "wiki/index.md", b"page")
    subprocess.run(["git", "init", "-q", wiki], check=True)
    put(root, "wikis/other/.git", b"gitdir: /elsewhere\n")
    (root / "wikis/third").mkdir()
    (root / "wikis/third/.git").symlink_to("/elsewhere")
    put(wiki, ".git/hooks/pre-commit", b"#!/bin/sh\ntouch pwned\n")
    before = {path: path.read_bytes() for path in wiki.rglob(".git/**/*") if path.is_file()}
    outcome = take()
    assert contents(store, outcome.snapshot)["wikis/mine/wiki/index.md"] == b"page"
    assert not any(".git" in path for path in contents(store, outcome.snapshot))
    assert set(sentences(outcome)) == {
        "wikis/mine/.git",
        "wikis/other/.git",
        "wikis/third/.git",
    }
    assert {p: p.read_bytes() for p in wiki.rglob(".git/**/*") if p.is_file()} == before


def test_a_workspace_inside_a_repository(store, root, take):
    """An enclosing repository of the user's is not seen: nothing of it changes."""
    subprocess.run(["git", "init", "-q", root.parent], check=True)
    before = sorted(str(path) for path in (root.parent / ".git").rglob("*"))
    take()
    assert sorted(str(path) for path in (root.parent / ".git").rglob("*")) == before


def test_folders_without_end(store, root, take):
    """What lies deeper than anybody puts it is named; the rest is saved."""
    fd = os.open(root, os.O_RDONLY)
    for _ in range(DEEPEST + 50):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    outcome = take()
    (told,) = sentences(outcome).values()
    assert "more than 200 folders deep" in told
    assert contents(store, outcome.snapshot)["USER.md"] == b"# User\n"
    fsck(store)
    subprocess.run(["rm", "-rf", root / "d"], check=True)


def test_a_hard_link_is_a_file(store, root, take, tmp_path):
    """A file with a second name elsewhere is saved like any other."""
    put(tmp_path, "elsewhere.md", b"shared")
    (root / "linked.md").hardlink_to(tmp_path / "elsewhere.md")
    assert contents(store, take().snapshot)["linked.md"] == b"shared"


def test_very_many_files(store, root, take):
    """5,000 files in one folder, and 500 folders, are saved whole."""
    for number in range(5000):
        (root / f"{number}.txt").write_bytes(b"%d" % (number % 7))
    for number in range(500):
        (root / f"folder{number}").mkdir()
    outcome = take()
    assert outcome.snapshot.files == 5004
    assert len(scan(root).top.folders) == 503
    fsck(store)


def test_what_may_not_be_read_is_skipped(store, root, take):
    """Files and folders without permission are skipped with a sentence; the rest is saved."""
    put(root, "closed.md", b"closed")
    put(root, "shut/inner.md", b"inner")
    (root / "closed.md").chmod(0)
    (root / "shut").chmod(0)
    script = (
        "import json, os, sys\nfrom pathlib import Path\nfrom datetime import datetime, UTC\n"
        "from jenny.workspace.snapshots.store import Store\n"
        "from jenny.workspace.snapshots.create import create\n"
        "warm, now = Path(sys.argv[3]), datetime.now(UTC)\n"
        "create(Store(warm / 'warm.git'), warm, 'manual', now=now)  # loads all that it needs\n"
        "if os.geteuid() == 0:\n    os.setgid(65534)\n    os.setuid(65534)\n"
        "root = Path(sys.argv[2])\n"
        "outcome = create(Store(Path(sys.argv[1])), root, 'manual', now=now)\n"
        "print(json.dumps({row.path: row.message for row in outcome.skipped}))\n"
    )
    warm = root.parent / "warm"
    warm.mkdir()
    # Whoever runs the tests as root gives the folders to nobody, for whom the script runs.
    if os.geteuid() == 0:
        for path in (root, *root.rglob("*")):
            os.chown(path, 65534, 65534)
        store.path.parent.mkdir()
        os.chown(store.path.parent, 65534, 65534)
        for folder in (*root.parents,):
            if folder.owner() == "root" and folder.is_relative_to("/tmp/pytest-of-root"):
                folder.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", script, store.path, root, warm],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    (root / "shut").chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert '"closed.md"' in done.stdout
    assert '"shut"' in done.stdout
    assert done.stdout.count("it cannot be read: Jenny has no permission there.") == 2
