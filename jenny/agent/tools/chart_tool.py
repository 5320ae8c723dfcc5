"""The tool that draws a chart as an SVG file of the workspace."""

import hashlib
import json
import math
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from jenny.agent.errors import ToolProblem
from jenny.agent.messages import clean
from jenny.agent.tools.file_tools import existing, lines_of, must_have_read
from jenny.agent.tools.toolbox import Seen, Tool, ToolContext, ToolOutcome

_CHILD = Path(__file__).with_name("chart_process.py")
_SECONDS = 15
# Between two looks at whether the run should end.
_CHECK_SECONDS = 0.1
_SERIES = 12
_VALUES = 2_000
_TEXT_CHARS = 120
_LARGEST = 1e15
# Values named one by one in the description of a chart, and characters of the short one.
_NAMED = 200
_SHORT = 200
# What XML cannot have, and what would end a picture's description in Markdown.
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f\ufffe\uffff\s]+")
_MARKS = re.compile(r"[\[\]\\|`*_<>!]")

Kind = Literal["bar", "line", "scatter", "pie"]


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one line, one colour of bars, or one cloud of points.

    name: what it shows, for the legend
    values: the numbers, one for each label; null where there is none
    x: for scatter: the horizontal position of each value
    """

    name: str
    values: list[float | None]
    x: list[float] | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    kind: Kind
    title: str
    series: list[Series]
    labels: list[str]
    x_axis: str
    y_axis: str
    description: str = ""


def plot(
    context: ToolContext,
    kind: Kind,
    title: str,
    series: list[Series],
    *,
    labels: list[str] | None = None,
    x_axis: str = "",
    y_axis: str = "",
    path: str = "",
) -> ToolOutcome:
    """Draw a chart as an SVG file, and get the Markdown that shows it in your answer.

    kind: bar, line, scatter (points at x and value) or pie (one series with labels)
    title: what the chart shows
    series: one or several rows of numbers
    labels: the name of each value of a series, along the axis or for each slice
    x_axis: name and unit of the horizontal axis
    y_axis: name and unit of the vertical axis
    path: where to write it, ending in .svg; nothing means under output/, by the title
    """
    chart = _checked(
        Chart(
            kind,
            _line(title),
            [Series(_line(each.name), each.values, each.x) for each in series],
            [_line(each) for each in labels or []],
            _line(x_axis),
            _line(y_axis),
        )
    )
    if path and not path.lower().endswith(".svg"):
        raise ToolProblem("Nothing was drawn: the path must end in .svg.")
    context.check()
    data = _drawn(context, chart)
    path = path or _free_path(context, chart.title, data)
    old = existing(context, path)
    if old is not None and old.data and old.data != data:
        must_have_read(context, old)
    file = old
    if old is None or old.data != data:
        file = context.workspace.write(path, data, expect=old.version if old else None)
    written = file.path if file else path
    if file is not None:
        count = len(lines_of(data.decode()))
        context.seen[written] = Seen(file.version, count, is_whole=True)
    # Parentheses and white space would end the address.
    shown = f"<{written}>" if re.search(r"[\s()]", written) else written
    return ToolOutcome(
        ok=True,
        content=f"The chart is in {written}. This line shows it in your answer:\n\n"
        f"![{_MARKS.sub('', _short(chart))}]({shown})",
        data={"path": written},
    )


def _line(text: str) -> str:
    return _NO_TEXT.sub(" ", clean(text)).strip()


def _checked(chart: Chart) -> Chart:
    """Return the chart; ``ToolProblem`` names everything that is wrong with it."""
    problems = _common_problems(chart) or _problems_of_kind(chart)
    if problems:
        raise ToolProblem(f"Nothing was drawn: {'; '.join(problems)}.")
    return chart


def _common_problems(chart: Chart) -> list[str]:
    series = chart.series
    found = []
    texts = [chart.title, chart.x_axis, chart.y_axis, *chart.labels]
    texts += [each.name for each in series]
    if any(len(text) > _TEXT_CHARS for text in texts):
        found.append(f"a title, name or label may have {_TEXT_CHARS} characters")
    if not chart.title:
        found.append("it needs a title")
    if not 1 <= len(series) <= _SERIES:
        found.append(f"a chart has 1 to {_SERIES} series, not {len(series)}")
    count = sum(len(each.values) for each in series)
    if count > _VALUES:
        found.append(f"a chart has at most {_VALUES:,} values, not {count:,}")
    numbers = [value for each in series for value in each.values if value is not None]
    places = [x for each in series for x in each.x or ()]
    if not all(math.isfinite(value) and abs(value) <= _LARGEST for value in numbers + places):
        found.append(f"every value must be a number of at most {_LARGEST:,.0f}")
    if not numbers:
        found.append("there are no values")
    return found


def _problems_of_kind(chart: Chart) -> list[str]:
    series, labels = chart.series, chart.labels
    found = []
    if chart.kind == "scatter":
        if any(len(each.x or ()) != len(each.values) for each in series):
            found.append("each series of a scatter chart needs as many x as values")
        if labels:
            found.append("a scatter chart has no labels")
    elif any(each.x for each in series):
        found.append("only a scatter chart has x")
    elif chart.kind == "pie":
        found += _pie_problems(series, labels)
    elif labels and any(len(each.values) != len(labels) for each in series):
        found.append(f"there are {len(labels):,} labels, so each series needs as many values")
    return found


def _pie_problems(series: list[Series], labels: list[str]) -> list[str]:
    values = [value or 0 for each in series for value in each.values]
    found = []
    if labels and (len(series) != 1 or len(series[0].values) != len(labels)):
        found.append("a pie with labels has one series, with a value for each label")
    if not labels and any(len(each.values) != 1 for each in series):
        found.append("a pie needs a label for each value")
    if len(values) > _SERIES:
        found.append(f"a pie has at most {_SERIES} slices; put small ones together")
    if min(values) < 0 or sum(values) <= 0:
        found.append("the values of a pie are not negative, and not all zero")
    return found


def _free_path(context: ToolContext, title: str, data: bytes) -> str:
    """Return the path for a chart of that title; another chart of the same title stays."""
    name = "-".join(re.findall(r"\w+", title.lower()))[:40].strip("-_") or "untitled"
    path = f"output/chart-{name}.svg"
    old = existing(context, path)
    if old is None or old.data == data:
        return path
    return f"output/chart-{name}-{hashlib.sha256(data).hexdigest()[:8]}.svg"


def _drawn(context: ToolContext, chart: Chart) -> bytes:
    order = asdict(chart) | {"description": _description(chart)}
    sent: bytes | None = json.dumps(order).encode()
    until = time.monotonic() + _SECONDS
    # Without environment, which has secrets.
    with subprocess.Popen(  # noqa: S603 - our own file, no shell
        [sys.executable, "-I", str(_CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
    ) as process:
        try:
            while True:
                try:
                    data, _ = process.communicate(sent, timeout=_CHECK_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    sent = None  # it goes on by itself
                    context.check()
                    if time.monotonic() > until:
                        message = "Nothing was drawn: it took too long. Use fewer values."
                        raise ToolProblem(message) from None
        finally:
            process.kill()
    if process.returncode:
        raise ToolProblem("Nothing was drawn: this chart cannot be drawn. Use simpler values.")
    return data


def _description(chart: Chart) -> str:
    """Say in words what the chart shows: each value while they are few, otherwise the range."""
    parts = [f"{chart.kind.capitalize()} chart."]
    for name, axis in (("Horizontal axis", chart.x_axis), ("Vertical axis", chart.y_axis)):
        if axis:
            parts.append(f"{name}: {axis}.")
    is_short = sum(len(each.values) for each in chart.series) <= _NAMED
    parts += [_words(each, chart, is_short=is_short) for each in chart.series]
    return " ".join(parts)


def _short(chart: Chart) -> str:
    """Return the description of the picture in an answer."""
    words = _description(chart).partition(". ")[2]
    if len(words) > _SHORT:
        words = " ".join(_words(each, chart, is_short=False) for each in chart.series)
    if len(words) > _SHORT:
        words = f"{', '.join(each.name for each in chart.series)}."
    return f"{chart.kind.capitalize()} chart: {chart.title}. {words}"


def _words(series: Series, chart: Chart, *, is_short: bool) -> str:
    values = series.values
    if is_short:
        names = chart.labels or [f"{x:,.10g}:" for x in series.x or ()]
        each = [_number(value) for value in values]
        if names:
            each = [f"{name} {value}" for name, value in zip(names, each, strict=True)]
        return f"{series.name}: {', '.join(each)}."
    known = [value for value in values if value is not None]
    if not known:
        return f"{series.name}: no values."
    return (
        f"{series.name}: {len(values):,} values from {_number(min(known))} to "
        f"{_number(max(known))}, the first {_number(known[0])}, the last {_number(known[-1])}."
    )


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:,.10g}"


PLOT = Tool.of(plot)
