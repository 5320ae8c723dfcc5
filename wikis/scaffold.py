"""Create a wiki with its first files, set its scope, and add pages to its index.

Existing files are never overwritten.

When the scope is set and the header is invalid, or the line could not be changed alone, the page
stays as it is.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from jenny.markdown import front_matter
from jenny.text_normalisation import fold
from jenny.workspace import move_copy
from jenny.workspace.errors import PathRefused
from jenny.workspace.files import Workspace
from wikis import names, pages
from wikis.errors import WikiError
from wikis.links import Resolver, find_links
from wikis.pages import Wiki


def add_line_below(text: str, heading: str, line: str, *, before: str = "") -> str:
    """Add *line* at the end of the section *heading* of the second level.

    A missing section is created: above the section *before*, or else at the end.
    """
    lines = text.rstrip("\n").split("\n")
    at = _find_heading(lines, heading)
    if at is None:
        other = _find_heading(lines, before) if before else None
        made = [f"## {heading}", "", line]
        if other is None:
            return "\n".join([*lines, "", *made, ""])
        return "\n".join([*lines[:other], *made, "", *lines[other:], ""])
    end = next((n for n in range(at + 1, len(lines)) if lines[n].startswith("#")), len(lines))
    rest = lines[end:]
    while end > at + 1 and not lines[end - 1].strip():
        end -= 1
    # A list continues; after anything else, and after the heading, a line is left blank.
    is_list = end > at + 1 and lines[end - 1].lstrip().startswith(("- ", "* "))
    gap = [] if is_list else [""]
    return "\n".join([*lines[:end], *gap, line, *(["", *rest] if rest else []), ""])


def _find_heading(lines: list[str], heading: str) -> int | None:
    wanted = fold(f"## {heading}")
    return next((n for n, one in enumerate(lines) if fold(one.strip()) == wanted), None)


EXAMPLE = "example-garden"
_EXAMPLE = Path(__file__).with_name("example")
# The text in the first index where pages will be listed.
NO_PAGE = "None yet. Write `[[A page]]` here, save, and follow the link."
_FOLDERS = (pages.RAW, pages.LOG, pages.AUDIT)


def create_wiki(workspace: Workspace, title: str, scope: str) -> str:
    """Create a wiki and return its name, which is made from the title.

    Raises:
        NameRefused: the name is invalid, or the scope is missing.
        WorkspaceError: it could not be written; nothing was made.
    """
    name = names.checked(title, pages.wiki_names(workspace.root))
    scaffold(workspace, name, names.checked_scope(scope), " ".join(title.split()))
    return name


def scaffold(workspace: Workspace, name: str, scope: str, title: str = "") -> tuple[str, ...]:
    """Write the missing ones of a wiki's first files; return their paths."""
    title = title or name
    return _write(
        workspace, name, {pages.GUIDE: guide_text(title, scope), pages.INDEX: _index_text(title)}
    )


def create_example(workspace: Workspace) -> str:
    """Add the example wiki and return its name."""
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
    """Write the missing files in one transaction; then create the folders."""
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
                move_copy.make_folder(workspace, f"{base}/{folder}")
            except PathRefused:
                # Another process created it just now.
                continue
    return tuple(missing)


def guide_text(name: str, scope: str) -> str:
    return (
        f"---\nsummary: {json.dumps(scope, ensure_ascii=False)}\n---\n\n"
        f"# {name}\n\n"
        "- `wiki/index.md` leads to every page. Keep it up to date.\n"
        "- One page, one thing. Pages link to each other with `[[page]]`.\n"
        "- What comes from elsewhere goes to `raw/`, word for word, and is named where it is "
        "used.\n"
    )


def _index_text(name: str) -> str:
    # Its scope is shown above it everywhere.
    return f"# {name}\n\n## Pages\n\n{NO_PAGE}\n\n## Open\n"


_LINE = re.compile(r"^summary:[^\r\n]*", re.MULTILINE)


def change_summary(workspace: Workspace, wiki: Wiki, text: str) -> str:
    """Set the scope and return it.

    Raises:
        NameRefused: it is empty or too long.
        WikiError: the scope cannot be set in the file's header; nothing was written.
        WorkspaceError: the file could not be written.
    """
    scope = names.checked_scope(text)
    workspace.edit(wiki.path(pages.GUIDE), lambda old: _changed_summary(wiki.name, old, scope))
    return scope


def _changed_summary(name: str, old: bytes | None, scope: str) -> bytes:
    if old is None:
        return guide_text(name, scope).encode()
    line = f"summary: {json.dumps(scope, ensure_ascii=False)}"
    try:
        text = old.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused("is no UTF-8 text") from error
    mark, plain = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    end = "\r\n" if "\r\n" in plain else "\n"
    before = front_matter.read_front_matter(plain)
    if before.problem:
        raise _refused(f"has a header that is not understood: {before.problem}")
    if not before.raw and not plain.startswith("---"):
        return f"{mark}---{end}{line}{end}---{end}{end}{plain}".encode()
    head, rest = _parted(plain)
    if "summary" in before.values:
        head = _LINE.sub(lambda _: line, head, count=1)
    else:
        head = f"{head}{line}{end}"
    after = front_matter.read_front_matter(f"{head}{rest}")
    wanted = {**before.values, "summary": scope}
    if after.problem or after.values != wanted or after.body != before.body:
        raise _refused("has its summary in more than one line")
    return f"{mark}{head}{rest}".encode()


def _parted(text: str) -> tuple[str, str]:
    """Split the text before the line that closes its header."""
    found = re.compile(r"^---[ \t]*\r?$", re.MULTILINE).search(text, 3)
    at = found.start() if found else len(text)
    return text[:at], text[at:]


def _refused(why: str) -> WikiError:
    return WikiError(f"AGENTS.md {why}. Nothing was written; change it in the file.")


_SECTION, _BEFORE = "Pages", "Open"


def is_linked_in_index(text: str, resolver: Resolver, path: str) -> bool:
    """True when the index *text* links to the page at *path*, which need not exist yet."""
    after = Resolver(resolver.paths | {path}, resolver.aliases)
    return any(
        not link.wiki and after.resolve(link, pages.INDEX).path == path for link in find_links(text)
    )


def add_page_to_index(text: str, path: str, title: str) -> str:
    """Add a line for the page at *path* to the index."""
    target = pages.without_ending(path).removeprefix(f"{pages.PAGES}/")
    line = f"- [[{target}|{title.replace('|', ' ').replace(']', ')')}]]"
    return add_line_below(text.replace(NO_PAGE, ""), _SECTION, line, before=_BEFORE)
