"""Sessions, in the database as Django keeps them."""

from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.db import models
from django.utils import timezone

from jenny.accounts.models.prepared import Prepared, Slot, text_slot

# Asked by each request.
_LIVE = Prepared(
    lambda: Session.objects.filter(
        session_key=text_slot("key"), expire_date__gt=Slot("now", models.DateTimeField())
    )
)


class SessionStore(db.SessionStore):
    """Django's store (``SESSION_ENGINE``), which reads a session by a statement made once."""

    def _get_session_from_db(self) -> AbstractBaseSession | None:
        found = _LIVE.first(key=self.session_key, now=timezone.now())
        return found or super()._get_session_from_db()  # type: ignore[misc]  # the stubs lack it
