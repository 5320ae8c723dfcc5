"""``consolidate``: summarise conversations into the history now, as after an idle time."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db.models import Exists, OuterRef

from jenny.accounts.models import Workspace
from jenny.accounts.services.json_command import JSONCommand, workspace_called
from jenny.chat.models import Conversation, Message
from jenny.chat.services import consolidation
from jenny.chat.services.consolidation_state import Outcome
from jenny.runtime import valkey


class Command(JSONCommand):
    help = (
        "Summarise what is not in the history yet, as after an idle time; in this process, "
        "whether the app runs or not."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--workspace", default="", help="the workspace's slug")
        which.add_argument("--all", action="store_true", help="in all workspaces")

    def answer(self, **options: Any) -> dict[str, Any]:
        """Summarise one conversation after another. :raises CommandError: some are left."""
        if options["all"]:
            workspaces = list(Workspace.objects.filter(deleted_at=None))
        else:
            workspaces = [workspace_called(options["workspace"])]
        try:
            with valkey.for_command(settings.JENNY_DATA):
                rows = [
                    (chat, consolidation.run(chat, "asked"))
                    for workspace in workspaces
                    for chat in _waiting(workspace)
                ]
        except valkey.ValkeyProblem as problem:
            raise CommandError(problem.message) from problem
        left = [(chat, outcome) for chat, outcome in rows if outcome.ending not in _ENDED]
        if left:
            lines = [f"{chat}: {outcome.message}" for chat, outcome in left]
            message = "\n".join([f"{_counted(rows)} {len(left)} were left:", *lines])
            raise CommandError(message)
        return {
            "message": _counted(rows) if rows else "Everything is in the history already.",
            "conversations": [
                {
                    "id": str(chat.pk),
                    "outcome": outcome.ending,
                    "summaries": outcome.summaries,
                    "raw": outcome.raw,
                    "secrets": sum(hit.count for hit in outcome.secrets),
                }
                for chat, outcome in rows
            ],
        }


_ENDED = ("done", "nothing")


def _waiting(workspace: Workspace) -> Iterator[Conversation]:
    """Yield the conversations with messages that are not in the history, oldest first."""
    kinds = (Message.Kind.USER, Message.Kind.ANSWER)
    unsummarised = Message.objects.filter(
        conversation=OuterRef("pk"),
        kind__in=kinds,
        pk__gt=OuterRef("summarised_through"),
        is_current=True,
    )
    temporary = Conversation.Kind.TEMPORARY
    rows = Conversation.objects.filter(Exists(unsummarised), workspace=workspace).exclude(
        kind=temporary
    )
    yield from rows.select_related("workspace__owner").order_by("active_at")


def _counted(rows: list[tuple[Conversation, Outcome]]) -> str:
    done = [outcome for _, outcome in rows if outcome.ending in _ENDED]
    summaries = sum(outcome.summaries for outcome in done)
    raw = sum(outcome.raw for outcome in done)
    words = f"{len(done)} conversation{'' if len(done) == 1 else 's'} taken into the history: "
    return f"{words}{summaries} summar{'y' if summaries == 1 else 'ies'}, {raw} raw."
