"""Which model is asked, where, and with which key."""

import json
from pathlib import Path
from typing import Any

import pytest

from jenny.accounts import endpoints
from jenny.accounts.endpoints import Environment, choose, menu, resolve
from jenny.accounts.errors import BadAddress, KeyMissing, UnknownPreset
from jenny.workspace.config import Config, load_config

ANTHROPIC = "https://api.anthropic.com"
NOTHING = Environment()
KEYED = Environment("env-key", ANTHROPIC, "claude-env")
LOCAL = Environment("", "http://localhost:11434", "qwen")

PRESETS = {
    "fast": {"model": "claude-fast", "maxTokens": 100, "inputPrice": 1, "outputPrice": 5},
    "home": {"model": "llama", "baseUrl": "http://localhost:8080"},
    "other": {"model": "m", "baseUrl": "https://models.example.org/x/v1"},
}


def config(folder: Path, model: str = "", presets: Any = PRESETS, **defaults: Any) -> Config:
    """The settings of a workspace with that config.json."""
    written = {"agents": {"defaults": {"model": model, **defaults}}, "modelPresets": presets}
    (folder / "config.json").write_text(json.dumps(written))
    return load_config(folder)


def test_nothing_configured_is_the_demo_model(tmp_path: Path) -> None:
    """A fresh instance answers; by rules, and says so. The server runs once a process."""
    (first, preset), (second, _) = [
        resolve(load_config(tmp_path), "", {}, NOTHING) for _ in range(2)
    ]
    assert first.is_demo
    assert preset.name == "demo"
    assert first.base_url.startswith("http://127.0.0.1:")
    assert first == second


@pytest.mark.parametrize(
    ("default", "name", "keys", "env", "expected"),
    [
        # Nothing chosen: the environment's model, at its address, with its key.
        ("", "", {}, KEYED, ("environment", "claude-env", ANTHROPIC, "env-key")),
        ("", "", {}, LOCAL, ("environment", "qwen", "http://localhost:11434", "")),
        # A model's own name: at the environment's address.
        ("claude-x", "", {}, KEYED, ("environment", "claude-x", ANTHROPIC, "env-key")),
        ("claude-x", "", {ANTHROPIC: "k"}, NOTHING, ("environment", "claude-x", ANTHROPIC, "k")),
        # A stored key comes before the environment's.
        ("", "", {ANTHROPIC: "k"}, KEYED, ("environment", "claude-env", ANTHROPIC, "k")),
        # Presets, by default or by the conversation's choice.
        ("fast", "", {ANTHROPIC: "k"}, NOTHING, ("fast", "claude-fast", ANTHROPIC, "k")),
        ("fast", "home", {ANTHROPIC: "k"}, KEYED, ("home", "llama", "http://localhost:8080", "")),
        ("home", "environment", {}, KEYED, ("environment", "claude-env", ANTHROPIC, "env-key")),
        ("home", "default", {}, KEYED, ("home", "llama", "http://localhost:8080", "")),
        # A preset without an address is at the environment's.
        ("fast", "", {}, LOCAL, ("fast", "claude-fast", "http://localhost:11434", "")),
    ],
)
def test_a_name_leads_to_one_model(
    tmp_path: Path,
    *,
    default: str,
    name: str,
    keys: dict[str, str],
    env: Environment,
    expected: tuple[str, str, str, str],
) -> None:
    """What somebody chose is what is asked, with the key for that address and no other."""
    endpoint, preset = resolve(config(tmp_path, default), name, keys, env)
    assert (preset.name, preset.model, endpoint.base_url, endpoint.key) == expected
    assert not endpoint.is_demo


@pytest.mark.parametrize(
    ("default", "name"), [("", ""), ("demo", ""), ("fast", "demo"), ("claude-x", "")]
)
def test_demo_by_choice_or_for_want_of_a_key(tmp_path: Path, default: str, name: str) -> None:
    """Without any key Jenny still answers; and whoever wants the demo model gets it."""
    assert choose(config(tmp_path, default), name, set(), NOTHING).is_demo


def test_demo_by_choice_with_a_key(tmp_path: Path) -> None:
    """The environment's key does not overrule somebody who chose the demo model."""
    assert choose(config(tmp_path, "demo"), "", {ANTHROPIC}, KEYED).is_demo


@pytest.mark.parametrize(
    "url",
    [
        "https://api.anthropic.com.evil.example",
        "http://api.anthropic.com",
        "https://api.anthropic.com:8443",
        "https://evil.example/https://api.anthropic.com",
    ],
)
def test_no_key_leaves_for_another_origin(tmp_path: Path, url: str) -> None:
    """Whatever address config.json is made to name, only the key entered for it goes there."""
    settings = config(tmp_path, "p", {"p": {"model": "m", "baseUrl": url}})
    keys = {ANTHROPIC: "stored-key", "https://models.example.org": "other-key"}
    endpoint, _ = resolve(settings, "", keys, KEYED)
    assert endpoint.key == ""


def test_a_missing_key_is_said_with_the_cure(tmp_path: Path) -> None:
    """Somebody who chose Claude and removed the key is told, and not answered by the demo."""
    with pytest.raises(KeyMissing, match=r"fast.*https://api.anthropic.com.*Settings"):
        resolve(config(tmp_path, "fast"), "", {}, NOTHING)
    # One that can no longer be read counts as missing.
    with pytest.raises(KeyMissing):
        resolve(config(tmp_path, "claude-x"), "", {ANTHROPIC: ""}, NOTHING)


def test_a_preset_that_is_gone_is_said(tmp_path: Path) -> None:
    """A conversation whose preset was removed says which, and is not sent elsewhere."""
    with pytest.raises(UnknownPreset, match="gone"):
        resolve(config(tmp_path, "home"), "gone", {}, KEYED)


def test_an_address_that_may_not_be_asked_is_not_asked(tmp_path: Path) -> None:
    """Also when it was written into config.json by hand; the list of models still shows it."""
    settings = config(tmp_path, "p", {"p": {"model": "m", "baseUrl": "http://169.254.169.254"}})
    with pytest.raises(BadAddress):
        resolve(settings, "", {}, NOTHING)
    assert [choice.name for choice in menu(settings, NOTHING)] == ["p", "demo"]


def test_a_preset_fills_up_from_the_defaults(tmp_path: Path) -> None:
    """What a preset does not say, agents.defaults says; prices need both sides."""
    settings = config(tmp_path, "fast", maxTokens=4000, temperature=0.5)
    _, fast = resolve(settings, "fast", {ANTHROPIC: "k"}, NOTHING)
    _, home = resolve(settings, "home", {}, NOTHING)
    assert (fast.max_tokens, fast.temperature) == (100, 0.5)
    assert fast.prices is not None
    assert (home.max_tokens, home.temperature, home.prices) == (4000, 0.5, None)


@pytest.mark.parametrize(
    ("thinking", "max_tokens", "expected"),
    [
        ("", 16_000, ""),
        ("off", 16_000, "off"),
        ("low", 16_000, "2048"),
        ("high", 16_000, "8000"),
        ("high", 1_000, ""),
    ],
)
def test_thinking_leaves_room_for_the_answer(
    tmp_path: Path, thinking: str, max_tokens: int, expected: str
) -> None:
    """At most half of a reply is thought; too small a half, and it is left to the model."""
    presets = {"p": {"model": "m", "thinking": thinking, "maxTokens": max_tokens}}
    choice = choose(config(tmp_path, "p", presets), "", set(), NOTHING)
    assert choice.preset.thinking == expected


def test_the_menu_holds_everything_that_can_be_chosen(tmp_path: Path) -> None:
    """Presets in their order, the environment's when there is one, the demo model last."""
    settings = config(tmp_path)
    assert [one.name for one in menu(settings, NOTHING)] == ["fast", "home", "other", "demo"]
    assert [one.name for one in menu(settings, KEYED)][-2:] == ["environment", "demo"]


def test_a_wrong_variable_is_told_and_counts_for_nothing() -> None:
    """An address that is none does not take the pages down, and its key goes nowhere."""
    env = Environment.read("env-key", "http//typo", "m")
    assert "ANTHROPIC_BASE_URL" in env.problem
    assert not env.is_set
    assert env.key == ""


def test_keys_do_not_show_up_in_logs() -> None:
    """What is printed of a value in passing holds no key."""
    assert "env-key" not in repr(KEYED)


def test_reserved_names_cannot_be_presets() -> None:
    """A form refuses them; a preset called like that by hand wins over the built-in one."""
    assert {"demo", "environment", "default"} == endpoints.RESERVED
