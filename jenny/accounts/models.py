"""Accounts, the workspaces they own, their API keys and their sessions."""

import uuid
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models


class Account(AbstractUser):
    """A person who can log in. The first one is the owner (``is_superuser``)."""

    time_zone = models.CharField(max_length=64, default="UTC")
    current_workspace = models.ForeignKey(
        "Workspace", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )


class LiveWorkspaces(models.Manager["Workspace"]):
    """Workspaces that were not deleted."""

    def get_queryset(self) -> models.QuerySet["Workspace"]:
        """All rows but the deleted ones."""
        return super().get_queryset().filter(deleted_at=None)


class Workspace(models.Model):
    """A workspace folder's row. A slug names its folder and is never used again,
    so the row of a deleted workspace stays (``07-contract``: data folder)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="workspaces"
    )
    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = LiveWorkspaces()
    all_objects = models.Manager["Workspace"]()

    class Meta:
        default_manager_name = "all_objects"
        base_manager_name = "all_objects"

    def __str__(self) -> str:
        """The slug."""
        return self.slug

    @property
    def root(self) -> Path:
        """The workspace's folder."""
        return Path(settings.JENNY_DATA.workspaces / self.slug)


class ApiKey(models.Model):
    """A key for one origin (scheme, host, port), encrypted; never sent to another origin."""

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_keys"
    )
    origin = models.CharField(max_length=255)
    ciphertext = models.BinaryField()
    hint = models.CharField(max_length=16)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "origin"], name="one_key_per_origin")
        ]

    def __str__(self) -> str:
        """The origin and the masked key."""
        return f"{self.origin} {self.hint}"


class LoginSession(models.Model):
    """A session somebody is logged in with, so that it can be listed and ended."""

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="login_sessions"
    )
    session_key = models.CharField(max_length=40, unique=True)
    device = models.CharField(max_length=200, blank=True)
    address = models.GenericIPAddressField(null=True, blank=True)
    started_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        """Whose it is, and the device."""
        return f"{self.account_id} {self.device}"
