"""A page that somebody wrote in Obsidian shows what it shows there."""

import re
from pathlib import Path

import pytest
from django.test import Client

from jenny.markdown import limits, sections
from jenny.markdown.blocks import Block, Environment, split
from memory.search_sources import FileSource
from tests.support.html import Seen
from tests.wikis.conftest import get, put
from wikis import project
from wikis.render import EMBED_CHARS, EMBED_DEPTH, MOST_EMBEDS


@pytest.fixture
def vault(root: Path) -> Path:
    """A wiki with pages that show each other."""
    put(
        root,
        "v/wiki/index.md",
        "# V\n\n![[Hive]]\n\n![[hive#Wood]]\n\n![[hive#^b1]]\n\nIn ![[hive]] words\n\n"
        "![[Pic.png|120]] ![[pic.png|a cat|40x30]]\n\n![[nobody]]\n\n"
        "%% secret %%See #bees/wild, #12 and [[Bee house]], [[hive#^b1]]\n",
    )
    put(
        root,
        "v/wiki/a/hive.md",
        "---\naliases: [Bee house, Skep]\ntags: [bees]\n---\n# Hive\n\nAll of it ^b1\n\n"
        "## Wood\n\nOak %%and a secret%%\n\n## Rest\n\nNothing else\n",
    )
    put(root, "v/wiki/a/pic.png", b"\x89PNG\r\n")
    return root / "wikis/v"


def article(page: str) -> str:
    """The text of the page."""
    found = re.search(r'<article class="prose wiki-text"[^>]*>(.*?)</article>', page, re.DOTALL)
    assert found is not None
    return found[1]


def test_embeds_show_pages_parts_and_pictures(client: Client, vault: Path) -> None:
    """A page, what is below a heading, a block; within words, or missing, it is a link."""
    text = article(get(client, "/wikis/v/"))
    whole, wood, block = re.findall(r'<div class="embed">(.*?)\n</div>\n', text, re.DOTALL)
    assert "All of it" in whole
    assert "Nothing else" in whole
    assert "Oak" in wood
    assert "Nothing else" not in wood
    assert "All of it" in block
    assert "Wood" not in block
    for part in (whole, wood, block):
        assert '<p class="embed-title"><a class="wiki-link" href="/wikis/v/a/hive.md' in part
        assert ' id="h-' not in part
    assert 'In <a class="wiki-link"' in text
    assert 'class="wiki-link missing"' in text
    assert (
        '<img src="/files/raw/wikis/v/wiki/a/pic.png/" alt="Pic" width="120" loading="lazy">'
        in text
    )
    assert 'alt="a cat" width="40" height="30" loading="lazy">' in text
    assert "secret" not in text


def test_tags_aliases_and_block_ids(client: Client, vault: Path) -> None:
    """A tag leads to a search that finds its page, an alias to its page, an id to its block."""
    text = article(get(client, "/wikis/v/"))
    found = re.search(r'<a class="tag" href="(/wiki/search/[^"]*)"[^>]*>#bees/wild</a>', text)
    assert found is not None
    assert ">V<" in get(client, found[1].replace("&amp;", "&"))
    assert 'class="tag"' not in text.partition("#12")[2]
    assert 'href="/wikis/v/a/hive.md" rel="noopener nofollow">Bee house</a>' in text
    assert 'href="/wikis/v/a/hive.md#b-b1"' in text
    page = get(client, "/wikis/v/a/hive.md")
    assert 'id="b-b1"' in page
    assert "^b1" not in article(page)
    assert "Also called Bee house, Skep" in page
    assert "Hive" in get(client, "/wiki/search/?wiki=v&q=skep")


@pytest.mark.parametrize(
    "texts",
    [
        {"index": "![[index]]"},
        {"index": "![[#Top]]\n\n# Top\n\n![[#Top]]"},
        {"index": "![[b]]", "b": "![[c]]", "c": "![[index]]\n\n![[b]]\n\n![[c]]"},
        {"index": "![[b#X]]", "b": "# X\n\n![[index#Y]]\n\n![[b#x]]"},
    ],
)
def test_no_page_is_shown_within_itself(client: Client, root: Path, texts: dict[str, str]) -> None:
    """Circles end in links."""
    for name, text in texts.items():
        put(root, f"v/wiki/{name}.md", text)
    text = article(get(client, "/wikis/v/"))
    assert text.count('<div class="embed">') <= EMBED_DEPTH
    assert re.search(r"<a class=\"wiki-link[^>]*>(?!.*embed-title)", text, re.DOTALL)


def test_a_part_that_shows_itself_is_shown_once(client: Client, root: Path) -> None:
    """However it is named, and by way of another page; a part beside the link is shown."""
    put(root, "v/wiki/self.md", "# H\n\nonce\n\n![[self#H]]\n\n![[self#h]]\n")
    put(root, "v/wiki/way.md", "# W\n\ntwo\n\n![[back]]\n\n# Beside\n\n![[way#W]]\n")
    put(root, "v/wiki/back.md", "![[way#W]]\n\n![[way#w]]\n")
    put(root, "v/wiki/near.md", "# A\n\nthree\n\n# B\n\n![[near#A]]\n")
    assert article(get(client, "/wikis/v/self.md")).count("once") == 1
    text = article(get(client, "/wikis/v/way.md"))
    first, beside = text.split("Beside", 1)
    assert (first.count("two"), beside.count("two")) == (1, 1)
    assert article(get(client, "/wikis/v/near.md")).count("three") == 2


def test_ids_within_embeds_are_not_those_of_the_page(client: Client, root: Path) -> None:
    """An id stands once; a link of the shown page to a part of itself leads to that page."""
    put(root, "v/wiki/index.md", "Mine ^b1\n\n![[one]]\n\n![[one|again]]\n")
    put(root, "v/wiki/one.md", "# One\n\nText ^b1\n\n> q\n\n^b2\n\n[[#One]] [x](#one)\n")
    text = article(get(client, "/wikis/v/"))
    assert text.count(' id="b-b1"') == 1
    assert ' id="b-b2"' not in text
    assert 'href="#h-one"' not in text
    assert text.count('href="/wikis/v/one.md#h-one"') == 4
    assert ' id="b-b2"' in article(get(client, "/wikis/v/one.md"))


def test_pages_are_parsed_once_for_all_their_embeds(
    client: Client, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is parsed for embeds is no longer than one page that is formatted; a part of which only
    the beginning was read is a link."""
    for number in range(6):
        put(root, f"v/wiki/big{number}.md", "# A\n\nend\n\n# B\n\n" + "a\n\n" * 6_000)
    put(
        root,
        "v/wiki/index.md",
        "".join(f"![[big{n}#zz]]\n\n![[big{n}#^x]]\n\n![[big{n}#A]]\n\n" for n in range(6))
        + "![[big1#B]]\n\n",
    )
    parsed: list[str] = []

    def counted(text: str, environment: Environment) -> list[Block]:
        parsed.append(text)
        return split(text, environment)

    monkeypatch.setattr(sections, "split", counted)
    text = article(get(client, "/wikis/v/"))
    assert sum(one.count("\n") for one in parsed) <= limits.LINES
    assert len(parsed) <= 6
    assert text.count('<p dir="auto">end</p>') == text.count('class="embed"') == 2


def test_embeds_are_bounded(client: Client, root: Path) -> None:
    """In depth, number and size; the rest are links."""
    for number in range(8):
        put(root, f"v/wiki/d{number}.md", f"level{number}\n\n![[d{number + 1}]]\n")
    put(root, "v/wiki/many.md", "![[one]]\n\n" * 200)
    put(root, "v/wiki/one.md", "word\n")
    put(root, "v/wiki/twice.md", "![[big]]\n\n![[big|again]]\n")
    put(root, "v/wiki/big.md", "![[one]]\n\n" + "word " * (EMBED_CHARS // 8))
    put(root, "v/wiki/bomb0.md", "x\n\n" + "![[bomb1]]\n\n" * 100)
    put(root, "v/wiki/bomb1.md", "y\n\n" + "![[bomb2]]\n\n" * 100)
    put(root, "v/wiki/bomb2.md", "z\n\n" + "![[one]]\n\n" * 100)
    assert article(get(client, "/wikis/v/d0.md")).count("level") == 1 + EMBED_DEPTH
    for name, count in (("many", MOST_EMBEDS), ("twice", 2), ("bomb0", MOST_EMBEDS)):
        assert article(get(client, f"/wikis/v/{name}.md")).count('class="embed"') == count


def test_hostile_pages_stay_harmless_within_others(client: Client, root: Path) -> None:
    """Names, labels, ids and tags are text; no page of another workspace or place is shown."""
    (root / "USER.md").write_text("not for a wiki\n")
    put(root, "v/wiki/evil.md", "<script>alert(1)</script> <img src=x onerror=alert(1)>\n")
    put(
        root,
        "v/wiki/index.md",
        "![[evil|<img src=x onerror=alert(1)>]]\n\n![[../../../USER]]\n\n![[/etc/passwd]]\n\n"
        '![["><script>alert(1)</script>]]\n\n#a"onclick=alert(1) #<b>\n\nx ^a"b\n\n'
        "![[evil.png|100000x1]]\n\n![[javascript:alert(1)]]\n",
    )
    text = article(get(client, "/wikis/v/"))
    faults = Seen(text).faults
    assert [fault for fault in faults if not fault.startswith("id b-")] == []
    assert 'class="embed"' in text
    assert "not for a wiki" not in text
    assert "root:" not in text


def test_what_a_page_hides_is_neither_found_nor_told_to_a_model(
    client: Client, vault: Path, root: Path
) -> None:
    """Comments are out of the search of wikis and of everything, and out of a project's prompt."""
    assert "Hive" in get(client, "/wiki/search/?q=oak")
    assert "hive.md" not in get(client, "/wiki/search/?q=secret")
    source = FileSource(root)
    passages = [
        "\n".join(passage.lines)
        for document in source.documents()
        for passage in source.passages(document)
    ]
    assert any("Oak" in text for text in passages)
    assert not any("secret" in text for text in passages)
    (vault / "AGENTS.md").write_text("# Guide\n")
    block = project.project_block(root, project.read_project(root, "v"))
    assert "Oak" in block.text
    assert "secret" not in block.text


def test_previews_of_pages_are_in_frames_that_reach_nothing(client: Client, root: Path) -> None:
    """HTML and SVG are shown without script, net, forms and session; their source stays text."""
    source = "<h1 onclick=x>Hi</h1><script>alert(1)</script>\n"
    put(root, "v/wiki/index.md", f"```html\n{source}```\n\n```svg\n<svg onload=x></svg>\n```\n")
    text = article(get(client, "/wikis/v/"))
    frames = re.findall(r'<iframe class="preview" src="([^"]*)" sandbox=""', text)
    assert len(frames) == 2
    answer = client.get(frames[0])
    assert answer.content.decode() == source
    policy = answer["Content-Security-Policy"]
    assert re.search(r"(^|; )sandbox(;|$)", policy)
    assert "default-src 'none'" in policy
    assert "script" not in policy
    assert answer["X-Frame-Options"] == "SAMEORIGIN"
    assert client.get(frames[0][:-1]).status_code == 404


def test_a_picture_that_draws_itself_without_end_is_bounded(client: Client, root: Path) -> None:
    """Its parts are not drawn again; a picture that repeats a part now and then stays."""
    bomb = (
        "".join(f'<g id="a{n}">{f"""<use href="#a{n + 1}"/>""" * 10}</g>' for n in range(10))
        + '<g id="a10"><path d="M0 0h1"/></g>'
    )
    stars = '<g id="s"><path d="M0 0h1"/></g>' + '<use href="#s"/>' * 60
    shown = []
    for inner in (bomb, stars):
        source = f'<svg xmlns="http://www.w3.org/2000/svg">{inner}</svg>'
        put(root, "v/wiki/index.md", f"```svg\n{source}\n```\n")
        (frame,) = re.findall(
            r'<iframe class="preview" src="([^"]*)"', article(get(client, "/wikis/v/"))
        )
        shown.append(get(client, frame))
    assert "<use" not in shown[0]
    assert "<unused" in shown[0]
    assert shown[1].count("<use ") == 60


def test_a_frame_is_found_without_rendering_its_page(
    client: Client, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one in a list or a quote; the text around it is not parsed again for each frame."""
    source = "[[index]] **a**\n\n- x\n  ```svg\n  <svg/>\n  ```\n\n> ~~~mermaid\n> a-->b\n> ~~~\n"
    put(root, "v/wiki/index.md", source)
    frames = re.findall(r'<iframe class="[a-z]+" src="([^"]*)"', article(get(client, "/wikis/v/")))
    rendered: list[object] = []
    monkeypatch.setattr("jenny.markdown.render.parse_inline", lambda *_a, **_b: rendered.append(1))
    assert get(client, frames[0]) == "<svg/>\n"
    assert "a--&gt;b" in get(client, frames[1])
    assert rendered == []
