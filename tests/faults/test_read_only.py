"""A workspace's folder that takes no writes: chats go on, each refusal has a sentence, nothing is
lost, and everything goes on by itself once it can be written again."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_server import Call
from tests.support.chat import asked
from tests.support.client import text_of
from tests.support.dreams import results
from tests.support.place import Place, answers, sums
from tests.support.waiting import wait_until


@contextlib.contextmanager
def read_only(root: Path) -> Iterator[None]:
    """Nothing below *root* can be written, for whoever runs these tests."""
    if os.geteuid() != 0:
        folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
        modes = {path: path.stat().st_mode for path in folders}
        for path in folders:
            path.chmod(0o555)
        yield
        for path, mode in modes.items():
            path.chmod(mode)
        return
    done = subprocess.run(["mount", "--bind", root, root], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"nothing can be mounted: {done.stderr.decode().strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", root], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", root], check=True)


REFUSED = "the disk is read-only. Nothing was written."
PAGES = (
    "/chat/", "/memory/", "/memory/files/USER.md", "/workspace/", "/wikis/", "/snapshots/",
    "/settings/memory/", "/settings/models/", "/settings/system/",
)  # fmt: skip


def test_a_chat_goes_on_where_nothing_can_be_written(place: Place, words: str):
    """The answer comes; a tool that would write tells the model why it cannot; commands answer in
    a sentence; every page is there. Then what was said reaches the history all the same."""
    call = Call("write_file", {"path": "notes.md", "content": "x"})
    place.model.script("I write it down.", call, when=answers(words))
    place.model.script("It did not work.", when=answers(words))
    with read_only(place.root):
        chat = place.owner.begin(words)
        assert "It did not work." in text_of(place.owner.answer(chat))
        assert REFUSED in results(asked(place.model, words)[-1])
        for command in ("/remember I keep bees", "/forget bees", "/compact"):
            place.owner.send(chat, command)
            wait_until(
                lambda: REFUSED in newest_reply(place, chat), what=f"what became of {command}"
            )
        place.owner.send(chat, "/dream")
        thread = wait_until(
            lambda: t if "Dream failed" in (t := text_of(place.owner.thread(chat))) else "",
            what="Dream's outcome",
        )
        assert thread.partition("Dream failed")[2].count(REFUSED) == 1
        place.owner.send(chat, "/new")
        for page in PAGES:
            assert place.owner.get(page).status_code == 200, page
        assert not (place.root / "notes.md").exists()
    place.model.script(f"- [durable] {words}", when=sums(words))
    place.idle(chat)
    entries = wait_until(lambda: place.entries(chat), what="the history")
    assert words in " ".join(entry.content for entry in entries)


def newest_reply(place: Place, chat: str) -> str:
    """What the newest command was answered."""
    return text_of(place.owner.thread(chat).rpartition("Reply to the command")[2])
