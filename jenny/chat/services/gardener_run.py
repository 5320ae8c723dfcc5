"""Runs the gardener's model. It stops when a person begins to talk in the project."""

from datetime import UTC, datetime
from typing import Any

from jenny.accounts.access import model_for
from jenny.accounts.models import Workspace
from jenny.agent import clock, loop, messages
from jenny.agent.cancellation import OPEN_TOKENS, CancellationToken
from jenny.agent.errors import WAITS, CallsPaused
from jenny.agent.limits import Limits
from jenny.agent.provider import Provider
from jenny.agent.tools import Toolbox
from jenny.chat.models import ProjectState, Turn
from jenny.chat.prompt import build
from jenny.chat.services.db_connections import release_db_connection
from jenny.chat.tools import tools_of
from jenny.workspace.errors import WorkspaceError
from wikis.gardener import Batch, GardenContext

LIMITS = Limits(max_steps=60, seconds=900, max_run_tokens=400_000, retries=2)
_REMINDER = "Write what is still to be written, then call finish_tidying."


class NotTidied(WorkspaceError):
    """The gardener did not finish; the message says why, and what happened to the pages."""


class MadeRoom(NotTidied):
    """The gardener stopped because a person talks in the project."""


class GardenerCancelled(NotTidied):
    """The gardener stopped because the project's files were restored."""


TAKEN_BACK = (
    "The project was restored meanwhile, so the gardener stopped. The pages are as they were then; "
    "what it wrote is in the snapshot before the restore."
)


def ask_gardener(workspace: Workspace, name: str, context: GardenContext, found: Batch) -> None:
    """Let the model work through the lines.

    Raises:
        AgentError, Cancelled: it could not be asked, or was stopped.
        NotTidied: it did not finish.
    """
    box = Toolbox(tools_of("gardener"), context)
    system = build("gardener", workspace.root, tool_names=box.names, project=name)
    endpoint, preset = model_for(workspace, kind="gardener")
    release_db_connection()
    with OPEN_TOKENS.open() as watch:
        watch.limit(LIMITS.seconds)
        context.watch = watch
        beside = _Beside(workspace, name, watch, context)
        outcome = loop.run(
            provider=Provider(endpoint, preset),
            system=system.wire(),
            history=[messages.text_message("user", _first(found, context.zone))],
            toolbox=box,
            listener=beside,
            inbox=beside.inbox,
            watch=watch,
            limits=LIMITS,
        )
    if outcome.ending in WAITS:
        raise CallsPaused(WAITS[outcome.ending])
    if outcome.error is not None:
        raise outcome.error
    if outcome.ending == "stopped" and beside.is_taken_back:
        raise GardenerCancelled(TAKEN_BACK)
    if outcome.ending == "stopped":
        message = "Somebody began to talk in the project, so the gardener made room."
        raise MadeRoom(message)
    if outcome.ending != "done":
        raise NotTidied(outcome.message or "The model did not come to an end.")


def _first(found: Batch, zone: str) -> str:
    now = clock.describe_now(datetime.now(UTC), clock.zone_of(zone))
    return f"Now: {now}\n\n# New lines of the log\n\n{found.text}"


class _SilentListener:
    """A listener for a run that no page shows; its report says what the tools did."""

    def step_started(self, step: int) -> None: ...

    def text(self, delta: str) -> None: ...

    def thinking(self, delta: str) -> None: ...

    def tool_started(self, call: Any) -> None: ...

    def tool_finished(self, call: Any, result: Any, seconds: float) -> None: ...

    def step_finished(self, step: int, parts: Any, stop_reason: str, usage: Any) -> None: ...

    def step_failed(self, step: int, message: str, retry_in: float | None) -> None: ...

    def note(self, message: str) -> None: ...


class _Beside(_SilentListener):
    """Stops the run when a person talks in the project; asks once for a missing report."""

    def __init__(
        self, workspace: Workspace, name: str, watch: CancellationToken, context: GardenContext
    ) -> None:
        self._live = Turn.objects.filter(
            conversation__workspace=workspace,
            conversation__project=name,
            state__in=Turn.LIVE,
        )
        # A restore clears the timestamp.
        self._taken_back = ProjectState.objects.filter(
            workspace=workspace, name=name, attempted_at=None
        )
        self.is_taken_back = False
        self._watch = watch
        self._context = context
        self._is_at_end = False
        self._has_reminded = False

    def step_finished(self, step: int, parts: Any, stop_reason: str, usage: Any) -> None:
        """Treat a step without a tool call as the end, unless a message comes in."""
        del step, stop_reason, usage
        self._is_at_end = not any(isinstance(part, messages.ToolUse) for part in parts)

    def inbox(self, step: int) -> list[messages.Message]:
        """Return the reminder, once; stop when a person talks."""
        del step
        try:
            self.is_taken_back = self._taken_back.exists()
            if self.is_taken_back or self._live.exists():
                self._watch.cancel("stop")
        finally:
            release_db_connection()
        if not self._is_at_end or self._context.has_finished or self._has_reminded:
            return []
        self._has_reminded = True
        return [messages.text_message("user", _REMINDER)]
