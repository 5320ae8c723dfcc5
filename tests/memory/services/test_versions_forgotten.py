"""What ``/dream-restore`` and ``versions restore`` say of lines that stay forgotten."""

import re

import pytest
from django.urls import reverse

from jenny.chat.models import Conversation
from jenny.chat.services import commands
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions.commits import commit_pending
from memory import suppression
from tests.memory.services.test_versions_command import dream, run, run_json

pytestmark = pytest.mark.django_db

CATS = "Has two `cats` at <b>home</b>"


def prepared(workspace) -> tuple[str, str]:
    """A version of Dream's that took a fact out, which was forgotten since; both ids."""
    root = workspace.root
    open_workspace(root, Actor("chat")).write("USER.md", f"# User\n- One\n- {CATS}\n".encode())
    commit_pending(root)
    sha = dream(root, 1, {"USER.md": b"# User\n- Two\n"})
    return sha, suppression.forget(root, CATS, Actor("command")).ids[0]


def test_the_reply_names_what_was_left_out_and_the_way_back(workspace):
    """In the chat: the line, the page that brings it back, and the command; the second time too,
    when there is nothing to do."""
    sha, tombstone = prepared(workspace)
    chat = Conversation.objects.create(workspace=workspace)
    call = commands.parse(f"/dream-restore {sha}")
    assert call is not None
    page = reverse("chat:back", args=[chat.pk, tombstone])
    for begins in ("Undone: ", "Nothing to do: every file is already as it was before that"):
        told = commands.run_command(chat, call)
        assert told.startswith(begins)
        assert "Left out, since you had it forgotten:" in told
        assert f"`USER.md`: ``{CATS}`` (`{tombstone}`)" in told
        assert f"[Bring back]({page})" in told
        assert "manage.py forget --lift ID" in told
        assert "/recall" in told
        assert (workspace.root / "USER.md").read_bytes() == b"# User\n- One\n"


def test_the_command_names_them_before_and_after(workspace):
    """Also for scripts."""
    sha, tombstone = prepared(workspace)
    for words in (("--dry-run",), ()):
        told = run("restore", sha, *words)
        assert re.search(
            rf"Left out, since you had it forgotten:\n  {tombstone}  USER.md: Has", told
        )
    assert (workspace.root / "USER.md").read_bytes() == b"# User\n- One\n"
    assert "Left out" in run("restore", sha)
    _, answer = run_json("restore", sha, "--dry-run")
    assert answer["files"][0]["left_out"] == [{"text": CATS, "id": tombstone}]
