"""How long things are kept. Code, pages, commands and the tests of docs/ read these constants.

The choice of which snapshots of a workspace stay is made in ``snapshots/retention.py``.
"""

from datetime import timedelta

# A deleted file or conversation in the trash.
TRASH = timedelta(days=30)
# A deleted workspace, which can be brought back until then.
DELETED_WORKSPACE = timedelta(days=30)
# What a form of the pages changed in the memory files, with the contents that Undo needs.
PAGE_CHANGE = timedelta(days=30)
# An upload in parts after its last part.
UPLOAD_PART = timedelta(days=1)
# A file that was attached to a message which is not sent.
UNSENT_FILE = timedelta(days=30)
# A backup that was made or sent, and the key of an encrypted one.
BACKUP = timedelta(days=1)
BACKUP_KEY = timedelta(hours=1)
# The backup of an interrupted import, which is recovered within minutes of the next start.
INTERRUPTED_IMPORT = timedelta(days=30)
# A session after its last request.
SESSION = timedelta(days=30)
# The times in which the web server, workers and scheduler were running.
ACTIVITY = timedelta(days=30)
# The events of a conversation after the last one; the database has what they say.
STREAM = timedelta(hours=1)
# Copies of the database made before migrations.
DATABASE_COPIES = 5
# Snapshots: the newest always stay; older ones than EACH_SNAPSHOT are thinned to one a day.
NEWEST_SNAPSHOTS = 20
EACH_SNAPSHOT = timedelta(days=30)
# The choices of ``snapshots.keepFor``; None: no limit.
SNAPSHOT_HORIZONS: dict[str, timedelta | None] = {
    "week": timedelta(days=7),
    "month": timedelta(days=31),
    "year": timedelta(days=366),
    "forever": None,
}


def in_words(period: timedelta) -> str:
    """Render a whole number of days or hours: ``30 days``, ``a day``, ``an hour``."""
    if period.days:
        return "a day" if period.days == 1 else f"{period.days} days"
    hours = period.seconds // 3600
    return "an hour" if hours == 1 else f"{hours} hours"
