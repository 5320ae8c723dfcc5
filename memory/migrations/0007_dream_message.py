from typing import Any

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_OLD, _NEW = "sentence", "message"


def _renamed(values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    return {_NEW if key == _OLD else key: value for key, value in values.items()}


def rename_keys(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Rename the key in what runs stored as JSON: writes, the review, alarms."""
    runs = apps.get_model("memory", "DreamRun")
    for run in runs.objects.only("pk", "writes", "review").iterator(chunk_size=200):
        writes = [_renamed(row) for row in run.writes]
        review = _renamed(run.review)
        if isinstance(review, dict) and "writes" in review:
            review["writes"] = [_renamed(row) for row in review["writes"]]
        if (writes, review) != (run.writes, run.review):
            runs.objects.filter(pk=run.pk).update(writes=writes, review=review)
    states = apps.get_model("memory", "DreamState")
    for state in states.objects.exclude(alarms=[]):
        alarms = [_renamed(row) for row in state.alarms]
        states.objects.filter(pk=state.pk).update(alarms=alarms)


class Migration(migrations.Migration):
    dependencies = [("memory", "0006_review")]

    operations = [
        migrations.RenameField("dreamrun", "sentence", "message"),
        migrations.RunPython(rename_keys, migrations.RunPython.noop),
    ]
