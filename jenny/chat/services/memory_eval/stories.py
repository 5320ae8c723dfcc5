"""Loads stories: a person's messages over some weeks, and the facts to be known in the end."""

import datetime as dt
import re
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from jenny.workspace.errors import WorkspaceError

_ERROR_CHARS = 400
_FOLDER = Path(__file__).with_name("stories")


class StoryInvalid(WorkspaceError):
    """A story cannot be read. The message says what is wrong with it."""


def _checked(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        message = f"{pattern!r} is no regular expression: {error}"
        raise ValueError(message) from error
    return pattern


type Pattern = Annotated[str, AfterValidator(_checked)]
"""A regular expression, sought without regard to case."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Correction(_Part):
    """A fact that changed: what holds now, and what no memory file may say any more."""

    now: Pattern
    old: Pattern


class DatedFact(_Part):
    """A fact that every chat must be shown from the end of one day to the beginning of another."""

    line: Pattern
    first: dt.date
    last: dt.date


class Story(_Part):
    """What is said on which days, by the time at which each conversation begins; and the marks.

    *kept*: facts that are known in the end. *forgotten*: what the person had forgotten, by the
    words with which it is looked for. *never*: what may be in no file and no prompt (secrets,
    orders out of texts, facts about others). *skills*: tasks that came back. *questions* are asked
    in the end, each in a conversation of its own.
    """

    title: str
    language: str
    zone: str
    days: dict[dt.date, dict[str, list[str]]]
    kept: dict[str, Pattern] = {}
    corrected: dict[str, Correction] = {}
    forgotten: dict[str, Pattern] = {}
    never: dict[str, Pattern] = {}
    dated: dict[str, DatedFact] = {}
    skills: dict[str, Pattern] = {}
    questions: dict[str, Pattern] = {}

    @property
    def messages(self) -> list[str]:
        return [text for chats in self.days.values() for said in chats.values() for text in said]


def included() -> list[str]:
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def load_story(name: str) -> Story:
    """Return an included story by its name, or the one in the file *name*.

    Raises:
        StoryInvalid: there is none, or it is not as it should be.
    """
    path = _FOLDER / f"{name}.yaml" if name in included() else Path(name)
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Story.model_validate(data)
    except OSError as error:
        message = (
            f"There is no story {name!r}. Included are {', '.join(included())}; another one is "
            "named by its path."
        )
        raise StoryInvalid(message) from error
    except (yaml.YAMLError, UnicodeDecodeError, ValidationError) as error:
        message = f"The story {name!r} cannot be read: {_told(error)}"
        raise StoryInvalid(message) from error


def _told(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return " ".join(str(error).split())[:_ERROR_CHARS]
    rows = (f"{'.'.join(map(str, row['loc']))}: {row['msg']}" for row in error.errors())
    return "; ".join(rows)[:_ERROR_CHARS]
