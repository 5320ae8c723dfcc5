"""Skills that the person switched off: they are in no prompt, whatever their header says. Kept in
``memory/.skills.jsonl``, so that files are not rewritten for it and bundled ones can be named, too.
"""

from pathlib import Path

from jenny.workspace import paths
from jenny.workspace.rules import Actor
from jenny.workspace.stamped import StampedFiles
from memory import ledger

PATH = "memory/.skills.jsonl"


def names_off(root: Path) -> frozenset[str]:
    """The skills' names."""
    return _derive(root) if ledger.is_odd(root, PATH) else _OFF.read(root)


def switch(root: Path, name: str, actor: Actor, *, off: bool) -> bool:
    """Switch the skill of that name off, or on again. ``False``: it was like that already.

    Raises:
        WriteFailed, LockTimeout: nothing was noted.
    """
    if (name in names_off(root)) == off:
        return False
    real = paths.real_root(root)
    row = {"skill": name, "off": off, "at": ledger.now(), "actor": actor.kind}
    ledger.land(real, [ledger.added(real, PATH, [row], None)])
    return True


def _derive(root: Path) -> frozenset[str]:
    found: dict[str, bool] = {}
    for row in ledger.read(paths.real_root(root), PATH).rows:
        name, off = row.get("skill"), row.get("off")
        if isinstance(name, str) and isinstance(off, bool):
            found[name] = off
    return frozenset(name for name, off in found.items() if off)


_OFF: StampedFiles[frozenset[str]] = StampedFiles((PATH,), _derive)
