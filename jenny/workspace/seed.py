"""Create the first files of a new workspace, and recognise unedited ones.

They are created once and never overwritten. The texts are under ``templates/`` at their paths in a
workspace.
"""

import codecs
import hashlib
import re
from functools import cache
from pathlib import Path

from jenny.workspace.errors import PathRefused, VersionMismatch
from jenny.workspace.files import Workspace

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FOLDER = Path(__file__).parent / "templates"

# SHA-256 of every text that was ever shipped for a path, normalised; the newest last. A changed
# text gets a new line, and the old one stays: some workspaces still have it.
SHIPPED: dict[str, tuple[str, ...]] = {
    "SOUL.md": ("219512549ef5275b95b94c403a4eb0c28eea094df85ff0b73a115b3319f62b3c",),
    "USER.md": ("bec1681c6b0152b4ed0b178cce04ff8169ac4e97eaa3fbf95c221af622d52a3d",),
    "AGENTS.md": ("7982b51a91c8f0421aed9ab7800ceeeff46aeabba678849825a23050e2b4f61b",),
    "memory/MEMORY.md": ("eb0f8e6ae896ad6a95be2a43d03445390d8aa8337f61bd8c40a7bc88c0aba020",),
    "prompts/README.md": ("ee57c767806f030041b02fb39f3bc73766155258fcf2d16e57da2592feee9799",),
}


def template(path: str) -> bytes:
    """Return the current text for *path*.

    Raises:
        KeyError: there is no template for it.
    """
    if path not in SHIPPED:
        raise KeyError(path)
    return (_FOLDER / path).read_bytes()


def seed(workspace: Workspace) -> list[str]:
    """Create the missing files and return their paths.

    Anything that exists stays: an edited file, an empty one, a link, another spelling.

    Raises:
        WriteFailed, LockTimeout: the disk refused, or the lock was held; safe to repeat.
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
    """True when *data* is a current or former template text for *path*.

    Byte order mark, line ends and outer white space do not count.
    """
    return digest(data) in SHIPPED.get(path, ())


def strip_template_comments(text: str) -> str:
    """Remove the templates' comments, which are notes to the person and not for a model."""
    return _template_comments().sub("", text) if "<!--" in text else text


@cache
def template_lines(path: str) -> frozenset[str]:
    """Return the lines of the current template for *path*; none where there is no template."""
    if path not in SHIPPED:
        return frozenset()
    text = template(path).decode()
    return frozenset(line.strip() for line in text.splitlines() if line.strip())


@cache
def _template_comments() -> re.Pattern[str]:
    """Return the pattern of all comments, with any line ends and indents, and the blank line after
    each."""
    comments = (_COMMENT.findall(template(path).decode()) for path in SHIPPED)
    words = dict.fromkeys(tuple(comment.split()) for found in comments for comment in found)
    texts = (r"\s+".join(map(re.escape, row)) for row in words)
    return re.compile(rf"(?:{'|'.join(texts)})(?:\r\n|\r|\n){{0,2}}")


def digest(data: bytes) -> str:
    """Return the SHA-256 of the normalised text."""
    plain = data.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return hashlib.sha256(plain.strip()).hexdigest()
