"""Changing ``config.json``: one funnel, which loses nothing and lets nothing wrong through."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jenny.workspace import config, locks
from jenny.workspace.config import document
from jenny.workspace.errors import (
    ConfigRefused,
    ConfirmationNeeded,
    PathRefused,
)

PROJECT = Path(__file__).parents[3]
MAX = "agents.defaults.maxTokens"
REVIEW = "agents.defaults.dream.reviewEveryRuns"


def setting(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    """A change of one setting."""

    def mutate(raw: dict[str, Any]) -> None:
        *sections, name = key.split(".")
        for section in sections:
            raw = raw.setdefault(section, {})
        raw[name] = value

    return mutate


def put(root: Path, raw: object, name: str = "config.json") -> bytes:
    """The file as somebody left it."""
    data = raw.encode() if isinstance(raw, str) else json.dumps(raw).encode()
    (root / name).write_bytes(data)
    return data


def got(root: Path, name: str = "config.json") -> Any:
    """What stands in the file."""
    return json.loads((root / name).read_text(encoding="utf-8"))


def test_a_change_is_written_and_counts_at_once(root: Path) -> None:
    """The first change makes the file, private to its owner, readable by people."""
    assert config.change_config(root, setting(MAX, 5)) is True
    assert got(root) == {"agents": {"defaults": {"maxTokens": 5}}, "configVersion": 1}
    assert config.load_config(root).values[MAX] == 5
    assert (root / "config.json").stat().st_mode & 0o777 == 0o600
    assert (root / "config.json").read_text().startswith('{\n  "agents": {\n')
    assert not (root / "config.json.bak").exists()


def test_the_same_value_is_no_write(root: Path) -> None:
    """Neither file nor backup is touched, in whatever spelling or version the file is."""
    for raw in (
        {"agents": {"defaults": {"maxTokens": 5}}, "configVersion": 1},
        {"agents": {"defaults": {"max_tokens": 5}}},
    ):
        data = put(root, raw)
        backup = put(root, {"agents": {}}, "config.json.bak")
        stamp = (root / "config.json").stat().st_mtime_ns
        assert config.change_config(root, setting(MAX, 5)) is False
        assert config.change_config(root, lambda _raw: None) is False
        assert (root / "config.json").read_bytes() == data
        assert (root / "config.json").stat().st_mtime_ns == stamp
        assert (root / "config.json.bak").read_bytes() == backup
    (root / "config.json").unlink()
    (root / "config.json.bak").unlink()
    assert config.change_config(root, lambda _raw: None) is False
    assert not (root / "config.json").exists()


def test_true_is_not_one(root: Path) -> None:
    """Values that compare equal and mean something else are told apart."""
    put(root, {"x": True, "agents": {"defaults": {"temperature": 1}}})
    assert config.change_config(root, setting("x", 1)) is True
    assert got(root)["x"] == 1
    assert got(root)["x"] is not True


def test_unknown_keys_and_order_survive(root: Path) -> None:
    """What other versions and programs wrote is kept, at every depth."""
    raw = {
        "z": {"deep": [1, {"a_b": None}]},
        "agents": {"defaults": {"future_key": "ü", "maxMessages": 50}, "other": {"x": 1}},
        "a": 1,
    }
    put(root, raw)
    config.change_config(root, setting(MAX, 5))
    expected = json.loads(json.dumps(raw))
    expected["agents"]["defaults"]["maxTokens"] = 5
    assert got(root) == {**expected, "configVersion": 1}
    assert list(got(root))[:3] == ["z", "agents", "a"]
    assert "ü" in (root / "config.json").read_text(encoding="utf-8")


def test_camel_case_is_written(root: Path) -> None:
    """A file in snake_case gets the written spelling with its first change."""
    put(root, {"agents": {"defaults": {"max_tokens": 5, "dream": {"interval_h": 3}}}})
    config.change_config(root, setting("agents.defaults.maxMessages", 50))
    assert got(root)["agents"]["defaults"] == {
        "maxTokens": 5,
        "dream": {"intervalH": 3},
        "maxMessages": 50,
    }


def test_the_backup_is_the_file_before(root: Path) -> None:
    """One step back is always there, byte for byte."""
    first = put(root, {"agents": {"defaults": {"maxTokens": 5}}})
    config.change_config(root, setting(MAX, 6))
    assert (root / "config.json.bak").read_bytes() == first
    second = (root / "config.json").read_bytes()
    config.change_config(root, setting(MAX, 7))
    assert (root / "config.json.bak").read_bytes() == second


def test_a_broken_file_never_replaces_a_good_backup(root: Path) -> None:
    """The change starts from the backup; the broken file is set aside, not lost."""
    backup = put(root, {"agents": {"defaults": {"maxMessages": 50}}, "mine": 1}, "config.json.bak")
    broken = put(root, '{"agents": {"defaults": {"maxMessages": 60,}}}')
    assert config.change_config(root, setting(MAX, 5)) is True
    assert (root / "config.json.bak").read_bytes() == backup
    assert got(root)["agents"]["defaults"] == {"maxMessages": 50, "maxTokens": 5}
    assert got(root)["mine"] == 1
    assert [path.read_bytes() for path in root.glob("config.corrupt-*.json")] == [broken]
    assert config.load_config(root).notices == ()


def test_a_broken_file_is_not_overwritten_with_defaults(root: Path) -> None:
    """Saving what is the default anyway writes nothing over a file that cannot be read."""
    broken = put(root, "{")
    assert config.change_config(root, lambda _raw: None) is False
    assert (root / "config.json").read_bytes() == broken
    assert config.change_config(root, setting(MAX, 5)) is True
    assert [path.read_bytes() for path in root.glob("config.corrupt-*.json")] == [broken]


def test_each_broken_file_is_kept_once(root: Path) -> None:
    """Two different ones get two copies, the same one a single copy, however often it is seen."""
    for text in ("{", "{{", "{"):
        put(root, text)
        config.load_config(root)
        config.load_config(root)
    kept = sorted(path.read_text() for path in root.glob("config.corrupt-*.json"))
    assert kept == ["{", "{{"]


def test_variables_are_not_written_back(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of something else leaves ``${JENNY_VAR_…}`` in the file."""
    monkeypatch.setenv("JENNY_VAR_MODEL", "claude")
    put(root, {"agents": {"defaults": {"model": "${JENNY_VAR_MODEL}"}}})
    config.change_config(root, setting(MAX, 5))
    assert got(root)["agents"]["defaults"]["model"] == "${JENNY_VAR_MODEL}"
    assert config.load_config(root).values["agents.defaults.model"] == "claude"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (MAX, "many"),
        (MAX, True),
        (MAX, 0),
        ("agents.defaults.dream.memoryBudgetChars", -1),
        ("agents.defaults.dream.cron", "whenever"),
        ("agents.defaults.dream.modelOverride", "nowhere"),
        ("agents.defaults", []),
        ("agents", 7),
        ("modelPresets", []),
        ("modelPresets.fast", {"model": "m", "baseUrl": "https://user:pw@host"}),
        ("modelPresets.a/b", {"model": "m"}),
        ("modelPresets.fast", {"model": "m", "apiKey": "abc"}),
        ("agents.defaults.api_key", "abc"),
        ("token", "abc"),
        ("agents.defaults.contextWindowTokens", 2_000),
    ],
)
def test_a_wrong_value_is_refused_and_nothing_is_written(
    root: Path, key: str, value: object
) -> None:
    """Types, ranges, contradictions and secrets are stopped here, whoever asks."""
    data = put(root, {"agents": {"defaults": {"maxMessages": 50}}})
    with pytest.raises(ConfigRefused) as refused:
        config.change_config(root, setting(key, value))
    assert refused.value.message.endswith("Nothing was changed.")
    assert refused.value.problems
    assert (root / "config.json").read_bytes() == data
    assert not (root / "config.json.bak").exists()


def test_what_was_wrong_before_does_not_stop_other_changes(root: Path) -> None:
    """An old mistake stays for its owner to correct; the rest can be saved."""
    put(root, {"agents": {"defaults": {"maxTokens": "many"}}, "apiKey": "old"})
    config.change_config(root, setting("agents.defaults.maxMessages", 50))
    assert got(root)["agents"]["defaults"] == {"maxTokens": "many", "maxMessages": 50}
    with pytest.raises(ConfigRefused):
        config.change_config(root, setting(MAX, "lots"))
    config.change_config(root, setting(MAX, 5))
    assert config.load_config(root).problems == {}


def test_the_review_floor_needs_a_yes(root: Path) -> None:
    """Below 12 nothing is written without confirmation, whatever asks; 12 needs none."""
    with pytest.raises(ConfirmationNeeded) as asked:
        config.change_config(root, setting(REVIEW, 11))
    assert set(asked.value.problems) == {REVIEW}
    assert not (root / "config.json").exists()
    assert config.change_config(root, setting(REVIEW, 11), confirmed=[REVIEW]) is True
    assert config.load_config(root).values[REVIEW] == 11
    with pytest.raises(ConfirmationNeeded):
        config.change_config(root, setting(REVIEW, 5))
    assert config.change_config(root, setting(MAX, 5)) is True
    assert config.change_config(root, setting(REVIEW, 11)) is False
    assert config.change_config(root, setting(REVIEW, 12)) is True


def test_the_review_floor_holds_for_a_variable(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A low value cannot be brought in by way of the environment."""
    monkeypatch.setenv("JENNY_VAR_RUNS", "1")
    with pytest.raises(ConfirmationNeeded):
        config.change_config(root, setting(REVIEW, "${JENNY_VAR_RUNS}"))


def test_a_change_that_fails_writes_nothing(root: Path) -> None:
    """An error in the middle leaves file, backup and lock as they were."""
    data = put(root, {"agents": {"defaults": {"maxTokens": 5}}})

    def half(raw: dict[str, Any]) -> None:
        raw["agents"]["defaults"]["maxTokens"] = 6
        raise RuntimeError

    with pytest.raises(RuntimeError):
        config.change_config(root, half)
    assert (root / "config.json").read_bytes() == data
    assert config.load_config(root).values[MAX] == 5
    assert not locks.holds(root, locks.Level.WORKSPACE)
    assert config.change_config(root, setting(MAX, 7)) is True


def test_a_newer_file_is_not_changed(root: Path) -> None:
    """A downgrade damages nothing: the sentence asks for the update."""
    data = put(root, {"configVersion": 99, "agents": {"defaults": {"maxTokens": 5}}})
    for act in (
        lambda: config.change_config(root, setting(MAX, 6)),
        lambda: config.migrate_config(root),
    ):
        with pytest.raises(ConfigRefused, match="newer version"):
            act()
    assert (root / "config.json").read_bytes() == data
    put(root, {"configVersion": 99}, "config.json.bak")
    put(root, "{")
    assert config.load_config(root).origin == "defaults"


def test_an_older_file_is_migrated(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A raised default reaches an old file by a migration, in memory at once and on disk by
    the upgrade; the old text is in the backup."""

    def raise_default(raw: dict[str, Any]) -> None:
        if raw["agents"]["defaults"]["maxTokens"] == 8_192:
            raw["agents"]["defaults"]["maxTokens"] = 16_384

    monkeypatch.setitem(document.MIGRATIONS, 0, raise_default)
    old = put(root, {"agents": {"defaults": {"max_tokens": 8_192}}, "mine": 1})
    assert config.load_config(root).values[MAX] == 16_384
    assert (root / "config.json").read_bytes() == old
    assert config.migrate_config(root) is True
    assert got(root) == {
        "agents": {"defaults": {"maxTokens": 16_384}},
        "mine": 1,
        "configVersion": 1,
    }
    assert (root / "config.json.bak").read_bytes() == old
    assert config.migrate_config(root) is False
    config.change_config(root, setting(MAX, 8_192))
    assert config.load_config(root).values[MAX] == 8_192


def test_a_changed_default_does_not_reach_a_file_that_counts_on_the_former_one() -> None:
    """The default of the file's own time stays, whatever was changed since, and a value that the
    file names stays as well; a file of today has none of the former ones."""
    table = [(MAX, 4_096), (REVIEW, 24), (MAX, 8_192)]
    files: list[tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = [
        ({}, {"maxTokens": 4_096, "dream": {"reviewEveryRuns": 24}}, (MAX, REVIEW)),
        ({"defaultsVersion": 1}, {"maxTokens": 8_192, "dream": {"reviewEveryRuns": 24}},
         (REVIEW, MAX)),
        ({"agents": {"defaults": {"maxTokens": 5}}}, {"maxTokens": 5,
         "dream": {"reviewEveryRuns": 24}}, (REVIEW,)),
        ({"defaultsVersion": "x", "agents": {"defaults": {"dream": 7}}}, {"maxTokens": 4_096,
         "dream": 7}, (MAX,)),
    ]  # fmt: skip
    for raw, expected, keys in files:
        assert document.keep_defaults(raw, table) == keys
        assert raw["agents"]["defaults"] == expected
    for raw in ({"defaultsVersion": 3}, {"defaultsVersion": 99}):
        assert document.keep_defaults(raw, table) == ()
        assert "agents" not in raw


def test_links_are_refused_and_busy_workspaces_read(root: Path, tmp_path: Path) -> None:
    """Nothing outside is written; a writer elsewhere keeps nobody from reading."""
    outside = put(tmp_path, {"agents": {}}, "outside.json")
    (root / "config.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(PathRefused):
        config.change_config(root, setting(MAX, 5))
    assert (tmp_path / "outside.json").read_bytes() == outside
    (root / "config.json").unlink()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.workspace.act", "hold", root, "WORKSPACE"],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert config.load_config(root).values[MAX] == 16_384
        holder.kill()
    assert config.change_config(root, setting(MAX, 5)) is True


def test_a_full_disk_keeps_the_old_file(root: Path) -> None:
    """The refusal is a sentence; the old settings stand."""
    data = put(root, {"agents": {"defaults": {"maxTokens": 5}}})
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from jenny.workspace import config\n"
        "from jenny.workspace.errors import WriteFailed\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "try: config.change_config(Path(sys.argv[1]), lambda raw: raw.update(x='y' * 100))\n"
        "except WriteFailed as error: print(error.message)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, root], capture_output=True, text=True, check=True
    ).stdout
    assert told.strip().endswith("It is as it was before.")
    assert (root / "config.json").read_bytes() == data


def test_two_processes_that_change_at_once_lose_nothing(root: Path) -> None:
    """Each starts from what the other wrote: all steps of both are there, and one step back."""
    keys = ("agents.defaults.maxMessages", "agents.defaults.dream.intervalH")
    for key in keys:
        config.change_config(root, setting(key, 10))
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.workspace.act", "count", root, key, "40"], cwd=PROJECT
        )
        for key in keys
    ]
    assert [process.wait() for process in processes] == [0, 0]
    settings = config.load_config(root)
    assert [settings.values[key] for key in keys] == [50, 50]
    backup = document.to_camel(got(root, "config.json.bak"))
    steps = [document.lookup(backup, tuple(key.split(".")))[1] for key in keys]
    assert sorted(steps) == [49, 50]
