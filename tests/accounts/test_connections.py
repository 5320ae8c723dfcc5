"""Presets in config.json."""

import json
from pathlib import Path
from typing import Any

import pytest

from jenny.accounts import connections
from jenny.workspace.config import load_config
from jenny.workspace.errors import ConfigRefused

SONNET = {"model": "claude-sonnet", "baseUrl": "https://api.anthropic.com", "maxTokens": None}


def on_disk(folder: Path) -> dict[str, Any]:
    """The file's object."""
    return dict(json.loads((folder / "config.json").read_text()))


def test_a_preset_is_written_and_used(tmp_path: Path) -> None:
    """What was connected answers from the next message on."""
    assert connections.save_preset(tmp_path, "claude", SONNET, use=True)
    config = load_config(tmp_path)
    assert config.presets["claude"].model == "claude-sonnet"
    assert config.agents.defaults.model == "claude"


def test_saving_the_same_again_writes_nothing(tmp_path: Path) -> None:
    """The page can say that nothing changed, and does not lie."""
    connections.save_preset(tmp_path, "claude", SONNET, use=True)
    before = (tmp_path / "config.json").stat()
    assert not connections.save_preset(tmp_path, "claude", SONNET, use=True)
    assert not connections.choose(tmp_path, "claude")
    assert (tmp_path / "config.json").stat().st_mtime_ns == before.st_mtime_ns


def test_keys_that_are_not_ours_stay(tmp_path: Path) -> None:
    """Prices and notes that somebody wrote by hand outlive a change on the page."""
    written = {
        "modelPresets": {"claude": {"model": "old", "inputPrice": 3, "note": "mine"}},
        "somethingElse": [1],
    }
    (tmp_path / "config.json").write_text(json.dumps(written))
    connections.save_preset(tmp_path, "claude", SONNET, use=False)
    after = on_disk(tmp_path)
    assert after["somethingElse"] == [1]
    assert after["modelPresets"]["claude"] == {
        "model": "claude-sonnet",
        "inputPrice": 3,
        "note": "mine",
        "baseUrl": "https://api.anthropic.com",
    }


def test_a_removed_preset_comes_back_whole(tmp_path: Path) -> None:
    """Removing can be undone: with unknown keys, and as the default that it was."""
    written = {
        "agents": {"defaults": {"model": "claude"}},
        "modelPresets": {"claude": {"model": "m", "note": "mine"}},
    }
    (tmp_path / "config.json").write_text(json.dumps(written))
    removed = connections.remove(tmp_path, "claude")
    assert removed is not None
    assert load_config(tmp_path).presets == {}
    assert load_config(tmp_path).agents.defaults.model == ""
    assert connections.put_back(tmp_path, removed)
    assert on_disk(tmp_path)["modelPresets"] == written["modelPresets"]
    assert load_config(tmp_path).agents.defaults.model == "claude"


def test_putting_back_does_not_overwrite(tmp_path: Path) -> None:
    """A preset of that name made meanwhile stays."""
    connections.save_preset(tmp_path, "claude", SONNET, use=False)
    removed = connections.remove(tmp_path, "claude")
    assert removed is not None
    connections.save_preset(tmp_path, "claude", {"model": "newer"}, use=False)
    assert not connections.put_back(tmp_path, removed)
    assert load_config(tmp_path).presets["claude"].model == "newer"


def test_removing_what_is_not_there(tmp_path: Path) -> None:
    """It is said, and no file is made for it."""
    assert connections.remove(tmp_path, "claude") is None
    assert not (tmp_path / "config.json").exists()


@pytest.mark.parametrize("broken", [{"modelPresets": [1, 2]}, {"agents": "x"}])
def test_what_stands_in_the_way_is_not_overwritten(tmp_path: Path, broken: dict[str, Any]) -> None:
    """A section that is no object is somebody's mistake, and theirs to repair."""
    text = json.dumps(broken)
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ConfigRefused):
        connections.save_preset(tmp_path, "claude", SONNET, use=True)
    assert (tmp_path / "config.json").read_text() == text


def test_a_key_never_lands_in_the_file(tmp_path: Path) -> None:
    """Somebody who pastes the key into the model's field is stopped there."""
    values = {"model": "sk-ant-api03-0123456789abcdef0123"}
    with pytest.raises(ConfigRefused):
        connections.save_preset(tmp_path, "claude", values, use=True)
    assert not (tmp_path / "config.json").exists()
