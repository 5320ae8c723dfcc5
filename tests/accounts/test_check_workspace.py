"""The command ``check_workspace``."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jenny.accounts import access
from jenny.accounts.models import Account, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspaces() -> list[Workspace]:
    """The workspaces of two accounts."""
    owner = Account.objects.make_owner("checker", "a good long password", "UTC")
    other = Account.objects.make_account("checked", "a good long password", "UTC")
    return [access.made_workspace(owner), access.made_workspace(other)]


def run(*words: str) -> tuple[int, str]:
    """The command's exit code, and what it printed."""
    out = io.StringIO()
    try:
        call_command("check_workspace", *words, stdout=out)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    return 0, out.getvalue()


def run_json(*words: str) -> tuple[int, dict[str, Any]]:
    """The same with ``--json``."""
    code, printed = run(*words, "--json")
    return code, json.loads(printed)


def test_nothing_wrong_succeeds(workspaces: list[Workspace]) -> None:
    """New workspaces are fine, in words and as JSON."""
    slugs = sorted(row.slug for row in workspaces)
    code, printed = run()
    assert code == 0
    assert printed.splitlines() == [f"{slug}: fine" for slug in slugs]
    code, told = run_json()
    assert (code, told["ok"]) == (0, True)
    assert [row["workspace"] for row in told["workspaces"]] == slugs
    assert all(row["fine"] and row["findings"] == [] for row in told["workspaces"])


def test_a_problem_fails_until_it_is_repaired(workspaces: list[Workspace]) -> None:
    """The exit code tells scripts; the words tell people what and how."""
    first, second = workspaces
    (first.root / "USER.md").unlink()
    code, printed = run()
    assert code == 1
    assert f"{first.slug}: 1 to put right" in printed
    assert "USER.md is missing; Jenny goes without it. Repair makes it anew." in printed
    assert run("--workspace", second.slug)[0] == 0
    code, told = run_json("--workspace", first.slug, "--repair")
    assert (code, told["ok"]) == (0, True)
    assert told["workspaces"][0]["findings"][0]["repaired"] is True
    assert run()[0] == 0


def test_notes_do_not_fail(workspaces: list[Workspace]) -> None:
    """What is only worth knowing is said, and the command succeeds."""
    (workspaces[0].root / "config.json").write_text('{"mine": 1}')
    code, printed = run("--workspace", workspaces[0].slug)
    assert code == 0
    assert "mine is not a setting that this version knows." in printed


def test_a_removed_folder_is_a_problem(workspaces: list[Workspace]) -> None:
    """A workspace whose folder is gone does not pass for an empty one."""
    workspaces[0].root.rename(workspaces[0].root.with_name("elsewhere"))
    code, told = run_json("--workspace", workspaces[0].slug)
    assert code == 1
    assert "no workspace folder" in told["workspaces"][0]["findings"][0]["message"]
    workspaces[0].root.with_name("elsewhere").rename(workspaces[0].root)


def test_an_unknown_workspace_is_refused() -> None:
    """A slip in the name is not taken for a workspace without faults."""
    with pytest.raises(CommandError, match="There is no workspace nowhere"):
        call_command("check_workspace", "--workspace", "nowhere")
    code, told = run_json("--workspace", "nowhere")
    assert (code, told["ok"]) == (1, False)


def test_without_a_workspace_there_is_nothing_wrong() -> None:
    """Before the first run the command says that there is nothing to look at."""
    assert run() == (0, "There is no workspace yet.\n")
