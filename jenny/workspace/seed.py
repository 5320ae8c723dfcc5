"""The files that a new workspace begins with, and how to tell whether one was ever edited.

They are made once and never overwritten. The texts lie under ``templates/`` at the paths that they
get in a workspace.
"""

import codecs
import hashlib
from pathlib import Path

from jenny.workspace.errors import PathRefused, VersionMismatch
from jenny.workspace.files import Workspace

_FOLDER = Path(__file__).parent / "templates"

# SHA-256 of every text that was ever shipped for a path, in normal form; the newest last. A text
# that changes gets a new line, and the old one stays: somebody's workspace still has it.
SHIPPED: dict[str, tuple[str, ...]] = {
    "SOUL.md": ("219512549ef5275b95b94c403a4eb0c28eea094df85ff0b73a115b3319f62b3c",),
    "USER.md": ("bec1681c6b0152b4ed0b178cce04ff8169ac4e97eaa3fbf95c221af622d52a3d",),
    "AGENTS.md": ("7982b51a91c8f0421aed9ab7800ceeeff46aeabba678849825a23050e2b4f61b",),
    "memory/MEMORY.md": ("eb0f8e6ae896ad6a95be2a43d03445390d8aa8337f61bd8c40a7bc88c0aba020",),
    "prompts/README.md": ("ee57c767806f030041b02fb39f3bc73766155258fcf2d16e57da2592feee9799",),
}


def template(path: str) -> bytes:
    """The current text for *path*.

    Raises:
        KeyError: there is no template for it.
    """
    if path not in SHIPPED:
        raise KeyError(path)
    return (_FOLDER / path).read_bytes()


def seed(workspace: Workspace) -> list[str]:
    """Make the files that are missing; the paths of those that were made.

    What is there stays, whatever it is: an edited file, an empty one, a link, another spelling.

    Raises:
        WriteFailed, LockTimeout: the disk or another process stood in the way; safe to repeat.
    """
    made = []
    for path in SHIPPED:
        try:
            if not workspace.exists(path):
                workspace.write(path, template(path), expect=None)
                made.append(path)
        except (PathRefused, VersionMismatch):
            continue
    return made


def is_untouched(path: str, data: bytes) -> bool:
    """Whether *data* is a text that was shipped for *path*, now or formerly.

    Byte order mark, line ends and outer white space do not count.
    """
    return digest(data) in SHIPPED.get(path, ())


def digest(data: bytes) -> str:
    """SHA-256 of the text in normal form."""
    plain = data.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return hashlib.sha256(plain.strip()).hexdigest()
