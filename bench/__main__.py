"""The benchmarks: ours beside a public peer, in turn, in one run.

    python -m bench [turns] [prompt] [start] [page] [versions] [snapshots] [restore] [backup] …

Prints a table and keeps it as JSON under ``bench/results/``. Nothing here passes or fails;
the column beside the bars says what was met.
"""

import importlib
import platform
import sys
from importlib.metadata import version

from bench import peers
from bench.harness import Row, report

TOPICS = (
    "turns",
    "prompt",
    "start",
    "page",
    "versions",
    "snapshots",
    "restore",
    "backup",
    "history",
    "forgotten",
    "files",
    "dream",
    "cost",
    "drain",
    "load",
    "wikis",
    "search",
)


def main(words: list[str]) -> int:
    """Run the topics that *words* name, all without any."""
    unknown = [word for word in words if word not in TOPICS]
    if unknown:
        print(f"No such benchmark: {', '.join(unknown)}. There are: {', '.join(TOPICS)}.")
        return 2
    peers.python()
    rows: list[Row] = []
    for topic in words or TOPICS:
        print(f"{topic} …", flush=True)
        rows += importlib.import_module(f"bench.{topic}").rows()
    versions = {
        "jenny": version("jenny") if _installed() else "from source",
        peers.PACKAGE: peers.version(),
        "Python": platform.python_version(),
        **{name: version(name) for name in ("django", "celery", "uvicorn", "anthropic")},
    }
    print("\nkept in", report(rows, versions))
    return 0


def _installed() -> bool:
    try:
        version("jenny")
    except ModuleNotFoundError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
