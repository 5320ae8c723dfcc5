"""Searches lines by a regular expression, in a process of its own that can be killed.

Python's matcher backtracks: a short pattern can keep it busy for centuries, while it holds the
interpreter's lock. ``search_tools`` runs this file as a script; it imports nothing of the program.
Standard input: one JSON line ``{"pattern", "ignore_case", "seconds", "hits"}``, then for each text
its length (8 bytes, big-endian) and its bytes. Standard output: a JSON line each.
"""

import contextlib
import json
import re
import sys
import unicodedata

# Address space: enough for the largest text a few times over.
_MEMORY_BYTES = 1 << 30


def main() -> None:
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    order = json.loads(source.readline())
    _bound(order["seconds"])
    try:
        flags = re.IGNORECASE if order["ignore_case"] else 0
        search = re.compile(order["pattern"], flags).search
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        _say(sink, {"error": str(error)})
        return
    _say(sink, {})
    while header := source.read(8):
        text = source.read(int.from_bytes(header, "big")).decode("utf-8", "replace")
        if not text.isascii():
            # Equivalent codings of characters match each other.
            text = unicodedata.normalize("NFC", text)
        hits = []
        for number, line in enumerate(text.split("\n"), 1):
            if found := search(line.removesuffix("\r")):
                hits.append((number, found.start()))
                if len(hits) >= order["hits"]:
                    break
        _say(sink, hits)


def _bound(seconds: int) -> None:
    """Limit the processor time to *seconds*, should the parent be gone, and the memory."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - POSIX only

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


def _say(sink: object, answer: object) -> None:
    sink.write(json.dumps(answer).encode() + b"\n")  # type: ignore[attr-defined]  # standard output's buffer
    sink.flush()  # type: ignore[attr-defined]  # standard output's buffer


if __name__ == "__main__":
    main()
