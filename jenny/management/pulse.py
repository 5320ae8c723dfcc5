"""Each part says once a minute that it is up, so that a page can show when it was not."""

import logging
import socket
import threading

from django.db import DatabaseError, connections

from jenny.accounts.models import UpSpan
from jenny.accounts.models.activity import BEAT_SECONDS

log = logging.getLogger(__name__)


def start(part: str) -> None:
    """Beat for *part* from now on, in a thread of its own that ends with the process.

    It shows that the process runs and reaches the database; what it does with its work, the health
    check and the queue's length show.
    """
    host = socket.gethostname()[:64]
    threading.Thread(target=_beat, args=(part, host), name=f"up {part}", daemon=True).start()


def _beat(part: str, host: str) -> None:
    over = threading.Event()
    while True:
        try:
            UpSpan.beat(part, host)
        except DatabaseError as error:
            # A gap will show it; the part works as well as it can.
            log.info("up.not_noted", extra={"part": part, "cause": type(error).__name__})
        finally:
            connections.close_all()
        over.wait(BEAT_SECONDS)
