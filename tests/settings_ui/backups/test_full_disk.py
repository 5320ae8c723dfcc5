"""Commands on a disk that takes nothing more end in a sentence, and leave nothing half done."""

import contextlib
import errno
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from jenny.accounts.models import Account, Workspace
from jenny.accounts.services.json_command import refusal_sentence
from jenny.workspace.errors import WriteFailed
from jenny.workspace.files import Actor, open_workspace
from tests.support.backups import PASSPHRASE, bytes_of, furnish
from tests.support.stack import OWNER, PASSWORD, ROOT, clean_environment, give_owner, manage
from tests.support.waiting import free_port

pytestmark = pytest.mark.django_db
COMMANDS = (
    ("snapshot", "create"),
    ("snapshot", "restore", "latest", "--yes"),
    ("snapshot", "prune", "--yes"),
    ("snapshot", "show", "latest", "notes/plan.md", "--output", "{target}"),
    ("export", "{target}"),
    ("export", "{target}", "--plain"),
    ("import", "{backup}"),
    ("import", "{backup}", "--preview"),
    ("import", "{backup}", "--new", "Second"),
    ("versions", "restore", "latest"),
    ("forget", "memory/MEMORY.md", "The user said hello"),
    ("pin", "memory/MEMORY.md:3"),
    ("recall", "hello"),
    ("why", "memory/MEMORY.md:3"),
    ("check_workspace",),
    ("check_workspace", "--repair"),
    ("create_workspace", "Other"),
    ("create_owner", "--username", "ada"),
    ("create_account", "--username", "ada"),
    ("reset_password", "--username", "eve"),
    ("reset_two_factor", "--username", "eve"),
    ("delete_account", "--username", "eve", "--yes"),
    ("delete_workspace", "second"),
    ("approvals", "accept", "--all"),
    ("approvals", "skills", "--agree", "brew"),
    ("lint_wiki", "hive"),
)
# These ask a model, or start the others: each is tried in a process of its own.
RUNS = (("say", "hello"), ("consolidate",), ("dream",), ("dream", "--dry-run"), ("up",))
# Who and what a command is about is named by it, or it is about no workspace.
ABOUT_NO_WORKSPACE = ("create_", "reset_", "delete_")
# Enough for a database's files to be opened.
FULL_BYTES = 40_000


@pytest.fixture
def home() -> Workspace:
    """An owner's workspace, with one of everything, another one, and somebody else's account."""
    person = Account.objects.create(username="bea", is_superuser=True)
    person.current_workspace = Workspace.make(person, "bea")
    person.save()
    person.current_workspace.make_folder()
    furnish(person.current_workspace)
    Workspace.make(person, "second").make_folder()
    Account.objects.make_account("eve", PASSWORD, "UTC").current_workspace.make_folder()
    files = open_workspace(person.current_workspace.root, Actor("browser"))
    files.write("wikis/hive/queen.md", b"# Queen\n\n[[drone]]\n")
    files.write("skills/brew/SKILL.md", b"---\nmade-by: dream\nalways: true\n---\nBoil.\n")
    return person.current_workspace


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process grows beyond a few bytes, whoever it belongs to."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_disk_ends_in_a_sentence(
    home: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """The command did it without writing, or says why it did not; the files are as they were, and
    no file is half there."""
    monkeypatch.setenv("JENNY_BACKUP_PASSPHRASE", PASSPHRASE)
    backup, target = tmp_path / "backup", tmp_path / "target"
    call_command("export", str(backup), workspace=home.slug, stdout=StringIO())
    (home.root / "notes/plan.md").write_text("# Another plan\n" * 1_000)
    connection.ensure_connection()
    before, rows = bytes_of(home.root), list(Workspace.all_objects.values())
    monkeypatch.setattr(sys, "stdin", StringIO(f"{PASSWORD}\n"))
    words = [word.format(backup=backup, target=target) for word in command]
    if not command[0].startswith(ABOUT_NO_WORKSPACE):
        words += ["--workspace", home.slug]
    out = StringIO()
    with full_disk():
        try:
            call_command(*words, stdout=out, stderr=out)
            refused = ""
        except CommandError as error:
            refused = str(error)
        except SystemExit:
            refused = out.getvalue()
    assert "Traceback" not in out.getvalue()
    if refused:
        assert len(refused) > 20
        assert not target.exists()
        assert bytes_of(home.root) == before
        # An account or a workspace whose folder could not be made stays; the next visit makes it.
        assert all(row in Workspace.all_objects.values() for row in rows)
    assert not list(tmp_path.glob(".*.part"))


def test_every_command_is_tried() -> None:
    """A command that is added is in one of the tables."""
    files = ROOT.glob("*/management/commands/*.py"), ROOT.glob("*/*/management/commands/*.py")
    names = {path.stem for found in files for path in found if ".venv" not in path.parts}
    # The evaluation writes into temporary folders only.
    assert names - {"__init__", "eval_memory"} == {row[0] for row in (*COMMANDS, *RUNS)}


def test_what_runs_by_itself_ends_in_a_sentence_too(short_path: Path) -> None:
    """A turn, a summary, a run of Dream and the start of everything, each in its own process."""
    data = short_path / "data"
    give_owner(data)
    manage(data, "say", "remember that I drink tea")
    before = bytes_of(data / "workspaces" / OWNER).keys()

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (FULL_BYTES, FULL_BYTES))

    for words in RUNS:
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=clean_environment(JENNY_DATA_DIR=str(data), JENNY_PORT=str(free_port())),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            preexec_fn=fill,
        )
        assert "Traceback" not in done.stdout + done.stderr, words
        if done.returncode:
            assert len(done.stderr.strip()) > 20, words
    kept = bytes_of(data / "workspaces" / OWNER)
    assert kept.keys() >= before
    assert any(b"drinks tea" in content for content in kept.values())


def test_what_no_part_reckoned_with_is_a_sentence(home: Workspace, tmp_path: Path) -> None:
    """A data folder that cannot be written, and a folder where a file should be, are told."""
    backups = settings.JENNY_DATA.backups
    shutil.rmtree(backups, ignore_errors=True)
    backups.write_text("in the way")
    try:
        with pytest.raises(CommandError, match=r"\.$"):
            call_command("import", str(tmp_path), workspace=home.slug, stdout=StringIO())
        with pytest.raises(CommandError, match=r"\.$"):
            call_command(
                "export", str(tmp_path / "x" / "y"), "--plain",
                workspace=home.slug, stdout=StringIO(),
            )  # fmt: skip
    finally:
        backups.unlink()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "x", "/data/file"), "the disk is full (/data/file)"),
        (OSError(errno.EROFS, "x"), "the disk is read-only"),
        (PermissionError(errno.EACCES, "x"), "no permission"),
        (OperationalError("database is locked"), "database is locked"),
        (WriteFailed("It could not be written."), "It could not be written."),
    ],
)
def test_each_refusal_has_words(error: Exception, words: str) -> None:
    """The disk's, the database's and Jenny's own refusals are sentences."""
    assert words in refusal_sentence(error)
