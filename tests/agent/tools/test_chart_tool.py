"""plot: a model draws a chart from numbers, as a file that only shows."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from jenny.agent.tools.toolbox import PROPOSED
from tests.agent.conftest import Call

SVG = "{http://www.w3.org/2000/svg}"
TEA = {"name": "tea", "values": [3, 5, 8]}
DAYS = ["Mon", "Tue", "Wed"]


def drawing(root: Path, path: str) -> ET.Element:
    return ET.parse(root / path).getroot()  # noqa: S314 - a file of this test


def words(root: Path, path: str) -> str:
    """What the chart shows as text."""
    return " ".join("".join(each.itertext()) for each in drawing(root, path).iter(f"{SVG}text"))


@pytest.mark.parametrize(
    ("kind", "more", "shapes"),
    [
        ("bar", {"series": [TEA], "labels": DAYS}, 3),
        ("line", {"series": [TEA], "labels": DAYS}, 1),
        ("line", {"series": [TEA, {"name": "coffee", "values": [1, None, 2]}]}, 2),
        ("scatter", {"series": [TEA | {"x": [1, 2, 3.5]}]}, 3),
        ("pie", {"series": [TEA], "labels": DAYS}, 3),
        ("pie", {"series": [{"name": name, "values": [1]} for name in DAYS]}, 3),
    ],
)
def test_each_kind_of_chart_is_drawn(call: Call, root: Path, kind: str, more, shapes) -> None:
    """With a shape for each value, or each line."""
    outcome = call("plot", kind=kind, title="Cups", **more)
    assert outcome.ok, outcome.content
    image = drawing(root, outcome.data["path"])
    drawn = {"bar": "rect", "line": "path", "scatter": "circle", "pie": "path"}[kind]
    found = [
        each
        for series in image.iter(f"{SVG}g")
        if "series" in series.get("class", "").split()
        for each in series.iter(f"{SVG}{drawn}")
    ]
    assert len(found) == shapes


def test_a_chart_says_in_words_what_it_shows(call: Call, root: Path) -> None:
    """For who cannot see it: in the file, and in the line for the answer."""
    outcome = call(
        "plot", kind="bar", title="Cups", labels=DAYS, x_axis="Day", y_axis="Number",
        series=[TEA, {"name": "coffee", "values": [1.5, None, -2]}],
    )  # fmt: skip
    image = drawing(root, "output/chart-cups.svg")
    assert image.get("role") == "img"
    named = {image.get("aria-labelledby"): "title", image.get("aria-describedby"): "desc"}
    texts = {tag: image.find(f"{SVG}{tag}[@id='{name}']") for name, tag in named.items()}
    assert texts["title"].text == "Cups"
    told = "tea: Mon 3, Tue 5, Wed 8. coffee: Mon 1.5, Tue none, Wed -2."
    assert texts["desc"].text == (f"Bar chart. Horizontal axis: Day. Vertical axis: Number. {told}")
    shown = words(root, "output/chart-cups.svg")
    assert all(each in shown for each in ("Cups", "Day", "Number", "tea", "coffee", *DAYS))
    assert "](output/chart-cups.svg)" in outcome.content
    assert told in outcome.content


def test_many_values_are_told_by_their_range(call: Call, root: Path) -> None:
    """A description of a thousand numbers helps nobody."""
    outcome = call(
        "plot", kind="line", title="Long", series=[{"name": "n", "values": [*range(1000)]}]
    )
    told = "n: 1,000 values from 0 to 999, the first 0, the last 999."
    assert told in outcome.content
    assert told in (root / outcome.data["path"]).read_text()
    assert len(outcome.content) < 500


def test_a_chart_does_nothing_but_show(call: Call, root: Path) -> None:
    """Neither the library's script nor what a model writes into a text acts in it."""
    evil = "</title><script>alert(1)</script>\x07\ud800]](x) ![b](//evil.example)"
    outcome = call(
        "plot", kind="bar", title=evil, labels=[evil, "b", "c"], x_axis=evil,
        series=[{"name": "<img onerror=x>", "values": [1, 2, 3]}],
    )  # fmt: skip
    assert outcome.ok, outcome.content
    source = (root / outcome.data["path"]).read_text()
    image = ET.fromstring(source)  # noqa: S314 - a file of this test
    tags = {each.tag.removeprefix(SVG) for each in image.iter()}
    assert tags <= {"svg", "title", "desc", "defs", "style", "g", "rect", "path", "text", "tspan"}
    attributes = {name for each in image.iter() for name in each.attrib}
    assert not any(name.startswith("on") or "href" in name for name in attributes)
    assert "://" not in source.replace("http://www.w3.org", "")
    assert "url(" not in source
    assert "@import" not in source
    assert outcome.content.count("](") == 1


def test_a_chart_fits_light_and_dark_pages(call: Call, root: Path) -> None:
    """It has the colours of both, each with its own background."""
    call("plot", kind="bar", title="Cups", series=[TEA])
    style = drawing(root, "output/chart-cups.svg").find(f".//{SVG}style").text
    light, _, dark = style.partition("@media (prefers-color-scheme:dark)")
    assert ".background{fill:#ffffff}" in light
    assert ".color-0," in light
    assert ".background{fill:#1f1c1a}" in dark
    assert ".color-0{" in dark


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"kind": "radar"}, "kind must be one of bar, line, scatter, pie"),
        ({"series": []}, "a chart has 1 to 12 series, not 0"),
        ({"series": [TEA] * 13}, "a chart has 1 to 12 series, not 13"),
        ({"series": [{"name": "n", "values": []}]}, "there are no values"),
        ({"series": [{"name": "n", "values": [None]}]}, "there are no values"),
        ({"series": [{"name": "n", "values": ["x"]}]}, "series[0].values[0] must be a number"),
        ({"series": [{"name": "n", "values": [float("nan")]}]}, "must be a number"),
        ({"series": [{"name": "n", "values": [1e16]}]}, "at most 1,000,000,000,000,000"),
        ({"series": [{"name": "n", "values": [10**400]}]}, "must be a number"),
        ({"series": [{"name": "n", "values": [1] * 2001}]}, "at most 2,000 values, not 2,001"),
        ({"labels": ["a"]}, "there are 1 labels, so each series needs as many values"),
        ({"title": " "}, "it needs a title"),
        ({"title": "x" * 121}, "a title, name or label may have 120 characters"),
        ({"kind": "scatter"}, "as many x as values"),
        ({"series": [{"name": "n", "values": [1, 2], "x": [1]}]}, "only a scatter chart has x"),
        ({"kind": "pie"}, "a pie needs a label for each value"),
        ({"kind": "pie", "series": [{"name": "n", "values": [-1]}]}, "are not negative"),
        ({"kind": "pie", "series": [{"name": "n", "values": [0]}]}, "not all zero"),
        ({"path": "output/chart.png"}, "the path must end in .svg"),
        ({"path": "../chart.svg"}, "leads out of the workspace"),
    ],
)
def test_wrong_input_ends_in_a_sentence(call: Call, root: Path, wrong, said: str) -> None:
    """The model learns what to change, and nothing is written."""
    outcome = call("plot", **({"kind": "bar", "title": "Cups", "series": [TEA]} | wrong))
    assert not outcome.ok
    assert said in outcome.content
    assert not (root / "output").exists()


@pytest.mark.parametrize(
    "values",
    [[0], [0, 0, 0], [1e15, -1e15], [1e-300, 2e-300], [5e-324], [1e15, 1e15 + 1], [1, 1 + 1e-16]],
)
@pytest.mark.parametrize("kind", ["bar", "line"])
def test_extreme_numbers_are_drawn_too(call: Call, kind: str, values: list[float]) -> None:
    """Or refused by a sentence: no program's error reaches the model."""
    outcome = call("plot", kind=kind, title="n", series=[{"name": "n", "values": values}])
    assert "fault of the program" not in outcome.content
    assert outcome.ok or outcome.content.startswith("Nothing was drawn")


def test_a_file_of_the_person_is_not_replaced_unread(call: Call, root: Path) -> None:
    """As with every tool; what the same turn drew may be drawn anew."""
    mine = root / "logo.svg"
    mine.write_text("<svg/>")
    chart = {"kind": "bar", "title": "Cups", "path": "logo.svg"}
    outcome = call("plot", series=[TEA], **chart)
    assert not outcome.ok
    assert "have not read" in outcome.content
    assert mine.read_text() == "<svg/>"
    chart["path"] = "a (b)/c d.svg"
    assert "](<a (b)/c d.svg>)" in call("plot", series=[TEA], **chart).content
    assert call("plot", series=[{"name": "coffee", "values": [9]}], **chart).ok
    assert "coffee" in (root / chart["path"]).read_text()


def test_two_charts_of_one_title_are_two_files(call: Call, root: Path) -> None:
    """And the same chart once more is the same file."""
    first = call("plot", kind="bar", title="Cups", series=[TEA]).data["path"]
    second = call("plot", kind="pie", title="Cups", series=[TEA], labels=DAYS).data["path"]
    again = call("plot", kind="bar", title="Cups", series=[TEA]).data["path"]
    assert first == again == "output/chart-cups.svg"
    assert second.startswith("output/chart-cups-")
    assert len(list((root / "output").iterdir())) == 2


def test_a_write_rule_holds_for_charts(call: Call, root: Path, context) -> None:
    """A refused write is refused, whatever tool asks for it."""
    context.workspace.write("x.svg", b"<svg/>")
    outcome = call("plot", kind="bar", title="Cups", series=[TEA], path=".jenny/x.svg")
    assert not outcome.ok
    assert PROPOSED not in outcome.data
