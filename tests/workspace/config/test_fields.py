"""The table of settings: complete, and strict about kinds and ranges."""

import pytest

from jenny.workspace.config import BY_KEY, FIELDS, GROUPS, PRESET_FIELDS

# As the public contract lists them (07).
CONTRACT = """
agents.defaults: model maxTokens temperature contextWindowTokens idleCompactAfterMinutes maxMessages
                 consolidationRatio timezone language maxToolIterations maxToolResultChars
agents.defaults.dream: enabled intervalH cron modelOverride memoryBudgetChars userBudgetChars
                 soulBudgetChars reviewEveryRuns approve maxTokensPerRun maxTokensPerDay
                 maxSecondsPerRun maxStepsPerRun
agents.defaults.gardener: enabled intervalMinutes
modelPresets.*: model baseUrl maxTokens temperature inputPrice outputPrice cacheReadPrice
                 cacheWritePrice
snapshots: keepFor
"""


def test_every_key_of_the_contract_has_its_row() -> None:
    """Users and their scripts may rely on these keys; beyond them only a few exist."""
    wanted, section = set(), ""
    for word in CONTRACT.split():
        if word.endswith(":"):
            section = word[:-1]
        else:
            wanted.add(f"{section}.{word}")
    keys = [field.key for field in FIELDS]
    assert len(keys) == len(set(keys))
    assert set(keys) - wanted == {
        "agents.defaults.relatedLines",
        "attachments.maxFileMb",
        "attachments.maxMessageMb",
        "attachments.textTokens",
        "modelPresets.*.pictures",
        "modelPresets.*.thinking",
        "privacy.pauseModelCalls",
        "voice.dictation",
        "voice.reading",
    }
    assert wanted <= set(keys)
    assert set(BY_KEY) | {f"modelPresets.*.{name}" for name in PRESET_FIELDS} == set(keys)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.key)
def test_a_row_can_be_shown_and_its_default_is_right(field) -> None:
    """A page can be built from each row: words, unit, range; and its default passes its check."""
    assert field.group in GROUPS
    assert field.label
    assert field.help[0].isupper()
    assert field.help.endswith(".")
    assert "\n" not in field.help
    assert len(field.help) <= 170
    assert field.range
    if field.default is not None:
        assert field.check(field.default) == field.default
    if field.kind in ("whole", "number"):
        assert field.low < field.high < float("inf")


def test_the_seeds_defaults() -> None:
    """The numbers that the product's documents promise."""
    assert {
        key.removeprefix("agents.defaults."): BY_KEY[key].default
        for key in BY_KEY
        if key.startswith("agents.")
    }.items() >= {
        "maxTokens": 16_384,
        "contextWindowTokens": 65_536,
        "idleCompactAfterMinutes": 15,
        "maxMessages": 120,
        "consolidationRatio": 0.5,
        "maxToolIterations": 200,
        "maxToolResultChars": 16_000,
        "dream.enabled": True,
        "dream.intervalH": 2,
        "dream.memoryBudgetChars": 3_000,
        "dream.userBudgetChars": 3_000,
        "dream.soulBudgetChars": 0,
        "dream.reviewEveryRuns": 12,
        "dream.approve": "off",
        "gardener.enabled": False,
    }.items()


RIGHT = [
    ("agents.defaults.maxTokens", 1, 1),
    ("agents.defaults.consolidationRatio", 0.95, 0.95),
    ("agents.defaults.temperature", 1, 1.0),
    ("agents.defaults.temperature", None, None),
    ("agents.defaults.timezone", "Europe/Prague", "Europe/Prague"),
    ("agents.defaults.timezone", "", ""),
    ("agents.defaults.timezone", None, ""),
    ("agents.defaults.language", "pt-BR", "pt-BR"),
    ("agents.defaults.model", " claude ", "claude"),
    ("agents.defaults.dream.reviewEveryRuns", 1, 1),
    ("agents.defaults.dream.cron", None, ""),
    ("agents.defaults.dream.cron", "0 */4 * * *", "0 */4 * * *"),
    ("agents.defaults.dream.cron", "5/15 22-3 29 2 FRI-mon", "5/15 22-3 29 2 FRI-mon"),
    ("agents.defaults.dream.cron", " @daily ", "@daily"),
    ("agents.defaults.dream.cron", "0 9 L * 7", "0 9 L * 7"),
    ("agents.defaults.dream.cron", "*/5  1,2 1-15/2 jan-MAR mon", "*/5 1,2 1-15/2 jan-MAR mon"),
    ("snapshots.keepFor", "forever", "forever"),
]
WRONG = [
    ("agents.defaults.maxTokens", "16384"),
    ("agents.defaults.maxTokens", 16384.0),
    ("agents.defaults.maxTokens", True),
    ("agents.defaults.maxTokens", 0),
    ("agents.defaults.maxTokens", -1),
    ("agents.defaults.maxTokens", None),
    ("agents.defaults.maxTokens", [1]),
    ("agents.defaults.maxTokens", 10**30),
    ("agents.defaults.temperature", True),
    ("agents.defaults.temperature", 2.1),
    ("agents.defaults.temperature", float("nan")),
    ("agents.defaults.temperature", float("inf")),
    ("agents.defaults.consolidationRatio", 0.05),
    ("agents.defaults.consolidationRatio", "0.5"),
    ("agents.defaults.dream.enabled", 1),
    ("agents.defaults.dream.enabled", "true"),
    ("agents.defaults.dream.reviewEveryRuns", 0),
    ("agents.defaults.dream.memoryBudgetChars", -1),
    ("agents.defaults.dream.approve", "some"),
    ("agents.defaults.dream.approve", {}),
    ("agents.defaults.timezone", "Mars/Olympus"),
    ("agents.defaults.timezone", "../../etc/passwd"),
    ("agents.defaults.timezone", "/etc/localtime"),
    ("agents.defaults.timezone", "a\0b"),
    ("agents.defaults.language", "english please"),
    ("agents.defaults.model", "two\nlines"),
    ("agents.defaults.model", "x" * 201),
    ("agents.defaults.model", "sk-ant-api03-abcdefghijklmnop"),
    ("agents.defaults.dream.cron", "every day"),
    ("agents.defaults.dream.cron", "60 * * * *"),
    ("agents.defaults.dream.cron", "* * * *"),
    ("agents.defaults.dream.cron", "0 0 30 2 *"),
    ("agents.defaults.dream.cron", "0 0 31 4,6,9,11 *"),
    ("agents.defaults.dream.cron", "*/90 * * * *"),
    ("agents.defaults.dream.cron", "@reboot"),
    ("agents.defaults.dream.cron", "H * * * *"),
    ("agents.defaults.dream.cron", "R * * * *"),
    ("agents.defaults.dream.cron", "0 0 * * * *"),
    ("agents.defaults.dream.cron", "1" * 300 + " * * * *"),
    ("agents.defaults.dream.cron", "1,,2 * * * *"),
    ("agents.defaults.dream.cron", "１ * * * *"),
    ("agents.defaults.dream.cron", "0 0 * * 8"),
    ("agents.defaults.dream.cron", "*/0 * * * *"),
    ("agents.defaults.dream.cron", "0 0 * foo *"),
    ("agents.defaults.dream.cron", "0 0 0 * *"),
]


@pytest.mark.parametrize(("key", "value", "checked"), RIGHT)
def test_right_values(key: str, value: object, checked: object) -> None:
    """What the field takes, it takes in its own type."""
    got = BY_KEY[key].check(value)
    assert got == checked
    assert type(got) is type(checked)


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_wrong_values_are_told_what_is_taken(key: str, value: object) -> None:
    """Neither types nor ranges are bent: a bool is no number, a text none either."""
    with pytest.raises(ValueError, match=r"^is .*; it takes ") as refused:
        BY_KEY[key].check(value)
    assert "sk-ant" not in str(refused.value) or "keys" in str(refused.value)


@pytest.mark.parametrize(
    ("address", "right"),
    [
        ("https://api.anthropic.com", True),
        ("http://[::1]:11434/v1", True),
        ("", True),
        (None, True),
        ("ftp://host", False),
        ("host:8000", False),
        ("http://", False),
        ("https://user:password@host", False),
        ("https://host/?key=1", False),
        ("https://host/#x", False),
        ("https://host:99999", False),
        ("https://ho\nst", False),
        ("javascript:alert(1)", False),
        ("http://хост", False),
    ],
)
def test_addresses(address: str | None, right: bool) -> None:
    """An address names scheme and host and carries no secret."""
    field = PRESET_FIELDS["baseUrl"]
    if right:
        assert field.check(address) == (address or "")
    else:
        with pytest.raises(ValueError, match="it takes an address"):
            field.check(address)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("agents.defaults.maxTokens", " 4096 ", 4096),
        ("agents.defaults.temperature", "0.7", 0.7),
        ("agents.defaults.temperature", "", None),
        ("agents.defaults.dream.enabled", "False", False),
        ("agents.defaults.model", "", ""),
    ],
)
def test_typed_text_becomes_a_value(key: str, text: str, value: object) -> None:
    """What is typed into a form, or stands in a variable, is read by the field's kind."""
    assert BY_KEY[key].from_text(text) == value


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("agents.defaults.maxTokens", "many"),
        ("agents.defaults.maxTokens", "1.5"),
        ("agents.defaults.maxTokens", ""),
        ("agents.defaults.maxTokens", "9" * 5000),
        ("agents.defaults.temperature", "nan"),
        ("agents.defaults.dream.enabled", "maybe"),
    ],
)
def test_typed_nonsense_is_refused(key: str, text: str) -> None:
    """A wrong entry is told what the field takes."""
    with pytest.raises(ValueError, match="it takes"):
        BY_KEY[key].from_text(text)
