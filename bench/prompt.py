"""How long the system prompt takes: with 5, 100 and 500 skills, and with 1,000 wikis besides.

*Cold* is the first prompt of a process that has loaded the program; *warm* the next ones,
with every file looked at anew. Each process is a fresh one.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import peers
from bench.harness import Bar, Row, median, take_turns

RUNS = 5
WARM_TURNS = 50
# Numbers of skills and of wikis.
CASES = ((5, 0), (100, 0), (500, 0), (500, 1000))
# What the peer takes many seconds for is asked less often within one process.
PEER_TURNS = {5: 10, 100: 3, 500: 1}

_FACT = "- Ana's sister Petra moved from Brno to Olomouc on 3 March 2026 and has two cats.\n"


def make_workspace(root: Path, skills: int, wikis: int) -> None:
    """A workspace of somebody who used it for a while."""
    (root / "memory").mkdir(exist_ok=True)
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
    # Imported here: the parent only starts such processes.
    from jenny.chat.prompt import build  # noqa: PLC0415 - only what is measured loads it
    from jenny.chat.tools import toolbox_for  # noqa: PLC0415 - only what is measured loads it

    toolbox = toolbox_for("personal", root, run="bench")
    names = toolbox.names

    def once() -> float:
        start = time.perf_counter()
        build("personal", root, tool_names=names).wire()
        return (time.perf_counter() - start) * 1000

    cold = once()
    # Files younger than a tick of the file system's clock are read again.
    time.sleep(0.1)
    once()
    return {"cold": cold, "warm": median([once() for _ in range(WARM_TURNS)])}


def rows() -> list[Row]:
    """Two rows a case; ours and the peer's processes take turns."""
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for skills, wikis in CASES:
            root = Path(scratch, f"{skills}-{wikis}")
            root.mkdir()
            make_workspace(root, skills, wikis)
            found += _case(Path(scratch), root, skills, wikis)
    return found


def _case(scratch: Path, root: Path, skills: int, wikis: int) -> list[Row]:
    warm: dict[str, list[float]] = {"ours": [], "theirs": []}

    def ours() -> float:
        done = subprocess.run(
            [sys.executable, "-m", "bench.prompt", str(root)],
            check=True,
            capture_output=True,
            text=True,
        )
        answer = json.loads(done.stdout)
        warm["ours"].append(answer["warm"])
        return float(answer["cold"])

    def theirs() -> float:
        with peers.Peer(scratch) as peer:
            answer = peer.ask("prompt", workspace=str(root), turns=PEER_TURNS[skills])
        warm["theirs"].append(answer["warm"])
        return float(answer["cold"])

    # The peer has no wikis.
    contestants = {"ours": ours} if wikis else {"ours": ours, "theirs": theirs}
    cold = take_turns(RUNS, **contestants)
    work = f"system prompt, {skills} skills" + (f", {wikis:,} wikis" if wikis else "")
    return [
        Row(
            f"{work}, {name}",
            "ms",
            median(times["ours"]),
            median(times["theirs"]) if times.get("theirs") else None,
            Bar(limit=limit),
        )
        for name, times, limit in (("cold", cold, 150), ("warm", warm, 3))
    ]


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
