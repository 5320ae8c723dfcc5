"""The table of slash commands. The chat, ``say``, the palette and ``/help`` read it.

Each row names the one function that executes its command. A ``reply`` function returns the reply,
which is stored with the command. A ``start`` function stores the messages itself, because work
follows that takes longer. Workers do that work, or this process when a person waits for its end at
the command line.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from jenny.chat.models import Conversation
from jenny.chat.services import command_replies, consolidation, gardener, send_message
from jenny.chat.services.context_window import meter_of
from jenny.chat.services.publish import Publisher
from jenny.workspace import config as workspace_config

# Inside a project nothing reaches the memory, and some commands concern a project only.
type Where = Literal["everywhere", "outside", "inside"]
type Reply = Callable[[Conversation, str], str]


class Start(Protocol):
    """Executes a command and returns the last sentence that is known by then.

    The same *client_key* twice is one command.
    """

    def __call__(
        self, chat: Conversation, argument: str, client_key: str, /, *, in_process: bool
    ) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Command:
    """A slash command.

    *argument* is the placeholder of its argument, empty when it takes none. A command that takes
    none is sent to the model as a text when it has one, unless *answers_any* is set: then its reply
    says so. *where*: in every conversation, only outside projects, or only inside one.
    """

    name: str
    argument: str = ""
    help: str
    reply: Reply | None = None
    start: Start | None = None
    answers_any: bool = False
    where: Where = "everywhere"


@dataclass(frozen=True)
class Call:
    command: Command
    argument: str

    @property
    def text(self) -> str:
        return f"{self.command.name} {self.argument}".rstrip()


def parse(text: str) -> Call | None:
    """Return the command that the whole *text* is, in any case; ``None``: it is for the model."""
    words = text.split(maxsplit=1)
    if not words or "\n" in text.strip():
        return None
    command = _BY_NAME.get(words[0].lower())
    argument = words[1].strip() if len(words) > 1 else ""
    if command is None or (argument and not command.argument and not command.answers_any):
        return None
    return Call(command, argument)


def run_command(
    chat: Conversation, call: Call, client_key: str = "", *, in_process: bool = False
) -> str:
    """Execute a command, store it with its reply, and return the reply.

    The same *client_key* twice is one command. With *in_process* the work that a command starts
    is done before this returns, and the reply gives its outcome.
    """
    command = call.command
    if refused := refusal(command, in_project=bool(chat.project)):
        return send_message.accept_command(chat, call.text, refused, client_key).text
    if command.start is not None:
        return command.start(chat, call.argument, client_key, in_process=in_process)
    if command.reply is None:
        message = f"The command {command.name} has no function."
        raise ValueError(message)
    reply = command.reply(chat, call.argument)
    return send_message.accept_command(chat, call.text, reply, client_key).text


def refusal(command: Command, *, in_project: bool) -> str:
    """Say why a command does not work in this conversation and where it does; empty: it works."""
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


def usage(command: Command) -> str:
    return f"{command.name} {command.argument}".rstrip()


def help_text() -> str:
    rows = [f"| `{usage(one).replace('|', '\\|')}` | {one.help} |" for one in COMMANDS]
    return "\n".join(["| Command | What it does |", "| --- | --- |", *rows])


def _help(_chat: Conversation, _argument: str) -> str:
    return help_text()


def _new(
    chat: Conversation,
    _argument: str,
    client_key: str,
    /,
    *,
    in_process: bool,  # noqa: ARG001 - no worker does any part of it
) -> str:
    divider = send_message.start_anew(chat, client_key)
    chat.refresh_from_db(fields=["context_from", "tokens_gone"])
    meter = meter_of(chat, workspace_config.load_config(chat.workspace.root))
    Publisher(chat).meter(meter.message, meter.percent)
    return divider.text


def _compact(chat: Conversation, _argument: str, client_key: str, /, *, in_process: bool) -> str:
    if in_process:
        done = consolidation.run(chat, "asked").message
        return send_message.accept_command(chat, "/compact", done, client_key).text
    begun = "Summarising what was said here…"
    reply = send_message.accept_command(chat, "/compact", begun, client_key)
    consolidation.ask_for(chat, reply)
    return reply.text


COMMANDS = (
    Command(name="/help", help="List the commands.", reply=_help),
    Command(
        name="/new",
        help="Start afresh here: what was said before is no longer sent to the model.",
        start=_new,
    ),
    Command(
        name="/compact",
        help="Summarise what was said here now, so that the model has room.",
        start=_compact,
    ),
    Command(
        name="/stop",
        help="Stop the answer that is being written.",
        reply=command_replies.stop_answer,
    ),
    Command(
        name="/status",
        help="Show the model, the tokens used and what runs.",
        reply=command_replies.show_status,
    ),
    Command(
        name="/model",
        argument="[name]",
        help="Show the models, or choose the one for this conversation.",
        reply=command_replies.choose_model,
    ),
    Command(
        name="/history",
        argument="[n]",
        help="Show the last messages in short, 10 when no number is given.",
        reply=command_replies.show_history,
    ),
    Command(
        name="/remember",
        argument="text",
        help="Keep something for good: every conversation knows it at once.",
        reply=command_replies.remember,
        where="outside",
    ),
    Command(
        name="/forget",
        argument="text",
        help="Take something out of the memory, and keep it out.",
        reply=command_replies.forget,
        where="outside",
    ),
    Command(
        name="/recall",
        argument="[id|words]",
        help="Look up anything that was said or written before.",
        reply=command_replies.recall_facts,
        where="outside",
    ),
    Command(
        name="/dream",
        help="Bring the memory files up to date now, with what was just said.",
        start=command_replies.run_dream,
        answers_any=True,
        where="outside",
    ),
    Command(
        name="/dream-log",
        argument="[id]",
        help="Show what Dream changed last, or one version by its id.",
        reply=command_replies.show_dream_log,
        where="outside",
    ),
    Command(
        name="/dream-restore",
        argument="[id]",
        help="List what Dream changed, or undo one version by its id.",
        reply=command_replies.restore_dream_version,
        where="outside",
    ),
    Command(
        name="/dream-prompt",
        argument="[init]",
        help="Show what guides Dream, or make a guide of your own.",
        reply=command_replies.show_dream_prompt,
        where="outside",
    ),
    Command(
        name="/skill",
        help="List the skills of this workspace.",
        reply=command_replies.list_skills,
    ),
    Command(
        name="/project",
        argument="[name]",
        help="List the projects, or go to a conversation in one.",
        reply=command_replies.list_projects,
    ),
    Command(
        name="/export",
        help="Save this conversation as a file: Markdown, HTML or JSON.",
        reply=command_replies.export,
    ),
    Command(
        name="/tidy",
        help="Make pages of what is new in this project's log.",
        start=gardener.run_tidy,
        where="inside",
    ),
)

_BY_NAME = {command.name: command for command in COMMANDS}
