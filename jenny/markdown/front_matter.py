"""The header of a Markdown file: YAML between two lines of ``---`` at its very beginning.

Only read, with the safe loader, and never written back: a header that cannot be understood is
said to be so, and its bytes stay as they are.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

# Longer headers are not looked at: these are a few lines about a file.
MAX_CHARS = 20_000

_OPEN = re.compile(r"---[ \t]*\n")
_CLOSE = re.compile(r"^---[ \t]*$", re.MULTILINE)
# Where libyaml is at hand it reads a header in a tenth of the time.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A header's values, the text below it, and why the header could not be read, if so; *raw*
    is the header as it stands."""

    values: dict[str, Any] = field(default_factory=dict)
    body: str = ""
    problem: str = ""
    raw: str = ""


class _Loader(_SafeLoader):  # type: ignore[misc] # the class is chosen when the module loads
    """The safe loader, refusing a key that is there twice: YAML would take the last in silence."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - PyYAML's signature
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                message = f"the key “{name[:60]}” is there twice"
                raise yaml.constructor.ConstructorError(None, None, message, key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep=deep)


def read(text: str) -> FrontMatter:
    """The header and body of *text*; without a header, no values and all of the text.

    A byte order mark and any kind of line end are taken as they come. ``---`` further down is
    a rule, not a header.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    opening = _OPEN.match(text)
    if opening is None:
        return FrontMatter(body=text)
    closing = _CLOSE.search(text, opening.end())
    if closing is None:
        return FrontMatter(body=text, problem="the header has no closing line of ---")
    header, body = text[opening.end() : closing.start()], text[closing.end() + 1 :]
    values, problem = _parsed(header)
    return FrontMatter(values, body, problem, header)


def _parsed(header: str) -> tuple[dict[str, Any], str]:
    """The header's values, or why there are none."""
    if len(header) > MAX_CHARS:
        return {}, f"the header is longer than {MAX_CHARS:,} characters"
    try:
        values = yaml.load(header, Loader=_Loader)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        return {}, _said(error)
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as error:
        # Dates that do not exist and the like escape the loader as plain errors.
        return {}, f"the header is no YAML ({_short(error)})"
    if not isinstance(values, dict | None):
        return {}, "the header is no list of “key: value” lines"
    return {str(key): value for key, value in (values or {}).items()}, ""


def _said(error: yaml.MarkedYAMLError) -> str:
    """The parser's complaint in a line, with the line of the file."""
    where = f" in line {error.problem_mark.line + 2}" if error.problem_mark else ""
    what = str(error.problem or error.context or error)
    if what.startswith("mapping values are not allowed"):
        # The slip that people make most: "summary: Bees: our hives".
        what = "a value with a colon in it must stand in quotes"
    return f"the header is no YAML{where} ({_short(what)})"


def _short(error: object) -> str:
    return " ".join(str(error).split())[:120]
