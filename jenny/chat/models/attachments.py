"""Files that were sent with messages, or wait to be sent."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jenny.accounts.models import Workspace
from jenny.chat.attachment_texts import AttachedFile

# What a page does not show, and a list of attachments need not load.
_LARGE = ("picture", "text", "pages")


class AttachmentManager(models.Manager["Attachment"]):
    def get_queryset(self) -> "models.QuerySet[Attachment]":
        return super().get_queryset().defer("thumbnail", *_LARGE)


class Attachment(models.Model):
    """A file of a message. Until that is sent, *message* is null and the file is an upload."""

    class Form(models.TextChoices):
        """The form in which the model gets it; empty until it is sent."""

        PICTURE = "picture"
        TEXT = "text"
        # The beginning of its text; the rest can be read by its path.
        PART = "part"
        PATH = "path"

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="attachments")
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="attachments"
    )
    # Null with a null message: it waits for a new conversation.
    conversation = models.ForeignKey(
        "chat.Conversation", null=True, on_delete=models.CASCADE, related_name="attachments"
    )
    message = models.ForeignKey(
        "chat.Message", null=True, on_delete=models.CASCADE, related_name="attachments"
    )
    # Its place among the files of its message; uploads end in another order than they began.
    position = models.PositiveSmallIntegerField(default=0)
    # The upload's id, by which its file waits; empty once it is in the workspace.
    upload = models.CharField(max_length=32, blank=True)
    # Its path from the workspace's folder; empty before it is sent.
    path = models.CharField(max_length=1024, blank=True)
    # The file at *path* was stored for it, and no lasting conversation has it: the file is deleted
    # with a temporary chat. A file that was there before is nobody's own.
    is_own = models.BooleanField(default=False)
    name = models.CharField(max_length=255)
    size = models.BigIntegerField(default=0)
    # SHA-256 of the content, in hex.
    digest = models.CharField(max_length=64, blank=True)
    kind = models.CharField(max_length=16)
    label = models.CharField(max_length=64)
    # Why nothing of it, or not all, is sent: a sentence for the person.
    problem = models.TextField(blank=True)
    page_count = models.PositiveIntegerField(default=0)
    # There is more text than `pages` have.
    has_more = models.BooleanField(default=False)
    # Texts of its first pages until it is sent.
    pages = models.JSONField(default=list)
    form = models.CharField(max_length=8, choices=Form, blank=True)
    # The text that the model gets.
    text = models.TextField(blank=True)
    # The picture that the model gets. What is missing is made again from the file.
    picture = models.BinaryField(null=True)
    picture_type = models.CharField(max_length=32, blank=True)
    width = models.PositiveIntegerField(default=0)
    height = models.PositiveIntegerField(default=0)
    thumbnail = models.BinaryField(null=True)
    # An estimate of what it takes of a request.
    tokens = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    objects = AttachmentManager()

    class Meta:
        ordering = ["position", "pk"]
        indexes = [
            models.Index(
                fields=["account", "workspace", "conversation"],
                condition=Q(message=None),
                name="attachments_of_drafts",
            ),
            models.Index(fields=["workspace", "path"], name="attachments_by_path"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "upload"],
                condition=~Q(upload=""),
                name="one_attachment_an_upload",
            )
        ]

    def __str__(self) -> str:
        return f"attachment {self.pk}"

    @property
    def is_picture(self) -> bool:
        return bool(self.width)

    @property
    def href(self) -> str:
        """Return the file's address in the file browser; empty before it is sent."""
        return self.as_file().href

    @property
    def sent_label(self) -> str:
        """Say what the model gets of it."""
        return self.as_file().sent_label

    def as_file(self, **large: Any) -> AttachedFile:
        """Return it as a value; *large*: the text, picture and the like that are wanted."""
        return AttachedFile(
            name=self.name,
            path=self.path,
            label=self.label,
            form=self.form,
            size=self.size,
            problem=self.problem,
            page_count=self.page_count,
            width=self.width,
            height=self.height,
            **large,
        )


class FileToDelete(models.Model):
    """A stored file whose attachment is gone. It is deleted if it still has the content."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    path = models.CharField(max_length=1024)
    digest = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"file to delete {self.pk}"
