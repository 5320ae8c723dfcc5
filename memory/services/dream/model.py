from jenny.accounts.access import model_for
from jenny.accounts.models import Workspace
from jenny.agent.errors import AgentError, CallsPaused, Cancelled
from jenny.agent.provider import Provider
from jenny.db_connections import release_db_connection
from jenny.workspace.config import Config
from jenny.workspace.errors import WorkspaceError

_OVERRIDE = "agents.defaults.dream.modelOverride"


class DreamModel:
    """The model of a run: the one set for Dream, or the main one."""

    def __init__(self, workspace: Workspace, config: Config | None, kind: str = "dream") -> None:
        self._workspace, self._kind = workspace, kind
        self._config = config
        self._found: Provider | None = None
        self.notes: list[str] = []

    def __call__(self) -> Provider:
        """Return the provider.

        Raises:
            AgentError: none can be asked.
            Cancelled: all calls are paused, which is no failure of the run.
        """
        try:
            if self._found is None:
                self._found = self._chosen()
        except CallsPaused as error:
            raise Cancelled(error.reason) from error
        finally:
            release_db_connection()
        return self._found

    @property
    def found(self) -> Provider | None:
        """Return the provider that was asked, if any."""
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
                    f"{error.message}"
                )
        try:
            return Provider(*model_for(workspace, kind=self._kind))
        except WorkspaceError as error:
            raise AgentError("workspace", error.message) from error
