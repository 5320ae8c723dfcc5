"""Looks things up in all that was ever said or written: the history, archived facts, files and,
where the caller's search has them, conversations. Forgotten texts are left out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jenny.search import Hit, Index, Results, SqliteStore
from jenny.workspace import paths
from jenny.workspace.content import read_text
from memory import archive, search_sources
from memory.archive import Archived, Standing
from memory.suppression import tombstones
from memory.suppression.hide import filtered_file, visible_line
from memory.suppression.tombstones import State

MOST = 20
# Of one passage.
EXCERPT_CHARS = 500
_FILE_KINDS = frozenset(
    {search_sources.MEMORY, search_sources.SKILL, search_sources.WIKI, search_sources.FILE}
)

# Searches these kinds, or all that the caller may see (None).
type Search = Callable[[str, Sequence[str] | None], Results]


@dataclass(frozen=True, slots=True)
class Found:
    """An excerpt of a passage. *anchor* names its best line: a line, an entry, a message.

    *fact*: the archived fact that it is. *title*: a conversation's.
    """

    kind: str
    place: str
    anchor: int
    text: str
    day: str = ""
    title: str = ""
    fact: Archived | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """The passages of a search, best first. *hidden* counts what was left out as forgotten.
    *standing* are archived facts that are in a memory file again, by id. *is_whole* False: the
    index is not complete yet. *has_words* False: the query had nothing to look for."""

    found: tuple[Found, ...] = ()
    hidden: int = 0
    standing: Mapping[str, Standing] = field(default_factory=dict)
    is_whole: bool = True
    has_words: bool = True

    @property
    def facts(self) -> tuple[Archived, ...]:
        return tuple(row.fact for row in self.found if row.fact is not None)

    @property
    def entries(self) -> tuple[Found, ...]:
        return tuple(row for row in self.found if row.kind == search_sources.HISTORY)


def recall(
    root: Path,
    query: str,
    search: Search | None = None,
    *,
    kinds: Sequence[str] | None = None,
    most: int = MOST,
) -> Recalled:
    """Look up the beginning of an archived fact's id (4 digits or more), or words or a question.

    Without a *search* the files alone are searched, by an index in memory.

    Raises:
        PathRefused: the workspace cannot be read.
    """
    real = paths.real_root(root)
    plain = query.strip()
    if kinds is None and is_id(plain) and (facts := archive.find(real, plain)):
        shown = known(real, facts)
        return Recalled(
            tuple(map(of_fact, shown[:most])),
            len(facts) - len(shown),
            archive.standing(real, shown[:most]),
        )
    results = (search or _search_of(real))(plain, kinds)
    found: dict[tuple[str, str, int], Found] = {}
    hidden = 0
    view = View(real, tombstones.state(real), results.hits)
    for hit in results.hits:
        row = _found(hit, view)
        if row is None:
            hidden += 1
        elif row.text:
            # An entry may stand in the history and in its archive for a moment.
            place = "" if row.kind == search_sources.HISTORY else row.place
            found.setdefault((row.kind, place, row.anchor), row)
    chosen = tuple(found.values())[:most]
    standing = archive.standing(real, tuple(row.fact for row in chosen if row.fact is not None))
    return Recalled(
        chosen,
        hidden,
        standing,
        is_whole=not results.missing,
        has_words=results.has_words,
    )


def is_id(text: str) -> bool:
    """True when the text may be the beginning of an id, or the name of an archived file."""
    plain = text.rpartition("/")[2].removesuffix(".md").lower()
    digits = plain[11:] if plain[:4].isdigit() and plain[4:5] == "-" else plain
    return 4 <= len(digits) <= 64 and set(digits) <= set("0123456789abcdef")  # noqa: PLR2004 - digits of an id


def known(root: Path, found: Sequence[Archived]) -> tuple[Archived, ...]:
    """Leave out what was forgotten, also as the line that replaced another."""
    state = tombstones.state(root)
    shown = [row for row in found if state.match(row.as_fact) is None]
    return tuple(
        row.without_now() if any(state.match(event.now) for event in row.events) else row
        for row in shown
    )


def of_fact(row: Archived) -> Found:
    return Found(search_sources.ARCHIVED, row.path, 1, row.text, row.date, row.heading, row)


class View:
    """The lines of files that *hits* are in, without what is forgotten; each file is read once."""

    def __init__(self, root: Path, state: State, hits: Iterable[Hit]) -> None:
        self.root, self.state = root, state
        self._wanted: dict[str, set[int]] = {}
        for hit in hits:
            if hit.kind in _FILE_KINDS:
                self._wanted.setdefault(hit.place, set()).update(hit.passage.anchors)
        self._files: dict[str, tuple[list[str], list[str]]] = {}

    def lines(self, path: str) -> tuple[list[str], list[str]]:
        """Return the lines of a file, and those lines without what is forgotten."""
        if path not in self._files:
            text = read_text(self.root, path).text
            visible = filtered_file(self.state, path, text, self._wanted[path])
            self._files[path] = text.split("\n"), visible.split("\n")
        return self._files[path]


def shown_lines(hit: Hit, view: View) -> dict[int, str]:
    """Return the passage's lines by number, without what is forgotten."""
    state = view.state
    if not state.active:
        return dict(enumerate(hit.passage.lines))
    if hit.kind in _FILE_KINDS:
        return _lines_of_file(hit, view)
    lines = ((at, visible_line(state, line)) for at, line in enumerate(hit.passage.lines))
    return {at: line for at, line in lines if line is not None}


def _lines_of_file(hit: Hit, view: View) -> dict[int, str]:
    """Return the lines that the file still has and shows. They are judged where they stand, since
    what a line says depends on its heading and on the lines that it continues."""
    stored, visible = view.lines(hit.place)
    shown: dict[int, str] = {}
    # The line that shows what is left of a text of several lines.
    shortened: int | None = None
    for number, (line, anchor) in enumerate(
        zip(hit.passage.lines, hit.passage.anchors, strict=True)
    ):
        old, new = ("".join(text[anchor - 1 : anchor]) for text in (stored, visible))
        pieces = list(search_sources.pieces_of(old))
        if line not in pieces:
            continue
        if new == old:
            shown[number] = line
            shortened = None
        elif new.strip() and line == pieces[0]:
            shown[number] = new
            shortened = number
        elif shortened is not None and hit.scores[number] > hit.scores[shortened]:
            shown[number] = shown.pop(shortened)
            shortened = number
    return shown


def _found(hit: Hit, view: View) -> Found | None:
    """Return an excerpt of the passage; None when what fits in it is forgotten."""
    passage = hit.passage
    if hit.kind == search_sources.ARCHIVED:
        row = archive.get(view.root, hit.place)
        left = known(view.root, (row,)) if row is not None else ()
        return of_fact(left[0]) if left else None
    shown = shown_lines(hit, view)
    fitting = [number for number in shown if hit.scores[number]]
    if not fitting and (len(shown) < len(passage.lines) or not shown):
        return None
    best = max(fitting or shown, key=lambda number: (hit.scores[number], -number))
    return Found(
        hit.kind,
        hit.place,
        passage.anchors[best],
        excerpt(shown, best),
        passage.day,
        visible_line(view.state, passage.title) or "",
    )


def excerpt(lines: Mapping[int, str], best: int, most: int = EXCERPT_CHARS) -> str:
    """Return the *best* line and those around it that fit into *most* characters."""
    chosen = {best}
    size = len(lines[best])
    for distance in range(1, max(lines) + 1):
        for number in (best + distance, best - distance):
            if number in lines and size + len(lines[number]) <= most:
                chosen.add(number)
                size += len(lines[number])
        if size >= most or not {best + distance, best - distance} & chosen:
            break
    text = "\n".join(lines[number].strip() for number in sorted(chosen)).strip()
    return text if len(text) <= 2 * most else f"{text[: 2 * most]}…"


def _search_of(root: Path) -> Search:
    index = Index(SqliteStore(None), search_sources.sources(root))

    def search(query: str, kinds: Sequence[str] | None) -> Results:
        return index.search(query, kinds or search_sources.KINDS, most=2 * MOST, seconds=60)

    return search
