"""The search finds what was written, in the order of how well it fits, and only what is there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from jenny.search import Index, PassageStore, SqliteStore
from jenny.search.postgres import PostgresStore
from jenny.search.words import parse_query
from jenny.workspace.files import Actor, open_workspace
from memory import search_sources, suppression
from memory.history import log
from memory.history.entries import NewHistoryEntry
from memory.recall import Recalled, format_plain, recall
from memory.search_sources import KINDS


@pytest.fixture
def look(root: Path, store: PassageStore) -> Callable[[str], Recalled]:
    """A search of the workspace, as the tools have it; each looks at the disk."""

    def found(query: str) -> Recalled:
        index = Index(store, search_sources.sources(root))
        return recall(root, query, lambda asked, kinds: index.search(asked, kinds or KINDS))

    return found


def write(root: Path, path: str, text: str) -> None:
    """A file written by hand, past all rules."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def texts(found: Recalled) -> str:
    return "\n".join(row.text for row in found.found)


ENTRIES = (
    "- [durable] Bought a red kayak from Olivia for 600 euros",
    "- [durable] The daughter's school begins at eight\n- [ephemeral] Rain on Monday",
    "- [durable] Hat sich im Mai zwei Kajaks und ein Zelt gekauft\n- [durable] Wohnt in der Küche",
    "- [durable] カヤックを購入した。娘の学校は緑丘小学校です",
    "- [durable] A acheté une étagère à Genève",
    "- [durable] The dentist moved to Ghent",
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("when did I buy the kayak", "red kayak"),
        ("kayaks", "red kayak"),
        ("KAYAK'S", "red kayak"),
        ("daughter's school", "school begins at eight"),
        ("where do my daughters go to school?", "school begins at eight"),
        ("Wann habe ich das Kajak gekauft?", "zwei Kajaks"),
        ("kuche", "Wohnt in der Küche"),
        ("いつカヤックを買いましたか", "カヤックを購入"),
        ("娘の学校はどこですか", "緑丘小学校"),
        ("学校", "緑丘小学校"),
        ("etageres", "étagère"),
        ('"moved to Ghent"', "dentist moved"),
    ],
)
def test_a_question_finds_what_was_said(
    root: Path, look: Callable[[str], Recalled], question: str, answer: str
) -> None:
    """Whole questions, other forms of a word, other cases and accents, in several languages."""
    log.append(root, [NewHistoryEntry(text) for text in ENTRIES])
    assert answer in look(question).found[0].text


def test_what_fits_best_comes_first_with_its_place_and_day(
    root: Path, look: Callable[[str], Recalled]
) -> None:
    """A passage that says all of it is before those that say a part, whatever its kind."""
    write(root, "wikis/bees/wiki/hive.md", "# Hive\n\nThe hive stands in the garden.\n")
    write(root, "notes/trip.txt", "The kayak trip to the lake was in the garden month.\n" * 3)
    write(root, "skills/paddle/SKILL.md", "---\ndescription: x\n---\nHow to paddle a kayak.\n")
    log.append(root, [NewHistoryEntry("- [durable] The kayak stands in the garden shed")])
    found = look("Does the kayak stand in the garden shed?")
    assert found.found[0].kind == "history"
    assert {row.kind for row in found.found} == {"history", "wiki", "file", "skill"}
    told = format_plain(found)
    assert "- entry 1, " in told
    assert "- wikis/bees/wiki/hive.md, line 3: " in told


def test_the_index_follows_what_changes_on_the_disk(
    root: Path, look: Callable[[str], Recalled]
) -> None:
    """Edits by hand, new and removed files and entries; nothing of the old text is found."""
    write(root, "USER.md", "- Plays the viola\n")
    write(root, "notes/a.md", "A zebra.\n")
    log.append(root, [NewHistoryEntry("- [durable] Has a parrot")])
    assert "viola" in texts(look("viola"))
    write(root, "USER.md", "- Plays the cello\n")
    (root / "notes/a.md").unlink()
    (root / "memory/history.jsonl").unlink()
    write(root, "notes/b.md", "A giraffe.\n")
    assert "cello" in texts(look("cello"))
    assert "giraffe" in texts(look("giraffe"))
    for gone in ("viola", "zebra", "parrot"):
        assert look(gone).found == ()


def test_a_lost_or_damaged_index_is_made_again(tmp_path: Path, root: Path) -> None:
    """Deleted, or overwritten with anything: the next search finds the same."""
    path = tmp_path / "cache/search.sqlite3"
    write(root, "USER.md", "- Plays the viola\n")
    for damage in (None, b"", b"no database at all" * 999):
        if damage is not None:
            path.write_bytes(damage)
        index = Index(SqliteStore(path), search_sources.sources(root))
        assert [hit.place for hit in index.search("viola", KINDS).hits] == ["USER.md"]
    path.unlink()
    assert [hit.place for hit in index.search("viola", KINDS).hits] == ["USER.md"]


def test_nothing_forgotten_is_shown(root: Path, look: Callable[[str], Recalled]) -> None:
    """Neither where it was archived, nor in the history, nor in the lines around another hit."""
    place = open_workspace(root, Actor("browser"))
    place.write("USER.md", b"- Allergic to nuts since 2011\n- Plays the viola\n")
    log.append(root, [NewHistoryEntry("- Allergic to nuts since 2011\n- Plays the viola")])
    assert "nuts" in texts(look("nuts"))
    suppression.forget(root, "Allergic to nuts since 2011", Actor("command"))
    assert "nuts" not in format_plain(look("nuts"))
    assert "viola" in texts(look("viola"))
    assert "nuts" not in format_plain(look("viola"))


LONG = "Ana has a very long story about the harbour. " * 30


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("memory/MEMORY.md", "## Tom\n\n- Dentist. PLAYS golf.\n- Likes the lake\n"),
        ("skills/lake/SKILL.md", "# Lake\n\n- Likes the lake and a Tom that\n  PLAYS golf.\n"),
        ("notes.md", "Likes the lake. Tom is a man who\nPLAYS golf. Has a boat.\n"),
        ("wikis/people/wiki/tom.md", f"## Tom\n\nThe lake is near.\n{LONG}\n{LONG}\nPLAYS golf.\n"),
        ("long.md", f"The lake is near. {'x' * 975} Tom PLAYS golf. {LONG}\n"),
        ("log.jsonl", '{"said": "likes the lake"}\n{"said": "Tom PLAYS golf"}\n'),
    ],
)
def test_what_reading_a_file_hides_is_not_found(
    root: Path, look: Callable[[str], Recalled], path: str, text: str
) -> None:
    """A line is judged under its heading, with the lines that it continues, and not by a part of
    it; the other lines are found."""
    write(root, "SOUL.md", "- Brother: Tom, dentist in Ghent (PLAYS golf).\n")
    suppression.forget(root, "PLAYS golf", Actor("command"))
    write(root, path, text)
    for query in ("lake", "plays", "golf", "Tom dentist story"):
        found = format_plain(look(query))
        assert "PLAYS" not in found
        assert "golf" not in found
    assert path in format_plain(look("lake"))
    assert "lake" in format_plain(look("lake"))


def test_one_workspace_finds_nothing_of_another(root: Path, store: PassageStore) -> None:
    """Stores of two workspaces in one database are apart, and one is cleared without the other."""
    if not isinstance(store, PostgresStore):
        pytest.skip("SQLite has a file for each workspace")
    other = PostgresStore("two", store._cursor)
    write(root, "USER.md", "- Plays the viola\n")
    here = Index(store, search_sources.sources(root))
    assert here.search("viola", KINDS).hits
    assert Index(other, ()).search("viola", KINDS).hits == ()
    other.clear()
    assert here.search("viola", KINDS).hits


@pytest.mark.parametrize(
    "query",
    [
        *(
            "",
            " ",
            '"',
            '""""',
            "AND OR NOT NEAR",
            "(",
            "*",
            "a* OR (b",
            "\0",
            "viola\0 NOT",
            ":-:",
        ),
        *("😀😀", "\u202eviola", "שלום עולם", "x" * 10_000, "viola " * 2_000, "' | ! & <-> \\"),
        *("\ud800 viola", "term:viola", '"viola" + ^ {a b}: c', "%s %d", "the of and"),
    ],
)
def test_any_query_gives_results_or_a_sentence(
    root: Path, look: Callable[[str], Recalled], query: str
) -> None:
    """Operators, signs, long and broken texts are words or nothing."""
    write(root, "USER.md", "- Plays the viola\n")
    assert format_plain(look(query))


def test_only_common_words_are_looked_for_when_there_are_no_others() -> None:
    """A question loses its common words; one that has no others keeps them."""
    assert parse_query("who was it").terms
    assert len(parse_query("when did I buy the kayak").terms) == 2


@pytest.mark.parametrize(
    ("query", "line", "other"),
    [
        ("flat 4", "The boiler of flat 4 leaks.", "The boiler of flat 5 leaks."),
        ("which room is 7?", "Room 7 is painted blue.", "Room 8 is painted blue, a nice room."),
        ("Zimmer 3", "Zimmer 3 hat kein Fenster.", "Zimmer 9 hat kein Fenster, Zimmer mit Tür."),
        ("4号室", "4号室の鍵をなくした。", "5号室の鍵をなくした。"),
    ],
)
def test_a_single_digit_is_looked_for(
    root: Path, look: Callable[[str], Recalled], query: str, line: str, other: str
) -> None:
    """Beside few other words, the line with that number comes first."""
    write(root, "USER.md", f"- {other}\n")
    write(root, "memory/MEMORY.md", f"- {line}\n")
    assert line in look(query).found[0].text
