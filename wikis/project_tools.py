"""The tools of a conversation inside a project, beside those for files.

Their docstrings and signatures are what the model sees. The workspace that they are given is opened
within the project's folder.
"""

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from jenny.agent.errors import ToolProblem
from jenny.agent.prompt import one_line
from jenny.agent.tools import Tool, ToolContext, ToolOutcome
from jenny.markdown import front_matter
from jenny.workspace import names as file_names
from wikis import pages, project, scaffold
from wikis.links import Resolver

_LISTED = 500
_TITLE_CHARS = 120
_INDEX = "# Index\n"
# How sure a page is of what it says, as its header's ``state:``.
STATES = ("open", "hypothesis", "decided", "done")


def note(context: ToolContext, fact: str) -> ToolOutcome:
    """Note a fact in the project's log, so that the next conversation in this project can know
    it. For what was decided, found out or agreed; one fact a call. Pages are made of it later.

    fact: one sentence that will be understood a year from now: names in full, dates absolute.
    """
    if not fact.strip():
        message = "There is nothing to note: the fact is empty."
        raise ToolProblem(message)
    if len(fact) > project.LINE_CHARS:
        message = (
            f"The fact has {len(fact):,} characters; a line of the log has "
            f"{project.LINE_CHARS:,} at most. Nothing was noted. Note it in parts, or make "
            "a page of it with add_page."
        )
        raise ToolProblem(message)
    path = project.add_to_log(context.workspace, [fact], _now(context))
    return ToolOutcome(ok=True, content=f"Noted in {path}.", data={"path": path})


def list_pages(context: ToolContext, folder: str = "") -> ToolOutcome:
    """List the project's pages, each with its title.

    folder: one below wiki/, such as concepts; nothing means all of them
    """
    workspace = context.workspace
    top = f"{pages.PAGES}/{folder.strip('/')}".removesuffix("/")
    if not workspace.exists(top):
        what = f"folder {file_names.shown(folder)}" if folder else "page"
        return ToolOutcome(ok=True, content=f"There is no {what} yet.")
    rows: list[str] = []
    more = 0
    for entry in workspace.walk(top):
        context.check()
        if entry.kind != "file" or not pages.is_page(entry.path):
            continue
        if len(rows) >= _LISTED:
            more += 1
            continue
        inside = entry.path.removeprefix(f"{workspace.within}/")
        rows.append(f"- {file_names.shown(inside)}: {_title(context, entry.path, inside)}")
    if more:
        rows.append(f"{more:,} more; name a folder to see them.")
    return ToolOutcome(ok=True, content="\n".join(rows) or "There is no page yet.")


def add_page(
    context: ToolContext,
    title: str,
    text: str,
    folder: str = "",
    *,
    state: str = "",
    source: str = "",
) -> ToolOutcome:
    """Make a new page of the project and link it from the index. One subject a page. To change a
    page that is there, use edit_file.

    title: what the page is about, in a few words; its file is named after it
    text: the page in Markdown, below the title. Other pages are linked as [[their name]].
    folder: where it goes below wiki/, such as concepts or entities; nothing means wiki/ itself
    state: open, hypothesis, decided or done; nothing where none of them fits
    source: where it was said, such as log/20260503.md; nothing when the page is of your own making
    """
    title = " ".join(title.split())
    if not title or len(title) > _TITLE_CHARS:
        message = f"A title has from 1 to {_TITLE_CHARS} characters. No page was made."
        raise ToolProblem(message)
    if state and state not in STATES:
        message = f"A page's state is one of {', '.join(STATES)}. No page was made."
        raise ToolProblem(message)
    path = pages.new_path("/".join(part for part in (folder.strip("/"), _file_name(title)) if part))
    workspace = context.workspace
    if twin := _twin(context, path):
        message = (
            f"The page {file_names.shown(twin)} has this name already. No page was made. Read it, "
            "and change it with edit_file."
        )
        raise ToolProblem(message)
    index = pages.INDEX
    old = workspace.read(index) if workspace.exists(index) else None
    before = old.data.decode("utf-8", "replace") if old else _INDEX
    linked = scaffold.add_page_to_index(before, path, title)
    body = text.strip()
    page = body if body.startswith("# ") else f"# {title}\n\n{body}"
    page = _header(state, source) + page
    workspace.write_many(
        {path: f"{page}\n".encode(), index: linked.encode()},
        expect={path: None, index: old.version if old else None},
    )
    return ToolOutcome(
        ok=True, content=f"Made {path}, and linked it in {index}.", data={"path": path}
    )


def _twin(context: ToolContext, path: str) -> str:
    """Return the page with a name equivalent to that of *path*, from the project's folder."""
    workspace = context.workspace
    folder = path.rpartition("/")[0]
    if not workspace.exists(folder):
        return ""
    start = f"{workspace.within}/"
    there = (entry.path.removeprefix(start) for entry in workspace.list(folder))
    return Resolver(there).twin(path)


def _header(state: str, source: str) -> str:
    rows = [
        f"{key}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in (("state", state), ("source", " ".join(source.split())[:_TITLE_CHARS]))
        if value
    ]
    return "\n".join(["---", *rows, "---", "", ""]) if rows else ""


def _file_name(title: str) -> str:
    """Return a file's name for a title, without characters that file names cannot have."""
    kept = "".join(char if char.isalnum() or char in " -_." else " " for char in title)
    return "-".join(kept.lower().split()).strip("-.") or "page"


def _title(context: ToolContext, path: str, inside: str) -> str:
    data = context.workspace.read(path, limit=pages.PAGE_BYTES).data[:20_000]
    text, _ = pages.decoded(data, is_cut=True)
    header = front_matter.read_front_matter(text)
    return one_line(
        pages.page_metadata(header).title or pages.title_of(inside, header.body),
        _TITLE_CHARS,
    )


def _now(context: ToolContext) -> datetime:
    try:
        return datetime.now(ZoneInfo(context.zone))
    except (LookupError, ValueError, OSError):
        return datetime.now(UTC)


PROJECT_TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (Tool.of(list_pages), Tool.of(add_page), Tool.of(note))
}
