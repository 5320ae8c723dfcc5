"""A workspace's row: who owns it and where its folder lies."""

import uuid
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import IntegrityError, models, transaction
from django.utils import timezone

from jenny.accounts import slugs
from jenny.accounts.models.leftovers import Leftover
from jenny.workspace.errors import WriteFailed, reason_of
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.seed import seed


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
    # Once the folder was made, one that is missing is a loss and never silently made anew.
    folder_made_at = models.DateTimeField(null=True, blank=True)
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

    def make_folder(self) -> None:
        """Make the folder with its first files, unless that was done. Safe to repeat.

        :raises WorkspaceError: the disk refuses; the next visit tries again.
        """
        if self.folder_made_at is not None:
            return
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            message = f"The folder {self.root} cannot be made: {reason_of(error)}."
            raise WriteFailed(message) from error

        seed(open_workspace(self.root, Actor("setup", account=self.owner_id)))
        self.folder_made_at = timezone.now()
        self.save(update_fields=["folder_made_at"])

    @classmethod
    def make(cls, owner: AbstractUser, name: str) -> "Workspace":
        """A row with a slug that no row ever had and no folder bears: a folder that lies
        there without a row is somebody's files, and not to be taken over unasked."""
        for slug in slugs.candidates(name):
            if (settings.JENNY_DATA.workspaces / slug).exists() or Leftover.has_slug(slug):
                continue
            try:
                with transaction.atomic():
                    return cls.all_objects.create(owner_id=owner.pk, slug=slug, name=name[:80])
            except IntegrityError:
                continue
        raise AssertionError  # candidates() has no end
