"""Raw texts of several entries, summarised by runs that do not all get an answer."""

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import AgentError
from jenny.workspace.files import Actor, open_workspace
from memory.history import log
from memory.history.consolidator import Reply
from memory.history.digest import Digester
from memory.history.entries import NewHistoryEntry
from tests.memory.dream.running import new_root


class Kept:
    """What is kept of digests, in memory."""

    def __init__(self):
        self.rows = {}

    def digest(self, key):
        """What was kept."""
        return self.rows.get(key)

    def keep_digest(self, key, cursor, text):
        """Keep it."""
        del cursor
        self.rows[key] = text

    def spent(self, usage):
        """Nobody pays."""
        del usage


class Scripted(Digester):
    """A digester whose provider gives this one answer."""

    answer = ""

    def _ask(self, system, text):
        del system, text
        return Reply(self.answer, "end_turn")


def test_parts_left_by_a_run_without_an_answer_are_seen_by_the_next(tmp_path):
    """The first part was shown as it is, since no summary came; when one comes for the others,
    its facts stand with the first of those, and not with what nobody is shown any more. It is kept
    for later runs, but for what was forgotten since."""
    root = new_root(tmp_path / "w")
    text = "".join(f"[2026-11-02 10:{n:02}] USER: {'word ' * 600}\n" for n in range(15))
    first, *rest = log.append(root, [NewHistoryEntry(text, kind="raw")]).entries
    assert rest

    def unasked():
        raise AgentError("none", "None is asked.")

    kept = Kept()
    watch = CancellationToken()
    assert Scripted(root, unasked, watch, kept)(first) is None
    again = Scripted(root, unasked, watch, kept)
    again.answer = "- [durable] The cat is called Mo."
    assert again(rest[0]) == again.answer
    assert all(str(rest[0].cursor) in (again(row) or "") for row in rest[1:])
    later = Scripted(root, unasked, watch, kept)
    later.answer = "Nobody asks for this."
    assert later(rest[0]) == again.answer
    person = open_workspace(root, Actor("browser"))
    person.write("USER.md", b"# User\n\n- The cat is called Mo.\n")
    person.write("USER.md", b"# User\n")
    assert later(rest[0]) == again.answer
    assert "Mo" not in Scripted(root, unasked, watch, kept)(rest[0])
