"""Export and import of a workspace, as the commands do it: whole processes, start included.

``python -m bench.backup``: 2,000 files of 200 MB, encrypted, with the history; then the same into a
workspace where every file differs, and into a new one. Beside the times stands the memory that each
process had of its own at its largest (pages of files apart). ``python -m bench.backup FILES``:
another number.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench.harness import Row, median, report
from bench.snapshots import SIZE, make_workspace
from tests.support.stack import OWNER, PASSWORD, ROOT

FILES = 2_000
RUNS = 3
_NAME = "RssAnon:"


class Instance:
    """A data folder, and commands in it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self._environment = {
            **os.environ,
            "JENNY_DATA_DIR": str(data),
            "JENNY_OWNER_PASSWORD": PASSWORD,
            "JENNY_BACKUP_PASSPHRASE": "four words of nonsense",
        }
        self.call("migrate", "--verbosity", "0")
        self.call("create_owner", "--username", OWNER)

    @property
    def root(self) -> Path:
        """The workspace's folder."""
        return self.data / "workspaces" / OWNER

    def call(self, *words: str) -> tuple[float, float, str]:
        """Milliseconds, megabytes of its own at most, and what a command printed."""
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        largest, over = [0.0], threading.Event()
        watcher = threading.Thread(target=_watch, args=(process.pid, largest, over))
        watcher.start()
        out, _ = process.communicate()
        took = (time.perf_counter() - start) * 1000
        over.set()
        watcher.join()
        if process.returncode:
            raise RuntimeError(out)
        return took, largest[0], out


def _watch(pid: int, largest: list[float], over: threading.Event) -> None:
    while not over.wait(0.01):
        try:
            text = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return
        for line in text.splitlines():
            if line.startswith(_NAME):
                largest[0] = max(largest[0], int(line.split()[1]) / 1000)


def spoil(root: Path) -> None:
    """Make every file another one."""
    for path in root.rglob("*.md"):
        if "folder" in str(path):
            path.write_bytes(path.read_bytes()[::-1])


def rows(files: int = FILES) -> list[Row]:
    """One row an act."""
    times: dict[str, list[float]] = {}
    sizes: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        instance = Instance(Path(scratch, "data"))
        make_workspace(instance.root, files)
        instance.call("snapshot", "create")
        for run in range(RUNS):
            target = str(Path(scratch, f"backup-{run}"))
            acts = {
                "a command that does nothing": ("snapshot", "list"),
                "export": ("export", target),
                "preview": ("import", target, "--preview"),
                "import, every file changed": ("import", target, "--json"),
                "import into a new workspace": ("import", target, "--new", f"New {run}"),
            }
            for name, words in acts.items():
                if name == "preview":
                    spoil(instance.root)
                took, size, out = instance.call(*words, "--workspace", OWNER)
                times.setdefault(name, []).append(took)
                sizes[name] = max(sizes.get(name, 0.0), size)
                if "--json" in words and len(json.loads(out)["changed"]) < files:
                    raise RuntimeError(out[:200])
    about = f"{files:,} files, {files * SIZE // 10**6} MB"
    return [
        Row(f"{about}: {name}", "ms", median(found), note=f"{sizes[name]:.0f} MB at most")
        for name, found in times.items()
    ]


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    report(rows(asked), {"Python": platform.python_version()})
