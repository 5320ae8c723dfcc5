from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def rename_review_key(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Rename the key of a review's message in what runs stored as JSON."""
    runs = apps.get_model("memory", "DreamRun")
    for run in runs.objects.only("pk", "review").iterator(chunk_size=200):
        if isinstance(run.review, dict) and "told" in run.review:
            review = {
                "full_message" if key == "told" else key: value
                for key, value in run.review.items()
            }
            runs.objects.filter(pk=run.pk).update(review=review)


class Migration(migrations.Migration):
    dependencies = [("memory", "0008_accepted_changes")]

    operations = [
        migrations.RemoveIndex("dreamrun", "untold_dream_runs"),
        migrations.RenameField("dreamrun", "was_told", "is_reported"),
        migrations.AddIndex(
            "dreamrun",
            models.Index(
                fields=["is_reported"],
                condition=models.Q(state="ended", is_reported=False),
                name="unreported_dream_runs",
            ),
        ),
        migrations.RenameField("snapshotstate", "next_look", "next_scan_at"),
        migrations.RunPython(rename_review_key, migrations.RunPython.noop),
    ]
