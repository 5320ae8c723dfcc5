"""A tool is a function; a call always ends in an outcome that a model can use."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import Cancelled, ToolProblem
from jenny.agent.tools import SPILL_FOLDER, Tool, Toolbox, ToolContext, ToolOutcome
from jenny.workspace.errors import PathRefused


@dataclass(frozen=True, slots=True)
class Part:
    """One part.

    name: what it is called
    size: how large it is
    """

    name: str
    size: int = 1


def example(
    context: ToolContext,
    path: str,
    count: int = 3,
    *,
    loud: bool = False,
    share: float = 0.5,
    kind: Literal["a", "b"] = "a",
    parts: list[Part] | None = None,
) -> ToolOutcome:
    """Do something with a file. It goes on
    in a second line.

    A second paragraph.

    path: where it is,
        and more about it
    count: how many
    parts: what of
    """
    values = f"{path} {count} {loud} {share} {kind} {parts}"
    return ToolOutcome(ok=True, content=values)


def toolbox(context: ToolContext, *functions: Any) -> Toolbox:
    """A box of these functions."""
    return Toolbox([Tool.of(function) for function in functions], context)


def test_schema_comes_from_docstring_and_signature(context: ToolContext) -> None:
    """What the model sees of a tool is what the function says of itself."""
    (schema,) = toolbox(context, example).schemas()
    assert schema["name"] == "example"
    assert schema["description"] == (
        "Do something with a file. It goes on in a second line.\n\nA second paragraph."
    )
    properties = schema["input_schema"]["properties"]
    assert properties["path"] == {
        "type": "string",
        "description": "where it is, and more about it",
    }
    assert properties["count"] == {"type": "integer", "description": "how many", "default": 3}
    assert properties["loud"] == {"type": "boolean", "default": False}
    assert properties["share"]["type"] == "number"
    assert properties["kind"] == {"type": "string", "enum": ["a", "b"], "default": "a"}
    part = properties["parts"]["items"]
    assert part["properties"]["size"] == {
        "type": "integer",
        "description": "how large it is",
        "default": 1,
    }
    assert part["required"] == ["name"]
    assert schema["input_schema"]["required"] == ["path"]
    assert schema["input_schema"]["additionalProperties"] is False


def test_the_schemas_are_the_same_bytes_every_time(box: Toolbox) -> None:
    """A provider's prompt cache holds only while the tools are sent in the same order."""
    assert repr(box.schemas()) == repr(box.schemas())
    assert [schema["name"] for schema in box.schemas()] == list(box.names)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "a"}, "a 3 False 0.5 a None"),
        ({"path": "a", "count": "7", "loud": "true", "share": "2"}, "a 7 True 2.0 a None"),
        ({"path": "a", "count": 4.0, "kind": "b", "parts": None}, "a 4 False 0.5 b None"),
        (
            {"path": "a", "parts": '[{"name": "x", "size": "2"}]'},
            "a 3 False 0.5 a [Part(name='x', size=2)]",
        ),
    ],
)
def test_arguments_that_can_be_read_without_doubt_are_read(
    context: ToolContext, arguments: dict[str, Any], expected: str
) -> None:
    """Small models send numbers as text and lists as JSON; that must not cost a step."""
    assert toolbox(context, example).call("example", arguments).content == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "path is missing"),
        ({"path": 3}, "path must be text"),
        ({"path": "a", "count": "many"}, "count must be a whole number"),
        ({"path": "a", "count": 1.5}, "count must be a whole number"),
        ({"path": "a", "count": True}, "count must be a whole number"),
        ({"path": "a", "count": "1e999"}, "count must be a whole number"),
        ({"path": "a", "loud": "maybe"}, "loud must be true or false"),
        ({"path": "a", "kind": "c"}, "kind must be one of a, b"),
        ({"path": "a", "parts": "x"}, "parts must be a list"),
        ({"path": "a", "parts": ["x"]}, "parts[0] must be an object"),
        ({"path": "a", "parts": [{"size": 1}]}, "parts[0].name is missing"),
        ({"path": "a", "parts": [{"name": "x", "y": 1}]}, "there is no parameter parts[0].y"),
        ({"path": "a", "file": "b"}, "there is no parameter file"),
        ("[" * 100_000, "not an object"),
        (None, "not an object"),
        ([1], "not an object"),
    ],
)
def test_wrong_arguments_are_refused_in_words(
    context: ToolContext, arguments: Any, said: str
) -> None:
    """A wrong call does nothing and tells the model what to change."""
    outcome = toolbox(context, example).call("example", arguments)
    assert not outcome.ok
    assert said in outcome.content


def test_every_wrong_argument_is_named_at_once(context: ToolContext) -> None:
    """The model can mend its call in one step."""
    outcome = toolbox(context, example).call("example", {"count": "x", "loud": 3})
    assert "path is missing" in outcome.content
    assert "count must be" in outcome.content
    assert "loud must be" in outcome.content


def test_an_unknown_tool_is_answered_with_those_that_exist(box: Toolbox) -> None:
    """A model that makes a tool up is told which ones it has."""
    outcome = box.call("send_email", {})
    assert not outcome.ok
    assert "read_file" in outcome.content


def test_what_goes_wrong_in_a_tool_never_leaves_the_box(context: ToolContext) -> None:
    """A turn goes on after a tool that failed, whatever the failure."""

    def refuses(context: ToolContext) -> ToolOutcome:
        """Refuse."""
        raise PathRefused("Not there.")

    def breaks(context: ToolContext) -> ToolOutcome:
        """Break."""
        raise ZeroDivisionError

    def declines(context: ToolContext) -> ToolOutcome:
        """Decline."""
        raise ToolProblem("Do it another way.")

    box = toolbox(context, refuses, breaks, declines)
    assert box.call("refuses", {}) == ToolOutcome(ok=False, content="Not there.")
    assert box.call("declines", {}) == ToolOutcome(ok=False, content="Do it another way.")
    assert "fault of the program" in box.call("breaks", {}).content


def test_a_stopped_run_starts_no_tool(context: ToolContext) -> None:
    """After Stop nothing more is done, and the loop hears of it."""
    done: list[str] = []

    def act(context: ToolContext) -> ToolOutcome:
        """Act."""
        done.append("act")
        return ToolOutcome(ok=True, content="")

    watch = CancellationToken()
    context.watch = watch
    watch.cancel("stop")
    with pytest.raises(Cancelled):
        toolbox(context, act).call("act", {})
    assert done == []


def test_a_long_result_is_cut_and_kept_whole_in_a_file(context: ToolContext) -> None:
    """The model sees beginning and end, and where the whole of it lies."""
    text = "".join(f"{number:06}\n" for number in range(10_000))

    def talk(context: ToolContext) -> ToolOutcome:
        """Talk."""
        return ToolOutcome(ok=True, content=text)

    outcome = toolbox(context, talk).call("talk", {})
    assert len(outcome.content) <= context.max_result_chars
    assert outcome.content.startswith("000000\n")
    assert outcome.content.endswith("009999\n")
    path = outcome.data["whole"]
    assert path.startswith(f"{SPILL_FOLDER}/talk-")
    assert path in outcome.content
    assert context.workspace.read(path).text == text


def test_only_the_newest_long_results_are_kept(context: ToolContext, root: Path) -> None:
    """They do not fill the disk."""

    def talk(context: ToolContext, word: str) -> ToolOutcome:
        """Talk."""
        return ToolOutcome(ok=True, content=word * 17_000)

    folder = root / SPILL_FOLDER
    folder.mkdir(parents=True)
    for number in range(205):
        file = folder / f"talk-{number:012x}.txt"
        file.touch()
        os.utime(file, (number, number))
    outcome = toolbox(context, talk).call("talk", {"word": "x"})
    left = sorted(file.name for file in folder.iterdir())
    assert len(left) == 200
    assert (root / outcome.data["whole"]).name in left
    assert "talk-000000000005.txt" not in left
    assert "talk-000000000006.txt" in left


def test_a_long_result_that_came_from_a_file_names_that_file(context: ToolContext) -> None:
    """What can be read again is not copied."""

    def show(context: ToolContext) -> ToolOutcome:
        """Show."""
        return ToolOutcome(ok=True, content="x" * 20_000, source="notes.md")

    outcome = toolbox(context, show).call("show", {})
    assert "The whole is in notes.md." in outcome.content
    assert not context.workspace.exists(SPILL_FOLDER)


def test_a_result_at_the_limit_is_not_cut(context: ToolContext) -> None:
    """16,000 characters are shown as they are."""

    def talk(context: ToolContext) -> ToolOutcome:
        """Talk."""
        return ToolOutcome(ok=True, content="x" * 16_000)

    assert toolbox(context, talk).call("talk", {}).content == "x" * 16_000


def test_a_result_is_cleaned_of_what_a_provider_refuses(context: ToolContext) -> None:
    """NUL and halves of characters would refuse every later turn of the conversation."""

    def talk(context: ToolContext) -> ToolOutcome:
        """Talk."""
        return ToolOutcome(ok=True, content="a\0b\ud800c")

    assert toolbox(context, talk).call("talk", {}).content == "ab\ufffdc"
