"""Wikis as they are looked at: whatever lies below ``wikis/`` is shown, and nothing of it runs."""

import re
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from django.test import Client

from tests.wikis.conftest import get, put

HOSTILE = "<img src=x onerror=alert(1)><script>alert(1)</script>[x](javascript:alert(1))"


@pytest.fixture
def bees(root: Path) -> Path:
    """A wiki with a few pages."""
    put(root, "bees/AGENTS.md", "---\nsummary: Our hives\n---\n")
    put(
        root, "bees/wiki/index.md", "# Bees\n\n[[hive]] [[nobody]] [[note]] [[zoo:lion]] `[[no]]`\n"
    )
    put(
        root,
        "bees/wiki/concepts/hive.md",
        "---\ntitle: The hive\ntype: concept\ntags: [box]\nupdated: 2026-04-02\n"
        "secret: s3cret\n---\n"
        "# The hive\n\n## Wood\n\nSpruce, see [[#Bees inside]].\n\n## Bees inside\n\nMany. "
        "[the index](../index.md) ![pic](../pic.png) ![far](https://pictures.example/a.png)\n\n"
        "## Winter\n\n| a | b |\n|---|---|\n| [[index\\|home]] | $x^2$ |\n\n- [x] done\n\n"
        "```python\nprint('[[no]]')\n```\n\n```mermaid\nflowchart LR\n  a --> b\n```\n",
    )
    put(root, "bees/wiki/a/note.md", "# Note a\n")
    put(root, "bees/wiki/b/note.md", "# Note b\n")
    put(root, "bees/wiki/pic.png", b"\x89PNG\r\n\x1a\n")
    put(root, "bees/raw/paper.md", "# The paper\n")
    put(root, "bees/log/20260401.md", "- 10:00 — A swarm.\n")
    put(root, "zoo/wiki/lion.md", "# Lion\n\n[[bees:hive]]\n")
    return root / "wikis/bees"


def test_the_empty_state_teaches_and_offers_an_example(client: Client, root: Path) -> None:
    """One press adds a wiki that shows everything; twice adds a second one."""
    page = get(client, "/wikis/")
    assert "No wiki yet" in page
    for name in ("example-garden", "example-garden-2"):
        answer = client.post("/wiki/example/")
        assert answer["Location"] == f"/wikis/{name}/"
        assert "A small garden" in get(client, f"/wikis/{name}/")
    assert "<iframe" in get(client, "/wikis/example-garden/concepts/how-this-wiki-works.md")
    assert "0 things" not in get(client, "/wiki/health/example-garden/")
    assert (root / "wikis/example-garden/raw/soil-test-2026.md").exists()


def test_wikis_and_pages_are_called_by_their_titles(client: Client, bees: Path) -> None:
    """In the list, beside the tree and on the way to a page; the list has the folder's too."""
    row = get(client, "/wikis/").partition('<a href="/wikis/bees/">')[2]
    assert row.startswith("Bees</a>")
    assert "bees</span>" in row.partition("</li>")[0]
    put(bees.parents[1], "bees/wiki/index.md", "# Bees & hives\n")
    page = get(client, "/wikis/bees/concepts/hive.md")
    assert '<h2 id="tree">Bees &amp; hives</h2>' in page
    way = page.partition('<nav class="crumbs"')[2].partition("</nav>")[0]
    assert '<a href="/wikis/bees/">Bees &amp; hives</a>' in way
    assert '<span aria-current="location">The hive</span>' in way
    assert '<a href="/wikis/zoo/">zoo</a>' in get(client, "/wikis/")


def test_a_folder_is_a_wiki_on_the_next_load(client: Client, root: Path, bees: Path) -> None:
    """With its scope, or said to have none; under whatever name it has."""
    put(root, "Zoo #1 ?% 'x'/wiki/index.md", "# Odd\n")
    put(root, "<b>\u202e/wiki/index.md", "# Worse\n")
    (root / "wikis/empty").mkdir()
    page = get(client, "/wikis/")
    assert "Our hives" in page
    assert page.count("(no scope set)") == 4
    assert "<b>" not in page
    assert "\u202e" not in page
    for address in re.findall(r'<a href="(/wikis/[^"]+)"', page):
        assert client.get(address.replace("&#x27;", "'")).status_code == 200, address


def test_a_page_shows_what_was_written(client: Client, bees: Path) -> None:
    """Links of every form, tables, tasks, formulas, code, pictures, the header's four."""
    page = get(client, "/wikis/bees/concepts/hive.md")
    assert '<h1 id="title" dir="auto">The hive</h1>' in page
    assert '<h3 id="h-wood" dir="auto">Wood</h3>' in page
    assert 'href="#h-bees-inside"' in page
    assert '<a href="/wikis/bees/index.md"' in page
    assert '<img src="/files/raw/wikis/bees/wiki/pic.png/" alt="pic" loading="lazy">' in page
    assert "pictures.example" in page
    assert 'src="https' not in page
    assert (
        '<a class="wiki-link" href="/wikis/bees/index.md" rel="noopener nofollow">home</a>' in page
    )
    assert "<msup>" in page
    assert 'checked=""' in page
    assert '<iframe class="diagram" src="/wiki/frame/bees/wiki/concepts/hive.md/?n=' in page
    assert ">concept</span>" in page
    assert "#box" in page
    assert "2026-04-02" in page
    assert "s3cret" not in page
    assert "Contents" in page
    for title in ("Bees", "Lion"):
        assert f">{title}</a>" in page.partition("Linked from")[2]


def test_targets_that_are_missing_or_unclear_can_be_seen_and_settled(
    client: Client, bees: Path
) -> None:
    """A missing one leads to writing it, an unclear one to the nearest page, which names the
    others; code has no links."""
    page = get(client, "/wikis/bees/")
    assert 'class="wiki-link missing" href="/wiki/new/bees/?page=nobody"' in page
    near = re.search(r'class="wiki-link unclear" href="([^"]*)" title="2 pages are called so', page)
    assert near is not None
    assert "Another page has this name: <a" in get(client, near[1])
    assert 'href="/wikis/zoo/lion.md"' in page
    assert "<code>[[no]]</code>" in page
    put(bees.parent.parent, "bees/wiki/gone.md", "[plan](plan.pdf) ![chart](chart.png) [x](hive)\n")
    page = get(client, "/wikis/bees/gone.md")
    assert "<code>plan.pdf</code> (there is no such file)" in page
    assert "<code>chart.png</code> (there is no such file)" in page
    choice = get(client, "/wiki/choose/bees/?page=note")
    assert "Note a" in choice
    assert "Note b" in choice
    assert client.get("/wiki/choose/bees/?page=hive")["Location"] == "/wikis/bees/concepts/hive.md"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("index", "index.md"),
        ("hive", "concepts/hive.md"),
        ("Concepts/HIVE", "concepts/hive.md"),
        ("wiki/concepts/hive.md", "concepts/hive.md"),
        ("raw/paper", "raw/paper.md"),
    ],
)
def test_an_address_is_found_like_a_link(
    client: Client, bees: Path, asked: str, found: str
) -> None:
    """Each leads to the page's own address."""
    answer = client.get(f"/wikis/bees/{asked}")
    assert answer.status_code == 302
    assert answer["Location"] == f"/wikis/bees/{found}"


def test_sources_log_and_folders_can_be_reached(client: Client, bees: Path) -> None:
    """Each from the tree."""
    page = get(client, "/wikis/bees/")
    assert "/wikis/bees/raw/" in page
    assert "/wikis/bees/log/" in page
    assert "The paper" in get(client, "/wikis/bees/raw/")
    assert "A swarm" in get(client, "/wikis/bees/log/20260401.md")
    assert "Note a" in get(client, "/wikis/bees/a/")
    assert client.get("/wikis/bees/audit/", follow=True).status_code in {200, 404}
    assert client.get("/wikis/bees/pic.png")["Location"] == "/workspace/wikis/bees/wiki/pic.png"


def test_a_page_called_like_a_neighbour_of_wiki_keeps_its_address(
    client: Client, root: Path, bees: Path
) -> None:
    """``wiki/raw/x.md`` and ``raw/x.md`` are two pages."""
    put(root, "bees/wiki/raw/paper.md", "# Another paper\n")
    assert "The paper" in get(client, "/wikis/bees/raw/paper.md")
    assert "Another paper" in get(client, "/wikis/bees/wiki/raw/paper.md")


@pytest.mark.parametrize(
    "path",
    [
        "../../USER.md", "%2e%2e/%2e%2e/USER.md", "..%2f..%2fUSER.md", "wiki/../../../USER.md",
        "/etc/passwd", "out.md", "away.md", "nobody", "a%00b", "x" * 5000, "\u202e", ".git/config",
        "%ff", "a//b", "concepts/hive.md/",
    ],
)  # fmt: skip
def test_nothing_outside_the_wiki_is_shown(
    client: Client, root: Path, bees: Path, path: str
) -> None:
    """Whatever the address; each is answered with a page that says so."""
    (root / "USER.md").write_text("s3cret")
    (bees / "wiki/out.md").symlink_to("/etc/passwd")
    (bees / "wiki/away.md").symlink_to(root / "USER.md")
    answer = client.get(f"/wikis/bees/{path}", follow=True)
    assert answer.status_code in {200, 404, 400}
    assert "s3cret" not in answer.text
    assert "root:" not in answer.text


@pytest.mark.parametrize(
    "data",
    [
        HOSTILE.encode(),
        f"---\ntitle: '{HOSTILE}'\ntags: ['<svg onload=alert(1)>']\n---\n# x".encode(),
        b"[[<script>alert(1)</script>]] [[javascript:alert(1)]] [[x|<img src=x onerror=alert(1)>]]",
        b"[a](JaVaScRiPt:alert(1)) ![b](data:text/html,x) ![c](//evil.example/x.png)",
        b"<iframe srcdoc=x></iframe><object data=x></object><style>*{}</style>",
        b'# <b onclick=x>\n# <b onclick=x>\n# "onmouseover=alert(1)\n[[#" onclick=alert(1) x="]]',
        b"---\ntitle: [\n---\nbody",
        b"\xff\xfe\0\0 [[x]]",
        b"x" * 3_000_000,
        b"[[" * 100_000,
        b"```mermaid\n</pre><script>alert(1)</script>\n```",
    ],
)
def test_whatever_is_in_a_page_it_loads_and_nothing_runs(
    client: Client, root: Path, bees: Path, data: bytes
) -> None:
    """No tag, handler or address of a stranger's reaches the page; the file stays as it was."""
    file = put(root, "bees/wiki/evil.md", data)
    page = get(client, "/wikis/bees/evil.md")
    bare = re.sub(r'<script[^>]*src="/static/[^"]*"[^>]*></script>', "", page)
    assert "<script" not in bare
    assert not re.search(r"<[^>]+\son(error|load|click|mouseover)\s*=", bare)
    assert 'href="javascript' not in bare.lower()
    assert 'evil.example/x.png">' not in bare
    for frame in re.findall(r"<iframe[^>]*>", bare):
        assert 'sandbox="allow-scripts"' in frame
        assert 'src="/wiki/frame/' in frame
    assert file.read_bytes() == data
    assert get(client, "/wiki/search/?q=evil")
    assert get(client, "/wiki/graph/bees/")
    assert get(client, "/wiki/health/bees/")


@pytest.mark.parametrize(
    "tag",
    [
        '<link rel="preconnect" href="https://secret.evil.example">',
        "<LINK\nrel=dns-prefetch href=//secret.evil.example>",
        "<link/rel=preconnect href=https://secret.evil.example>",
        '<meta http-equiv="refresh" content="0;url=https://evil.example">',
    ],
)
def test_a_preview_names_no_host_to_the_browser(
    client: Client, root: Path, bees: Path, tag: str
) -> None:
    """No policy covers a connection ahead of a request; everything else of the page is kept."""
    kept = "<title>T</title><style>p{color:red}</style><p>linked <linker>words</linker></p>"
    put(root, "bees/wiki/page.md", f"```html\n{tag}{kept}\n```\n".encode())
    page = get(client, "/wikis/bees/page.md")
    frame = re.search(r'src="(/wiki/frame/[^"]*)"', page)
    assert frame is not None
    shown = get(client, frame[1])
    assert not re.search(r"<(?:link|meta)[\s/>]", shown, re.IGNORECASE)
    assert kept in shown


def test_a_header_that_cannot_be_read_is_said_and_left(
    client: Client, root: Path, bees: Path
) -> None:
    """The page loads without it."""
    put(root, "bees/wiki/broken.md", "---\ntitle: a: b\n---\n# Still here\n")
    page = get(client, "/wikis/bees/broken.md")
    assert "must stand in quotes" in page
    assert "Still here" in page
    assert "Headers that are not understood" in get(client, "/wiki/health/bees/")


def test_a_diagram_stands_in_a_frame_that_reaches_nothing(client: Client, bees: Path) -> None:
    """Its policy allows our script and nothing else; its source is text."""
    page = get(client, "/wikis/bees/concepts/hive.md")
    frame = re.search(r'src="(/wiki/frame/[^"]*)"', page)
    assert frame is not None
    answer = client.get(frame[1])
    assert answer.status_code == 200
    policy = answer["Content-Security-Policy"]
    assert "sandbox allow-scripts" in policy
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    assert answer["X-Frame-Options"] == "SAMEORIGIN"
    assert "a --&gt; b" in answer.text
    for name in ("", "0", "x", "9" * 50):
        assert client.get(f"/wiki/frame/bees/wiki/concepts/hive.md/?n={name}").status_code == 404
    page = client.get("/wikis/bees/concepts/hive.md")
    assert "frame-src 'self'" in page["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
    assert "frame-src" not in client.get("/wikis/")["Content-Security-Policy"]


def test_search_answers_with_a_fragment_while_one_types(client: Client, bees: Path) -> None:
    """Titles first, accents folded, words marked; in all wikis or in one."""
    part = get(client, "/wiki/search/?q=hiv", headers={"HX-Request": "true"})
    assert "<html" not in part
    assert part.index("The hive") < part.index("Bees")
    assert "<mark>hive</mark>" in part
    assert "Lion" in get(client, "/wiki/search/?q=bees")
    assert "Lion" not in get(client, "/wiki/search/?q=lion&wiki=bees").partition('id="hits"')[2]
    assert "No page holds" in get(client, "/wiki/search/?q=xyzzy")
    assert client.get("/wiki/search/?q=a&wiki=nobody").status_code == 404


def test_graphs_are_drawn_on_the_server(client: Client, bees: Path) -> None:
    """All wikis, one, and what is around a page: links that lead there, also without script."""
    page = get(client, "/wiki/graph/")
    assert page.count('class="circle"') == 2
    assert 'href="/wikis/zoo/lion.md"' in page
    page = get(client, "/wiki/graph/bees/")
    assert '<a href="/wikis/bees/concepts/hive.md" data-folder="concepts">' in page
    assert re.search(r'class="lines" d="M-?\d', page)
    again = get(client, "/wiki/graph/bees/")
    drawn = [text.partition(" data-graph>")[2].partition("</svg>")[0] for text in (page, again)]
    assert drawn[0] == drawn[1] != ""
    around = get(client, "/wiki/graph/bees/?page=wiki/concepts/hive.md")
    assert "Around The hive" in around
    assert 'class="here"' in around
    assert "Note a" not in around.partition("<svg")[2].partition("</svg>")[0]


@pytest.mark.parametrize(
    "name", ["a #1?.md", "quote'\".md", "100%25.md", "ü ß.md", "a&b<c>.md", "x\u202ey.md"]
)
def test_pages_with_odd_names_have_addresses_that_lead_to_them(
    client: Client, root: Path, bees: Path, name: str
) -> None:
    """From the tree, the search, the graph and the editor."""
    put(root, f"bees/wiki/{name}", "# Oddly named\n")
    address = f"/wikis/bees/{quote(name)}"
    assert "Oddly named" in get(client, address)
    shown = address.replace("&", "&amp;").replace("'", "&#x27;")
    for path in ("/wikis/bees/", "/wiki/search/?q=oddly", "/wiki/graph/bees/"):
        assert f'href="{shown}"' in get(client, path), path
    assert "Oddly named" in get(client, f"/wiki/edit/bees/wiki/{quote(name)}/")


def test_a_link_out_of_the_workspace_is_no_wiki(client: Client, root: Path) -> None:
    """Nor does it break the list."""
    (root / "wikis").mkdir(exist_ok=True)
    (root / "wikis/etc").symlink_to("/etc")
    page = get(client, "/wikis/")
    assert "leads out of the workspace" in page
    assert client.get("/wikis/etc/").status_code == 404
    assert client.get("/wikis/etc/passwd").status_code == 404


def test_a_link_leads_to_the_heading_it_names(client: Client, root: Path) -> None:
    """By words, by a path of headings, by a numbered id; in any script, with marks and emoji."""
    put(
        root,
        "bees/wiki/hive.md",
        "# Hive\n\n## FAQ\n\n### Sub One\n\n## का\n\n## कि\n\n## FAQ\n\n### Sub One\n\n"
        "## The *big* [box](x.md) 🎉\n\n[up](#hive) [[#FAQ#Sub One]]\n",
    )
    put(
        root,
        "bees/wiki/index.md",
        "# Bees\n\n[[hive#FAQ#Sub One]] [a](hive.md#faq-1) [[hive#कि]] [[hive#The big box]]"
        " [[hive#Hive]] [[hive#faq]] [[hive#nobody]]\n",
    )
    text = get(client, "/wikis/bees/")
    found = [unquote(at) for at in re.findall(r'href="/wikis/bees/hive.md#([^"]+)"', text)]
    assert found == [
        "h-sub-one", "h-faq-1", "h-कि", "h-the-big-box", "h-hive", "h-faq", "h-nobody",
    ]  # fmt: skip
    page = get(client, "/wikis/bees/hive.md")
    ids = re.findall(r'id="(h-[^"]+)"', page)
    assert ids == [
        "h-hive",
        "h-faq",
        "h-sub-one",
        "h-का",
        "h-कि",
        "h-faq-1",
        "h-sub-one-1",
        "h-the-big-box",
    ]
    assert 'href="#h-hive"' in page
    assert 'href="#h-sub-one"' in page
    for one in ids[1:]:
        assert f'href="#{one}"' in page


def test_what_the_page_shows_as_a_link_is_known(client: Client, root: Path) -> None:
    """Links by definition, with brackets and in the header count as links here; hidden ones do
    not."""
    put(root, "bees/wiki/Mars_(planet).md", "# Mars\n")
    put(root, "bees/wiki/ref.md", "[x][r]\n\n[r]: Mars_(planet).md\n")
    put(root, "bees/wiki/near.md", "[x](Mars_(planet).md) [gone](Gone_(planet).md)\n")
    put(root, "bees/wiki/head.md", '---\nrelated: "[[Mars_(planet)]]"\n---\n')
    put(root, "bees/wiki/hidden.md", "<!--\n[[Mars_(planet)]] [[nobody]]\n-->\n`[[nobody]]`\n")
    page = get(client, "/wikis/bees/Mars_%28planet%29.md")
    links = page.partition('id="backlinks"')[2].partition("</section>")[0]
    assert re.findall(r'href="/wikis/bees/(\w+)', links) == ["head", "near", "ref"]
    health = get(client, "/wiki/health/bees/")
    assert "Gone_(planet).md" in health
    assert "nobody" not in health
