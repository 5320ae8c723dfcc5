"""Looks things up in all that was ever said or written: the history, archived facts, files and,
where the caller's search has them, conversations. Forgotten texts are left out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jenny.agent.clock import with_weekday
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
class FoundPassage:
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

    found: tuple[FoundPassage, ...] = ()
    hidden: int = 0
    standing: Mapping[str, Standing] = field(default_factory=dict)
    is_whole: bool = True
    has_words: bool = True

    @property
    def facts(self) -> tuple[Archived, ...]:
        return tuple(row.fact for row in self.found if row.fact is not None)

    @property
    def entries(self) -> tuple[FoundPassage, ...]:
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
        shown = known_archived(real, facts)
        return Recalled(
            tuple(map(found_in_archive, shown[:most])),
            len(facts) - len(shown),
            archive.standing(real, shown[:most]),
        )
    results = (search or _search_of(real))(plain, kinds)
    found: dict[tuple[str, str, int], FoundPassage] = {}
    hidden = 0
    view = PassageView(real, tombstones.state(real), results.hits)
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


def known_archived(root: Path, found: Sequence[Archived]) -> tuple[Archived, ...]:
    """Leave out what was forgotten, also as the line that replaced another."""
    state = tombstones.state(root)
    shown = [row for row in found if state.match(row.as_fact) is None]
    return tuple(
        row.without_now() if any(state.match(event.now) for event in row.events) else row
        for row in shown
    )


def found_in_archive(row: Archived) -> FoundPassage:
    return FoundPassage(search_sources.ARCHIVED, row.path, 1, row.text, row.date, row.heading, row)


class PassageView:
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


def shown_lines(hit: Hit, view: PassageView) -> dict[int, str]:
    """Return the passage's lines by number, without what is forgotten."""
    state = view.state
    if not state.active:
        return dict(enumerate(hit.passage.lines))
    if hit.kind in _FILE_KINDS:
        return _lines_of_file(hit, view)
    lines = ((at, visible_line(state, line)) for at, line in enumerate(hit.passage.lines))
    return {at: line for at, line in lines if line is not None}


def _lines_of_file(hit: Hit, view: PassageView) -> dict[int, str]:
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


def _found(hit: Hit, view: PassageView) -> FoundPassage | None:
    """Return an excerpt of the passage; None when what fits in it is forgotten."""
    passage = hit.passage
    if hit.kind == search_sources.ARCHIVED:
        row = archive.get(view.root, hit.place)
        left = known_archived(view.root, (row,)) if row is not None else ()
        return found_in_archive(left[0]) if left else None
    shown = shown_lines(hit, view)
    fitting = [number for number in shown if hit.scores[number]]
    if not fitting and (len(shown) < len(passage.lines) or not shown):
        return None
    best = max(fitting or shown, key=lambda number: (hit.scores[number], -number))
    return FoundPassage(
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


# About 1,500 tokens for the model.
PLAIN_CHARS = 6_000
_SHOWN_CHARS = 240
_NO_WORDS = "There are no words to look for in this. Ask with a word or a number."
_GROWING = " The index is still being made, so there may be more."


def format_plain(found: Recalled) -> str:
    """Format for the model: every passage with its day and its place."""
    if not found.found:
        return _nothing(found)
    lines = ["Found, what fits best first:"]
    size = 0
    for count, row in enumerate(found.found):
        line = f"- {_where(found, row)}: {_line(row.text, 1_000)}"
        size += len(line)
        if count and size > PLAIN_CHARS:
            lines.append(f"{len(found.found) - count} more are left out.")
            break
        lines.append(line)
    ending = "" if found.is_whole else _GROWING
    lines.append(
        "What is asked may stand in several places: look for each thing on its own, and with other "
        f"words when this is not it.{ending}"
    )
    return "\n".join(lines)


def format_markdown(found: Recalled, link: Callable[[FoundPassage], str]) -> str:
    """Format for a person. *link* is the page of a passage, and for an archived fact the page that
    brings it back."""
    if not found.found:
        return _nothing(found)
    lines = []
    for row in found.found:
        text = escape_text(_line(_facts(row.text), _SHOWN_CHARS))
        way = f"[{escape_text(_name(row))}]({link(row)})" + (f", {row.day}" if row.day else "")
        if row.fact is not None:
            left = f"{row.fact.source}, {row.fact.heading}".removesuffix(", ")
            there = found.standing.get(row.fact.id)
            fate = escape_text(_line(row.fact.fate, _SHOWN_CHARS))
            way = f"`{row.fact.id}`, {escape_text(left)}; {fate}"
            if there is None:
                text, way = f"{text} ({way})", f"[Bring it back]({link(row)})"
            else:
                text = f"{text} ({way})"
                way = f"It stands in {escape_text(there.path)} again, line {there.line}."
            lines.append(f"- {text} {way}")
        else:
            lines.append(f"- {text} ({way})")
    if found.hidden:
        lines += ["", _hidden(found).strip()]
    if not found.is_whole:
        lines += ["", _GROWING.strip()]
    return "\n".join(lines)


def escape_text(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|~$!&" else char for char in text)


def describe_place(row: FoundPassage) -> str:
    """Name the place of a passage and its day: ``USER.md, line 3``."""
    return _name(row) + (f", {with_weekday(row.day)}" if row.day else "")


def _where(found: Recalled, row: FoundPassage) -> str:
    if row.fact is None:
        return describe_place(row)
    where = f"{row.fact.source}, {row.fact.heading}".removesuffix(", ")
    there = found.standing.get(row.fact.id)
    again = f"; it stands in {there.path} again" if there else ""
    return f"archived fact {row.fact.id}, {where}; {_line(row.fact.fate, _SHOWN_CHARS)}{again}"


def _name(row: FoundPassage) -> str:
    if row.kind == search_sources.HISTORY:
        return f"entry {row.anchor}"
    if row.kind in (search_sources.CHAT, search_sources.PROJECT_CHAT):
        return f"conversation “{row.title or 'without a title'}”"
    return f"{row.place}, line {row.anchor}"


def _facts(content: str) -> str:
    """Return an entry's text without list marks, since it becomes a list item."""
    return "\n".join(line.removeprefix("- ") for line in content.splitlines())


def _line(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"


def _nothing(found: Recalled) -> str:
    if not found.has_words:
        return _NO_WORDS
    more = "" if found.is_whole else _GROWING
    return f"Nothing that was said or written has this.{_hidden(found)}{more}"


def _hidden(found: Recalled) -> str:
    return " What was forgotten is not shown." if found.hidden else ""
