"""The slash commands: one table, from which palette, /help and refusals are read."""

from dataclasses import dataclass
from typing import Literal

# Inside a project nothing reaches the memory; and some commands are about a project alone.
type Where = Literal["everywhere", "outside", "inside"]


@dataclass(frozen=True)
class Command:
    """A command. *argument* is its placeholder, empty when it takes none; one that
    *answers_any* says so when it gets one, instead of being taken for a text. *where* it works:
    in every conversation, only outside of projects, or only inside of one."""

    name: str
    argument: str
    help: str
    answers_any: bool = False
    where: Where = "everywhere"


COMMANDS = (
    Command("/help", "", "List the commands."),
    Command("/new", "", "Start afresh here: what was said before is no longer sent to the model."),
    Command("/compact", "", "Summarise what was said here now, so that the model has room."),
    Command("/stop", "", "Stop the answer that is being written."),
    Command("/status", "", "Show the model, the tokens used and what runs."),
    Command("/model", "[preset]", "Show the models, or choose the one for this conversation."),
    Command("/history", "[n]", "Show the last messages in short, 10 when no number is given."),
    Command(
        "/remember",
        "text",
        "Keep something for good: every conversation knows it at once.",
        where="outside",
    ),
    Command(
        "/forget", "text", "Take something out of the memory, and keep it out.", where="outside"
    ),
    Command(
        "/recall",
        "[id|words]",
        "Look up what left the memory files, and what was said.",
        where="outside",
    ),
    Command(
        "/dream", "", "Bring the memory files up to date now.", answers_any=True, where="outside"
    ),
    Command(
        "/dream-log",
        "[sha]",
        "Show what Dream changed last, or one version by its id.",
        where="outside",
    ),
    Command(
        "/dream-restore",
        "[sha]",
        "List what Dream changed, or undo one version by its id.",
        where="outside",
    ),
    Command(
        "/dream-prompt",
        "[init]",
        "Show what guides Dream, or make a guide of your own.",
        where="outside",
    ),
    Command("/skill", "", "List the skills of this workspace."),
    Command("/project", "[name]", "List the projects, or go to a conversation in one."),
    Command("/tidy", "", "Make pages of what is new in this project's log.", where="inside"),
)

_BY_NAME = {command.name: command for command in COMMANDS}


@dataclass(frozen=True)
class Call:
    """A command as it was typed."""

    command: Command
    argument: str


def parse(text: str) -> Call | None:
    """The command that *text* is, as a whole and in any case; ``None``: it is for the model."""
    words = text.split(maxsplit=1)
    if not words or "\n" in text.strip():
        return None
    command = _BY_NAME.get(words[0].lower())
    argument = words[1].strip() if len(words) > 1 else ""
    if command is None or (argument and not command.argument and not command.answers_any):
        return None
    return Call(command, argument)


def usage(command: Command) -> str:
    """How the command is written."""
    return f"{command.name} {command.argument}".rstrip()


def help_text() -> str:
    """The commands as Markdown."""
    rows = [f"| `{usage(one).replace('|', '\\|')}` | {one.help} |" for one in COMMANDS]
    return "\n".join(["| Command | What it does |", "| --- | --- |", *rows])


def refusal(command: Command, *, in_project: bool) -> str:
    """Why a command does not work in such a conversation, and where it does; empty: it works."""
    if in_project and command.where == "outside":
        return (
            f"`{command.name}` is about the memory, and nothing in a project reaches the memory. "
            "Nothing was done. It works in every other conversation: [begin one](/chat/)."
        )
    if not in_project and command.where == "inside":
        return (
            f"`{command.name}` is about a project, and this conversation is in none. Nothing was "
            "done. `/project` lists the projects; in a conversation of one it works."
        )
    return ""
