"""The first run: the token that the first visitor needs, and folders without an account.

The token is ``JENNY_SETUP_TOKEN``, or is created once and kept in the data folder.
"""

import contextlib
import hashlib
import hmac
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

from django.conf import settings

from jenny import env, text_normalisation
from jenny.accounts.models import Workspace
from jenny.accounts.models.workspace import Leftover


def current_token(data: env.DataFolder, environment: Mapping[str, str] = os.environ) -> str:
    """Return the present token; create it when the file is missing or empty."""
    given = env.secret("JENNY_SETUP_TOKEN", environment)
    if given:
        return given
    with contextlib.suppress(UnicodeDecodeError):
        kept = env.kept_secret(data.setup_token)
        if kept and not env.has_control_characters(kept):
            return kept
    return env.kept_secret(data.setup_token, renew=True)


def matches_token(given: str, token: str) -> bool:
    """True when *given* is the token, in constant time."""
    # Digests, since compare_digest reveals the length and refuses text beyond ASCII.
    return hmac.compare_digest(token_proof(given.strip()), token_proof(token))


def token_proof(token: str) -> str:
    """Return the session's proof of a right token; it is invalid once the token changes."""
    return hashlib.sha256(b"jenny setup\0" + token.encode(errors="replace")).hexdigest()


def setup_link(base: str, token: str) -> str:
    """Return the link for the terminal; *base* is like ``http://127.0.0.1:8000``."""
    return f"{base}/setup/?{urlencode({'token': token})}"


def forget_token(data: env.DataFolder) -> None:
    data.setup_token.unlink(missing_ok=True)


def find_folder(name: str) -> Path | None:
    """Return the folder for a workspace of that name when it has files and belongs to no
    workspace.
    """
    slug = text_normalisation.folder_slug(name)
    folder = Path(settings.JENNY_DATA.workspaces / slug)
    try:
        has_files = not folder.is_symlink() and folder.is_dir() and any(folder.iterdir())
    except OSError:
        return None
    if not has_files or Leftover.has_slug(slug):
        return None
    return None if Workspace.all_objects.filter(slug=slug).exists() else folder


def list_folders() -> list[str]:
    try:
        names = sorted(path.name for path in settings.JENNY_DATA.workspaces.iterdir())
    except OSError:
        return []
    return [
        name for name in names if text_normalisation.folder_slug(name) == name and find_folder(name)
    ]


def describe_folder(folder: Path) -> str:
    if folder.is_symlink() or not folder.is_dir():
        return (
            f"{folder} lies there already and belongs to no workspace; a link or a file cannot "
            "become one."
        )
    count = sum(1 for one in folder.iterdir() if not one.name.startswith("."))
    files = "one file or folder" if count == 1 else f"{count} files and folders"
    return (
        f"The folder {folder} lies there already, with {files}, and belongs to no workspace: it is "
        "what stays when a database is lost."
    )


def describe_beside(workspace: Workspace) -> str:
    """Say that a workspace was begun beside what lies in its place, and how to use that; empty:
    nothing does.
    """
    slug = text_normalisation.folder_slug(workspace.name)
    folder = Path(settings.JENNY_DATA.workspaces / slug)
    if slug == workspace.slug or not os.path.lexists(folder) or Leftover.has_slug(slug):
        return ""
    if Workspace.all_objects.filter(slug=slug).exists():
        return ""
    begins = f"“{workspace.name}” begins in the new folder {workspace.root}."
    text = f"{describe_folder(folder)} {begins}"
    if find_folder(slug) is None:
        return text
    return (
        f"{text} To use the files that were found, give “{workspace.name}” another name, then make "
        f"a workspace called “{slug}” in Settings → Workspaces: it asks whether to use them."
    )
