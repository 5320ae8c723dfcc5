"""Check names of files and folders: valid new names, and names that are the same.

A workspace is copied to other machines, zipped, and mounted on disks that ignore case, so new names
must work everywhere. Existing files with other names can still be read and edited.
"""

import os
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import unquote

from jenny.text_normalisation import fold, name_key

NAME_BYTES = 255
PATH_CHARS = 1024
_SUFFIX_BYTES = 64
_SHOWN_CHARS = 160
# Prefix of the workspace layer's own folder and temporary files.
OWN_PREFIX = ".jenny"

_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"]
)
_CONTROL = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Characters that turn the reading direction: "exe.gpj" would be shown for "gpj.exe".
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def folded(name: str) -> str:
    """Return a form that is equal for names that some disks treat as the same (case, NFC, NFD)."""
    return name_key(name)


def look_alike(name: str) -> str:
    """Return a form that is equal for names that a person takes for the same: ``folded``, width,
    typographic quotes and hyphens, and invisible characters."""
    return fold(name)


@lru_cache(maxsize=4_096)
def disguised(name: str) -> str:
    """Return the plain form of a disguised name (case, width, invisible characters, end dots).

    Only for comparing with reserved names such as ``.git``.
    """
    plain = unicodedata.normalize("NFKC", name).casefold()
    plain = "".join(char for char in plain if unicodedata.category(char) not in ("Cf", "Cc", "Mn"))
    return plain.rstrip(". ")


def is_own(name: str) -> bool:
    """True for names of the workspace layer (its folder, temporary files)."""
    return disguised(name).startswith(OWN_PREFIX)


def is_git(name: str) -> bool:
    """True for git's own folder or link file, in any disguise."""
    return disguised(name) in (".git", "git~1")


def is_settings(path: str) -> bool:
    """True for the workspace's ``config.json`` or its backup, in any disguise."""
    return re.fullmatch(r"config\.json(\.bak)?", disguised(path)) is not None


def escape_invisible(text: object) -> str:
    """Replace invisible characters (direction marks, control characters) by their code points."""
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in str(text))


def shown(path: str) -> str:
    """Format a path for a sentence: short, without invisible characters."""
    more = "…" if len(path) > _SHOWN_CHARS else ""
    return f"“{escape_invisible(path[:_SHOWN_CHARS])}{more}”"


def marked(name: str, mark: str, *, room: int = NAME_BYTES) -> str:
    """Insert *mark* before the suffix; the stem is shortened so that all fits in *room* bytes."""
    stem, dot, suffix = name.rpartition(".")
    if not stem.strip(".") or len(os.fsencode(suffix)) > _SUFFIX_BYTES:
        stem, dot, suffix = name, "", ""
    rest = f"{mark}{dot}{suffix}"
    left = max(room - len(os.fsencode(rest)), 1)
    if len(os.fsencode(stem)) > left:
        while len(os.fsencode(stem)) > left or unicodedata.combining(stem[-1]):
            stem = stem[:-1] or "_"
        stem = stem.rstrip(". ") or "_"
    return f"{stem}{rest}"


def unusable(path: str) -> str:
    """Return why no file can have this path, existing or not; empty when it can."""
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
    """Return why nothing new may have this name; empty when it may."""
    return next((why for is_unfit, why in _UNFIT if is_unfit(name)), "")


def _is_encoded_path(name: str) -> bool:
    """True when the name is a path once decoded: ``%2e%2e`` and the like, however often encoded."""
    plain = name
    while (decoded := unquote(plain)) != plain:
        plain = decoded
        if plain in (".", "..") or any(char in plain for char in "/\\\0"):
            return True
    return False


def _is_look_alike_path(name: str) -> bool:
    """True when the name is a path in characters that look like dots and slashes."""
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
