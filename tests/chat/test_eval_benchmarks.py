"""``eval_memory --benchmark``: public benchmarks by their path, found by the search."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from jenny.chat.services.memory_eval.stories import measure, read_benchmark


def talk() -> dict[str, Any]:
    """A conversation as LoCoMo's."""
    said = ["We adopted a grey cat called Fig.", "The pottery class begins.", "It rained."]
    sessions: dict[str, Any] = {}
    for number, text in enumerate(said, 1):
        turns = [{"speaker": "Ana", "text": text}, {"speaker": "Bo", "text": "I see."}]
        sessions[f"session_{number}"] = turns
        sessions[f"session_{number}_date_time"] = f"1:56 pm on {number} May, 2023"
    questions = [
        {"question": "What is Ana's cat called?", "evidence": ["D1:1"], "category": 4},
        {"question": "When did the pottery class begin?", "evidence": ["D2:1"], "category": 2},
        {"question": "Which cat goes to pottery?", "evidence": ["D1:1; D2:1"], "category": 1},
        {"question": "What did Bo say?", "evidence": [], "category": 3},
    ]
    return {"speaker_a": "Ana", "speaker_b": "Bo", **sessions, "qa": questions}


def measured(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The marks that the command prints."""
    call_command("eval_memory", "--benchmark", str(path), "--json")
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["benchmark"]
    return found


def test_locomo_is_measured_without_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From its archive and from its one file alike; questions without evidence do not count."""
    archive = tmp_path / "locomo10.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("data/26.json", json.dumps(talk()))
    one = tmp_path / "locomo10.json"
    parts = talk()
    one.write_text(json.dumps([{"qa": parts.pop("qa"), "conversation": parts}]))
    marks = measured(archive, capsys)
    assert measured(one, capsys) == marks
    assert (marks["sessions"], marks["questions"]) == (3, 3)
    assert (marks["recall_5"], marks["recall_10"], marks["reciprocal_rank"]) == (1, 1, 1)
    assert marks["by_kind"] == {"multi-hop": 1, "single-hop": 1, "temporal": 1}


def test_what_is_not_found_lowers_the_marks(tmp_path: Path) -> None:
    """A session without a word of the question counts as not found."""
    path = tmp_path / "locomo10.json"
    parts = talk()
    parts["qa"] = [
        {"question": "Which cat?", "evidence": ["D1:1", "D3:1"], "category": 1},
        {"question": "Which dog?", "evidence": ["D3:1"], "category": 4},
    ]
    path.write_text(json.dumps([parts]))
    marks = measure(read_benchmark(path))
    assert (marks.recall_5, marks.recall_10, marks.reciprocal_rank) == (0.25, 0.25, 0.5)


def test_long_mem_eval_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each question has sessions of its own; those without an answer do not count."""
    row = {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which instrument do I play?",
        "answer": "the viola",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
        "haystack_sessions": [
            [{"role": "user", "content": "I bought a lamp."}],
            [{"role": "user", "content": "I play an old instrument, the viola."}],
        ],
        "answer_session_ids": ["s2"],
    }
    path = tmp_path / "longmemeval.json"
    path.write_text(json.dumps([row, {**row, "question_id": "q2_abs"}]))
    marks = measured(path, capsys)
    assert (marks["questions"], marks["recall_5"]) == (1, 1)


@pytest.mark.parametrize("text", ["", "{", "[]", "[{}]", '{"a": 1}', '[{"qa": [{}]}]'])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    """With a sentence."""
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(CommandError, match="cannot be read as LoCoMo or LongMemEval"):
        call_command("eval_memory", "--benchmark", str(path))
