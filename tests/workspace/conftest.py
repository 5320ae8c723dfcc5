"""A workspace of one's own for each test."""

from pathlib import Path

import pytest

from jenny.workspace.files import Actor, Workspace, open_workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty workspace folder, beside a sibling whose name begins the same."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    evil = tmp_path / "workspace_evil"
    evil.mkdir()
    (evil / "secret.md").write_text("secret", encoding="utf-8")
    return folder


@pytest.fixture
def workspace(root: Path) -> Workspace:
    """The workspace, opened by somebody who may write everything."""
    return open_workspace(root, Actor("pipeline"))
