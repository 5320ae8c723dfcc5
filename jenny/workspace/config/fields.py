"""All settings of ``config.json``, as typed models, in the order of the pages.

A key is the field's name in camelCase, below those of its sections: ``agents.defaults.maxTokens``.
Settings pages and docs are generated from this. Whoever changes a default appends its former value
to ``CHANGED_DEFAULTS``: workspaces made before keep it, and a notice says so.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic.alias_generators import to_camel

from jenny.workspace import retention
from jenny.workspace.config.kinds import (
    Address,
    CronText,
    Field,
    LanguageTag,
    PresetName,
    Section,
    Text,
    Value,
    ZoneName,
    setting,
)

GROUPS = {
    "models": "Models",
    "conversation": "Conversation",
    "memory": "Memory",
    "projects": "Projects",
    "snapshots": "Snapshots",
    "privacy": "Privacy",
    "system": "System",
}


def price(label: str) -> Any:
    return setting(
        None, ge=0, le=100_000, group="models", unit="US dollars a million tokens", label=label,
        help="For the costs shown beside turns and runs. Empty: not known.",
    )  # fmt: skip


# fmt: off
class Dream(Section):
    enabled: bool = setting(
        default=True, group="memory",
        label="Update memory by itself",
        help="Off: memory is updated only when you ask for it.",
    )
    interval_h: int = setting(
        2, ge=1, le=8_760, group="memory", unit="hours",
        label="How often, every",
        help="An update that was missed while Jenny was down is made up for once.",
    )
    cron: CronText = setting(
        "", group="memory",
        label="Exact times (cron)",
        help="Exact times instead of an interval, in the workspace's time zone. "
        "Empty: the interval counts.",
    )
    model_override: PresetName = setting(
        "", max_length=64, group="memory",
        label="Which model updates memory",
        help="A smaller, cheaper one may do. Empty: the model that answers chats.",
    )
    memory_budget_chars: int = setting(
        3_000, ge=0, le=1_000_000, group="memory", unit="characters",
        label="Room in MEMORY.md",
        help="A memory update may fill memory/MEMORY.md up to this, and not beyond. It does not "
        "bound what you or a chat write. 0: no limit.",
    )
    user_budget_chars: int = setting(
        3_000, ge=0, le=1_000_000, group="memory", unit="characters",
        label="Room in USER.md",
        help="The same for USER.md.",
    )
    soul_budget_chars: int = setting(
        0, ge=0, le=1_000_000, group="memory", unit="characters",
        label="Room in SOUL.md",
        help="The same for SOUL.md, where a size says little about what is worth keeping.",
    )
    review_every_runs: int = setting(
        12, ge=1, le=10_000, group="memory", unit="runs", confirm_below=12,
        label="Tidy up every",
        help="After this many updates one looks through the files and makes them smaller. "
        "Below 12 it would take out too much, so it asks you to confirm.",
    )
    approve: Literal["off", "removals", "all"] = setting(
        "off", group="memory",
        label="Ask me first",
        choices={
            "off": "No",
            "removals": "Before something is removed",
            "all": "Before every change",
        },
        help="Changes then wait under Memory → To review until you accept them, one by one. Chats "
        "are shown them meanwhile, marked.",
    )
    max_tokens_per_run: int = setting(
        1_000_000, ge=0, le=1_000_000_000, group="memory", unit="tokens",
        label="Tokens an update",
        help="An update that needs more is ended and says so. 0: no limit.",
    )
    max_tokens_per_day: int = setting(
        5_000_000, ge=0, le=1_000_000_000, group="memory", unit="tokens",
        label="Tokens a day",
        help="When the updates of a day have used this many, the next waits until tomorrow. "
        "0: no limit.",
    )
    max_seconds_per_run: int = setting(
        1_200, ge=10, le=86_400, group="memory", unit="seconds",
        label="Seconds an update",
        help="An update that takes longer is ended and says so.",
    )
    max_steps_per_run: int = setting(
        80, ge=1, le=10_000, group="memory", unit="steps",
        label="Steps an update",
        help="The most requests to the model in one update.",
    )


class Gardener(Section):
    enabled: bool = setting(
        default=False, group="projects",
        label="Tidy projects by themselves",
        help="Whether Jenny turns a project's log into pages by herself.",
    )
    interval_minutes: int = setting(
        30, ge=1, le=10_080, group="projects", unit="minutes",
        label="Look for work every",
        help="How often Jenny looks for a project that has been quiet and has a log.",
    )


class Defaults(Section):
    model: Text = setting(
        "", max_length=200, group="models",
        label="Model",
        help="The model that new conversations use, by its name in Jenny or its own. "
        "Empty: what the environment names, else the demo model.",
    )
    max_tokens: int = setting(
        16_384, ge=1, le=1_000_000, group="models", unit="tokens",
        label="Longest reply",
        help="The most tokens a single reply may have; a longer one is cut and can be continued.",
    )
    temperature: float | None = setting(
        None, ge=0, le=2, group="models",
        label="Temperature",
        help="How freely the model chooses its words. Empty: the model's own setting.",
    )
    context_window_tokens: int = setting(
        65_536, ge=1_024, le=10_000_000, group="conversation", unit="tokens",
        label="Context window",
        help="How much the model can read at once: prompt, conversation and reply together.",
    )
    idle_compact_after_minutes: int = setting(
        15, ge=0, le=10_080, group="conversation", unit="minutes",
        label="Summarise after a pause of",
        help="A conversation in which nothing was said for this long is summarised; the next "
        "memory update reads the summary. 0 turns it off.",
    )
    max_messages: int = setting(
        120, ge=2, le=10_000, group="conversation", unit="messages",
        label="Messages in context",
        help="The most messages the model is shown; older ones are summarised first.",
    )
    consolidation_ratio: float = setting(
        0.5, ge=0.1, le=0.95, group="conversation", unit="of its room",
        label="Size after summarising",
        help="How full a conversation is left when it had to be summarised, such as 0.5 for a "
        "half. Lower: more is summarised at once, and less often.",
    )
    timezone: ZoneName = setting(
        "", group="system",
        label="Time zone",
        help="The zone of all dates that Jenny writes. Empty: the account's own.",
    )
    language: LanguageTag = setting(
        "", group="system",
        label="Language",
        help="The language Jenny answers in. Empty: the one you write in.",
    )
    related_lines: bool = setting(
        default=True, group="conversation",
        label="Bring up what fits",
        help="Puts up to three earlier lines that fit a message of a personal chat well behind it "
        "for the model, about 150 tokens. A note below the answer shows them.",
    )
    max_tool_iterations: int = setting(
        200, ge=1, le=10_000, group="conversation", unit="steps",
        label="Steps a turn",
        help="After this many requests to the model a turn ends, even if it asks for more tools.",
    )
    max_tool_result_chars: int = setting(
        16_000, ge=200, le=1_000_000, group="conversation", unit="characters",
        label="Longest tool result",
        help="A longer result is cut for the model, with the name of the file that holds the rest.",
    )
    dream: Dream = Dream()
    gardener: Gardener = Gardener()


class Agents(Section):
    defaults: Defaults = Defaults()


class Attachments(Section):
    max_file_mb: int = setting(
        50, ge=1, le=4_000, group="conversation", unit="MB",
        label="Largest attachment",
        help="A larger file can be put into Files and named in a message.",
    )
    max_message_mb: int = setting(
        200, ge=1, le=4_000, group="conversation", unit="MB",
        label="Attachments of one message",
        help="How large all files of a message may be together.",
    )
    text_tokens: int = setting(
        12_000, ge=0, le=1_000_000, group="conversation", unit="tokens",
        label="Text of attachments",
        help="How much of the text of a message's files the model is given with it. The rest it "
        "can read by their paths. 0: only the paths.",
    )


class Voice(Section):
    dictation: Literal["off", "device", "anywhere"] = setting(
        "device", group="conversation",
        label="Dictation",
        choices={
            "off": "Off",
            "device": "Only on this device",
            "anywhere": "Also through the browser's maker",
        },
        help="Most browsers send what the microphone hears to their maker. The button beside the "
        "field says so, and does nothing, unless you allow it here.",
    )
    reading: Literal["off", "device", "anywhere"] = setting(
        "device", group="conversation",
        label="Reading answers aloud",
        choices={
            "off": "Off",
            "device": "Only with voices of this device",
            "anywhere": "Also with voices of the browser's maker",
        },
        help="Some voices of a browser send the text to its maker. The button below an answer is "
        "there where the browser has a voice that may read.",
    )


class PresetConfig(Section):
    """A configured model preset; ``None`` or empty: the value for all models."""

    name: str = ""
    model: Text = setting(
        "", max_length=200, group="models",
        label="Model",
        help="The model's own name at its address, such as claude-sonnet-5-5 or qwen3:8b.",
    )
    base_url: Address = setting(
        "", max_length=500, group="models",
        label="Address",
        help="The server's address, such as http://localhost:11434 for Ollama. Empty: the "
        "environment's, or Anthropic's.",
    )
    max_tokens: int | None = setting(
        None, ge=1, le=1_000_000, group="models", unit="tokens",
        label="Longest reply",
        help="Empty: as for all models.",
    )
    temperature: float | None = setting(
        None, ge=0, le=2, group="models",
        label="Temperature",
        help="Empty: as for all models.",
    )
    thinking: Literal["", "off", "low", "medium", "high"] = setting(
        "", group="models",
        label="Thinking",
        choices={
            "": "The model's own", "off": "Off", "low": "Low", "medium": "Medium", "high": "High",
        },
        help="How long the model may think before it answers, where it can.",
    )
    pictures: Literal["", "off"] = setting(
        "", group="models",
        label="Pictures",
        choices={"": "Send them", "off": "Send only their paths"},
        help="Whether the model is shown the pictures of a message. One that refuses them is asked "
        "again without, and a note in the thread says so.",
    )
    input_price: float | None = price("Price of input")
    output_price: float | None = price("Price of output")
    cache_read_price: float | None = price("Price of a cache read")
    cache_write_price: float | None = price("Price of a cache write")


class Snapshots(Section):
    keep_for: Literal["week", "month", "year", "forever"] = setting(
        "forever", group="snapshots",
        label="Keep snapshots for",
        choices={
            "week": "One week", "month": "One month", "year": "One year", "forever": "For ever",
        },
        help="Snapshots older than this are deleted. "
        f"The newest {retention.NEWEST_SNAPSHOTS} always stay.",
    )


class Privacy(Section):
    pause_model_calls: bool = setting(
        default=False, group="privacy",
        label="Pause all model calls",
        help="Nothing is sent to any model: no answers, titles, summaries or runs of Dream. "
        "What waits is kept and goes on when it is switched off.",
    )
# fmt: on


class Settings(Section):
    agents: Agents = Agents()
    attachments: Attachments = Attachments()
    voice: Voice = Voice()
    snapshots: Snapshots = Snapshots()
    privacy: Privacy = Privacy()


def _rows(model: type[Section], path: str = "") -> Iterator[Field]:
    for name, info in model.model_fields.items():
        key = f"{path}{to_camel(name)}"
        if isinstance(info.annotation, type) and issubclass(info.annotation, Section):
            yield from _rows(info.annotation, f"{key}.")
        elif info.title:
            yield Field.of(key, info)


BY_KEY = {row.key: row for row in _rows(Settings)}
PRESET_FIELDS = {row.name: row for row in _rows(PresetConfig, "modelPresets.*.")}
FIELDS = (*BY_KEY.values(), *PRESET_FIELDS.values())
# Key and former value of every default that was changed, the newest last. A file's defaultsVersion
# is the number of rows that it is past.
CHANGED_DEFAULTS: Sequence[tuple[str, Value]] = ()
