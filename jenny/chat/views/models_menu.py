"""The models that a conversation can be answered by."""

from dataclasses import dataclass

from jenny.accounts.models import Workspace
from jenny.chat.models import Conversation
from jenny.workspace import config as workspace_config


@dataclass(frozen=True)
class Choice:
    """A preset of the workspace, by name."""

    name: str
    label: str
    current: bool


def presets_of(workspace: Workspace, chat: Conversation | None) -> list[Choice]:
    """The workspace's presets, the one in force marked."""
    config = workspace_config.load(workspace.root)
    chosen = (chat.preset if chat else "") or str(config.get("agents.defaults.model") or "")
    return [
        Choice(name, f"{name} ({preset.model})" if preset.model != name else name, name == chosen)
        for name, preset in config.presets.items()
    ]
