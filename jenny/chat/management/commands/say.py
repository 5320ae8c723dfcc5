"""``say``: run one turn or one command from the command line."""

import signal
import time
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from jenny.accounts.models import Workspace
from jenny.accounts.services.json_command import JSONCommand, workspace_called
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.services import commands, send_message
from jenny.chat.services.turn_claims import HEARTBEAT
from jenny.chat.services.turn_recovery import interrupt_turn
from jenny.chat.services.turns import run_turn
from jenny.runtime import valkey
from jenny.workspace.errors import WorkspaceError
from wikis.pages import open_wiki

# Interval for polling the row of a turn that another process runs.
LOOK_SECONDS = 0.1


class Command(JSONCommand):
    help = (
        "Send TEXT to a conversation and print the reply; the turn runs in this process, "
        "whether the app runs or not. Without an option it goes on in the newest conversation that "
        "is neither temporary nor in a project. A slash command works as in the chat."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("text", help="what to say, or a slash command")
        parser.add_argument("--workspace", default="", help="the workspace's slug")
        where = parser.add_mutually_exclusive_group()
        where.add_argument("--conversation", default="", help="the conversation's id")
        where.add_argument("--new", action="store_true", help="begin a new conversation")
        where.add_argument("--project", default="", help="go on in this project, or begin there")
        where.add_argument(
            "--temporary", action="store_true", help="begin a chat that leaves no memory"
        )

    def answer(self, **options: Any) -> dict[str, Any]:
        """Send the text, wait for the turn's end, and return its reply."""
        try:
            with valkey.for_command(settings.JENNY_DATA):
                return self._said(**options)
        except valkey.ValkeyProblem as problem:
            raise CommandError(problem.message) from problem

    def _said(self, **options: Any) -> dict[str, Any]:
        started = time.monotonic()
        try:
            text = send_message.check_text(options["text"])
        except send_message.MessageRefused as refused:
            raise CommandError(str(refused)) from refused
        workspace = workspace_called(options["workspace"])
        chat = _conversation(workspace, options)
        call = commands.parse(text)
        if call is not None:
            return _told(chat, commands.run_command(chat, call, in_process=True), started)
        # Ctrl-C stops the turn; the text written so far is kept.
        signal.signal(signal.SIGINT, lambda *_: HEARTBEAT.cancel_all("stop"))
        accepted = send_message.accept_message(chat, text, start=_leave)
        turn = _ended(accepted.message)
        reply = "\n\n".join(
            block.text for block in turn.blocks.order_by("pk") if block.kind == "text"
        )
        if turn.state != Turn.State.DONE:
            message = f"{turn.message or 'The turn did not end well.'} {reply}".strip()
            raise CommandError(message)
        tools = [b.data["name"] for b in turn.blocks.order_by("pk") if b.kind == "tool"]
        facts = {
            "turn": turn.pk,
            "state": turn.state,
            "reason": turn.reason,
            "model": turn.model,
            "demo": turn.is_demo,
            "tools": tools,
            "input_tokens": turn.input_tokens,
            "output_tokens": turn.output_tokens,
            "cost": None if turn.cost is None else str(turn.cost),
        }
        return _told(chat, reply, started) | facts


def _conversation(workspace: Workspace, options: dict[str, Any]) -> Conversation:
    """Return the named conversation, the newest one, or a new one."""
    rows = Conversation.objects.filter(workspace=workspace)
    if options["conversation"]:
        try:
            return rows.get(pk=options["conversation"])
        except (Conversation.DoesNotExist, ValidationError) as error:
            message = f"There is no conversation {options['conversation']!r} in this workspace."
            raise CommandError(message) from error
    if options["project"]:
        try:
            open_wiki(workspace.root, options["project"])
        except WorkspaceError as error:
            raise CommandError(error.message) from error
        own = rows.filter(kind=Conversation.Kind.PROJECT, project=options["project"])
        return own.order_by("-active_at").first() or Conversation.objects.create(
            workspace=workspace, kind=Conversation.Kind.PROJECT, project=options["project"]
        )
    if options["temporary"]:
        return Conversation.objects.create(workspace=workspace, kind=Conversation.Kind.TEMPORARY)
    rows = rows.filter(kind=Conversation.Kind.PERSONAL)
    newest = None if options["new"] else rows.order_by("-active_at").first()
    return newest or Conversation.objects.create(workspace=workspace)


def _leave(_turn: int) -> None:
    """Start nothing; ``_ended`` runs or awaits the turn."""


def _ended(message: Message) -> Turn:
    """Return the turn that read *message*, once it is over.

    Either this process runs it, or a worker that is busy in the conversation takes the message in.
    A turn that no worker takes, because the app does not run, is run or ended here.
    """
    while True:
        message.refresh_from_db()
        if message.turn is not None and not message.turn.is_live:
            return message.turn
        live = message.conversation.turns.filter(state__in=Turn.LIVE).first()
        if live is None:
            live = send_message.begin_turn(message.conversation)
        if live is not None and live.state == Turn.State.QUEUED:
            run_turn(live.pk)
        elif live is not None:
            interrupt_turn(live)
        time.sleep(LOOK_SECONDS)


def _told(chat: Conversation, reply: str, started: float) -> dict[str, Any]:
    return {
        "message": reply,
        "conversation": str(chat.pk),
        "reply": reply,
        "seconds": round(time.monotonic() - started, 3),
    }
