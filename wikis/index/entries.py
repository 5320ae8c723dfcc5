"""What the index knows of one file, and how it is read."""

import json
import os
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

from jenny.markdown import front_matter
from wikis import heads, pages
from wikis.links.finding import Link, find

# Headings, and characters of text, that are kept of one page.
HEADINGS = 500
BODY_CHARS = 1_000_000


@dataclass(frozen=True)
class Entry:
    """A Markdown file of a wiki. ``path`` from the wiki's folder; ``digest`` and number of
    ``words`` of the text below its header, for finding duplicates; ``problem``: why it cannot be
    read as it should."""

    path: str
    title: str
    type: str
    tags: tuple[str, ...]
    headings: tuple[str, ...]
    links: tuple[Link, ...]
    size: int
    modified: float
    digest: str
    words: int = 0
    problem: str = ""
    header_problem: str = ""

    @property
    def is_page(self) -> bool:
        """Whether it is one of the wiki's own pages (not a source, log or guide)."""
        return self.path.startswith(f"{pages.PAGES}/")

    @cached_property
    def folder(self) -> str:
        """The folder it lies in, from ``wiki/``."""
        return self.path.rpartition("/")[0].removeprefix(pages.PAGES).strip("/")

    def as_json(self) -> str:
        """For the cache."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Entry":
        """From the cache. Raises ``ValueError`` or ``TypeError`` for what is no entry."""
        row: dict[str, Any] = json.loads(text)
        row["links"] = tuple(Link(**link) for link in row["links"])
        row["tags"], row["headings"] = tuple(row["tags"]), tuple(row["headings"])
        return cls(**row)


@dataclass(frozen=True)
class Parsed:
    """An entry, and the text that a search looks in."""

    entry: Entry
    body: str


def parse(path: str, data: bytes, size: int, modified: float) -> Parsed:
    """What these bytes of the file at *path* are; *size* in bytes is that of the whole file."""
    is_cut = len(data) > pages.PAGE_BYTES
    text, problem = pages.decoded(data[: pages.PAGE_BYTES], is_cut=is_cut)
    if is_cut:
        problem = (
            f"It has {size:,} bytes, more than the {pages.PAGE_BYTES:,} that are read of a page. "
            "Make it smaller, or part it."
        )
    header = front_matter.read(text)
    head = heads.head(header)
    words = header.body.split()
    headings = tuple(pages.headings(header.body))[:HEADINGS]
    entry = Entry(
        path,
        head.title or pages.title_of(path, header.body),
        head.type,
        head.tags,
        headings,
        find(header.body if not header.problem else text.replace("\r\n", "\n")),
        size,
        modified,
        blake2b(" ".join(words).encode(), digest_size=12).hexdigest(),
        len(words),
        problem,
        head.problem,
    )
    return Parsed(entry, header.body[:BODY_CHARS])


def read(path: str, descriptor: int) -> Parsed:
    """What the open file *descriptor* is; it is closed. Raises ``OSError``."""
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(pages.PAGE_BYTES + 1)
        status = os.fstat(file.fileno())
    return parse(path, data, status.st_size, status.st_mtime)
