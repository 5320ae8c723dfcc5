"""Run in processes of their own by the tests: writers that do not stop for a restore.

``racer.py FOLDER entries NAME``: add entries to the history until told to end, a line for each that
was acknowledged. ``racer.py FOLDER files NAME``: write a file again and again, in the same way.
"""

import sys
import threading
from pathlib import Path

from jenny.workspace.files import Actor, open_workspace
from memory.history import log
from memory.history.entries import NewHistoryEntry

_over = threading.Event()


def _listen() -> None:
    sys.stdin.read()
    _over.set()


def main(root: Path, what: str, name: str) -> None:
    """Write until standard input ends."""
    threading.Thread(target=_listen, daemon=True).start()
    number = 0
    while not _over.is_set():
        number += 1
        text = f"{name}-{number}"
        if what == "entries":
            log.append(root, [NewHistoryEntry(text)])
        else:
            open_workspace(root, Actor("chat")).write(f"{name}.md", text.encode())
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
