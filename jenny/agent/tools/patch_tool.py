"""The tool that changes several files as one act."""

from dataclasses import dataclass
from typing import Literal

from jenny.agent.errors import ToolProblem
from jenny.agent.messages import clean
from jenny.agent.tools import file_access, matching
from jenny.agent.tools.box import Tool, ToolContext, ToolOutcome
from jenny.workspace.errors import VersionMismatch
from jenny.workspace.files import FileVersion

_EDITS = 100
# How often it begins anew because one of the files changed meanwhile.
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a patch.

    path: the file, from the workspace's folder
    old_text: for replace: the text to replace, exactly as it stands there, and once
    new_text: for replace: what to put there; for create: the whole text
    action: replace a piece of text, create a file that is not there, or delete one that you have
        read whole in this turn
    """

    path: str
    old_text: str = ""
    new_text: str = ""
    action: Literal["replace", "create", "delete"] = "replace"


def apply_patch(context: ToolContext, edits: list[Edit]) -> ToolOutcome:
    """Make several changes, in one file or in many, as one act: all of them or none.

    edits: the changes, in order; a later one sees what the earlier ones did
    """
    if not 1 <= len(edits) <= _EDITS:
        message = f"Nothing was written: a patch has 1 to {_EDITS} edits, not {len(edits)}."
        raise ToolProblem(message)
    attempt = 1
    while True:
        draft = _Draft(context)
        problems = [
            f"Edit {number} ({edit.path}): {problem}."
            for number, edit in enumerate(edits, 1)
            if (problem := draft.add(edit))
        ]
        if problems:
            raise ToolProblem(" ".join(["Nothing was written.", *problems]))
        try:
            return draft.land()
        except VersionMismatch:
            # Somebody else wrote meanwhile: the edits are tried on what is there now.
            attempt += 1
            if attempt > _ATTEMPTS:
                raise


class _Draft:
    """What a patch makes of the files it touches, before anything is written."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._before: dict[str, FileVersion | None] = {}
        self._after: dict[str, str | None] = {}

    def add(self, edit: Edit) -> str:
        """Apply one edit; says what is wrong with it, or nothing."""
        try:
            path = self._load(edit.path)
            self._after[path] = self._changed(path, edit)
        except ToolProblem as problem:
            return problem.sentence.rstrip(".")
        return ""

    def _load(self, path: str) -> str:
        key = self._context.workspace.relative(path)
        if key not in self._before:
            file = file_access.existing(self._context, path)
            self._before[key] = file
            self._after[key] = None if file is None else file_access.text_of(file)
        return key

    def _changed(self, path: str, edit: Edit) -> str | None:
        text = self._after[path]
        if edit.action == "create":
            if text is not None:
                raise ToolProblem("the file exists already")
            return clean(edit.new_text)
        if text is None:
            raise ToolProblem(file_access.missing(self._context, path))
        if edit.action == "delete":
            old = self._before[path]
            if old is not None and old.data:
                file_access.must_have_read(self._context, old)
            return None
        return matching.replace(text, clean(edit.old_text), clean(edit.new_text)).text

    def land(self) -> ToolOutcome:
        """Write everything as one act: what is made first, what goes last."""
        order = sorted(
            self._after,
            key=lambda path: (self._after[path] is None, self._before[path] is not None),
        )
        files: dict[str, bytes | None] = {}
        for path in order:
            text = self._after[path]
            files[path] = None if text is None else text.encode()
        written = self._context.workspace.write_many(
            files,
            expect={path: file.version if file else None for path, file in self._before.items()},
        )
        for path in order:
            self._context.seen.pop(path, None)
        rows = [f"{self._verb(path)} {path}" for path in order]
        return ToolOutcome(
            ok=True,
            content="\n".join(rows),
            data={"paths": [path for path in order if path in written]},
        )

    def _verb(self, path: str) -> str:
        if self._after[path] is None:
            return "Deleted"
        return "Made" if self._before[path] is None else "Edited"


APPLY_PATCH = Tool.of(apply_patch)
