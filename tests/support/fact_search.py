"""Looks for planted words in a workspace, and says where each is and by whose will.

It shares no code with what it checks: it reads bytes of files, lines of JSON and columns of the
database, and looks for the word that only one fact has.
"""

import json
import re
import subprocess
from dataclasses import dataclass

from django.db import connection

from jenny.accounts.models import Workspace

FILES = ("USER.md", "memory/MEMORY.md", "SOUL.md")
_WORD = re.compile(r"zq\d+x\d+q")


def words_in(text: str) -> set[str]:
    """The planted words of a text."""
    return set(_WORD.findall(text))


@dataclass(frozen=True, slots=True)
class Found:
    """Where a fact is, and who put it there or took it away; empty: nobody had to."""

    place: str
    by: str = ""


class FactSearch:
    """The search through one workspace, its conversations and its rows."""

    def __init__(self, workspace: Workspace) -> None:
        self.root = workspace.root
        self._key = workspace.pk.hex

    def lines(self, path: str) -> list[str]:
        """The lines of a file that say something planted."""
        return [row for row in self._text(path).split("\n") if words_in(row)]

    def proposed(self) -> list[tuple[str, str]]:
        """The lines that wait for a person's approval, each with its file."""
        return [
            (path, line)
            for path, piece in self._rows(
                "SELECT path, piece FROM memory_stagedhunk WHERE state='waiting'"
                " AND workspace_id=%s"
            )
            for line in json.loads(piece)["after"]
            if words_in(line)
        ]

    def entries(self) -> list[tuple[int, str]]:
        """The entries that Dream will be shown: those behind its cursor, and requeued ones."""
        place = int(self._text("memory/.dream_cursor") or 0)
        again = {
            row[0]
            for row in self._rows("SELECT cursor FROM memory_dreamentry WHERE workspace_id=%s")
        }
        found = {}
        for path in ["memory/history.jsonl", *self._below("memory/archive", "*.jsonl")]:
            for line in self._text(path).split("\n"):
                if line.strip():
                    row = json.loads(line)
                    if row["cursor"] > place or row["cursor"] in again:
                        found[row["cursor"]] = row["content"]
        return sorted(found.items())

    def present(self) -> dict[str, Found]:
        """Return the words that stand, wait, or will be shown to Dream."""
        found = {}
        for text in self._unsummarised():
            found |= dict.fromkeys(words_in(text), Found("a conversation, not summarised yet"))
        for cursor, text in self.entries():
            found |= dict.fromkeys(words_in(text), Found(f"entry {cursor}, for Dream"))
        for path, line in self.proposed():
            found |= dict.fromkeys(words_in(line), Found(f"{path}, once a person approves"))
        for path in [*FILES, *self._below("skills", "*/SKILL.md")]:
            found |= dict.fromkeys(words_in(self._text(path)), Found(path))
        return found

    def standing(self) -> set[str]:
        """Return the words that the files say now."""
        paths = [*FILES, *self._below("skills", "*/SKILL.md")]
        return {word for path in paths for word in words_in(self._text(path))}

    def kept_away(self) -> dict[str, list[Found]]:
        """Return the words that somebody took out of the memory, as each copy of them says."""
        found: dict[str, list[Found]] = {}
        for path in self._below("memory/archive", "*.md"):
            text = self._text(path)
            events = re.findall(r'^  - (\{.*"actor".*\})$', text, re.MULTILINE)
            by = json.loads(events[-1])["actor"] if events else "?"
            for word in words_in(text.rpartition("\n---\n")[2]):
                found.setdefault(word, []).append(Found("the archive", by))
        for word, by in self.forgotten().items():
            found.setdefault(word, []).append(Found("forgotten", by))
        query = "SELECT piece FROM memory_stagedhunk WHERE state='never' AND workspace_id=%s"
        for (piece,) in self._rows(query):
            for word in words_in("\n".join(json.loads(piece)["after"])):
                found.setdefault(word, []).append(Found("never to be stored", "browser"))
        for text in self._edited_away():
            for word in words_in(text):
                found.setdefault(word, []).append(Found("another version of the talk", "browser"))
        return found

    def forgotten(self) -> dict[str, str]:
        """By word, who had it forgotten; what was lifted is not in it."""
        rows: dict[str, tuple[str, str]] = {}
        lines = self._text("memory/.forgotten.jsonl").split("\n")
        for row in sorted((json.loads(line) for line in lines if line), key=lambda row: row["at"]):
            if "lifted" in row:
                rows.pop(row["lifted"], None)
            elif "text" in row:
                rows[row["id"]] = (row["text"], row["actor"])
        return {word: by for text, by in rows.values() for word in words_in(text)}

    def in_versions_of_soul(self, word: str) -> Found | None:
        """The version that took a word out of SOUL.md, whose removals the archive has not."""
        told = self._git("log", "--all", "-1", f"-S{word}", "--format=%s%n%b", "--", "SOUL.md")
        if not told.strip():
            return None
        actor = re.search(r"^Actor: (\w+)", told, re.MULTILINE)
        is_newest = word in self._git("show", "HEAD:SOUL.md")
        # What took it out is in no version yet.
        by = "" if is_newest else actor[1] if actor else told.split(":")[0]
        return Found("a version of SOUL.md", by)

    def _git(self, *words: str) -> str:
        git = ["git", f"--git-dir={self.root}/memory/.git", *words]
        return subprocess.run(git, capture_output=True, text=True, check=False).stdout

    def is_in_history(self, word: str) -> bool:
        """True when an entry says it, whether Dream has passed it or not."""
        paths = ["memory/history.jsonl", *self._below("memory/archive", "*.jsonl")]
        return any(word in self._text(path) for path in paths)

    def _unsummarised(self) -> list[str]:
        query = (
            "SELECT m.text FROM chat_message m JOIN chat_conversation c ON m.conversation_id=c.id"
            " WHERE c.workspace_id=%s AND m.kind='user' AND m.is_current"
            " AND m.id > c.summarised_through"
        )
        return [row[0] for row in self._rows(query)]

    def _edited_away(self) -> list[str]:
        query = (
            "SELECT m.text FROM chat_message m JOIN chat_conversation c ON m.conversation_id=c.id"
            " WHERE c.workspace_id=%s AND m.kind='user' AND NOT m.is_current"
        )
        return [row[0] for row in self._rows(query)]

    def _rows(self, query: str) -> list[tuple]:
        with connection.cursor() as cursor:
            cursor.execute(query, [self._key])
            return cursor.fetchall()

    def _text(self, path: str) -> str:
        file = self.root / path
        return file.read_text() if file.exists() else ""

    def _below(self, folder: str, pattern: str) -> list[str]:
        found = (self.root / folder).glob(pattern)
        return [str(path.relative_to(self.root)) for path in found]
