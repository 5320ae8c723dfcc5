"""The wikis app."""

from django.apps import AppConfig

from jenny.workspace.rules import register_act_rule, register_rule
from wikis.gardener import border
from wikis.project import about


class WikisConfig(AppConfig):
    """Wikis and, in them, projects."""

    name = "wikis"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """From here on the gardener writes pages and nothing else, and no model lets the memory
        into a project that keeps it out."""
        register_rule(border.guard)
        register_rule(about.guard)
        register_act_rule(border.note)
