"""The menu of models for a conversation."""

from dataclasses import dataclass

from jenny.accounts import endpoints
from jenny.accounts.access import environment
from jenny.accounts.errors import ConnectionProblem
from jenny.accounts.models import Workspace
from jenny.chat.models import Conversation
from jenny.workspace import config as workspace_config


@dataclass(frozen=True)
class Choice:
    name: str
    label: str
    current: bool


def presets_of(workspace: Workspace, chat: Conversation | None) -> list[Choice]:
    """Return every model that can be chosen, with the current one of *chat* marked."""
    config = workspace_config.load_config(workspace.root)
    env = environment()
    origins = set(workspace.owner.api_keys.values_list("origin", flat=True))
    try:
        current = endpoints.choose(config, chat.preset if chat else "", origins, env).name
    except ConnectionProblem:
        # The preset was deleted; the next turn says so.
        current = ""
    return [
        Choice(row.name, _label(row), row.name == current) for row in endpoints.menu(config, env)
    ]


def chosen_preset(workspace: Workspace, name: str) -> str:
    """Return what a conversation stores when *name* was chosen in the menu.

    Empty for the default, so that it follows the workspace's, and for an unknown name.
    """
    choices = {choice.name: choice for choice in presets_of(workspace, None)}
    return name if name in choices and not choices[name].current else ""


def _label(choice: endpoints.Choice) -> str:
    if choice.is_demo:
        return "demo model (rules, no language model)"
    model = choice.preset.model
    return choice.name if choice.name == model else f"{choice.name} · {model}"
