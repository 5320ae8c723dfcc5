"""The gardener's model is asked, and whoever begins to talk in the project comes first."""

from typing import Any

from jenny.accounts.access import model_for
from jenny.accounts.models import Workspace
from jenny.agent import loop, messages
from jenny.agent.errors import WAITS, CallsPaused
from jenny.agent.limits import Limits
from jenny.agent.provider import Provider
from jenny.agent.tools import Toolbox
from jenny.agent.watch import Watch
from jenny.chat.models import ProjectState, Turn
from jenny.chat.prompt import build
from jenny.chat.tasks.claims import WATCHES
from jenny.chat.tasks.gardening.silence import Silence
from jenny.chat.tasks.lending import give_back
from jenny.chat.toolset import tools_of
from jenny.workspace.errors import WorkspaceError
from wikis.gardener.batch import Batch
from wikis.gardener.tools import GardenContext

LIMITS = Limits(max_steps=60, seconds=900, max_run_tokens=400_000, retries=2)
_REMINDER = "Write what is still to be written, then call finish_tidying."


class NotTidied(WorkspaceError):
    """The gardener did not come to its end; the sentence says why, and what became of the pages."""


class MadeRoom(NotTidied):
    """It ended for somebody who came to talk in the project."""


class TakenBack(NotTidied):
    """It ended since the project's files became again what they were before."""


TAKEN_BACK = (
    "The project was restored meanwhile, so the gardener stopped. The pages are as they were then; "
    "what it wrote is in the snapshot before the restore."
)


def ask(workspace: Workspace, name: str, context: GardenContext, found: Batch) -> None:
    """Let the model work through the lines.

    Raises:
        AgentError, Cancelled: it could not be asked, or was stopped.
        NotTidied: it did not come to an end of its own.
    """
    box = Toolbox(tools_of("gardener"), context)
    system = build(
        "gardener", workspace.root, tool_names=box.names, schemas=box.schemas(), project=name
    )
    endpoint, preset = model_for(workspace, kind="gardener")
    give_back()
    with WATCHES.one(LIMITS.seconds) as watch:
        context.watch = watch
        beside = _Beside(workspace, name, watch, context)
        outcome = loop.run(
            provider=Provider(endpoint, preset),
            system=system.wire(),
            history=[messages.said("user", f"# New lines of the log\n\n{found.text}")],
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
        raise TakenBack(TAKEN_BACK)
    if outcome.ending == "stopped":
        message = "Somebody began to talk in the project, so the gardener made room."
        raise MadeRoom(message)
    if outcome.ending != "done":
        raise NotTidied(outcome.sentence or "The model did not come to an end.")


class _Beside(Silence):
    """What goes on beside the model's work: who begins to talk in the project comes first, and an
    end without an account is asked about once."""

    def __init__(
        self, workspace: Workspace, name: str, watch: Watch, context: GardenContext
    ) -> None:
        self._live = Turn.objects.filter(
            conversation__workspace=workspace,
            conversation__project=name,
            state__in=Turn.LIVE,
        )
        # A restore clears the stamp.
        self._taken_back = ProjectState.objects.filter(
            workspace=workspace, name=name, attempted_at=None
        )
        self.is_taken_back = False
        self._watch = watch
        self._context = context
        self._is_at_end = False
        self._has_reminded = False

    def step_finished(self, step: int, parts: Any, stop_reason: str, usage: Any) -> None:
        """A step without a call is the end, unless something comes in."""
        del step, stop_reason, usage
        self._is_at_end = not any(isinstance(part, messages.ToolUse) for part in parts)

    def inbox(self, step: int) -> list[messages.Message]:
        """The reminder, once; and the end, when somebody talks."""
        del step
        try:
            self.is_taken_back = self._taken_back.exists()
            if self.is_taken_back or self._live.exists():
                self._watch.cancel("stop")
        finally:
            give_back()
        if not self._is_at_end or self._context.has_finished or self._has_reminded:
            return []
        self._has_reminded = True
        return [messages.said("user", _REMINDER)]
