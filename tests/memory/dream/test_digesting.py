"""Raw texts of several entries, summarised by runs that do not all get an answer."""

from jenny.agent.errors import AgentError
from jenny.agent.watch import Watch
from memory.dream.digesting import Digester
from memory.history import log
from memory.history.consolidator import Reply
from memory.history.entries import NewEntry
from tests.memory.dream.running import new_root


class Scripted(Digester):
    """A digester whose provider gives this one answer."""

    answer = ""

    def _ask(self, system, text):
        del system, text
        return Reply(self.answer, "end_turn")


def test_parts_left_by_a_run_without_an_answer_are_seen_by_the_next(tmp_path):
    """The first part was shown as it is, since no summary came; when one comes for the others,
    its facts stand with the first of those, and not with what nobody is shown any more."""
    root = new_root(tmp_path / "w")
    text = "".join(f"[2026-11-02 10:{n:02}] USER: {'word ' * 600}\n" for n in range(15))
    first, *rest = log.append(root, [NewEntry(text, kind="raw")]).entries
    assert rest

    def unasked():
        raise AgentError("none", "None is asked.")

    with Watch() as watch:
        assert Scripted(root, unasked, watch)(first) is None
        again = Scripted(root, unasked, watch)
        again.answer = "- [durable] The cat is called Mo."
        assert again(rest[0]) == again.answer
        assert all(str(rest[0].cursor) in (again(row) or "") for row in rest[1:])
