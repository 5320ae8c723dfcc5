"""The index: what is on disk is what is known, in every process, whatever became of the cache."""

import multiprocessing
import os
import random
import unicodedata
from pathlib import Path

import pytest

from tests.support.chance import seed
from wikis.errors import WikiMissing
from wikis.page_index import Index, backlinks, read_relations
from wikis.search import search


def put(root: Path, path: str, text: str | bytes) -> None:
    """A file, old enough for its stamp to tell."""
    file = root / "wikis" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with two wikis."""
    put(tmp_path, "bees/wiki/index.md", "# Bees\n\n[[hive]] [[Queen]] [[zoo:lion]] [[nobody]]\n")
    put(tmp_path, "bees/wiki/concepts/hive.md", "---\ntags: [box]\n---\n# The hive\nA café.\n")
    put(tmp_path, "bees/wiki/queen.md", "# The queen\n\nShe lives in the hive. `[[no]]`\n")
    put(tmp_path, "bees/raw/paper.md", "# A paper about drones\n")
    put(tmp_path, "zoo/wiki/lion.md", "# Lion\n\nNo bee. [[bees:queen]]\n")
    return tmp_path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Where the cache lies."""
    return tmp_path / "cache/wikis.sqlite3"


def titles(index: Index, words: str, *wikis: str) -> list[str]:
    """What a search finds."""
    return [hit.entry.title for hit in search(index, words, wikis or None).hits]


def test_what_is_there_is_known_at_once(root: Path, cache: Path) -> None:
    """A new page, a changed one, one that went, a new wiki, one that went."""
    index = Index(root, cache)
    assert {entry.title for entry in index.known("bees").pages} == {"Bees", "The hive", "The queen"}
    put(root, "bees/wiki/drone.md", "# Drone\n")
    (root / "wikis/bees/wiki/queen.md").unlink()
    put(root, "bees/wiki/index.md", "# All bees\n")
    assert {entry.title for entry in index.known("bees").pages} == {"All bees", "The hive", "Drone"}
    put(root, "ants/wiki/index.md", "# Ants\n")
    assert set(index.every()) == {"ants", "bees", "zoo"}
    for file in sorted((root / "wikis/zoo").rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    (root / "wikis/zoo").rmdir()
    assert set(index.every()) == {"ants", "bees"}
    assert titles(index, "lion") == []
    with pytest.raises(WikiMissing):
        index.known("zoo")


def test_a_change_that_keeps_size_and_time_is_seen(root: Path, cache: Path) -> None:
    """The stamp holds more than these two."""
    index = Index(root, cache)
    file = root / "wikis/bees/wiki/queen.md"
    index.known("bees")
    before = file.stat()
    file.write_bytes(file.read_bytes().replace(b"# The queen", b"# The Queen"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "The Queen" in {entry.title for entry in index.known("bees").pages}


def test_search_takes_every_word_and_the_beginning_of_the_last(root: Path, cache: Path) -> None:
    """Accents, case and place do not count; titles come first."""
    index = Index(root, cache)
    assert titles(index, "hive")[0] == "The hive"
    assert set(titles(index, "hive")) == {"The hive", "The queen", "Bees"}
    assert titles(index, "lives hiv") == ["The queen"]
    assert titles(index, "liv hive") == []
    assert titles(index, "CAFE") == ["The hive"]
    assert titles(index, "café") == ["The hive"]
    assert titles(index, "box") == ["The hive"]
    assert titles(index, "concepts") == ["The hive"]
    assert titles(index, "dron") == ["A paper about drones"]
    assert titles(index, "bee", "zoo") == ["Lion"]
    assert titles(index, "q") == ["The queen"]
    for nothing in ("", "  ", '" OR *', "()", "NEAR(", "\0", "-", "title:"):
        assert titles(index, nothing) in ([], ["The queen"]), nothing


def test_the_found_words_are_marked(root: Path, cache: Path) -> None:
    """In the page's own spelling."""
    hit = search(Index(root, cache), "cafe").hits[0]
    assert hit.snippet == (("A ", False), ("café", True), (".", False))


@pytest.mark.parametrize(
    ("text", "found", "missing"),
    [
        ("저는 한국어를 배웁니다", ["국어", "한국어", "배웁"], ["국아", "어국"]),
        ("我喜欢喝绿茶", ["绿茶", "喜欢", "茶"], ["茶绿", "红茶"]),
        ("パパはビオラを弾く", ["ビオラ", "パパ"], ["ハハ", "ヒオラ"]),
        ("แม่อยู่ที่บ้าน", ["ที่บ้าน", "แม่"], ["แม้"]),
        ("ខ្ញុំចូលចិត្តតែ", ["ចូលចិត្ត"], ["ចូលចិត្តកា"]),
        ("ພໍ່ມັກຊາ", ["ມັກ"], ["ພໍ້"]),
        ("အမေ လက်ဖက်ရည် ကြိုက်တယ်", ["လက်ဖက်"], ["အမိ"]),
        ("राम का पोता डॉक्टर है", ["पोता", "डॉक्"], ["पिता"]),
        ("Мой край", ["край"], ["краи"]),
        ("Ёлка в за\u0301мке", ["елка", "замке"], ["йолка"]),
        ("שָׁלוֹם עולם", ["שלום"], ["שלומ"]),
    ],
)
def test_search_in_every_script(
    root: Path, cache: Path, text: str, found: list[str], missing: list[str]
) -> None:
    """A part of a text without spaces is found, Korean words within others; another word with
    other marks is not. What was found is marked."""
    put(root, "bees/wiki/page.md", f"# Page\n\n{text}\n")
    index = Index(root, cache)
    for words in found:
        for coded in (words, unicodedata.normalize("NFD", words)):
            assert titles(index, coded) == ["Page"]
        marked = [piece for piece, is_word in search(index, words).hits[0].snippet if is_word]
        assert marked
    for words in missing:
        assert titles(index, words) == []


def test_a_damaged_cache_is_made_again(root: Path, cache: Path) -> None:
    """Whatever is in it: nothing fails, and nothing is missing from the next search."""
    assert titles(Index(root, cache), "queen")
    for junk in (b"junk" * 5_000, b"", cache.read_bytes()[:5_000] + b"\xff" * 20_000):
        cache.write_bytes(junk)
        index = Index(root, cache)
        index.known("bees")
        assert titles(index, "queen") != [], junk[:10]
        assert set(titles(index, "queen")) == {"The queen", "Bees", "Lion"}, junk[:10]


def test_a_cache_that_is_taken_away_is_made_again(root: Path, cache: Path) -> None:
    """Also while a process knows everything already."""
    index = Index(root, cache)
    assert titles(index, "lives") == ["The queen"]
    cache.unlink()
    assert titles(index, "lives") == ["The queen"]


def test_without_a_place_for_the_cache_all_goes_on(root: Path) -> None:
    """A disk that takes nothing costs time and nothing else."""
    (root / "file").touch()
    index = Index(root, root / "file/cache.sqlite3")
    assert titles(index, "lives") == ["The queen"]
    assert titles(Index(root, None), "lives") == ["The queen"]


def _look(root: Path, cache: Path, number: int, answers) -> None:
    index = Index(root, cache)
    for turn in range(6):
        put(root, f"bees/wiki/{number}/p{turn}.md", f"# Page {number} {turn}\n\nmarmalade\n")
        titles(index, "marmalade")
    answers.put(len(search(index, "marmalade", most=100).hits))


def test_several_processes_share_it(root: Path, cache: Path) -> None:
    """Each writes what it sees change; in the end each page is found once, by everyone."""
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    workers = [
        context.Process(target=_look, args=(root, cache, number, answers)) for number in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    found = search(Index(root, cache), "marmalade", most=100).hits
    assert len(found) == len({hit.entry.path for hit in found}) == 18


def _read_all(root: Path, cache: Path) -> None:
    Index(root, cache).known("bees")


def test_a_process_that_is_killed_leaves_an_index_that_is_whole(root: Path, cache: Path) -> None:
    """At whatever moment: the next one finds every page, once."""
    for number in range(600):
        put(root, f"bees/wiki/many/p{number}.md", f"# Marzipan {number}\n\n{'words ' * 200}\n")
    chance = random.Random(seed())
    context = multiprocessing.get_context("fork")
    for _ in range(4):
        worker = context.Process(target=_read_all, args=(root, cache))
        worker.start()
        worker.join(chance.uniform(0.01, 0.25))
        worker.kill()
        worker.join()
    found = search(Index(root, cache), "marzipan", ["bees"], most=1_000).hits
    assert len(found) == len({hit.entry.path for hit in found}) == 600


def test_links_lead_both_ways_between_wikis_too(root: Path, cache: Path) -> None:
    """References, backlinks, edges, and what leads nowhere."""
    index = Index(root, cache)
    bees = index.known("bees")
    found = read_relations(index, bees)
    assert found.edges == (
        ("wiki/concepts/hive.md", "wiki/index.md"),
        ("wiki/index.md", "wiki/queen.md"),
    )
    assert [row.link.target for row in found.doubtful] == ["nobody"]
    assert backlinks(index, bees, "wiki/queen.md") == (
        ("bees", "wiki/index.md"), ("zoo", "wiki/lion.md"),
    )  # fmt: skip
    put(root, "bees/wiki/index.md", "# Bees\n[[hive]]\n")
    bees = index.known("bees")
    assert read_relations(index, bees).doubtful == ()
    assert backlinks(index, bees, "wiki/queen.md") == (("zoo", "wiki/lion.md"),)


def test_odd_files_are_listed_or_left_out_and_break_nothing(root: Path, cache: Path) -> None:
    """Names with signs, no text, NUL, links out, folders called like pages."""
    for name in ("a #1?%20.md", "quote'\".md", "\u202eevil.md", "<img src=x>.md"):
        put(root, f"bees/wiki/{name}", f"# marmot {name}")
    put(root, "bees/wiki/bad.md", b"marmot \xff\xfe\0 tail")
    put(root, "bees/wiki/large.md", "# marmot\n" + "x" * 3_000_000)
    put(root, "bees/wiki/pic.png", b"\x89PNG")
    (root / "wikis/bees/wiki/folder.md").mkdir()
    (root / "wikis/bees/wiki/out.md").symlink_to("/etc/passwd")
    os.mkfifo(root / "wikis/bees/wiki/pipe.md")
    Path(os.fsdecode(os.fsencode(root / "wikis/bees/wiki") + b"/\xff.md")).write_text("# marmot")
    index = Index(root, cache)
    known = index.known("bees")
    assert "wiki/pic.png" in known.files
    assert known.entries["wiki/bad.md"].problem
    assert "3,000,009 bytes" in known.entries["wiki/large.md"].problem
    assert not {"wiki/out.md", "wiki/pipe.md", "wiki/folder.md"} & set(known.entries)
    assert len(known.left_out) == 1
    assert len(search(index, "marmot").hits) == 6
