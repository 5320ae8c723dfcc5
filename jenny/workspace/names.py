"""Names of files and folders: what a new one may be called, and which ones are the same.

A workspace is copied to other machines, zipped, and mounted on disks that ignore case, so new
names must work everywhere. What already exists under an odd name can still be read and edited.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import unquote

NAME_BYTES = 255
PATH_CHARS = 1024
_SHOWN_CHARS = 160
# Prefix of everything the workspace layer keeps for itself: its folder, its temporary files.
OWN_PREFIX = ".jenny"

_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"]
)
_CONTROL = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Marks that turn the reading direction: "exe.gpj" would be shown for "gpj.exe".
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def folded(name: str) -> str:
    """The form in which two names are the same on a disk that ignores case and accents' coding."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


@lru_cache(maxsize=4_096)
def disguised(name: str) -> str:
    """The plain form of a name that may be disguised (case, width, invisible marks, end dots).

    Only for comparing with reserved names such as ``.git``.
    """
    plain = unicodedata.normalize("NFKC", name).casefold()
    plain = "".join(char for char in plain if unicodedata.category(char) not in ("Cf", "Cc", "Mn"))
    return plain.rstrip(". ")


def is_own(name: str) -> bool:
    """Whether the name belongs to the workspace layer (its folder, temporary files)."""
    return disguised(name).startswith(OWN_PREFIX)


def is_git(name: str) -> bool:
    """Whether the name is git's own folder or link file, in any disguise."""
    return disguised(name) in (".git", "git~1")


def is_settings(path: str) -> bool:
    """Whether the path is the workspace's ``config.json`` or its backup, in any disguise."""
    return re.fullmatch(r"config\.json(\.bak)?", disguised(path)) is not None


def shown(path: str) -> str:
    """The path as it may stand in a sentence: short, with nothing invisible in it."""
    safe = "".join(
        char if char.isprintable() else f"\\u{ord(char):04x}" for char in path[:_SHOWN_CHARS]
    )
    return f"“{safe}{'…' if len(path) > _SHOWN_CHARS else ''}”"


def unusable(path: str) -> str:
    """Why no file can have this path, existing or not; empty when it can."""
    if "\0" in path:
        return "holds a NUL character"
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return "holds half of a character (a lone surrogate)"
    if len(path) > PATH_CHARS:
        return f"is longer than {PATH_CHARS:,} characters"
    if any(len(part.encode()) > NAME_BYTES for part in path.split("/")):
        return f"holds a name longer than {NAME_BYTES} bytes"
    return ""


def unfit(name: str) -> str:
    """Why nothing new should be called this; empty when it may be."""
    return next((why for is_unfit, why in _UNFIT if is_unfit(name)), "")


def _is_encoded_path(name: str) -> bool:
    """Whether ``%2e%2e`` and the like, however often encoded, make a path of it."""
    plain = name
    while (decoded := unquote(plain)) != plain:
        plain = decoded
        if plain in (".", "..") or any(char in plain for char in "/\\\0"):
            return True
    return False


def _is_look_alike_path(name: str) -> bool:
    """Whether characters that look like dots and slashes make a path of it."""
    plain = unicodedata.normalize("NFKC", name)
    return plain in (".", "..") or "/" in plain


_UNFIT: tuple[tuple[Callable[[str], bool], str], ...] = (
    (
        lambda name: any(unicodedata.category(c) in _CONTROL or c in _BIDI for c in name),
        "holds an invisible control character",
    ),
    (lambda name: "\\" in name, "holds a backslash; folders are parted by /"),
    (lambda name: name != name.strip(), "begins or ends with a space"),
    (lambda name: name.endswith("."), "ends with a dot"),
    (lambda name: name.startswith("~"), "begins with ~, which stands for a home folder elsewhere"),
    (lambda name: re.match(r"[A-Za-z]:", name) is not None, "begins like a drive letter"),
    (
        lambda name: name.partition(".")[0].rstrip().casefold() in _DEVICES,
        "is the name of a device on Windows",
    ),
    (_is_encoded_path, "hides a path behind % signs"),
    (_is_look_alike_path, "hides a path behind look-alike characters"),
)
