"""Runs of Dream and schedules on the operator's site, without texts that Dream read."""

from django.contrib import admin

from jenny.accounts.admin import ReadOnly, site
from memory.models import DreamRun, DreamSchedule, SnapshotState


@admin.register(DreamRun, site=site)
class DreamRunAdmin(ReadOnly):
    list_display = (
        "id",
        "workspace",
        "trigger",
        "state",
        "status",
        "model",
        "steps",
        "seconds",
        "created_at",
        "ended_at",
    )
    list_select_related = ("workspace",)
    list_filter = ("state", "trigger")
    fields = (
        "workspace",
        "trigger",
        "state",
        "status",
        "model",
        "preset",
        "holder",
        "epoch",
        "steps",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cost",
        "seconds",
        "created_at",
        "started_at",
        "heartbeat_at",
        "deadline_at",
        "ended_at",
    )
    ordering = ("-pk",)


@admin.register(DreamSchedule, site=site)
class DreamScheduleAdmin(ReadOnly):
    """The next due run of each workspace."""

    list_display = ("workspace", "next_dream_at")
    list_select_related = ("workspace",)
    fields = ("workspace", "next_dream_at", "timing")
    ordering = ("next_dream_at",)


@admin.register(SnapshotState, site=site)
class SnapshotStateAdmin(ReadOnly):
    list_display = ("workspace", "changed_at", "taken_at", "next_scan_at", "failed_at")
    list_select_related = ("workspace",)
    fields = ("workspace", "changed_at", "taken_at", "next_scan_at", "failed_at", "pruned_at")
    ordering = ("workspace",)
