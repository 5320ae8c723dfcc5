"""A memory file of any length, line by line."""

import re
from pathlib import Path

from django.test import Client


def test_a_long_memory_file_comes_in_parts(client: Client, root: Path) -> None:
    """A page holds a hundred lines however long the file is, every line can be reached, and a link
    to a line leads to the part in which it stands."""
    lines = [f"- Fact number {number} of many" for number in range(3_000)]
    (root / "memory/MEMORY.md").write_text("\n".join(lines) + "\n")
    first = client.get("/memory/files/memory/MEMORY.md").content.decode()
    (root / "memory/MEMORY.md").write_text("\n".join(lines[:300]) + "\n")
    short = client.get("/memory/files/memory/MEMORY.md").content.decode()
    assert len(first) < 2 * len(short)
    (root / "memory/MEMORY.md").write_text("\n".join(lines) + "\n")
    seen = []
    for start in re.findall(r'href="\?from=(\d+)"', first):
        page = client.get(f"/memory/files/memory/MEMORY.md?from={start}").content.decode()
        seen += re.findall(r"Fact number (\d+) of many</p>", page)
    seen += re.findall(r"Fact number (\d+) of many</p>", first)
    assert {int(number) for number in seen} == set(range(3_000))
    page = client.get("/memory/files/memory/MEMORY.md?line=1551").content.decode()
    assert 'id="line-1551"' in page
    assert 'id="line-1"' not in page
