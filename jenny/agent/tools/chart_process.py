"""Draws a chart with pygal, in a process of its own whose time and memory are bounded.

``chart_tool`` runs this file as a script; it imports nothing of the program. Standard input: one
JSON object with the fields of ``chart_tool.Chart``, checked. Standard output: the SVG.
"""

import contextlib
import json
import sys
from typing import Any
from xml.etree import ElementTree as ET

import pygal
from pygal.style import Style

_CPU_SECONDS = 10
_MEMORY_BYTES = 1 << 29
_NAMESPACE = "http://www.w3.org/2000/svg"
_WIDTH, _HEIGHT = 600, 380
# Labels of the horizontal axis that fit beside each other, and their characters.
_LABELS = 24
_LABEL_LINE = 60
# Characters of a name that fit thrice below a chart.
_NAME = 16
# Values of a line whose places are marked.
_DOTS = 40
# Each colour stands out from its background by 4.5 to 1. A chart is shown as a picture, so it has
# both and takes the one that fits the page.
_LIGHT = (
    *("#0b62a4", "#b5440b", "#15713a", "#8e2a9c", "#7a5b00", "#0b6f83"),
    *("#b3182b", "#4a3fc2", "#4a6b0a", "#b01765", "#5a534c", "#1d3b8b"),
)
_DARK = (
    *("#74b6f5", "#f79b66", "#73cf8f", "#df9aea", "#dcbf55", "#66cfe0"),
    *("#ff9090", "#b0aeff", "#b0d46b", "#ff9dc8", "#cbc4ba", "#9db7ff"),
)
_DARK_RULES = (
    ".graph>.background,.plot>.background{fill:#1f1c1a}"
    ".graph,.title,.legends .legend text,.axis text,.axis text.major,.series text{fill:#ece6dc}"
    ".axis .line,.axis .guide.line,.axis .major.guide.line{stroke:#8d857b}"
)
_STYLE = Style(
    background="#ffffff",
    plot_background="#ffffff",
    foreground="#23201d",
    foreground_strong="#23201d",
    foreground_subtle="#6b645c",
    guide_stroke_color="#bdb6ac",
    major_guide_stroke_color="#8d857b",
    colors=_LIGHT,
    opacity="1",
    stroke_opacity="1",
    stroke_width="2.5",
    font_family="system-ui, sans-serif",
    title_font_size=18,
    legend_font_size=14,
    label_font_size=13,
    major_label_font_size=13,
)
_KINDS = {"bar": pygal.Bar, "line": pygal.Line, "pie": pygal.Pie, "scatter": pygal.XY}


def draw(chart: dict[str, Any]) -> str:
    """Return the SVG of a chart, the same for the same values."""
    kind, series, labels = chart["kind"], chart["series"], chart["labels"]
    every = -(-len(labels) // _LABELS)
    is_long = sum(map(len, labels[:: every or 1])) > _LABEL_LINE
    # A pie has one value a slice.
    rows = zip(labels, series[0]["values"], strict=True) if kind == "pie" and labels else None
    slices = [{"name": name, "values": [value]} for name, value in rows] if rows else series
    columns = min(len(slices), 3 if all(len(one["name"]) <= _NAME for one in slices) else 2)
    drawn = _KINDS[kind](
        style=_STYLE,
        js=[],
        no_prefix=True,
        disable_xml_declaration=True,
        explicit_size=True,
        width=_WIDTH,
        height=_HEIGHT,
        title=chart["title"],
        x_title=(kind != "pie" and chart["x_axis"]) or None,
        y_title=(kind != "pie" and chart["y_axis"]) or None,
        legend_at_bottom=True,
        legend_at_bottom_columns=columns,
        # The library leaves no room for a last row that is not full.
        margin_bottom=20 + (21 if len(slices) % columns else 0),
        max_scale=10,
        truncate_label=24,
        show_legend=len(slices) > 1,
        stroke=kind != "scatter",
        dots_size=3.5,
        show_dots=kind == "scatter" or max(len(each["values"]) for each in series) <= _DOTS,
        x_labels_major_every=every if every > 1 else None,
        show_minor_x_labels=every <= 1,
        x_label_rotation=35 if is_long else 0,
        # A bar has its length from zero.
        include_x_axis=kind == "bar",
        value_formatter=lambda value: f"{value:,.10g}",
        x_value_formatter=lambda value: f"{value:,.10g}",
    )
    if labels and kind != "pie":
        drawn.x_labels = labels
    for each in slices:
        values = each["values"]
        if kind == "scatter":
            values = list(zip(each["x"], values, strict=True))
        drawn.add(each["name"], values)
    return _finished(drawn.render(), chart["title"], chart["description"])


def _finished(svg: str | bytes, title: str, description: str) -> str:
    """Take out scripts and the parts that only they use; put in the words for a screen reader."""
    ET.register_namespace("", _NAMESPACE)
    # Its own output a moment ago; the parser leaves comments out.
    root = ET.fromstring(svg)  # noqa: S314
    unused = {f"{{{_NAMESPACE}}}{name}" for name in ("script", "desc", "title")}
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in unused or "tooltip" in child.get("class", "").split():
                parent.remove(child)
    for element in root.iter():
        for name in ("id", "class"):
            if not element.get(name, "-"):
                del element.attrib[name]
    root.attrib |= {"role": "img", "aria-labelledby": "title", "aria-describedby": "description"}
    for at, (tag, words) in enumerate({"title": title, "desc": description}.items()):
        element = ET.Element(f"{{{_NAMESPACE}}}{tag}")
        element.set("id", "title" if tag == "title" else "description")
        element.text = words
        root.insert(at, element)
    style = root.find(f".//{{{_NAMESPACE}}}style")
    if style is not None:
        colors = "".join(
            f".color-{at}{{stroke:{color};fill:{color}}}" for at, color in enumerate(_DARK)
        )
        dark = f"@media (prefers-color-scheme:dark){{{_DARK_RULES}{colors}}}"
        style.text = f"{style.text or ''}{dark}"
    return ET.tostring(root, encoding="unicode") + "\n"


def _bound() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - POSIX only

        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


if __name__ == "__main__":
    _bound()
    sys.stdout.buffer.write(draw(json.load(sys.stdin)).encode())
