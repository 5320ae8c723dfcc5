"""The gardener's own tools. Docstrings and signatures are what the model sees."""

from dataclasses import dataclass, field

from jenny.agent.errors import ToolProblem
from jenny.agent.tools import Tool, ToolContext, ToolOutcome
from wikis import pages
from wikis.project import sections

_CHARS = 500


@dataclass(slots=True)
class GardenContext(ToolContext):
    """The tools' context in a run of the gardener: what it says at its end."""

    lines: int = field(kw_only=True, default=0)
    summary: str = ""
    left_out: tuple[str, ...] = ()
    has_finished: bool = False


def add_open(context: ToolContext, question: str) -> ToolOutcome:
    """Add a question to the Open section of the index: where two lines, or a line and a page,
    contradict each other, or where something is undecided.

    question: one sentence that names both sides, and the pages or log files they stand in
    """
    text = " ".join(question.split())
    if not text or len(text) > _CHARS:
        message = f"A question has from 1 to {_CHARS} characters. Nothing was added."
        raise ToolProblem(message)

    def asked(old: bytes | None) -> bytes:
        before = (old or b"# Index\n").decode("utf-8", "surrogateescape").replace("\r\n", "\n")
        added = sections.with_line(before, "Open", f"- {text}")
        return added.encode("utf-8", "surrogateescape")

    written = context.workspace.edit(pages.INDEX, asked)
    path = pages.INDEX if written is None else written.path
    return ToolOutcome(ok=True, content=f"Added to {path}.", data={"path": path})


def finish_tidying(context: ToolContext, summary: str, left_out: list[str]) -> ToolOutcome:
    """End the tidying, once every line of the log was looked at.

    summary: what you did, in one or two sentences for the person
    left_out: lines that no page needs, each as its number and the reason in a few words
    """
    if not isinstance(context, GardenContext):
        message = "There is nothing to finish here."
        raise ToolProblem(message)
    context.summary = " ".join(summary.split())[:_CHARS]
    context.left_out = tuple(" ".join(one.split())[:_CHARS] for one in left_out[: context.lines])
    context.has_finished = True
    return ToolOutcome(ok=True, content="Finished. Say no more.")


GARDENER_TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (Tool.of(add_open), Tool.of(finish_tidying))
}
