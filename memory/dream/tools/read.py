"""Dream's tool that reads."""

from jenny.agent.errors import ToolProblem
from jenny.agent.tools import Tool, ToolOutcome, file_tools
from jenny.workspace.errors import PathRefused
from memory import archive
from memory.dream.tools import allowed_paths
from memory.dream.tools.dream_toolbox import DreamToolContext

_FILE_READ = file_tools.read_file


def read_file(
    context: DreamToolContext, path: str, offset: int = 1, limit: int = 2000
) -> ToolOutcome:
    """Read one of the memory files, a skill, or a text of the archive. Lines come numbered.

    path: such as USER.md, skills/<slug>/SKILL.md, or memory/archive/<id> for an archived text
    offset: the first line to read, from 1; a negative one counts from the end
    limit: how many lines to read at most
    """
    try:
        if path.startswith(f"{allowed_paths.ARCHIVE}/"):
            path = _archived(context, path)
        real = allowed_paths.readable(context.workspace, path)
    except PathRefused as error:
        raise ToolProblem(error.message) from error
    if (text := _overlaid(context, real)) is not None:
        return _shown(context, real, context.view(real, text), offset, limit)
    return _FILE_READ(context, real, offset, limit)


def _overlaid(context: DreamToolContext, path: str) -> str | None:
    """A file's text with what waits for it; ``None`` where nothing does."""
    staging = context.session.staging
    if staging is None or not staging.is_on or not staging.found.of(path):
        return None
    return context.session.text(path)


def _shown(context: DreamToolContext, path: str, text: str, offset: int, limit: int) -> ToolOutcome:
    """Lines of a text, numbered as those of a file."""
    lines = file_tools.lines_of(text)
    first = max(len(lines) + offset, 0) if offset < 0 else max(offset, 1) - 1
    rows = [f"{number}\t{line}" for number, line in enumerate(lines, 1)][first:]
    shown: list[str] = []
    room = context.max_result_chars - 500
    for row in rows[: max(limit, 1)]:
        room -= len(row) + 1
        if room < 0 and shown:
            break
        shown.append(row)
    if len(shown) == len(lines) and context.session.staging is not None:
        context.session.staging.read[path] = text
    last = first + len(shown)
    more = [f"[Go on with offset={last + 1}.]"] if last < len(lines) else []
    content = "\n".join([*shown, *more]) or f"{path} is empty."
    return ToolOutcome(ok=True, content=content, data={"path": path, "lines": len(lines)})


def _archived(context: DreamToolContext, path: str) -> str:
    """The path of an archived text that may be named by the first digits of its id."""
    name = path.removeprefix(f"{allowed_paths.ARCHIVE}/")
    root = context.workspace.root
    found = () if "/" in name or "." in name else archive.find(root, name)
    if len(found) == 1:
        return found[0].path
    return path


READ_FILE = Tool.of(read_file)
