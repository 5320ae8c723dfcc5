"""Versions of the memory files at 10, 1,000 and 10,000 commits, and among 2,000 skills.

What is measured is what a person waits for: making a version of one changed file, the log's first
page, the newest version's changes, a version looked up by the beginning of its id, the oldest one
by the same, each line's origin, a plan to undo the newest run; and what a chat's write costs with
its writer noted and without. Flat means: the last rows are like the first.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.harness import Bar, Row, median
from jenny.workspace import write_rules
from jenny.workspace.files import Actor, open_workspace, register_rule
from jenny.workspace.git import trees
from jenny.workspace.git.store import Repository
from jenny.workspace.versions import messages
from jenny.workspace.versions.commits import (
    RunNote,
    begin_run,
    commit_pending,
    commit_run,
    log_write,
)
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.undo import plan_undo

RUNS = 9
COMMITS = (10, 1000, 10_000)
SKILLS = 2000
_FACT = "- Ana's sister Petra moved from Brno to Olomouc on 3 March 2026 and has two cats.\n"
# Of 10-bars.md's 50 ms for a whole run of Dream, its version may take this much.
_COMMIT = Bar(limit=25)


def make_workspace(root: Path, skills: int) -> None:
    """A workspace of somebody who used it for a while."""
    (root / "memory").mkdir(parents=True)
    for path in ("SOUL.md", "USER.md", "memory/MEMORY.md"):
        (root / path).write_text(f"# {path}\n\n{_FACT * 35}", encoding="utf-8")
    for number in range(skills):
        folder = root / "skills" / f"skill-{number:04}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: skill-{number:04}\n---\n{_FACT * 12}")


def grow(root: Path, commits: int) -> None:
    """Versions as *commits* runs of Dream and edits would have made them, a hundred at a time."""
    commit_pending(root)
    text = (root / "memory" / "MEMORY.md").read_text().splitlines(keepends=True)
    made = 1
    while made < commits:
        with Repository(root / "memory" / ".git") as repo:
            start = tip = repo.ref()
            assert tip is not None
            tree = repo.commit(tip).tree
            with repo.batch() as batch:
                for number in range(made, min(made + 100, commits)):
                    old = "".join(text).encode()
                    text[2 + number % 30] = f"- fact {number}\n"
                    new = "".join(text).encode()
                    tree = trees.write(batch, repo, tree, {"memory/MEMORY.md": batch.blob(new)})
                    subject = "dream: scheduled run" if number % 3 == 0 else messages.EDITS
                    actor = "dream" if number % 3 == 0 else "chat"
                    change = {"memory/MEMORY.md": (old, new)}
                    message = messages.compose(subject, [("Actor", actor)], change)
                    when = 1_700_000_000 + number * 60
                    tip = batch.commit(tree, [tip], message, when=when)
            repo.move_ref(tip, expect=start)
            repo.tidy()
        made = min(made + 100, commits)
    (root / "memory" / "MEMORY.md").write_text("".join(text), encoding="utf-8")


def timed(act: Callable[[int], object]) -> float:
    """The median milliseconds of an act, after one that warms up."""
    act(-1)
    found = []
    for number in range(RUNS):
        start = time.perf_counter()
        act(number)
        found.append((time.perf_counter() - start) * 1000)
    return median(found)


def one_dream(root: Path, number: int) -> None:
    """A run of Dream with one edit, as versions see it; the edit itself is part of it."""
    note = RunNote(f"dream:{number}", "dream: scheduled run", (number + 1, number + 2))
    begin_run(root, note)
    workspace = open_workspace(root, Actor("dream", run=note.run))
    workspace.write("USER.md", f"# User\n{_FACT * 35}- {number}\n".encode())
    commit_run(root, note)


def reads(root: Path, what: str) -> list[Row]:
    """What reading takes."""
    with open_history(root) as history:
        versions = list(history.walk())
    oldest, newest = versions[-2].sha, versions[0].sha

    def in_history(act: Callable[[object], object]) -> Callable[[int], object]:
        def once(_number: int) -> object:
            with open_history(root) as history:
                return act(history)

        return once

    acts: dict[str, Callable[[int], object]] = {
        "log, 20 runs": in_history(lambda h: h.log(kinds=messages.UNDOABLE)),
        "newest version's changes": in_history(lambda h: h.changes(h.version(newest))),
        "newest version by 8 digits": in_history(lambda h: h.resolve(newest[:8])),
        "oldest version by 8 digits": in_history(lambda h: h.resolve(oldest[:8])),
        "difference of first and last": in_history(lambda h: h.between(oldest, newest)),
        "origin of each line of MEMORY.md": in_history(lambda h: h.blame("memory/MEMORY.md")),
        "plan to undo the newest run": lambda _: plan_undo(root, newest),
    }
    start = time.perf_counter()
    acts["origin of each line of MEMORY.md"](0)
    first = round((time.perf_counter() - start) * 1000, 3)
    return [
        Row(f"origin of each line, first time in a process, {what}", "ms", first),
        *(Row(f"{name}, {what}", "ms", timed(act)) for name, act in acts.items()),
    ]


def chat_write(root: Path) -> list[Row]:
    """What noting the writer costs a chat's write to a memory file."""
    workspace = open_workspace(root, Actor("chat", run="turn:1"))
    noted = dict(write_rules._acting)  # noqa: SLF001  (nobody else takes a rule away)
    write_rules._acting.clear()  # noqa: SLF001 - as above
    plain = timed(lambda number: workspace.write("USER.md", f"{_FACT * 35}{number}".encode()))
    write_rules._acting.update(noted)  # noqa: SLF001 - as above
    with_note = timed(lambda number: workspace.write("USER.md", f"{_FACT * 36}{number}".encode()))
    return [
        Row("chat writes USER.md, writer not noted", "ms", plain),
        Row("chat writes USER.md, writer noted", "ms", with_note),
    ]


def index_write(root: Path, what: str) -> Row:
    """What the index for people who use git costs each version; it is part of the run's time."""
    with Repository(root / "memory" / ".git") as repo:
        tip = repo.ref()
        assert tip is not None
        found = trees.files(repo, repo.commit(tip).tree)
        spent = timed(lambda _: trees.write_index(repo.git_dir, found))
    return Row(f"git's index for a version, {what}", "ms", spent)


def disk(folder: Path) -> Row:
    """What one sync of a small new file takes here: a run's version waits for seven to nine."""

    def once(number: int) -> None:
        with (folder / f"sync-{number}").open("wb") as file:
            file.write(b"x" * 3000)
            file.flush()
            os.fsync(file.fileno())

    return Row("the disk's own sync of a small file", "ms", timed(once))


def rows() -> list[Row]:
    """One workspace for each number of commits, and one with many skills."""
    register_rule(log_write, acts=True)
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        found.append(disk(Path(scratch)))
        for commits in COMMITS:
            root = Path(scratch, f"{commits}")
            make_workspace(root, 5)
            grow(root, commits)
            what = f"{commits:,} commits"
            run = timed(lambda number, root=root: one_dream(root, number))
            found.append(Row(f"a run's edit and version, {what}", "ms", run, bar=_COMMIT))
            found += [index_write(root, what), *reads(root, what)]
            size = subprocess.run(
                ["du", "-sk", root / "memory" / ".git"], capture_output=True, text=True, check=True
            )
            found.append(Row(f"store on disk, {what}", "MB", int(size.stdout.split()[0]) / 1000))
        root = Path(scratch, "skills")
        make_workspace(root, SKILLS)
        commit_pending(root)
        time.sleep(0.1)  # files younger than a tick of the file system's clock are read again
        run = timed(lambda number: one_dream(root, number))
        found.append(Row(f"a run's edit and version, {SKILLS:,} skills", "ms", run, bar=_COMMIT))
        found += [index_write(root, f"{SKILLS:,} skills"), *chat_write(root)]
    return found


if __name__ == "__main__":
    for row in rows():
        print(row)
