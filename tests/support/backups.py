"""A workspace with one of everything, its backups, and what is compared of it."""

import json
from io import StringIO
from pathlib import Path

from django.core.management import call_command
from django.db.models import Model
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.chat.models import Block, Conversation, Message, Summary, Turn
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions import commits
from jenny.workspace.versions.write_log import RunNote
from memory.models import DreamEntry, DreamRun, LineOrigin
from memory.services import origins, snapshots

PASSPHRASE = "four words of nonsense, MARKER-PHRASE"


def furnish(row: Workspace) -> None:
    """Files, a conversation in the history, a run of Dream with a version, a snapshot."""
    chat = Conversation.objects.create(workspace=row, title="Cheese")
    turn = Turn.objects.create(conversation=chat, state="done", started_at=timezone.now())
    said = Message.objects.create(
        conversation=chat, kind="user", text="MARKER-SAID **hello**", turn=turn
    )
    answer = Message.objects.create(conversation=chat, kind="answer", turn=turn)
    Block.objects.create(turn=turn, message=answer, kind="text", text="Hello to you")
    Summary.objects.create(conversation=chat, first=said.pk, message=answer, count=2, cursors=[1])
    Conversation.objects.filter(pk=chat.pk).update(summarised_through=answer.pk)
    files = open_workspace(row.root, Actor("browser"))
    files.write("notes/plan.md", b"# Plan\n")
    files.write("pictures/cat.png", bytes(range(256)) * 40)
    entry = {
        "cursor": 1, "timestamp": "2026-03-01 12:00", "content": "- The user said hello",
        "kind": "summary", "conversation": str(chat.pk), "messages": [said.pk, answer.pk],
    }  # fmt: skip
    memory = row.root / "memory"
    (memory / "history.jsonl").write_text(json.dumps(entry) + "\n")
    (memory / ".cursor").write_text("1\n")
    (memory / ".dream_cursor").write_text("1")
    run = DreamRun.objects.create(
        workspace=row, trigger="manual", state="ended", status="wrote",
        entries=[{"cursor": 1, "verdict": "used"}], is_reported=True,
    )  # fmt: skip
    commits.begin_run(row.root, RunNote(f"dream:{run.pk}", "dream: manual run", (0, 1)))
    dream = open_workspace(row.root, Actor("restore", run=f"dream:{run.pk}"))
    del dream
    (memory / "MEMORY.md").write_text("# Memory\n\n- The user said hello\n")
    made = commits.commit_run(row.root, RunNote(f"dream:{run.pk}", "dream: manual run", (0, 1)))
    run.commits = [version.sha for version in made.versions][-1:]
    run.save()
    origins.save_origins(row)
    LineOrigin.objects.filter(workspace=row).delete()
    for act, name in (("a" + str(row.pk)[:20], f"dream:{run.pk}"),
                      ("b" + str(row.pk)[:20], f"turn:{turn.pk}")):  # fmt: skip
        LineOrigin.objects.create(
            workspace=row, act=act, number=1, path="memory/MEMORY.md", digest="d" * 64,
            relation="came", actor="dream", run=name, sources=[1], at=timezone.now(),
        )  # fmt: skip
    DreamEntry.objects.create(workspace=row, cursor=7, place="set_aside", why="It broke.")
    snapshots.take_snapshot(row, "manual", label="furnished")


def exported(row: Workspace, path: Path, *more: str) -> dict:
    """Export by command."""
    return _called("export", row, path, *more)


def imported(row: Workspace, path: Path, *more: str) -> dict:
    """Import by command."""
    return _called("import", row, path, *more)


def _called(name: str, row: Workspace, path: Path, *more: str) -> dict:
    out = StringIO()
    call_command(name, str(path), *more, "--json", workspace=row.slug, stdout=out)
    return json.loads(out.getvalue())


def bytes_of(root: Path) -> dict[str, bytes]:
    """Every file of a workspace, what git and the layer itself keep left out."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
        and not {".git", ".jenny"} & set(path.relative_to(root).parts)
        and path.name != ".history.lock"
    }


def rows_of() -> dict[str, int]:
    """How many rows each kind of thing has."""
    kinds: list[type[Model]] = [
        Workspace, Conversation, Message, Turn, Block, Summary, DreamRun, DreamEntry, LineOrigin,
    ]  # fmt: skip
    return {kind.__name__: kind._base_manager.count() for kind in kinds}


def says(row: Workspace) -> list[tuple[str, str]]:
    """What is said in it."""
    found = Message.objects.filter(conversation__workspace=row).order_by("pk")
    return list(found.values_list("kind", "text"))
