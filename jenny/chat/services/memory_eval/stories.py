"""Stories by which a memory is measured: our own, and those of public benchmarks."""

import datetime as dt
import json
import re
import zipfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from jenny.search import Document, Index, Key, Passage, PassageStore, SqliteStore
from jenny.workspace.errors import WorkspaceError
from memory.search_sources import CHAT

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
    """The messages of each day, by the time at which each conversation begins; and the marks.

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


# How well the search finds sessions of public benchmarks, LoCoMo and LongMemEval.
#
# A benchmark's file is named by its path and only read; nothing of it is stored.


_MOST = 20
_LOCOMO_KINDS = ("", "multi-hop", "temporal", "open domain", "single-hop", "adversarial")


@dataclass(frozen=True, slots=True)
class Question:
    """*evidence*: ids of the sessions that hold the answer."""

    text: str
    kind: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Haystack:
    """Sessions by their ids, and the questions that are asked of them."""

    sessions: dict[str, Passage]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkMarks:
    """*recall_5*, *recall_10*: the share of the evidence among the best 5 and 10 sessions.
    *reciprocal_rank*: of the first of it. *by_kind*: ``recall_10`` of each kind of question.
    """

    sessions: int
    questions: int
    recall_5: float
    recall_10: float
    reciprocal_rank: float
    by_kind: dict[str, float]

    @property
    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def text(self) -> str:
        kinds = ", ".join(f"{kind} {value:.3f}" for kind, value in self.by_kind.items())
        return (
            f"  sessions   {self.sessions:,}\n"
            f"  questions  {self.questions:,}\n"
            f"  recall@5   {self.recall_5:.3f}\n"
            f"  recall@10  {self.recall_10:.3f}  ({kinds})\n"
            f"  MRR        {self.reciprocal_rank:.3f}"
        )


class Texts:
    """Conversations that are given as passages."""

    def __init__(self, passages: dict[str, Passage]) -> None:
        self._passages = passages

    def documents(self, only: Collection[Key] | None = None) -> Iterator[Document]:
        places = self._passages if only is None else [place for kind, place in only if kind == CHAT]
        return (Document(CHAT, place, "1") for place in places if place in self._passages)

    def passages(self, document: Document) -> Iterable[Passage]:
        return [self._passages[document.place]]


def read_benchmark(path: Path) -> Iterator[Haystack]:
    """Read a file of LoCoMo (JSON, or the archive of its conversations) or of LongMemEval.

    All conversations of LoCoMo are searched together; LongMemEval has sessions for each question.

    Raises:
        StoryInvalid: it is neither.
    """
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                names = [name for name in archive.namelist() if name.endswith(".json")]
                rows = [json.loads(archive.read(name)) for name in names]
        else:
            rows = json.loads(path.read_text(encoding="utf-8"))
        if "qa" in rows[0]:
            yield _locomo(rows)
        else:
            yield from map(_long_mem_eval, rows)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        message = f"{path} cannot be read as LoCoMo or LongMemEval: {type(error).__name__}: {error}"
        raise StoryInvalid(message) from error


def measure(haystacks: Iterable[Haystack], store: PassageStore | None = None) -> BenchmarkMarks:
    """Search for each question. Questions without evidence are left out."""
    sessions = 0
    found: list[tuple[Question, list[str]]] = []
    for haystack in haystacks:
        sessions += len(haystack.sessions)
        index = Index(store or SqliteStore(None), [Texts(haystack.sessions)])
        index.update()
        for question in haystack.questions:
            if question.evidence:
                hits = index.search(question.text, (CHAT,), most=_MOST).hits
                found.append((question, [hit.place for hit in hits]))
    kinds: dict[str, list[float]] = {}
    for question, places in found:
        kinds.setdefault(question.kind, []).append(_recall(question, places[:10]))
    return BenchmarkMarks(
        sessions=sessions,
        questions=len(found),
        recall_5=_mean([_recall(question, places[:5]) for question, places in found]),
        recall_10=_mean([_recall(question, places[:10]) for question, places in found]),
        reciprocal_rank=_mean([_reciprocal_rank(question, places) for question, places in found]),
        by_kind={kind: _mean(values) for kind, values in sorted(kinds.items())},
    )


def _recall(question: Question, places: list[str]) -> float:
    return len(question.evidence.intersection(places)) / len(question.evidence)


def _reciprocal_rank(question: Question, places: list[str]) -> float:
    ranks = (rank for rank, place in enumerate(places, 1) if place in question.evidence)
    return 1 / next(ranks, float("inf"))


def _mean(values: list[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0


def _locomo(rows: list[dict[str, Any]]) -> Haystack:
    sessions: dict[str, Passage] = {}
    questions = []
    for number, row in enumerate(rows):
        talk = row.get("conversation", row)
        for key, turns in talk.items():
            if re.fullmatch(r"session_\d+", key) and turns:
                # As in: 1:56 pm on 8 May, 2023.
                said = str(talk[f"{key}_date_time"]).partition(" on ")[2].replace(",", "")
                # A picture is described in words.
                lines = [
                    f"{turn['speaker']}: {turn['text']} {turn.get('blip_caption', '')}".strip()
                    for turn in turns
                ]
                sessions[f"{number} {key}"] = _passage(lines, said, "%d %B %Y")
        for asked in row["qa"]:
            evidence = re.findall(r"D(\d+):", " ".join(asked.get("evidence", ())))
            places = frozenset(f"{number} session_{place}" for place in evidence)
            kind = _LOCOMO_KINDS[asked["category"]]
            questions.append(Question(asked["question"], kind, places))
    return Haystack(sessions, tuple(questions))


def _long_mem_eval(row: dict[str, Any]) -> Haystack:
    sessions = {
        place: _passage(
            [f"{turn['role']}: {turn['content']}" for turn in turns], said[:10], "%Y/%m/%d"
        )
        for place, said, turns in zip(
            row["haystack_session_ids"],
            row["haystack_dates"],
            row["haystack_sessions"],
            strict=True,
        )
        if turns
    }
    # Such a question has no answer in its sessions.
    is_answered = not row["question_id"].endswith("_abs")
    evidence = frozenset(row["answer_session_ids"] if is_answered else ())
    return Haystack(sessions, (Question(row["question"], row["question_type"], evidence),))


def _passage(lines: list[str], said: str, form: str) -> Passage:
    day = datetime.strptime(said, form).date().isoformat()  # noqa: DTZ007 - a day
    text = "\n".join(lines).split("\n")
    return Passage(tuple(text), tuple(range(len(text))), day=day)
