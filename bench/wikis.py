"""Wikis: the list in the prompt, and a wiki of 5,000 pages: known, found, drawn, opened.

*Cold* is a fresh process; *warm* the next time in it, with every file looked at anew. No peer has
wikis.
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.harness import Bar, Row, median, percentile
from bench.instance import Visitor, running, scratch_folder
from bench.scripted import Model
from tests.support.stack import OWNER

RUNS = 5
LISTS = (10, 100, 1_000)
PAGES = 5_000
FOLDERS = 50
QUERIES = 400
# A word list whose words are as unevenly common as in any language.
WORDS = 20_000


def make_list(root: Path, count: int) -> None:
    """So many wikis, each with a scope."""
    for number in range(count):
        folder = root / f"wikis/wiki-{number:04}"
        folder.mkdir(parents=True)
        (folder / "AGENTS.md").write_text(
            f"---\nsummary: The {number}th subject and what belongs to it\n---\n\n# Rules\n",
            encoding="utf-8",
        )


def make_pages(root: Path, count: int = PAGES) -> list[str]:
    """A wiki of so many pages; some of its words."""
    chance = random.Random(1)
    letters = "aeiou", "bcdfghklmnprstvz"
    words = [
        "".join(chance.choice(letters[at % 2]) for at in range(chance.randint(3, 11)))
        for _ in range(WORDS)
    ]
    weights = [1 / (rank + 5) for rank in range(WORDS)]
    names = [f"{words[number % WORDS]}-{number}" for number in range(count)]
    base = root / "wikis/big/wiki"
    for folder in range(FOLDERS):
        (base / f"part-{folder:02}").mkdir(parents=True)
    for number, name in enumerate(names):
        text = chance.choices(words, weights, k=chance.randint(150, 500))
        for _ in range(chance.randint(2, 9)):
            # Many links lead to few pages.
            target = names[int(count * chance.random() ** 3)]
            text.insert(chance.randrange(len(text)), f"[[{target}]]")
        lines = [" ".join(text[at : at + 60]) for at in range(0, len(text), 60)]
        title = f"{words[number % WORDS]} {words[number * 7 % WORDS]}"
        head = f"---\ntitle: {title} {number}\ntags: [{words[number % 40]}]\n---\n"
        body = f"{head}# {name}\n\n" + "\n\n".join(lines) + "\n"
        (base / f"part-{number % FOLDERS:02}/{name}.md").write_text(body, encoding="utf-8")
    links = "\n".join(f"- [[{name}]]" for name in names[:200])
    (base / "index.md").write_text(f"# All\n\n{links}\n", encoding="utf-8")
    return [*words[:300], *chance.sample(words, 300)]


def rows() -> list[Row]:
    """All rows of this module."""
    with scratch_folder() as scratch:
        found = [row for count in LISTS for row in _list_rows(scratch / f"list-{count}", count)]
        root = scratch / "pages"
        words = make_pages(root)
        (scratch / "words.json").write_text(json.dumps(words), encoding="utf-8")
        found += _page_rows(scratch, root)
        return found + _opened(scratch, words)


def _list_rows(root: Path, count: int) -> list[Row]:
    make_list(root, count)
    answers = [_apart("list", str(root)) for _ in range(RUNS)]
    return [
        Row(f"the list of {count:,} wikis, {name}", "ms", median([one[name] for one in answers]))
        for name in ("cold", "warm", "one changed")
    ]


def _page_rows(scratch: Path, root: Path) -> list[Row]:
    cache = scratch / "cache.sqlite3"
    answers = []
    for _ in range(RUNS):
        cache.unlink(missing_ok=True)
        first = _apart("known", str(root), str(cache))
        second = _apart("pages", str(root), str(cache), str(scratch / "words.json"))
        answers.append({"first": first["known"], **second})
    bars = {"search, p95": Bar(limit=20)}
    labels = {
        "first": "read for the first time",
        "known": "known to a new process",
        "again": "looked at anew",
        "changed": "one page changed, its links too",
        "render": "one page as HTML",
        "search, median": "search, median of 400",
        "search, p95": "search, 95th of 100",
        "graph": "graph, laid out and drawn",
        "graph again": "graph, from memory",
        "near": "graph around a page",
    }
    return [
        Row(
            f"{PAGES:,} pages: {label}",
            "ms",
            median([one[name] for one in answers]),
            bar=bars.get(name, Bar()),
        )
        for name, label in labels.items()
    ]


def _opened(scratch: Path, words: list[str]) -> list[Row]:
    """Pages over HTTP, in a running instance."""
    with (
        Model() as model,
        running(scratch / "data", model.server.url) as stack,
    ):
        visitor = Visitor(stack)
        visitor.get("/wikis/")
        make_pages(stack.data.workspaces / OWNER)
        name = next(
            iter(sorted((stack.data.workspaces / OWNER / "wikis/big/wiki/part-07").iterdir()))
        ).name
        paths = {
            "a page": lambda _: f"/wikis/big/part-07/{name}",
            "its first page": lambda _: "/wikis/big/",
            "search while typing": lambda number: f"/wiki/search/?wiki=big&q={words[number]}",
            "the graph": lambda _: "/wiki/graph/big/",
        }
        found = []
        for label, path in paths.items():
            visitor.get(path(0))
            times = []
            for number in range(25):
                visitor.connect()
                times.append(_timed(partial(visitor.get, path(number))))
            found.append(Row(f"{PAGES:,} pages over HTTP: {label}", "ms", median(times)))
        return found


def _apart(*words: str) -> dict[str, float]:
    """What a fresh process measures."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.wikis", *words], check=True, capture_output=True, text=True
    )
    return dict(json.loads(done.stdout))


def _timed(act: Callable[[], object]) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000


def _measure_list(root: Path) -> dict[str, float]:
    from wikis import wikis_block  # noqa: PLC0415 - the parent only starts such processes

    cold = _timed(lambda: wikis_block.block(root))
    time.sleep(0.1)
    wikis_block.block(root)
    warm = median([_timed(lambda: wikis_block.block(root)) for _ in range(50)])
    changed = []
    for number in range(10):
        file = root / f"wikis/wiki-{number:04}/AGENTS.md"
        file.write_text(f"---\nsummary: Changed {number} {time.time()}\n---\n", encoding="utf-8")
        changed.append(_timed(lambda: wikis_block.block(root)))
    return {"cold": cold, "warm": warm, "one changed": median(changed)}


def _measure_known(root: Path, cache: Path) -> dict[str, float]:
    # Imported here, as above: only the process that is measured loads it.
    from wikis.page_index import index_of  # noqa: PLC0415 - only what is measured loads it

    return {"known": _timed(lambda: index_of(root, cache).known("big"))}


def _measure_pages(root: Path, cache: Path, words: list[str]) -> dict[str, float]:
    # As above.
    from wikis import (  # noqa: PLC0415 - only what is measured loads it
        graph,
        page_index,
        pages,
        render,
    )
    from wikis.search import search  # noqa: PLC0415 - only what is measured loads it

    index = page_index.index_of(root, cache)
    found = {"known": _timed(lambda: index.known("big"))}
    found["again"] = median([_timed(lambda: index.known("big")) for _ in range(20)])
    known = index.known("big")
    found["graph"] = _timed(lambda: graph.of_wiki(index, known))
    found["graph again"] = median([_timed(lambda: graph.of_wiki(index, known)) for _ in range(20)])
    path = known.pages[100].path
    page = pages.read_page(pages.open_wiki(root, "big"), known.pages[200].path)
    found["near"] = median([_timed(lambda: graph.near(index, known, path)) for _ in range(20)])
    found["render"] = median(
        [_timed(lambda: render.rendered(index, known, page)) for _ in range(20)]
    )
    chance = random.Random(2)
    times = []
    for _ in range(QUERIES):
        one, other = chance.choice(words), chance.choice(words)
        # As one types: a beginning, a word, two of them.
        query = chance.choice([one[: chance.randint(2, 5)], one, f"{one} {other[:3]}"])
        times.append(_timed(lambda query=query: search(index, query, ["big"])))
    found["search, median"] = median(times)
    found["search, p95"] = percentile(times, 0.95)
    changed = []
    for number in range(5):
        (root / "wikis/big" / path).write_text(f"# Changed {number} {time.time()}\n\n[[index]]\n")
        changed.append(_timed(lambda: page_index.read_relations(index, index.known("big"))))
    found["changed"] = median(changed)
    return found


if __name__ == "__main__":
    what, where, *more = sys.argv[1:]
    if what == "list":
        print(json.dumps(_measure_list(Path(where))))
    elif what == "known":
        print(json.dumps(_measure_known(Path(where), Path(more[0]))))
    else:
        told = json.loads(Path(more[1]).read_text(encoding="utf-8"))
        print(json.dumps(_measure_pages(Path(where), Path(more[0]), told)))
