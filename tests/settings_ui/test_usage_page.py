"""Settings → Usage, and the limits of a day."""

import datetime as dt
import html
import re
import threading
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client

from jenny.accounts import access
from jenny.accounts.models import Account, UsageDay
from jenny.accounts.services import usage
from jenny.agent.errors import CallsSpent
from jenny.agent.preset import Preset
from jenny.agent.tokens import Prices, Usage
from jenny.chat.services.consolidation import run as consolidate
from memory.services import dream_scheduler
from tests.model_server import Call
from tests.support.place import Place, answers
from tests.support.stack import PASSWORD

PAGE = "/settings/usage/"
PRICED = Preset(name="p", model="m-1", prices=Prices(input=Decimal(3), output=Decimal(15)))
BARE = Preset(name="b", model="local")


def use(person: Account, kind: str, preset: Preset, *numbers: int) -> None:
    """One request of that kind of run."""
    usage.RowMeter(person.pk, kind).count(preset, Usage(*numbers))


def test_it_is_added_up_by_day_kind_and_model(client: Client, ana: Account) -> None:
    """Every number stands in a table; the plot names what it shows."""
    use(ana, "chat", PRICED, 1_000_000, 100_000, 5, 7)
    use(ana, "chat", PRICED, 1_000_000, 100_000, 5, 7)
    use(ana, "dream", BARE, 30, 12)
    page = client.get(PAGE)
    assert page.status_code == 200
    report = page.context["report"]
    assert [(one.name, one.requests, one.tokens) for one in report.kinds] == [
        ("Chat", 2, 2_200_024),
        ("Dream", 1, 42),
    ]
    assert [one.name for one in report.models] == ["m-1", "local"]
    assert report.kinds[0].price == "$9.00"
    assert "<td>2,000,000</td>" in page.text
    assert "Chat: 2,200,024 tokens</title>" in page.text
    assert 'aria-labelledby="plot-caption"' in page.text


def test_what_has_no_price_is_said_and_is_not_nothing(client: Client, ana: Account) -> None:
    """Beside what has one, and alone."""
    use(ana, "chat", BARE, 700, 300)
    assert client.get(PAGE).context["report"].total.price == "no price known"
    use(ana, "chat", PRICED, 1_000_000, 0)
    said = client.get(PAGE).text
    assert "$3.00, and 1,000 tokens without a price" in said
    assert "1,000 of the tokens have no price" in said


def test_an_empty_page_says_what_will_stand_there(client: Client) -> None:
    """No plot of nothing."""
    page = client.get(PAGE)
    assert "No model was asked in this time" in page.text
    assert "<figure" not in page.text


@pytest.mark.parametrize("query", ["", "?days=7", "?days=90&show=cost", "?days=-1&show=<b>"])
def test_each_period_and_measure_can_be_seen(client: Client, ana: Account, query: str) -> None:
    """Whatever is asked for, only known ones are shown."""
    use(ana, "chat", PRICED, 10, 10)
    page = client.get(PAGE + query)
    assert page.status_code == 200
    assert page.context["days"] in (7, 30, 90)
    assert len(page.context["report"].days) == page.context["days"]
    assert "<b>" not in page.text


def test_others_do_not_see_it(client: Client, ana: Account) -> None:
    """What somebody else's account used is theirs."""
    bo = Account.objects.make_account("bo", PASSWORD, "UTC")
    use(bo, "chat", Preset(name="x", model="bos-model"), 5, 5)
    page = client.get(PAGE)
    assert "bos-model" not in page.text
    assert page.context["report"].is_empty


def test_days_are_the_account_s_own(ana: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 20:00 UTC it is tomorrow in Tokyo, and the limit begins anew."""
    moment = dt.datetime(2026, 3, 1, 20, tzinfo=dt.UTC)
    monkeypatch.setattr(usage.timezone, "now", lambda: moment)
    use(ana, "chat", BARE, 5, 5)
    Account.objects.filter(pk=ana.pk).update(time_zone="Asia/Tokyo", max_tokens_per_day=10)
    ana.refresh_from_db()
    assert usage.why_spent(ana.pk) == ""
    use(ana, "chat", BARE, 5, 5)
    assert "10 were used" in usage.why_spent(ana.pk)
    days = UsageDay.objects.order_by("day").values_list("day", flat=True)
    assert list(days) == [dt.date(2026, 3, 1), dt.date(2026, 3, 2)]


@pytest.mark.parametrize(
    ("sent", "tokens", "cost"),
    [
        ({"maxTokensPerDay": "2,000,000", "maxCostPerDay": "1.50"}, 2_000_000, Decimal("1.50")),
        ({"maxTokensPerDay": "0", "maxCostPerDay": "$ 5"}, None, Decimal(5)),
        ({"maxTokensPerDay": "", "maxCostPerDay": ""}, None, None),
    ],
)
def test_limits_are_set(
    client: Client, ana: Account, sent: dict[str, str], tokens: int | None, cost: Decimal | None
) -> None:
    """As people write numbers; an empty field, or 0, is none."""
    Account.objects.filter(pk=ana.pk).update(max_tokens_per_day=5)
    answer = client.post(PAGE, sent, follow=True)
    ana.refresh_from_db()
    assert (ana.max_tokens_per_day, ana.max_cost_per_day) == (tokens, cost)
    assert "Saved, and in force from the next request on" in answer.text
    assert "Nothing was written" in client.post(PAGE, sent, follow=True).text


@pytest.mark.parametrize(
    "sent",
    [
        {"maxTokensPerDay": "many"},
        {"maxTokensPerDay": "-1"},
        {"maxTokensPerDay": "1.5"},
        {"maxTokensPerDay": "9" * 25},
        {"maxCostPerDay": "nan"},
        {"maxCostPerDay": "1e400"},
        {"maxCostPerDay": "0.001"},
    ],
)
def test_a_wrong_limit_changes_nothing(client: Client, ana: Account, sent: dict[str, str]) -> None:
    """It is said at its field, and what was typed stays in it."""
    answer = client.post(PAGE, sent)
    assert answer.status_code == 422
    assert 'class="error"' in answer.text
    ana.refresh_from_db()
    assert ana.max_tokens_per_day is None
    assert ana.max_cost_per_day is None


def test_a_spent_day_holds_every_kind_of_run_back(client: Client, ana: Account) -> None:
    """Chat, test, summary and Dream: each says so in a sentence, and nothing is lost."""
    workspace = ana.current_workspace
    assert workspace is not None
    use(ana, "dream", BARE, 900, 100)
    client.post(PAGE, {"maxTokensPerDay": "1000"})
    with pytest.raises(CallsSpent, match="limit of 1,000 tokens is used up") as caught:
        access.model_for(workspace)
    assert "What was said is kept" in caught.value.message
    assert "until midnight (UTC)" in dream_scheduler.start_run(workspace, "manual").message
    chat = workspace.conversations.create()
    assert "is used up" in consolidate(chat, "asked").problem
    test = client.post("/settings/models/test", {"name": "demo"}, follow=True)
    assert "is used up" in test.text
    notices = client.get("/settings/account/").context["notices"]
    assert [one.key for one in notices] == ["usage"]
    client.post(PAGE, {"maxTokensPerDay": "5000"})
    assert usage.why_calls_wait(workspace) == ""
    assert access.model_for(workspace)[0].is_demo


def test_money_is_bounded_too(ana: Account) -> None:
    """By what has a price; the cent that reaches the limit is the last."""
    Account.objects.filter(pk=ana.pk).update(max_cost_per_day=Decimal("3.00"))
    use(ana, "chat", PRICED, 999_000, 0)
    use(ana, "chat", BARE, 10**9, 0)
    assert usage.why_spent(ana.pk) == ""
    use(ana, "chat", PRICED, 1_000, 0)
    assert "$3.00 is used up ($3.00 were spent)" in usage.why_spent(ana.pk)


def test_a_test_of_a_connection_is_counted(client: Client, ana: Account) -> None:
    """It is a call like others; the demo model's costs nothing."""
    client.post("/settings/models/test", {"name": "demo"})
    row = UsageDay.objects.get()
    assert (row.kind, row.requests) == ("test", 1)
    assert row.input_tokens + row.output_tokens > 0
    assert (row.cost, row.unpriced_tokens) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_many_count_at_once(ana: Account) -> None:
    """No request is lost between two workers, also when neither finds a row yet."""
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        for _ in range(5):
            use(ana, "chat", BARE, 1, 1)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    row = UsageDay.objects.get()
    assert (row.requests, row.input_tokens) == (40, 40)


def test_an_account_that_is_gone_is_not_counted(ana: Account) -> None:
    """A run that ends after its account was deleted breaks nothing."""
    usage.RowMeter(ana.pk + 1, "chat").count(BARE, Usage(1, 1))
    assert not UsageDay.objects.exists()


def test_a_database_that_does_not_answer_fails_no_run(
    ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be counted is counted with the next request."""
    real: Callable[..., None] = UsageDay.add

    def broken(*_args: object, **_more: object) -> None:
        raise usage.DatabaseError

    monkeypatch.setattr(UsageDay, "add", broken)
    use(ana, "chat", BARE, 1, 2)
    monkeypatch.setattr(UsageDay, "add", real)
    use(ana, "chat", BARE, 3, 4)
    row = UsageDay.objects.get()
    assert (row.requests, row.input_tokens, row.output_tokens) == (2, 4, 6)


def test_a_turn_ends_at_the_limit_and_goes_on_when_it_is_raised(place: Place, words: str) -> None:
    """Between two requests of one answer: what was done is kept, the person is told, and the answer
    is made once there is room."""
    used = re.search(r"<p>([\d,]+) tokens?", place.owner.get(PAGE).text)
    assert used is not None
    most = int(used[1].replace(",", "")) + 1
    place.model.script("I look. ", Call("list_dir", {"path": "."}), when=answers(words))
    try:
        assert place.owner.post(PAGE, maxTokensPerDay=str(most)).status_code == 302
        chat = place.owner.begin(words)
        thread = place.owner.answer(chat)
        assert "I look." in thread
        assert 'data-reason="spent"' in thread
        assert "What you wrote and what was answered so far are kept" in html.unescape(thread)
        place.model.script("Here it is.", when=answers(words))
        assert place.owner.post(PAGE, maxTokensPerDay="").status_code == 302
        assert "Here it is." in place.owner.answer(chat)
    finally:
        place.owner.post(PAGE, maxTokensPerDay="")
