"""A workspace's row, its owner and its folder, and what is left of deleted ones."""

import os
import uuid
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import IntegrityError, models, transaction
from django.db.models.functions import Now
from django.utils import timezone

from jenny import text_normalisation
from jenny.workspace import config
from jenny.workspace.errors import WriteFailed, reason_of
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.seed import seed


class Leftover(models.Model):
    """A workspace, or the uploads of an account, whose rows are deleted."""

    # Empty: an account's uploads.
    slug = models.SlugField(max_length=64, blank=True)
    # Names of the folders of its snapshots, trash and uploads.
    name = models.CharField(max_length=64)
    deleted_at = models.DateTimeField(db_default=Now())
    cleared_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["slug"], condition=~models.Q(slug=""), name="one_leftover_a_slug"
            )
        ]

    def __str__(self) -> str:
        return self.slug or self.name

    @classmethod
    def has_slug(cls, slug: str) -> bool:
        return cls.objects.filter(slug=slug).exists()


class LiveWorkspaces(models.Manager["Workspace"]):
    def get_queryset(self) -> models.QuerySet["Workspace"]:
        return super().get_queryset().filter(deleted_at=None)


class Workspace(models.Model):
    """A workspace folder's row.

    The slug names its folder and is never used again, so the row of a deleted workspace stays.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="workspaces"
    )
    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)
    # Once the folder was made, a missing one is a loss and never silently recreated.
    folder_made_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = LiveWorkspaces()
    all_objects = models.Manager["Workspace"]()

    class Meta:
        default_manager_name = "all_objects"
        base_manager_name = "all_objects"

    def __str__(self) -> str:
        return self.slug

    @property
    def root(self) -> Path:
        return Path(settings.JENNY_DATA.workspaces / self.slug)

    def make_folder(self) -> None:
        """Create the folder with its first files, unless that was done. Safe to repeat.

        :raises WorkspaceError: the disk refuses; the next visit tries again.
        """
        if self.folder_made_at is not None:
            return
        is_new = _is_free(self.root)
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            message = f"The folder {self.root} cannot be made: {reason_of(error)}."
            raise WriteFailed(message) from error

        seed(open_workspace(self.root, Actor("setup", account=self.owner_id)))
        if is_new:
            config.accept_defaults(self.root, is_new=True)
        self.folder_made_at = timezone.now()
        self.save(update_fields=["folder_made_at"])

    @classmethod
    def make(cls, owner: AbstractUser, name: str, *, attach: bool = False) -> "Workspace":
        """Create a row with a slug that no row ever had and no folder has.

        A folder without a row has somebody's files and is not taken over unasked. *attach*: the
        person asked for it; its files stay as they are, and only missing ones are created.
        """
        for number, slug in enumerate(text_normalisation.slug_candidates(name)):
            is_wanted = attach and number == 0
            is_free = _is_free(settings.JENNY_DATA.workspaces / slug)
            if not (is_free or is_wanted) or Leftover.has_slug(slug):
                continue
            try:
                with transaction.atomic():
                    return cls.all_objects.create(owner_id=owner.pk, slug=slug, name=name[:80])
            except IntegrityError:
                continue
        raise AssertionError  # candidates() is endless


def _is_free(folder: Path) -> bool:
    """True when nothing stands there, or an empty folder, which has nobody's files."""
    try:
        return not os.path.lexists(folder) or (
            not folder.is_symlink() and not any(folder.iterdir())
        )
    except OSError:
        return False
