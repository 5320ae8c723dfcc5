"""Pages about files: the health of a workspace, a large memory file, and a folder as a zip.

The peer has no such pages.
"""

import time
from pathlib import Path

from bench.harness import Bar, Row, median, take_turns
from bench.instance import Visitor, running, scratch_folder
from bench.scripted import Model

RUNS = 15
FILES = 3_000
MEMORY_BYTES = 200_000
_FACT = "- Ana's sister Petra moved from Brno to Olomouc in year {} and has two cats.\n"


def rows() -> list[Row]:
    """One row a page."""
    with (
        scratch_folder() as scratch,
        Model() as model,
        running(scratch / "data", model.server.url) as stack,
    ):
        visitor = Visitor(stack)
        code = "from jenny.accounts.models import Workspace; print(Workspace.objects.get().root)"
        root = Path(stack.manage("shell", "-v", "0", "-c", code).split()[-1])
        facts = "".join(_FACT.format(number) for number in range(MEMORY_BYTES // len(_FACT)))
        (root / "memory/MEMORY.md").write_text(f"# Memory\n\n{facts}")
        (root / "many").mkdir()
        for number in range(FILES):
            (root / "many" / f"{number}.md").write_text(_FACT.format(number))

        def load(path: str) -> float:
            visitor.connect()
            started = time.perf_counter()
            visitor.get(path)
            return (time.perf_counter() - started) * 1000

        def first_byte() -> float:
            visitor.connect()
            started = time.perf_counter()
            visitor.get("/files/download/many/", most=1)
            return (time.perf_counter() - started) * 1000

        load("/memory/files/memory/MEMORY.md")
        times = take_turns(
            RUNS,
            health=lambda: load("/settings/system/health/"),
            memory=lambda: load("/memory/files/memory/MEMORY.md"),
            zip=first_byte,
        )
    about = (
        ("health", "page of a workspace's health", f"{FILES:,} files", 300),
        ("memory", "memory/MEMORY.md of 200 kB, line by line", "its first part", 300),
        ("zip", f"first byte of a zip of {FILES:,} files", "", 300),
    )
    return [
        Row(work, "ms", median(times[name]), None, Bar(limit=limit), note)
        for name, work, note, limit in about
    ]
