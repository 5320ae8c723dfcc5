"""Configure the wikis app."""

from django.apps import AppConfig

from jenny.workspace.write_rules import register_act_rule, register_companion, register_rule
from wikis import gardener, links, project


class WikisConfig(AppConfig):
    name = "wikis"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the write rules of the gardener, of projects that keep the memory out, and of
        names of pages."""
        register_rule(gardener.guard_write)
        register_rule(project.guard_instructions)
        register_act_rule(gardener.note_writes)
        register_companion(links.refuse_twins)
