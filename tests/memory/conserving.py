"""Run in a process of its own by ``test_conservation``: writers that edit, move, reword, prune and
rewrite memory files at random, killed with SIGKILL right before a step that reaches the disk.

``conserving.py FOLDER SEED ROUNDS [blind]``: each round, a few processes write at once, each of
them killed at another of its fsyncs, renames and unlinks (or at none); then the workspace is opened
again and looked through for every word that was ever acknowledged. It knows nothing of archives,
facts or rules: it looks for words in the bytes of files. With ``blind`` nothing is archived. One
line of JSON a round.

``conserving.py FOLDER turns``: a person takes a line out, killed at each step in turn.
"""

import json
import os
import random
import shutil
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from jenny.workspace import transaction_journal
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor, Workspace, open_workspace
from memory import archive, write_rules
from memory.archive import write_rule
from tests.support.dying import die_at, in_process

STEPS = ("fsync", "rename", "unlink")
KINDS = ("chat", "browser", "dream", "review", "command", "restore")
FILES = ("USER.md", "memory/MEMORY.md")
WRITERS = 3
ACTS = 5
KEPT_ROUNDS = 12


class Writer:
    """One process's acts."""

    def __init__(self, root: Path, planted: int, name: str, seed: int) -> None:
        self.root = root
        self.planted = planted
        self.name = name
        self.random = random.Random(seed)
        self.made = 0

    def word(self) -> str:
        """A word that is nowhere else."""
        self.made += 1
        return f"zq{self.name}x{self.made}q"

    def line(self, word: str) -> bytes:
        """A line that says it, in one of many forms."""
        other = self.random.choice(("Ana likes", "The rent of", "On 3 May 2026", "No", "**Bo**"))
        form = self.random.choice(
            ("- {0} {1}", "1. {0} {1}.", "{0} {1}", "| {0} | {1} |", "  - {0} {1}", "> {0} {1}",
             "```\n{1}\n```", "<!-- {1} -->", "- {0}\n  {1}", "{1}\n---", "* [ ] {1}")
        )  # fmt: skip
        return form.format(other, word).encode() + b"\n"

    def act(self) -> list[str]:
        """Do something; the new words of it, which are on disk from now on."""
        workspace = open_workspace(self.root, Actor(self.random.choice(KINDS), run="r"))
        what = self.random.choice(
            (self.add, self.add, self.prune, self.reword, self.shuffle, self.move, self.rewrite,
             self.remove, self.back)
        )  # fmt: skip
        return what(workspace, self.random.choice(FILES))

    def add(self, workspace: Workspace, path: str) -> list[str]:
        """Add a line somewhere."""
        word = self.word()
        self._edit(workspace, path, lambda rows: self._insert(rows, self.line(word)))
        return [word]

    def prune(self, workspace: Workspace, path: str) -> list[str]:
        """Take some lines out."""
        self._edit(workspace, path, lambda rows: [r for r in rows if self.random.random() < 0.6])
        return []

    def reword(self, workspace: Workspace, path: str) -> list[str]:
        """Put other lines in the place of some."""
        word = self.word()

        def change(rows: list[bytes]) -> list[bytes]:
            if rows:
                rows[self.random.randrange(len(rows))] = self.line(word)
            return rows

        before = workspace.read(path).data if workspace.exists(path) else b""
        self._edit(workspace, path, change)
        return [word] if before else []

    def shuffle(self, workspace: Workspace, path: str) -> list[str]:
        """Move lines about."""

        def change(rows: list[bytes]) -> list[bytes]:
            self.random.shuffle(rows)
            return rows

        self._edit(workspace, path, change)
        return []

    def move(self, workspace: Workspace, path: str) -> list[str]:
        """Move lines to the other file, in one act, if nobody came between."""
        other = FILES[1 - FILES.index(path)]
        here, there = self._read(workspace, path), self._read(workspace, other)
        rows = here.data.splitlines(keepends=True) if here else []
        cut = self.random.randrange(len(rows) + 1)
        end = b"" if there is None or there.data.endswith(b"\n") else b"\n"
        to = (there.data if there else b"") + end + b"".join(rows[cut:])
        workspace.write_many(
            {other: to, path: b"".join(rows[:cut])},
            expect={path: here and here.version, other: there and there.version},
        )
        return []

    def rewrite(self, workspace: Workspace, path: str) -> list[str]:
        """Replace the whole file."""
        words = [self.word() for _ in range(3)]
        workspace.write(path, b"# All new\n\n" + b"".join(map(self.line, words)))
        return words

    def remove(self, workspace: Workspace, path: str) -> list[str]:
        """Delete the file."""
        if self.random.random() < 0.5:
            workspace.delete(path)
        return []

    def back(self, workspace: Workspace, path: str) -> list[str]:
        """Bring something back."""
        rows = archive.listing(self.root)
        if rows:
            archive.bring_back(self.root, self.random.choice(rows).id, workspace.actor)
        return []

    def _edit(
        self, workspace: Workspace, path: str, change: Callable[[list[bytes]], list[bytes]]
    ) -> None:
        workspace.edit(
            path, lambda old: b"".join(change((old or b"# A\n").splitlines(keepends=True)))
        )

    def _insert(self, rows: list[bytes], line: bytes) -> list[bytes]:
        if rows and not rows[-1].endswith(b"\n"):
            rows[-1] += b"\n"
        at = self.random.randrange(len(rows) + 1)
        return [*rows[:at], line, *rows[at:]]

    def _read(self, workspace: Workspace, path: str) -> Any:
        return workspace.read(path) if workspace.exists(path) else None

    def run(self) -> None:
        """All acts; each one's words are told of once it has returned."""
        for _ in range(ACTS):
            try:
                words = self.act()
            except WorkspaceError:
                continue  # refused, or somebody came between: nothing was promised
            os.write(self.planted, "".join(f"{word}\n" for word in words).encode())


def leave(root: Path) -> None:
    """A person takes a line out."""
    open_workspace(root, Actor("browser")).write("USER.md", b"- stays here\n")


def turns(folder: Path) -> None:
    """A person's removal of one line, killed at each of its steps in turn; what is left then."""
    write_rules.install()
    step, through = 0, False
    while not through:
        step += 1
        root = folder / "workspace"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        open_workspace(root, Actor("chat")).write("USER.md", b"- stays here\n- leaves zqleaves\n")
        through = in_process(partial(leave, root), step, STEPS)
        open_workspace(root, Actor("chat"))
        left = {
            str(path.relative_to(root)): "zqleaves" in path.read_text()
            for path in root.rglob("*")
            if path.is_file() and ".jenny" not in str(path.relative_to(root))
        }
        sys.stdout.write(f"{json.dumps({'through': through, 'left': left})}\n")


def found(root: Path) -> bytes:
    """All bytes of all files, wherever they lie; of what is under way nothing is left by now."""
    return b"\n".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())


def round_of(root: Path, planted: Path, number: int, chance: random.Random) -> dict[str, Any]:
    """One round: writers at once, some of them killed; then what is missing."""
    children = []
    for writer in range(WRITERS):
        seed, step = chance.getrandbits(32), chance.choice((0, 0, *range(1, 90)))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                told = os.open(planted, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
                die_at(step, STEPS)
                Writer(root, told, f"{number}w{writer}", seed).run()
                code = 0
            except BaseException:  # noqa: BLE001  (the parent must hear of everything)
                traceback.print_exc()
            finally:
                os._exit(code)
        children.append(child)
    ends = [os.waitpid(child, 0)[1] for child in children]
    open_workspace(root, Actor("chat"))
    words = planted.read_text().split() if planted.exists() else []
    there = found(root)
    return {
        "round": number,
        "killed": sum(map(os.WIFSIGNALED, ends)),
        "failed": sum(os.WIFEXITED(end) and os.WEXITSTATUS(end) != 0 for end in ends),
        "planted": len(words),
        "missing": [word for word in words if word.encode() not in there],
        "journals": transaction_journal.pending(root),
    }


def main(folder: Path, seed: int, rounds: int) -> None:
    """All rounds; every few of them a fresh workspace."""
    write_rules.install()
    chance = random.Random(seed)
    root, planted = folder / "workspace", folder / "planted"
    for number in range(rounds):
        if number % KEPT_ROUNDS == 0:
            shutil.rmtree(root, ignore_errors=True)
            planted.unlink(missing_ok=True)
            root.mkdir(parents=True)
        row = round_of(root, planted, number, chance)
        sys.stdout.write(f"{json.dumps(row)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[2] == "turns":
        turns(Path(sys.argv[1]))
        sys.exit()
    if "blind" in sys.argv[4:]:
        write_rule.archive_removed = lambda _changes: []
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
