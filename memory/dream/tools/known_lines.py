"""Lines that a memory file states already are not added once more, whichever tool brings them."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from jenny.workspace import diffs
from memory import facts, files, text_similarity
from memory.dream.tools.drafts import Draft
from memory.facts import Fact

_SHOWN_CHARS = 160


def drop_known(
    drafts: Sequence[Draft],
    text: Callable[[str], str | None],
    waiting: Iterable[tuple[str, str]] = (),
) -> list[str]:
    """Take out of the drafts what stands in a memory file already, in these or nearly these words;
    a sentence for each line, with the place where it stands. What the same act takes out of a file
    does not stand there. *text* reads a file; *waiting*: texts that wait for approval, by file."""
    changed = {draft.path: draft for draft in drafts if draft.path in files.BY_PATH}
    came = {path: _came(draft) for path, draft in changed.items()}
    if not any(came.values()):
        return []
    stated: list[tuple[str, Fact]] = []
    for path in files.BY_PATH:
        after = changed[path].text if path in changed else text(path) or ""
        stated += [
            (f"{path}, line {fact.first},", fact)
            for fact in facts.facts(after)
            if _counts(fact) and fact.first - 1 not in came.get(path, set())
        ]
    stated += [
        (f"what waits for approval in {path}", fact)
        for path, said in waiting
        for fact in facts.facts(said)
        if _counts(fact)
    ]
    index = text_similarity.Index(fact.text for _, fact in stated)
    told: list[str] = []
    for path, draft in changed.items():
        known = list(_known(draft, came[path], stated, index))
        if known:
            told += [message for message, _ in known]
            dropped = {number for _, number in known}
            _drop(draft, dropped, came[path] - dropped)
    return told


def _counts(fact: Fact) -> bool:
    return fact.has_content and fact.kind not in {"comment", "code"}


def _came(draft: Draft) -> set[int]:
    """The indexes of lines that come."""
    rows = diffs.opcodes((draft.old or "").splitlines(), draft.text.splitlines())
    return {at for tag, _, _, start, end in rows if tag != "equal" for at in range(start, end)}


def _known(
    draft: Draft,
    came: set[int],
    stated: Sequence[tuple[str, Fact]],
    index: text_similarity.Index,
) -> Iterator[tuple[str, int]]:
    for fact in facts.facts(draft.text):
        number = fact.first - 1
        if not _counts(fact) or number not in came or fact.last != fact.first:
            continue
        at = index.find(fact.text)
        if at is not None:
            where, other = stated[at]
            yield f"{where} says it already: “{other.text[:_SHOWN_CHARS]}”.", number


def _drop(draft: Draft, dropped: set[int], came: set[int]) -> None:
    lines = draft.text.splitlines(keepends=True)
    left = [lines[number].strip() for number in came if 0 <= number < len(lines)]
    has_removed = bool(draft.removed)
    if not has_removed and not any(line and not line.startswith("#") for line in left):
        # Nothing but a heading would come.
        draft.new = draft.old
        return
    draft.new = "".join(line for number, line in enumerate(lines) if number not in dropped)
