"""Making a wiki: its name, its scope, and the few files that it begins with.

What is there already is never written over.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from jenny.workspace import moving
from jenny.workspace.errors import PathRefused
from jenny.workspace.files import Workspace
from wikis import names, pages

EXAMPLE = "example-garden"
_EXAMPLE = Path(__file__).with_name("example")
# What the first index says where pages will be listed.
NO_PAGE = "None yet. Write `[[A page]]` here, save, and follow the link."
_FOLDERS = (pages.RAW, pages.LOG, pages.AUDIT)


def make(workspace: Workspace, name: str, scope: str) -> str:
    """Make a wiki; its name.

    Raises:
        NameRefused: it may not be called so, or has no scope.
        WorkspaceError: it could not be written; nothing was made.
    """
    name = names.checked(name, pages.wiki_names(workspace.root))
    scaffold(workspace, name, names.checked_scope(scope))
    return name


def scaffold(workspace: Workspace, name: str, scope: str) -> tuple[str, ...]:
    """Write what a wiki begins with and is not there yet; the paths that were written."""
    return _write(workspace, name, {pages.GUIDE: guide(name, scope), pages.INDEX: _index(name)})


def example(workspace: Workspace) -> str:
    """Add the example wiki, which shows what a wiki can hold; its name."""
    taken = pages.wiki_names(workspace.root)
    name, number = EXAMPLE, 1
    while names.clash(name, taken):
        number += 1
        name = f"{EXAMPLE}-{number}"
    files = {
        str(path.relative_to(_EXAMPLE)): path.read_text(encoding="utf-8")
        for path in sorted(_EXAMPLE.rglob("*.md"))
    }
    _write(workspace, name, files)
    return name


def _write(workspace: Workspace, name: str, files: Mapping[str, str]) -> tuple[str, ...]:
    """All of the files that are not there, in one act; then the folders."""
    base = f"{pages.WIKIS}/{name}"
    missing = {
        f"{base}/{path}": text.encode()
        for path, text in files.items()
        if not workspace.exists(f"{base}/{path}")
    }
    if missing:
        workspace.write_many(missing, expect=dict.fromkeys(missing))
    for folder in _FOLDERS:
        if not workspace.exists(f"{base}/{folder}"):
            try:
                moving.make_folder(workspace, f"{base}/{folder}")
            except PathRefused:
                # Somebody else made it just now.
                continue
    return tuple(missing)


def guide(name: str, scope: str) -> str:
    """What a new wiki's AGENTS.md says."""
    return (
        f"---\nsummary: {json.dumps(scope, ensure_ascii=False)}\n---\n\n"
        f"# {name}\n\n"
        "- `wiki/index.md` leads to every page. Keep it up to date.\n"
        "- One page, one thing. Pages link to each other with `[[page]]`.\n"
        "- What comes from elsewhere goes to `raw/`, word for word, and is named where it is "
        "used.\n"
    )


def _index(name: str) -> str:
    # Its scope stands above it, wherever it is shown or read.
    return f"# {name}\n\n## Pages\n\n{NO_PAGE}\n\n## Open\n"
