"""Runs of Dream and their schedule on the operator's site: how they ran, never what they read."""

from django.contrib import admin

from jenny.accounts.admin import ReadOnly, site
from memory.models import DreamRun, DreamSchedule, SnapshotState


@admin.register(DreamRun, site=site)
class DreamRunAdmin(ReadOnly):
    """One run of Dream."""

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
    """When each workspace's next run is due."""

    list_display = ("workspace", "next_dream_at")
    list_select_related = ("workspace",)
    fields = ("workspace", "next_dream_at", "timing")
    ordering = ("next_dream_at",)


@admin.register(SnapshotState, site=site)
class SnapshotStateAdmin(ReadOnly):
    """How each workspace's snapshots fare."""

    list_display = ("workspace", "changed_at", "taken_at", "next_look", "failed_at")
    list_select_related = ("workspace",)
    fields = ("workspace", "changed_at", "taken_at", "next_look", "failed_at", "pruned_at")
    ordering = ("workspace",)
