"""Who is told what became of a run: whoever asked, where they asked.

What a floor above registers here; this one knows nothing of conversations.
"""

from collections.abc import Callable

Teller = Callable[[str, str], None]
"""Told the asker's own words and the sentence; called again when it did not return."""
Announcer = Callable[[str, str, str], None]
"""Told a workspace's id, a key by which the same news is known, and the sentence."""

_TELLERS: dict[str, Teller] = {}
_ANNOUNCERS: list[Announcer] = []


def register(prefix: str, teller: Teller) -> None:
    """Let *teller* answer the askers whose words begin with ``prefix:``."""
    _TELLERS[prefix] = teller


def register_announcer(announcer: Announcer) -> None:
    """Let *announcer* bring what a workspace's person should know without having asked."""
    if announcer not in _ANNOUNCERS:
        _ANNOUNCERS.append(announcer)


def notify_requester(asker: str, message: str) -> None:
    """Tell the one who asked; nobody who is not known any more."""
    teller = _TELLERS.get(asker.partition(":")[0])
    if teller is not None:
        teller(asker, message)


def announce_outcome(workspace: str, key: str, message: str) -> None:
    for announcer in _ANNOUNCERS:
        announcer(workspace, key, message)
