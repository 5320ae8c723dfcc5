"""The memory app."""

from django.apps import AppConfig

from jenny.accounts.checks import register_row_check
from jenny.workspace.check import register_check
from jenny.workspace.rules import register_rule
from jenny.workspace.versions import check as versions_check
from jenny.workspace.versions.outside import register_listener
from memory import check, funnel, keeping, provenance, temporary
from memory.approval import overlay
from memory.dream.tools import places
from memory.history import check as history_check


class MemoryConfig(AppConfig):
    """The memory pipeline; registers the write rules of the memory files."""

    name = "memory"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """From here on every write in every workspace is asked about."""
        funnel.install()
        register_rule(temporary.guard)
        register_rule(places.guard)
        register_check(check.check)
        register_check(keeping.check)
        register_check(versions_check.check)
        register_check(history_check.check)
        # It needs the models, which are loaded only now.
        from jenny.accounts.management import notices, working  # noqa: PLC0415 - apps are loaded first
        from memory.management import (  # noqa: PLC0415 - apps are loaded first
            approval_notices,
            restoring,
            snapshot_notices,
            snapshots,
            staging,
        )
        from memory.management.dreaming import book, rehearsing  # noqa: PLC0415 - apps are loaded first
        from memory.management.dreaming import notices as dreams  # noqa: PLC0415 - apps are loaded first

        register_row_check(snapshots.check)
        register_row_check(approval_notices.check)
        notices.register("approvals", approval_notices.of)
        working.register(restoring.KIND, restoring.ABOUT)
        working.register(rehearsing.KIND, rehearsing.ABOUT)
        notices.register("dream", dreams.of)
        notices.register("snapshots", snapshot_notices.of)
        funnel.register_fence(book.fence)
        overlay.register_sources(staging.source, staging.unwanted)
        funnel.register_sink(provenance.record)
        register_listener(provenance.record_outside)
