"""Settings → Memory updates, Conversation, System: what stands in config.json."""

import json
import os
import re
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from jenny.accounts.models import Account
from jenny.chat.models import Conversation, Message
from jenny.workspace import config
from jenny.workspace.config import fields, store
from memory.models import DreamRun
from settings_ui.services import workspaces

MEMORY = "/settings/memory/"


def stored(root: Path) -> dict:
    """What is in the file."""
    path = root / "config.json"
    return json.loads(path.read_text()) if path.exists() else {}


def dream(root: Path) -> dict:
    """Dream's part of the file."""
    return stored(root).get("agents", {}).get("defaults", {}).get("dream", {})


@pytest.mark.parametrize("page", ["memory", "conversation", "system"])
def test_every_setting_of_the_group_is_on_its_page(client: Client, root: Path, page: str) -> None:
    """With its value on disk, its default, and what it does."""
    text = client.get(f"/settings/{page}/").content.decode()
    for row in config.BY_KEY.values():
        if row.group == page:
            assert f'name="{row.name}"' in text
            assert row.label in text


@pytest.mark.parametrize("page", ["memory", "conversation"])
def test_every_number_has_its_unit(client: Client, root: Path, page: str) -> None:
    """Beside the field stands what is counted; only the temperature counts nothing."""
    text = client.get(f"/settings/{page}/").content.decode()
    rows = re.findall(r'<input name="([^"]+)"[^>]*inputmode="[^"]*"[^>]*>(.{0,25})', text)
    assert rows
    bare = [name for name, behind in rows if not behind.startswith('<span class="unit">')]
    assert [name for name in bare if not name.endswith("temperature")] == []


def test_a_change_is_written_said_and_used(client: Client, root: Path) -> None:
    """Only what was changed is written; unknown keys stay; saving again writes nothing."""
    (root / "config.json").write_text('{"configVersion": 1, "mine": {"x": 1}}')
    answer = client.post(MEMORY, {"intervalH": "4", "memoryBudgetChars": "3000"}, follow=True)
    page = answer.content.decode()
    assert "How often, every: 2 hours → 4 hours" in page
    assert dream(root) == {"intervalH": 4}
    assert stored(root)["mine"] == {"x": 1}
    assert config.load_config(root).agents.defaults.dream.interval_h == 4
    before = (root / "config.json").stat().st_mtime_ns
    answer = client.post(MEMORY, {"intervalH": "4"}, follow=True)
    assert "Nothing was written" in answer.content.decode()
    assert (root / "config.json").stat().st_mtime_ns == before


def test_a_changed_default_is_said_and_reaches_nobody_unasked(
    client: Client, ana: Account, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workspace from before keeps the former value, through other changes too, until its owner
    changes it or dismisses the notice, which writes it down; a new workspace has the new one."""
    interval = "agents.defaults.dream.intervalH"
    assert not (root / "config.json").exists()
    monkeypatch.setattr(fields, "CHANGED_DEFAULTS", [(interval, 8)])
    # Defaults change with the program: no process has read settings with the former ones.
    monkeypatch.setattr(store, "_cache", {})
    said = f"{config.BY_KEY[interval].label}: 8 here, 2 in new workspaces"
    assert config.load_config(root).values[interval] == 8
    assert said in client.get(MEMORY).content.decode()
    client.post(MEMORY, {"maxStepsPerRun": "90"})
    assert said in client.get(MEMORY).content.decode()
    answer = client.post("/settings/defaults", follow=True, headers={"Referer": MEMORY})
    assert said not in answer.content.decode()
    assert dream(root) == {"intervalH": 8, "maxStepsPerRun": 90}
    assert client.post(MEMORY, {"intervalH": "2"}).status_code == 302
    assert config.load_config(root).values[interval] == 2
    new = workspaces.create(ana, "New")
    found = config.load_config(new.root)
    assert (found.values[interval], found.kept_defaults) == (2, ())


@pytest.mark.parametrize("value", ["1", "11", "3"])
def test_a_fast_cadence_needs_a_yes(client: Client, root: Path, value: str) -> None:
    """The server refuses it whatever the page did; the page says why, with the measurements."""
    answer = client.post(MEMORY, {"reviewEveryRuns": value, "intervalH": "5"})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "3,524 characters to 1,626" in page
    assert f'value="{value}"' in page
    assert dream(root) == {}
    for wrong in ("no", "", "true", "1"):
        data = {"reviewEveryRuns": value, "confirm": wrong}
        assert client.post(MEMORY, data).status_code == 422
    assert dream(root) == {}
    done = {"reviewEveryRuns": value, "intervalH": "5", "confirm": "yes"}
    assert client.post(MEMORY, done).status_code == 302
    assert dream(root) == {"reviewEveryRuns": int(value), "intervalH": 5}
    assert client.post(MEMORY, {"intervalH": "6"}).status_code == 302
    assert client.post(MEMORY, {"reviewEveryRuns": "12"}).status_code == 302
    assert config.load_config(root).agents.defaults.dream.review_every_runs == 12


def test_a_fast_cadence_in_a_file_loads(client: Client, root: Path) -> None:
    """A file restored or edited by hand is taken as it is; other settings save beside it."""
    raw = {"configVersion": 1, "agents": {"defaults": {"dream": {"reviewEveryRuns": 2}}}}
    (root / "config.json").write_text(json.dumps(raw))
    assert 'value="2"' in client.get(MEMORY).content.decode()
    assert client.post(MEMORY, {"reviewEveryRuns": "2", "intervalH": "3"}).status_code == 302
    assert dream(root) == {"reviewEveryRuns": 2, "intervalH": 3}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reviewEveryRuns", "0"),
        ("reviewEveryRuns", "-3"),
        ("reviewEveryRuns", "twelve"),
        ("reviewEveryRuns", "12.5"),
        ("reviewEveryRuns", "9" * 400),
        ("reviewEveryRuns", ""),
        ("memoryBudgetChars", "-1"),
        ("intervalH", "0"),
        ("intervalH", "1e9"),
        ("intervalH", "NaN"),
        ("cron", "every day"),
        ("cron", "61 * * * *"),
        ("cron", "0 0 30 2 *"),
        ("modelOverride", "no-such-preset"),
        ("enabled", "perhaps"),
        ("reviewEveryRuns", "１２\u0000"),
        ("cron", "<script>alert(1)</script>"),
    ],
)
def test_a_wrong_value_is_refused_in_words(
    client: Client, root: Path, name: str, value: str
) -> None:
    """Beside its field, with what was typed; nothing of the form is written."""
    answer = client.post(MEMORY, {name: value, "userBudgetChars": "2500", "confirm": "yes"})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert 'class="error"' in page
    assert "<script>alert" not in page
    assert 'value="2500"' in page
    assert dream(root) == {}


def test_sizes_stand_beside_their_budgets(client: Client, root: Path) -> None:
    """From disk at each look; what cannot be read is said, never shown as 0."""
    (root / "USER.md").write_text("x" * 2700)
    page = client.get(MEMORY).content.decode()
    assert "USER.md: 2,700 of 3,000 characters (90 %)" in page
    (root / "USER.md").unlink()
    (root / "USER.md").mkdir()
    page = client.get(MEMORY).content.decode()
    assert "USER.md cannot be read now" in page


def test_a_budget_below_the_size_is_taken_with_a_note(client: Client, root: Path) -> None:
    """Nothing is cut by it."""
    (root / "USER.md").write_text("x" * 2700)
    page = client.post(MEMORY, {"userBudgetChars": "1000"}, follow=True).content.decode()
    assert "1,700 over" in page
    assert dream(root) == {"userBudgetChars": 1000}
    assert (root / "USER.md").read_text() == "x" * 2700


@pytest.mark.parametrize(
    "text", ["{,}", "", "[1]", '{"agents": {"defaults": {"dream": {"intervalH": ', "\0"]
)
def test_a_broken_file_is_survived(client: Client, root: Path, text: str) -> None:
    """The page shows the values that hold, says what happened, and saving loses nothing."""
    client.post(MEMORY, {"intervalH": "7"})
    (root / "config.json").write_text(text)
    page = client.get(MEMORY)
    assert page.status_code == 200
    assert 'value="7"' in page.content.decode()
    assert "config.json" in page.content.decode()
    client.post(MEMORY, {"userBudgetChars": "2000"})
    assert dream(root) == {"intervalH": 7, "userBudgetChars": 2000}
    if text:
        assert list(root.glob("config.corrupt-*.json"))


def test_a_newer_file_is_not_touched(client: Client, root: Path) -> None:
    """It is said, and saving is refused."""
    (root / "config.json").write_text('{"configVersion": 99}')
    assert client.get(MEMORY).status_code == 200
    answer = client.post(MEMORY, {"intervalH": "7"})
    assert answer.status_code == 422
    assert stored(root) == {"configVersion": 99}


@pytest.mark.django_db(transaction=True)
def test_two_people_saving_at_once_lose_nothing(ana: Account, root: Path) -> None:
    """Each changes another setting, many times over."""
    names = ["intervalH", "userBudgetChars", "memoryBudgetChars", "soulBudgetChars"]
    wrong: list[str] = []

    def save(name: str) -> None:
        client = Client(headers={"Sec-Fetch-Site": "same-origin"})
        client.force_login(ana)
        for value in range(20, 32):
            answer = client.post(MEMORY, {name: str(value)})
            if answer.status_code != 302:
                wrong.append(f"{name}: {answer.status_code}")
        connections.close_all()

    threads = [threading.Thread(target=save, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert dream(root) == dict.fromkeys(names, 31)


def test_conversation_and_system_save_too(client: Client, root: Path) -> None:
    """By the same rules."""
    assert client.post("/settings/conversation/", {"maxMessages": "60"}).status_code == 302
    assert client.post("/settings/conversation/", {"consolidationRatio": "2"}).status_code == 422
    assert client.post("/settings/system/", {"timezone": "Mars/Base"}).status_code == 422
    assert client.post("/settings/system/", {"timezone": "Asia/Tokyo"}).status_code == 302
    defaults = stored(root)["agents"]["defaults"]
    assert defaults == {"maxMessages": 60, "timezone": "Asia/Tokyo"}


def test_another_idle_time_counts_for_chats_that_are_idle_already(
    client: Client, ana: Account
) -> None:
    """Also where it was off while they were held: the sweep looks at them again."""
    chat = Conversation.objects.create(workspace=ana.current_workspace)
    Message.objects.create(conversation=chat, kind="user", text="I keep bees.")
    done = Conversation.objects.create(workspace=ana.current_workspace)
    last = Message.objects.create(conversation=done, kind="user", text="Old.")
    Conversation.objects.filter(pk=done.pk).update(summarised_through=last.pk)
    client.post("/settings/conversation/", {"maxMessages": "60"})
    chat.refresh_from_db()
    assert chat.consolidate_after is None
    client.post("/settings/conversation/", {"idleCompactAfterMinutes": "1"})
    chat.refresh_from_db()
    done.refresh_from_db()
    assert chat.consolidate_after is not None
    assert done.consolidate_after is None


def whole_form(client: Client, url: str) -> dict[str, str]:
    """What a browser sends of the page's form when nobody has touched it."""
    page = client.get(url).content.decode()
    inputs = re.findall(r"<input ([^>]*)>", page)
    found = {}
    for one in inputs:
        facts = dict(re.findall(r'([\w-]+)="([^"]*)"', one))
        if "name" in facts and facts.get("type") not in {"checkbox", "radio"}:
            found[facts["name"]] = facts.get("value", "")
    return found


@pytest.mark.parametrize("url", [MEMORY, "/settings/conversation/"])
def test_a_form_takes_back_nothing_that_others_saved_since(
    client: Client, root: Path, url: str
) -> None:
    """Two people have the page open; each changes one thing, and both things are changed."""
    names = {MEMORY: ("intervalH", "maxStepsPerRun")}.get(url, ("maxMessages", "maxToolIterations"))
    first, second = whole_form(client, url), whole_form(client, url)
    assert set(names) < set(first)
    assert client.post(url, first | {names[0]: "40"}).status_code == 302
    assert client.post(url, second | {names[1]: "50"}).status_code == 302
    found = config.load_config(root)
    prefix = "agents.defaults.dream." if url == MEMORY else "agents.defaults."
    assert [found.values[prefix + name] for name in names] == [40, 50]


def test_the_page_says_when_dream_and_the_files_last_changed(
    client: Client, ana: Account, root: Path
) -> None:
    """SET2: after five months of silence, that is visible; after a good run it is not."""
    long_ago = timezone.now() - timedelta(days=150)
    os.utime(root / "USER.md", (long_ago.timestamp(),) * 2)
    run = DreamRun.objects.create(
        workspace=ana.current_workspace, trigger="scheduled", state="ended", status="completed"
    )
    DreamRun.objects.filter(pk=run.pk).update(ended_at=long_ago)
    page = client.get(MEMORY).content.decode()
    assert f"last changed {long_ago:%-d %B %Y}" in page
    assert f"{long_ago:%-d %B %Y}, " in page
    assert "That is long ago" in page
    DreamRun.objects.filter(pk=run.pk).update(ended_at=timezone.now())
    assert "That is long ago" not in client.get(MEMORY).content.decode()
    DreamRun.objects.filter(pk=run.pk).update(ended_at=long_ago)
    client.post(MEMORY, {"enabled": "false"})
    assert "That is long ago" not in client.get(MEMORY).content.decode()


def test_the_guide_is_shown_and_made(client: Client, root: Path) -> None:
    """Which text guides Dream and why; one of one's own is made once and never written over."""
    url = f"{MEMORY}guide"
    assert "Dream follows its built-in guide" in client.get(MEMORY).content.decode()
    assert "is there now" in client.post(url, follow=True).content.decode()
    own = root / "prompts" / "dream.md"
    own.write_text("Keep only what is about bees & <b>.\n")
    page = client.post(url, follow=True).content.decode()
    assert "has something in it" in page
    assert "about bees &amp; &lt;b&gt;" in page
    assert own.read_text() == "Keep only what is about bees & <b>.\n"
    assert client.get(url).status_code == 405
