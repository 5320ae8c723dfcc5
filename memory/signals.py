"""Signals by which other apps learn of the memory's work. The sender is ``None``.

A receiver that raises is called again later, where the signal says so.
"""

from django.dispatch import Signal

# ``asker``, ``message``: a run is over. *asker* is what the one who asked for it gave
# (``DreamRun.asker``). Sent again when a receiver raised.
run_reported = Signal()
# ``workspace`` (its id), ``key``, ``message``: what a workspace's person should know without having
# asked. The same *key* is the same news.
outcome_announced = Signal()
# ``workspace``, ``files``, ``then``: these files return to their state of that time. Sent under the
# workspace's lock and before the write; a receiver that raises stops it.
files_restoring = Signal()
