"""``config.json``: the settings of a workspace.

``fields`` is the table of all settings, ``kinds`` what kinds of values there are, ``document``
the file's text, ``values`` what it says, ``stored`` the files on disk, ``funnel`` loading and
changing.
"""

from jenny.workspace.config.document import Raw
from jenny.workspace.config.fields import BY_KEY, FIELDS, GROUPS, PRESET_FIELDS
from jenny.workspace.config.funnel import change, is_old, load, load_real, migrate
from jenny.workspace.config.kinds import Field, Value
from jenny.workspace.config.values import Config, PresetConfig

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
    "change",
    "is_old",
    "load",
    "load_real",
    "migrate",
]
