"""Load, validate and change ``config.json``, the settings of a workspace.

``fields`` has all settings as typed models, ``kinds`` the types of values, ``document`` parses and
renders the file's text, ``store`` loads and changes the file and its copies.
"""

from jenny.workspace.config.document import Config, Raw
from jenny.workspace.config.fields import BY_KEY, FIELDS, GROUPS, PRESET_FIELDS, PresetConfig
from jenny.workspace.config.kinds import Field, Value
from jenny.workspace.config.store import (
    accept_defaults,
    change_config,
    is_old,
    load_config,
    load_real,
    migrate_config,
)

__all__ = [
    "BY_KEY",
    "FIELDS",
    "GROUPS",
    "PRESET_FIELDS",
    "Config",
    "Field",
    "PresetConfig",
    "Raw",
    "Value",
    "accept_defaults",
    "change_config",
    "is_old",
    "load_config",
    "load_real",
    "migrate_config",
]
