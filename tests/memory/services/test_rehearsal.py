"""The dry run: all that the next run would do, and nothing of it done."""

import json
from decimal import Decimal

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import CommandError

from jenny.accounts.models import Job
from jenny.workspace import config
from jenny.workspace.write_rules import Actor
from memory import tasks
from memory.dream import outcome
from memory.services import dream_runs
from tests.memory.services.test_review import archived, write
from tests.model_server import Fail
from tests.support.chat import is_summary
from tests.support.dreams import MEMORY, add, batch_of, finish, is_review

# What models use is counted whoever asks them, and a job has a row of its own.
COUNTED = {"UsageDay", "Job"}


def state(dreams):
    """Every byte of the workspace and its snapshots, its versions' refs among them, and every row
    of the database."""
    files = {
        path: path.read_bytes()
        for folder in (dreams.root, dreams.root.parents[1] / "snapshots")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    rows = {
        model.__name__: list(model.objects.order_by("pk").values())
        for model in apps.get_models()
        if model.__name__ not in COUNTED
    }
    return files, rows


def test_a_dry_run_tells_all_and_writes_nothing(dreams, capsys):
    """Entries, size of the prompt, tokens and cost by estimate, the review, verdicts, refusals and
    the difference; then the real run does just that. Files, rows and refs are as they were."""

    def preset(document):
        document["modelPresets"] = {
            "small": {
                "model": "small-model",
                "baseUrl": dreams.model.url,
                "inputPrice": 1,
                "outputPrice": 2,
            }
        }

    config.change_config(dreams.root, preset)
    dreams.set(modelOverride="small")
    (first,) = dreams.say("- [durable] The hives are blue.")
    dreams.model.script(add("- The hives are blue.", first))
    dreams.model.script(finish(saved=[first]))
    assert dreams.run().status == "completed"
    write(dreams, dreams.text() + "- Dentist on 2 March 2025.\n")
    outcome.store_counters(
        dreams.root, outcome.Counters(runs_since_review=12), Actor("pipeline", run="test")
    )
    one, two = dreams.say("- [durable] The bees are fed on Mondays.", "- [ephemeral] Rain.")
    (raw,) = dreams.say("[RAW] user: I keep bees", kind="raw")

    def script():
        dreams.model.script(archived(MEMORY, "Dentist on 2 March 2025."), when=is_review)
        dreams.model.script("It is done.", when=is_review)
        dreams.model.script("- [durable] Keeps bees.", when=is_summary)
        dreams.model.script(add("- The bees are fed on Mondays.", one), when=batch_of)
        dreams.model.script(add("- Evil.", one, path="AGENTS.md"), when=batch_of)
        dreams.model.script(finish(saved=[one], not_kept=[two, raw]), when=batch_of)

    dreams.model.token_count = 4_321
    script()
    before = state(dreams)
    told = dream_runs.run_dry(dreams.workspace)
    assert state(dreams) == before
    assert told.status == "completed", told
    assert told.message.startswith(
        "Preview; nothing was written. An update now would end so: Memory updated in "
    )
    assert [(row.cursor, row.verdict) for row in told.entries] == [
        (one, "saved"),
        (two, "not_kept"),
        (raw, "not_kept"),
    ]
    assert (told.estimate.prompt_tokens, told.estimate.is_counted) == (4_321, True)
    assert told.estimate.tokens > 4_321
    assert told.estimate.cost > Decimal(0)
    assert any("A review pass is due" in row for row in told.estimate.sentences)
    assert told.review.startswith("Review: ")
    assert set(told.diffs) == {MEMORY}
    assert "+- The bees are fed on Mondays." in told.diffs[MEMORY]
    assert "-- Dentist on 2 March 2025." in told.diffs[MEMORY]
    assert told.archived == ("Dentist on 2 March 2025.",)
    assert (told.model, told.is_demo) == ("small-model", False)
    assert told.tokens > 0
    assert not list((dreams.root.parents[1] / "cache").glob("rehearsals/*"))

    script()
    run = dreams.run()
    assert run.status == told.status
    assert run.review["status"] == "completed"
    assert [(row["cursor"], row["verdict"]) for row in run.entries] == [
        (row.cursor, row.verdict) for row in told.entries
    ]
    assert "- The bees are fed on Mondays." in dreams.text()


def test_only_the_estimate(dreams):
    """What would be shown and what it would take, with nobody asked; without prices, that is
    said."""
    dreams.say("- [durable] The bees are fed on Mondays.")
    before = state(dreams)
    told = dream_runs.run_dry(dreams.workspace, asks=False)
    assert state(dreams) == before
    assert told.status == "estimated"
    assert len(told.entries) == 1
    assert told.entries[0].verdict == ""
    assert told.estimate.cost is None
    assert "no prices" in " ".join(told.estimate.sentences)
    assert not any(request.path == "/v1/messages" for request in dreams.model.requests)


def test_with_approval_it_goes_on_from_what_waits(dreams):
    """What waits is not proposed again; the outcome says that a run's changes would wait."""
    dreams.set(approve="all")
    (one,) = dreams.say("- [durable] The hives are blue.")
    dreams.model.script(add("- The hives are blue.", one))
    dreams.model.script(finish(saved=[one]))
    assert dreams.run().status == "waiting"
    assert "hives" not in dreams.text()
    (two,) = dreams.say("- [durable] The bees are fed on Mondays.")
    dreams.model.script(add("- The bees are fed on Mondays.", two))
    dreams.model.script(finish(saved=[two]))
    before = state(dreams)
    told = dream_runs.run_dry(dreams.workspace)
    assert state(dreams) == before
    assert told.status == "waiting", told
    assert "+- The bees are fed" in told.diffs[MEMORY]
    assert "+- The hives" not in told.diffs[MEMORY]


def test_the_command_and_the_job(dreams, capsys):
    """In a terminal in words and as JSON; a failure is one; on a page it is a job."""
    (one,) = dreams.say("- [durable] The bees are fed on Mondays.")
    dreams.model.script(add("- The bees are fed on Mondays.", one))
    dreams.model.script(finish(saved=[one]))
    call_command("dream", "--dry-run")
    out = capsys.readouterr().out
    assert "1 entry would be shown." in out
    assert f"{one}  " in out
    assert "+- The bees are fed on Mondays." in out
    assert "The first request has about" in out
    dreams.model.script(finish(not_kept=[one]))
    call_command("dream", "--dry-run", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["dry_run"], told["status"]) == (True, True, "nothing_new")
    assert told["entries"][0]["cursor"] == one
    assert told["estimate"]["tokens"] > 0
    assert dreams.cursor == 0

    dreams.model.script(finish(not_kept=[one]))
    job = Job.ask(dreams.workspace, dreams.workspace.owner, dream_runs.DRY_RUN_KIND, {})
    tasks.rehearse(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result["status"]) == ("done", "nothing_new")

    dreams.model.always(batch_of, Fail(401))
    with pytest.raises(CommandError, match="key"):
        call_command("dream", "--dry-run")
    assert dreams.counters == outcome.Counters()
