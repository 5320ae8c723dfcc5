"""Which model Dream asks."""

from jenny.accounts.access import model_for
from jenny.accounts.models import Workspace
from jenny.agent.errors import AgentError, CallsPaused, Cancelled
from jenny.agent.provider import Provider
from jenny.workspace.config import Config
from jenny.workspace.errors import WorkspaceError
from memory.management.dreaming.lending import give_back

_OVERRIDE = "agents.defaults.dream.modelOverride"


class DreamModel:
    """Which model a run asks: the one that the settings name for Dream, or the main one."""

    def __init__(self, workspace: Workspace, config: Config | None, kind: str = "dream") -> None:
        self._workspace, self._kind = workspace, kind
        self._config = config
        self._found: Provider | None = None
        self.notes: list[str] = []

    def __call__(self) -> Provider:
        """The provider.

        :raises AgentError: none can be asked, and why.
        :raises Cancelled: all calls are paused, which is no failure of the run's.
        """
        try:
            if self._found is None:
                self._found = self._chosen()
        except CallsPaused as error:
            raise Cancelled(error.reason) from error
        finally:
            give_back()
        return self._found

    @property
    def found(self) -> Provider | None:
        """The one that was asked, if any was."""
        return self._found

    def _chosen(self) -> Provider:
        workspace = self._workspace
        name = self._config.get(_OVERRIDE) if self._config else ""
        if self._config and (problem := self._config.problems.get(_OVERRIDE)):
            self.notes.append(problem)
        if name:
            try:
                return Provider(*model_for(workspace, name, kind=self._kind))
            except CallsPaused:
                raise
            except AgentError as error:
                self.notes.append(
                    f"The model for Dream, “{name}”, cannot be asked; the main one was. "
                    f"{error.sentence}"
                )
        try:
            return Provider(*model_for(workspace, kind=self._kind))
        except WorkspaceError as error:
            raise AgentError("workspace", error.sentence) from error
