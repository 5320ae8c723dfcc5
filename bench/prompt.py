"""How long the system prompt takes: with 5, 100 and 500 skills, and with 1,000 wikis besides.

*Cold* is the first prompt of a process that has loaded the program; *warm* the next ones, with
every file looked at anew. Run it by ``python -m bench.prompt``.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from jenny.chat.prompt import build
from jenny.chat.toolset import toolbox_for

RUNS = 5
WARM_TURNS = 50
# Numbers of skills and of wikis.
CASES = ((5, 0), (100, 0), (500, 0), (500, 1000))
# Milliseconds that 10-bars.md asks for in the largest case.
BARS = {"warm": 3.0, "cold": 150.0}

_FACT = "- Ana's sister Petra moved from Brno to Olomouc on 3 March 2026 and has two cats.\n"


def make_workspace(root: Path, skills: int, wikis: int) -> None:
    """A workspace of somebody who used it for a while."""
    (root / "memory").mkdir()
    for path in ("SOUL.md", "USER.md", "AGENTS.md", "memory/MEMORY.md"):
        (root / path).write_text(f"# {path}\n\n{_FACT * 35}", encoding="utf-8")
    for number in range(skills):
        folder = root / "skills" / f"skill-{number:03}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            f"---\nname: skill-{number:03}\ndescription: How to do the {number}th thing of many\n"
            f"always: false\n---\n\n# Steps\n\n{_FACT * 12}",
            encoding="utf-8",
        )
    for number in range(wikis):
        folder = root / "wikis" / f"wiki-{number:04}"
        folder.mkdir(parents=True)
        (folder / "AGENTS.md").write_text(
            f"---\nsummary: The {number}th subject and what belongs to it\n---\n\n# Rules\n",
            encoding="utf-8",
        )


def measure(root: Path) -> dict[str, float]:
    """Milliseconds of the first prompt and of the median next one, in this process."""
    toolbox = toolbox_for("personal", root, run="bench")
    names, schemas = toolbox.names, toolbox.schemas()

    def once() -> float:
        start = time.perf_counter()
        build("personal", root, tool_names=names, schemas=schemas).wire()
        return (time.perf_counter() - start) * 1000

    cold = once()
    # Files younger than a tick of the file system's clock are read again.
    time.sleep(0.1)
    once()
    return {"cold": cold, "warm": statistics.median(once() for _ in range(WARM_TURNS))}


def rows() -> list[dict[str, object]]:
    """One row a case: the median of ``RUNS`` processes, which take turns."""
    found: dict[tuple[int, int], list[dict[str, float]]] = {case: [] for case in CASES}
    with tempfile.TemporaryDirectory() as scratch:
        roots = {}
        for skills, wikis in CASES:
            roots[skills, wikis] = Path(scratch, f"{skills}-{wikis}")
            roots[skills, wikis].mkdir()
            make_workspace(roots[skills, wikis], skills, wikis)
        for _ in range(RUNS):
            for case, root in roots.items():
                done = subprocess.run(
                    [sys.executable, "-m", "bench.prompt", str(root)],
                    check=True,
                    capture_output=True,
                    text=True,
                )
                found[case].append(json.loads(done.stdout))
    return [
        {
            "work": f"system prompt, {skills} skills" + (f", {wikis} wikis" if wikis else ""),
            "cold_ms": round(statistics.median(each["cold"] for each in found[skills, wikis]), 2),
            "warm_ms": round(statistics.median(each["warm"] for each in found[skills, wikis]), 2),
            "bar": f"warm ≤ {BARS['warm']:g} ms, cold ≤ {BARS['cold']:g} ms",
        }
        for skills, wikis in CASES
    ]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(Path(sys.argv[1]))))
    else:
        for row in rows():
            print(json.dumps(row))
