"""The product as a whole, as an app: its commands, and its queue."""

from django.apps import AppConfig

# Imported wherever Django is set up, so that shared tasks belong to this app everywhere. In a
# process that did not, they would go to a default broker that is not ours.
from jenny import celery


class JennyConfig(AppConfig):
    """Holds ``manage.py up``; has no tables."""

    name = "jenny"
    queue = celery.app
