"""What a run is likely to take: asked of nobody but the provider's counter."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from jenny.agent.errors import AgentError
from jenny.agent.provider import Provider
from jenny.agent.tokens import Usage, estimate, estimate_messages
from memory.dream import limits
from memory.dream.batching import selection
from memory.dream.dry_run.values import SNAPSHOT, Estimate
from memory.dream.outcome import counters
from memory.dream.prompts import prompt
from memory.dream.run_input import RunInput
from memory.dream.tools import TOOLS
from memory.dream.values import Batch
from memory.history.entries import HistoryEntry

_EVERY = "agents.defaults.dream.reviewEveryRuns"
# Without earlier runs to go by: the requests of a run, and what the model writes in it.
_STEPS, _WRITTEN = 4.0, 1_500.0
# A review is shown the same files without the entries, and takes about as many requests.
_WITH_REVIEW = 1.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What runs took here lately, on average, each without its prompt being sent again: *steps*
    requests, *written* tokens. *runs*: of how many that is known."""

    runs: int = 0
    steps: float = _STEPS
    written: float = _WRITTEN


def estimated(job: RunInput, *, past: Past, provider: Provider | None) -> tuple[Batch, Estimate]:
    """The batch, and what a run over it is likely to take. No model is asked anything."""
    batch, _ = selection.choose_batch(job.root, job.store.lists(), _as_it_is)
    if not batch:
        return batch, Estimate(sentences=("Nothing waits, so no model would be asked.",))
    system = prompt.system(job.root, batch=batch, snapshot=SNAPSHOT)
    message, schemas = (
        prompt.first_message(batch, job.root, zone=job.zone),
        [tool.schema for tool in TOOLS],
    )
    counted = None
    if provider is not None:
        with contextlib.suppress(AgentError):
            counted = provider.count_tokens(
                system=system.wire(),
                messages=[message],
                tools=schemas,
                watch=job.watch,
                limits=limits.limits(job.config, used_today=0),
            )
    first = counted or estimate(system.text + str(schemas)) + estimate_messages([message])
    due = counters.review_due(counters.load(job.root), job.config.get(_EVERY))
    sent = past.steps * first * (_WITH_REVIEW if due else 1) + past.steps * past.written / 2
    usage = Usage(input=round(sent), output=round(past.written * (2 if due else 1)))
    prices = provider.preset.prices if provider else None
    found = Estimate(
        prompt_tokens=first,
        is_counted=counted is not None,
        tokens=usage.total,
        cost=prices.cost(usage) if prices else None,
    )
    return batch, replace(found, sentences=tuple(_sentences(found, past, has_review=bool(due))))


def _as_it_is(entry: HistoryEntry) -> None:
    """A raw text is not summarised for this."""
    del entry


def _sentences(found: Estimate, past: Past, *, has_review: bool) -> Iterator[str]:
    how = "as the provider counts" if found.is_counted else "judged by its characters"
    yield f"The first request has about {found.prompt_tokens:,} tokens, {how}."
    basis = f"the last {past.runs} runs here" if past.runs > 1 else "what runs usually take"
    yield f"The whole run takes about {found.tokens:,} tokens, going by {basis}."
    if found.cost is not None:
        yield f"That costs about ${found.cost:,.4f}, less where the provider caches."
    else:
        yield "What that costs is not known: the model has no prices in Settings → Models."
    if has_review:
        yield "A review pass is due and comes first; it is counted in."
