"""A wiki's scope: the line ``summary:`` in the header of its AGENTS.md, set and nothing else.

A header that cannot be read, or in which the line could not be changed alone, is left as it is.
"""

import json
import re

from jenny.markdown import front_matter
from jenny.workspace.files import Workspace
from wikis import making, names, pages
from wikis.errors import WikiError
from wikis.pages import Wiki

_LINE = re.compile(r"^summary:[^\n]*$", re.MULTILINE)


def change(workspace: Workspace, wiki: Wiki, text: str) -> str:
    """Set the scope; what it is now.

    Raises:
        NameRefused: it is empty or too long.
        WikiError: the file's header is not one in which it can be set; nothing was written.
        WorkspaceError: the file could not be written.
    """
    scope = names.checked_scope(text)
    workspace.edit(wiki.path(pages.GUIDE), lambda old: _changed(wiki.name, old, scope))
    return scope


def _changed(name: str, old: bytes | None, scope: str) -> bytes:
    """The file's bytes with this scope."""
    if old is None:
        return making.guide(name, scope).encode()
    line = f"summary: {json.dumps(scope, ensure_ascii=False)}"
    try:
        text = old.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused("is no UTF-8 text") from error
    mark, plain = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    end = "\r\n" if "\r\n" in plain else "\n"
    before = front_matter.read(plain)
    if before.problem:
        raise _refused(f"has a header that is not understood: {before.problem}")
    if not before.raw and not plain.startswith("---"):
        return f"{mark}---{end}{line}{end}---{end}{end}{plain}".encode()
    head, rest = _parted(plain)
    if "summary" in before.values:
        head = _LINE.sub(lambda _: line + ("\r" if end == "\r\n" else ""), head, count=1)
    else:
        head = f"{head}{line}{end}"
    after = front_matter.read(f"{head}{rest}")
    wanted = {**before.values, "summary": scope}
    if after.problem or after.values != wanted or after.body != before.body:
        raise _refused("has its summary in more than one line")
    return f"{mark}{head}{rest}".encode()


def _parted(text: str) -> tuple[str, str]:
    """The text up to the line that closes its header, and the rest."""
    found = re.compile(r"^---[ \t]*\r?$", re.MULTILINE).search(text, 3)
    at = found.start() if found else len(text)
    return text[:at], text[at:]


def _refused(why: str) -> WikiError:
    return WikiError(f"AGENTS.md {why}. Nothing was written; change it in the file.")
