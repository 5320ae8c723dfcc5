"""Loading ``config.json``: in whatever state it is, the app goes on and says what is wrong."""

import json
import os
import threading
from pathlib import Path

import pytest

from jenny.workspace import config
from jenny.workspace.errors import FileMissing

MAX = "agents.defaults.maxTokens"
REVIEW = "agents.defaults.dream.reviewEveryRuns"


def put(root: Path, text: str | bytes, name: str = "config.json") -> None:
    """The file as somebody left it."""
    (root / name).write_bytes(text.encode() if isinstance(text, str) else text)


def defaults(**values: object) -> str:
    """A file with these settings of ``agents.defaults``."""
    return json.dumps({"agents": {"defaults": values}})


def corrupt(root: Path) -> list[Path]:
    """The copies set aside."""
    return sorted(root.glob("config.corrupt-*.json"))


def test_without_a_file_the_defaults_serve(root: Path) -> None:
    """A new workspace has settings, and no file is made by looking at them."""
    settings = config.load_config(root)
    assert settings.values[MAX] == 16_384
    assert (settings.origin, settings.notices, settings.problems) == ("defaults", (), {})
    assert list(root.iterdir()) == []
    with pytest.raises(KeyError):
        settings.values["agents.defaults.nonsense"]
    with pytest.raises(FileMissing):
        config.load_config(root / "nowhere")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"agents": {"defaults": {"maxTokens": 1,}}}', "line 1, column 40: a comma too many"),
        ('{"agents": [1, 2,]}', "a comma too many"),
        ('{"agents": {"defaults": {"maxTok', "ends in the middle"),
        ('{"agents": {"defaults": {"maxTokens": ', "ends in the middle"),
        ("", "it is empty"),
        (" \n\t", "it is empty"),
        ("\0\0\0\0", "it is empty"),
        ("[]", "no object"),
        ("null", "no object"),
        ('"text"', "no object"),
        ("<html></html>", "line 1, column 1"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (b'{"agents": "\xe9"}', "byte 13 is not UTF-8"),
        ('{"maxTokens": NaN}', "NaN"),
        ("[" * 100_000, "nested too deep"),
        ('{"n": ' + "9" * 5_000 + "}", "absurd numbers"),
        ("{" + " " * 1_000_001 + "}", "more than 1,000,000"),
        ("{} trailing", "line 1"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_a_file_that_cannot_be_read_stops_nothing(root: Path, text: str | bytes, says: str) -> None:
    """It is left as it is and copied aside once; a notice says why and what serves instead."""
    put(root, text)
    settings = config.load_config(root)
    assert settings.values[MAX] == 16_384
    assert settings.origin == "defaults"
    assert says in settings.notices[0]
    assert "The defaults serve meanwhile." in settings.notices[0]
    expected = text.encode() if isinstance(text, str) else text
    assert (root / "config.json").read_bytes() == expected
    assert config.load_config(root) == settings
    if len(expected) <= 1_000_000:
        assert [path.read_bytes() for path in corrupt(root)] == [expected]
        assert corrupt(root)[0].name in settings.notices[0]


def test_the_backup_serves_for_a_broken_file(root: Path) -> None:
    """With a backup that can be read, its values are used, and the notice says so."""
    put(root, "{")
    put(root, defaults(maxTokens=777), "config.json.bak")
    settings = config.load_config(root)
    assert (settings.values[MAX], settings.origin) == (777, "bak")
    assert "The settings in config.json.bak serve meanwhile." in settings.notices[0]


def test_the_last_settings_in_order_serve_for_a_broken_file(root: Path) -> None:
    """A slip in an editor costs no setting, also in a process that never saw the good file."""
    put(root, defaults(maxTokens=777))
    put(root, defaults(maxTokens=111), "config.json.bak")
    assert config.load_config(root).values[MAX] == 777
    put(root, "{")
    config.store._cache.clear()
    settings = config.load_config(root)
    assert (settings.values[MAX], settings.origin) == (777, "bak")
    assert "The last settings that were in order serve meanwhile." in settings.notices[0]


def test_a_file_that_is_put_right_counts_at_once(root: Path) -> None:
    """Nothing but the file itself has to be corrected; the notice goes with its cause."""
    put(root, "{")
    assert config.load_config(root).notices
    put(root, defaults(maxTokens=5))
    settings = config.load_config(root)
    assert (settings.values[MAX], settings.origin, settings.notices) == (5, "file", ())


def test_a_removed_file_is_noticed(root: Path) -> None:
    """The backup serves, for it may have been an accident; without one it is a fresh start."""
    put(root, defaults(maxTokens=777))
    config.load_config(root)
    put(root, defaults(maxTokens=111), "config.json.bak")
    (root / "config.json").unlink()
    settings = config.load_config(root)
    assert (settings.values[MAX], settings.origin) == (111, "bak")
    assert "config.json is missing" in settings.notices[0]
    (root / "config.json.bak").unlink()
    assert (config.load_config(root).values[MAX], config.load_config(root).notices) == (16_384, ())


def test_wrong_values_are_reported_and_the_others_used(root: Path) -> None:
    """One wrong value does not cost the rest; the file keeps it for the person to correct."""
    text = json.dumps(
        {
            "agents": {
                "defaults": {
                    "maxTokens": "many",
                    "maxMessages": 50,
                    "temperature": True,
                    "dream": {"reviewEveryRuns": 0, "memoryBudgetChars": -1, "intervalH": 3},
                    "gardener": [],
                }
            },
            "snapshots": 7,
        }
    )
    put(root, text)
    settings = config.load_config(root)
    assert set(settings.problems) == {
        MAX,
        "agents.defaults.temperature",
        REVIEW,
        "agents.defaults.dream.memoryBudgetChars",
        "agents.defaults.gardener",
        "snapshots",
    }
    assert settings.problems[MAX] == (
        "agents.defaults.maxTokens is “many”; it takes a whole number from 1 to 1,000,000. "
        "The default, 16384, is used until then."
    )
    assert settings.values[MAX] == 16_384
    assert settings.values["agents.defaults.maxMessages"] == 50
    assert settings.values["agents.defaults.dream.intervalH"] == 3
    assert settings.values["agents.defaults.gardener.intervalMinutes"] == 30
    assert settings.origin == "file"
    assert (root / "config.json").read_text() == text


def test_the_earlier_value_stands_in_for_a_wrong_one(root: Path) -> None:
    """Not the default, when there was a right value before."""
    put(root, defaults(maxTokens=777))
    config.load_config(root)
    put(root, defaults(maxTokens="many", maxMessages=50))
    settings = config.load_config(root)
    assert settings.values[MAX] == 777
    assert settings.problems[MAX].endswith("Its earlier value, 777, is used until then.")
    put(root, defaults(maxTokens="lots"))
    config.store._cache.clear()
    assert config.load_config(root).values[MAX] == 777


def test_a_low_review_cadence_in_a_file_loads(root: Path) -> None:
    """Restored or edited by hand, a value below 12 counts; the floor is for new writes."""
    put(root, '{"agents": {"defaults": {"dream": {"reviewEveryRuns": 1}}}}')
    settings = config.load_config(root)
    assert settings.values[REVIEW] == 1
    assert settings.problems == {}


def test_snake_case_and_byte_order_marks_are_read(root: Path) -> None:
    """Files of older programs, and of editors that mark them, say the same."""
    put(
        root,
        b"\xef\xbb\xbf"
        + json.dumps(
            {
                "agents": {"defaults": {"max_tokens": 5, "dream": {"interval_h": 9}}},
                "model_presets": {
                    "my_fast": {"model": "m", "base_url": "http://h", "max_tokens": 7}
                },
            }
        ).encode(),
    )
    settings = config.load_config(root)
    assert settings.values[MAX] == 5
    assert settings.values["agents.defaults.dream.intervalH"] == 9
    assert settings.presets["my_fast"].base_url == "http://h"
    assert settings.presets["my_fast"].max_tokens == 7
    assert settings.unknown == ()
    assert MAX in settings.set_keys


def test_of_two_spellings_camel_case_counts(root: Path) -> None:
    """The written form wins; the other is listed as unknown, not lost."""
    put(root, '{"agents": {"defaults": {"max_tokens": 5, "maxTokens": 6}}}')
    settings = config.load_config(root)
    assert settings.values[MAX] == 6
    assert settings.unknown == ("agents.defaults.max_tokens",)


def test_unknown_keys_are_listed(root: Path) -> None:
    """A slip in a key's name is seen; keys of other programs do no harm."""
    put(root, '{"agents": {"defaults": {"maxTokns": 5}, "other": {"a": 1}}, "x": [], "y": null}')
    assert config.load_config(root).unknown == (
        "agents.defaults.maxTokns",
        "agents.other",
        "x",
        "y",
    )


def test_presets(root: Path) -> None:
    """Presets are read by name; a wrong part of one is reported and left out."""
    put(
        root,
        json.dumps(
            {
                "modelPresets": {
                    "qwen3.5": {"model": "q", "baseUrl": "http://localhost:1", "inputPrice": 1},
                    "bad": {"model": 5, "outputPrice": -1, "thinking": "low"},
                    "no": 7,
                    "a/b": {},
                }
            }
        ),
    )
    settings = config.load_config(root)
    assert settings.presets["qwen3.5"].input_price == 1.0
    assert settings.presets["bad"].model == ""
    assert settings.presets["bad"].thinking == "low"
    assert set(settings.presets) == {"qwen3.5", "bad"}
    assert set(settings.problems) == {
        "modelPresets.bad.model",
        "modelPresets.bad.outputPrice",
        "modelPresets.no",
        "modelPresets.a/b",
    }
    put(root, '{"modelPresets": []}')
    assert set(config.load_config(root).problems) == {"modelPresets"}


def test_a_preset_that_does_not_exist_is_said_to_be_missing(root: Path) -> None:
    """Dream falls back to the main model, visibly."""
    text = '{"agents": {"defaults": {"dream": {"modelOverride": "fast"}}}}'
    put(root, text)
    settings = config.load_config(root)
    assert settings.values["agents.defaults.dream.modelOverride"] == ""
    assert "which does not exist; Dream uses the main model." in next(
        iter(settings.problems.values())
    )
    put(root, text[:-1] + ', "modelPresets": {"fast": {"model": "m"}}}')
    settings = config.load_config(root)
    assert settings.values["agents.defaults.dream.modelOverride"] == "fast"
    assert settings.problems == {}


def test_a_window_too_small_for_its_replies_is_said(root: Path) -> None:
    """Two settings that exclude each other are named together."""
    put(root, defaults(contextWindowTokens=8_000))
    assert (
        "leaves no room" in config.load_config(root).problems["agents.defaults.contextWindowTokens"]
    )


def test_variables_are_filled_in_in_memory_only(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``${JENNY_VAR_…}`` takes its value from the environment as it is now; the file keeps it."""
    monkeypatch.setenv("JENNY_VAR_HOST", "box")
    monkeypatch.setenv("JENNY_VAR_TOKENS", "4096")
    text = json.dumps(
        {
            "agents": {"defaults": {"maxTokens": "${JENNY_VAR_TOKENS}"}},
            "modelPresets": {"p": {"model": "m", "baseUrl": "http://${JENNY_VAR_HOST}:1"}},
        }
    )
    put(root, text)
    settings = config.load_config(root)
    assert settings.values[MAX] == 4096
    assert settings.presets["p"].base_url == "http://box:1"
    monkeypatch.setenv("JENNY_VAR_TOKENS", "5000")
    assert config.load_config(root).values[MAX] == 5000
    assert (root / "config.json").read_text() == text


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("${HOME}", "only JENNY_VAR_… variables can be named"),
        ("${ANTHROPIC_API_KEY}", "only JENNY_VAR_…"),
        ("${JENNY_SECRET_KEY}", "only JENNY_VAR_…"),
        ("${JENNY_VAR_}", "only JENNY_VAR_…"),
        ("${JENNY_VAR_X\n}", "only JENNY_VAR_…"),
        ("${jenny_var_x}", "only JENNY_VAR_…"),
        ("${}", "only JENNY_VAR_…"),
        ("${JENNY_VAR_MISSING}", "which is not set"),
        ("${JENNY_VAR_${JENNY_VAR_X}}", "one inside another"),
        ("${JENNY_VAR_X", "without its end"),
    ],
)
def test_no_other_variable_can_be_named(
    root: Path, monkeypatch: pytest.MonkeyPatch, value: str, says: str
) -> None:
    """No secret of the host gets into a prompt, a page or a request by a settings file."""
    for name in ("HOME", "ANTHROPIC_API_KEY", "JENNY_SECRET_KEY", "JENNY_VAR_X", "jenny_var_x"):
        monkeypatch.setenv(name, "the-secret")
    put(root, defaults(model=value))
    settings = config.load_config(root)
    assert settings.values["agents.defaults.model"] == ""
    assert says in settings.problems["agents.defaults.model"]
    assert "the-secret" not in repr(settings)


def test_a_variables_value_names_no_other(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a variable holds is taken as it is."""
    monkeypatch.setenv("JENNY_VAR_X", "${HOME}")
    put(root, defaults(model="${JENNY_VAR_X}"))
    assert config.load_config(root).values["agents.defaults.model"] == "${HOME}"


def test_a_file_of_a_newer_version_is_read_as_far_as_it_is_understood(root: Path) -> None:
    """Its values serve, and a notice says that nothing can be changed."""
    put(root, '{"configVersion": 99, "agents": {"defaults": {"maxTokens": 5}}, "new": {}}')
    settings = config.load_config(root)
    assert settings.values[MAX] == 5
    assert "written by a newer version" in settings.notices[0]


@pytest.mark.parametrize("version", ['"two"', "true", "-1", "1.5", "[]"])
def test_a_version_that_is_none_is_a_problem(root: Path, version: str) -> None:
    """The rest of the file counts all the same."""
    put(root, f'{{"configVersion": {version}, "agents": {{"defaults": {{"maxTokens": 5}}}}}}')
    settings = config.load_config(root)
    assert settings.values[MAX] == 5
    assert "configVersion" in settings.problems


def test_a_link_or_folder_in_the_files_place_is_not_read(root: Path, tmp_path: Path) -> None:
    """Settings are never taken from outside the workspace."""
    put(tmp_path, defaults(maxTokens=666), "elsewhere.json")
    (root / "config.json").symlink_to(tmp_path / "elsewhere.json")
    assert config.load_config(root).values[MAX] == 16_384
    assert "it is a link, a folder" in config.load_config(root).notices[0]
    (root / "config.json").unlink()
    (root / "config.json").mkdir()
    assert "it is a link, a folder" in config.load_config(root).notices[0]


def test_every_change_is_seen_at_once(root: Path) -> None:
    """Caching never serves an old value, also for edits in place of the same length."""
    for number in range(100, 130):
        put(root, defaults(maxTokens=number))
        assert config.load_config(root).values[MAX] == number
        assert config.load_config(root).values[MAX] == number


def test_what_has_not_changed_is_not_read_again(root: Path) -> None:
    """The same value serves while the file stays the same."""
    put(root, defaults(maxTokens=5))
    config.load_config(root)
    os.utime(root / "config.json", ns=(1, 1))
    # The time of the last change of the entry itself cannot be set back: it has to pass.
    done = threading.Event()
    while not done.wait(0.01):
        if config.load_config(root) is config.load_config(root):
            done.set()
    assert config.load_config(root) is config.load_config(root)
