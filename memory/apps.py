from django.apps import AppConfig

from jenny.workspace.check import register_check
from jenny.workspace.versions import commits as versions_check
from jenny.workspace.versions.commits import register_external_edit_listener
from jenny.workspace.write_rules import register_act_rule, register_rule
from memory import checks, provenance, write_rules
from memory.approvals import overlay
from memory.dream import rules
from memory.history import check as history_check


class MemoryConfig(AppConfig):
    """Registers the write rules of the memory files, jobs, notices and checks."""

    name = "memory"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Install the rules; from now on they are asked about every write."""
        write_rules.install()
        register_rule(write_rules.guard_unremembered)
        register_rule(rules.guard)
        register_check(checks.check_memory)
        register_check(checks.check_integrity)
        register_check(versions_check.check_versions)
        register_check(history_check.check_history)
        register_check(checks.check_ledgers)
        # Models can be imported only now.
        from jenny.accounts.services import jobs, notices  # noqa: PLC0415 - apps are loaded first
        from memory.services import (  # noqa: PLC0415 - apps are loaded first
            dream_run_store,
            dream_runs,
            proposals,
            restores,
        )
        from memory.services import (  # noqa: PLC0415 - apps are loaded first
            notices as memory_notices,
        )

        notices.register_notices("approvals", memory_notices.approval_notices)
        notices.register_notices("ledgers", memory_notices.ledger_notices)
        jobs.register_job_kind(restores.KIND, restores.ABOUT)
        jobs.register_job_kind(dream_runs.DRY_RUN_KIND, dream_runs.DRY_RUN_JOB)
        notices.register_notices("dream", memory_notices.dream_notices)
        notices.register_notices("snapshots", memory_notices.snapshot_notices)
        write_rules.register_fence(dream_run_store.fence)
        overlay.register_sources(proposals.load_waiting, proposals.load_unwanted)
        register_act_rule(provenance.record_origins)
        register_external_edit_listener(provenance.record_outside_origins)
