"""Skills that the person disabled, in ``memory/.skills.jsonl``; they are in no prompt.

A separate file means that skill files are not rewritten, and that bundled skills can be disabled,
too. An unreadable line may have disabled the skill that it names or, without a name, every skill
that was not enabled since.
"""

from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import paths
from jenny.workspace.file_cache import StampedFiles
from jenny.workspace.write_rules import Actor
from memory import ledgers

PATH = "memory/.skills.jsonl"


@dataclass(frozen=True, slots=True)
class SwitchedOff:
    """Names of disabled skills; with *is_doubtful* all but those in *on* are disabled."""

    names: frozenset[str] = frozenset()
    on: frozenset[str] = frozenset()
    is_doubtful: bool = False

    def __contains__(self, name: str) -> bool:
        return name in self.names or (self.is_doubtful and name not in self.on)

    def __bool__(self) -> bool:
        return bool(self.names) or self.is_doubtful


def names_off(root: Path) -> SwitchedOff:
    return _derive(root) if ledgers.is_odd(root, PATH) else _OFF.read(root)


def switch(root: Path, name: str, actor: Actor, *, off: bool) -> bool:
    """Disable or enable the skill. ``False``: it was like that already.

    Raises:
        WriteFailed, LockTimeout: nothing was recorded.
    """
    if (name in names_off(root)) == off:
        return False
    real = paths.real_root(root)
    row = {"skill": name, "off": off, "at": ledgers.now(), "actor": actor.kind}
    ledgers.land(real, [ledgers.added(real, PATH, [row], None)])
    return True


def off_by(found: ledgers.Ledger) -> SwitchedOff:
    """Return the skills that are disabled by these rows."""
    off: dict[str, bool] = {}
    on: set[str] = set()
    for row, is_sure in found.checked_rows():
        name, value = row.get("skill"), row.get("off")
        if isinstance(name, str) and isinstance(value, bool):
            off[name] = value
            (on.add if is_sure and not value else on.discard)(name)
    damaged = found.damaged_texts("skill")
    off |= {name: name not in on for name in damaged if name is not None}
    names = frozenset(name for name, value in off.items() if value)
    return SwitchedOff(names, frozenset(on), bool(found.problem) or None in damaged)


def _derive(root: Path) -> SwitchedOff:
    return off_by(ledgers.read_ledger(paths.real_root(root), PATH))


_OFF: StampedFiles[SwitchedOff] = StampedFiles((PATH,), _derive)
