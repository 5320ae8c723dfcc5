"""Links and pictures of an answer that name files of the workspace lead to these files."""

from pathlib import Path

import pytest

from jenny.chat.thread import WorkspaceLinks, frame_content, mark_missing
from jenny.markdown.render import render
from jenny.markdown.streaming import StreamRenderer
from tests.markdown.hostile import SAMPLES
from tests.support.html import Seen


def html(source: str, project: str = "") -> str:
    """An answer as a page shows it."""
    return render(source, around=WorkspaceLinks(project))


@pytest.mark.parametrize(
    ("source", "project", "address"),
    [
        ("[plan](output/plan.md)", "", "/workspace/output/plan.md"),
        ("[x](./a%20b.txt#h)", "", "/workspace/a%20b.txt#h"),
        ("[x](<a b/ü.txt>)", "", "/workspace/a%20b/%C3%BC.txt"),
        ("[x](wiki/hive.md)", "garden", "/workspace/wikis/garden/wiki/hive.md"),
        ("[x](wikis/garden/wiki/hive.md)", "garden", "/workspace/wikis/garden/wiki/hive.md"),
        ("[x][r]\n\n[r]: output/plan.md", "", "/workspace/output/plan.md"),
        ("![drawing](output/a.svg)", "", ""),
        ("[x](../other/plan.md)", "", ""),
        ("[x](a/../../other)", "", ""),
        ("[x](%2e%2e/other)", "", ""),
        ("[x](..%5Cother)", "", ""),
        ("[x](/etc/passwd)", "", "/etc/passwd"),
        ("[x](javascript:alert)", "", ""),
        ("[x](#here)", "", ""),
        ("[[plan]]", "", ""),
    ],
)
def test_a_link_opens_the_file(source: str, project: str, address: str) -> None:
    """In the file browser, which checks who asks; nothing leads out of the workspace."""
    assert Seen(html(source, project)).of("a", "href") == ([address] if address else [])


def test_a_picture_is_shown() -> None:
    """From the workspace only, also an SVG, as a picture; files elsewhere are named instead."""
    assert Seen(html("![chart](output/chart.png)")).of("img", "src") == [
        "/files/raw/output/chart.png/"
    ]
    assert Seen(html("![chart](chart.png)", "garden")).of("img", "src") == [
        "/files/raw/wikis/garden/chart.png/"
    ]
    assert (
        html("![a](a.svg)")
        == '<p dir="auto"><img src="/files/raw/a.svg/" alt="a" loading="lazy"></p>\n'
    )
    assert 'alt="a" width="300" height="20" loading="lazy">' in html("![a|300x20](a.png)")
    for source in ("![a](../chart.png)", "![a](/a.svg)", "![a](https://x.example/a.png)"):
        assert "<img" not in html(source)


def test_streamed_as_stored() -> None:
    """A page that follows the answer sees the same links and pictures."""
    source = "See [plan](output/plan.md) and ![chart](output/chart.png)\n\n[[no]] end\n"
    renderer = StreamRenderer(around=WorkspaceLinks())
    for char in source:
        renderer.feed(char)
    shown = "".join(renderer.snapshot()).replace('<span class="tail"></span>', "")
    assert shown == html(source) == renderer.finish()


@pytest.mark.parametrize("source", SAMPLES)
def test_nothing_hostile_gets_further(source: str) -> None:
    """No script, handler, style or address of another scheme; no picture from elsewhere."""
    seen = Seen(html(source))
    assert seen.faults == []
    own = ("data:image/", "/files/raw/")
    assert all(address.startswith(own) for address in seen.of("img", "src"))


def test_a_file_that_is_not_there_is_said_beside_its_link(tmp_path: Path) -> None:
    """Whenever the answer is shown: a file that was deleted since is missing, and one that was made
    since is not."""
    (tmp_path / "output").mkdir()
    stored = html(
        "[plan](output/pl%C3%A4n.md#h) and ![a chart](output/chart.png) [x](https://x.eu)"
    )
    shown = mark_missing(stored, tmp_path)
    assert "plan</a> (there is no such file) and" in shown
    assert "Image “a chart” (there is no such file)" in shown
    assert Seen(shown).of("img", "src") == []
    assert shown.count("no such file") == 2
    for name in ("pla\u0308n.md", "chart.png"):
        (tmp_path / "output" / name).write_text("x")
    assert mark_missing(stored, tmp_path) == stored
    outside = html("[x](output/pl%C3%A4n.md)").replace("output/", "../../etc/")
    assert mark_missing(outside, tmp_path) == outside


def test_a_frame_holds_its_block() -> None:
    """A diagram, a page or a picture of an answer, by the name in its address; nothing else."""
    chat = "0" * 8 + "-0000-0000-0000-" + "0" * 12
    source = (
        "```mermaid\na --> b\n```\n\n~~~HTML x\n<b>\n~~~\n\n```svg\n<svg/>\n```\n\n```py\n1\n```"
    )
    seen = Seen(render(source, around=WorkspaceLinks("", chat)))
    addresses = seen.of("iframe", "src")
    assert seen.of("iframe", "sandbox") == ["allow-scripts", "", ""]
    assert all(address.startswith(f"/chat/{chat}/frame/") for address in addresses)
    names = [address.split("/")[4] for address in addresses]
    assert [frame_content(["", source], name) for name in names] == [
        ("mermaid", "a --> b\n"), ("html", "<b>\n"), ("svg", "<svg/>\n"),
    ]  # fmt: skip
    assert frame_content([source], "0" * 16) is None
    alike = "".join(f"```{name}\n<svg/>\n```\n" for name in ("svg", "html", "mermaid"))
    addresses = Seen(render(alike, around=WorkspaceLinks("", chat))).of("iframe", "src")
    found = [frame_content([alike], address.split("/")[4]) for address in addresses]
    assert found == [("svg", "<svg/>\n"), ("html", "<svg/>\n"), ("mermaid", "<svg/>\n")]
    assert "<iframe" not in render(source, around=WorkspaceLinks(""))
