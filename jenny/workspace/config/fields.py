"""List every setting of ``config.json``, in the order of the pages.

Settings pages and docs are generated from this. Whoever changes a default appends its former value
to ``CHANGED_DEFAULTS``: workspaces made before keep it, and a notice says so.
"""

from collections.abc import Sequence

from jenny.workspace import retention
from jenny.workspace.config.kinds import Field, Value

GROUPS = {
    "models": "Models",
    "conversation": "Conversation",
    "memory": "Memory",
    "projects": "Projects",
    "snapshots": "Snapshots",
    "privacy": "Privacy",
    "system": "System",
}

_D = "agents.defaults"
_DREAM = f"{_D}.dream"
_PRESET = "modelPresets.*"
_PRICE_UNIT = "US dollars a million tokens"

FIELDS: tuple[Field, ...] = (
    Field(
        key=f"{_D}.model", kind="text", default="", group="models", high=200,
        label="Model",
        help="The model that new conversations use, by its name in Jenny or its own. "
        "Empty: what the environment names, else the demo model.",
    ),
    Field(
        key=f"{_D}.maxTokens", kind="whole", default=16_384, low=1, high=1_000_000,
        group="models", unit="tokens", label="Longest reply",
        help="The most tokens a single reply may have; a longer one is cut and can be continued.",
    ),
    Field(
        key=f"{_D}.temperature", kind="number", default=None, low=0, high=2, nullable=True,
        group="models", label="Temperature",
        help="How freely the model chooses its words. Empty: the model's own setting.",
    ),
    Field(
        key=f"{_D}.contextWindowTokens", kind="whole", default=65_536, low=1_024, high=10_000_000,
        group="conversation", unit="tokens", label="Context window",
        help="How much the model can read at once: prompt, conversation and reply together.",
    ),
    Field(
        key=f"{_D}.idleCompactAfterMinutes", kind="whole", default=15, low=0, high=10_080,
        group="conversation", unit="minutes", label="Summarise after a pause of",
        help="A conversation in which nothing was said for this long is summarised; the next "
        "memory update reads the summary. 0 turns it off.",
    ),
    Field(
        key=f"{_D}.maxMessages", kind="whole", default=120, low=2, high=10_000,
        group="conversation", unit="messages", label="Messages in context",
        help="The most messages the model is shown; older ones are summarised first.",
    ),
    Field(
        key=f"{_D}.consolidationRatio", kind="number", default=0.5, low=0.1, high=0.95,
        group="conversation", unit="of its room", label="Size after summarising",
        help="How full a conversation is left when it had to be summarised, such as 0.5 for a "
        "half. Lower: more is summarised at once, and less often.",
    ),
    Field(
        key=f"{_D}.timezone", kind="zone", default="", group="system",
        label="Time zone",
        help="The zone of all dates that Jenny writes. Empty: the account's own.",
    ),
    Field(
        key=f"{_D}.language", kind="language", default="", group="system",
        label="Language",
        help="The language Jenny answers in. Empty: the one you write in.",
    ),
    Field(
        key=f"{_D}.relatedLines", kind="switch", default=True, group="conversation",
        label="Bring up what fits",
        help="Puts up to three earlier lines that fit a message of a personal chat well behind it "
        "for the model, about 150 tokens. A note below the answer shows them.",
    ),
    Field(
        key=f"{_D}.maxToolIterations", kind="whole", default=200, low=1, high=10_000,
        group="conversation", unit="steps", label="Steps a turn",
        help="After this many requests to the model a turn ends, even if it asks for more tools.",
    ),
    Field(
        key=f"{_D}.maxToolResultChars", kind="whole", default=16_000, low=200, high=1_000_000,
        group="conversation", unit="characters", label="Longest tool result",
        help="A longer result is cut for the model, with the name of the file that holds the rest.",
    ),
    Field(
        key="attachments.maxFileMb", kind="whole", default=50, low=1, high=4_000,
        group="conversation", unit="MB", label="Largest attachment",
        help="A larger file can be put into Files and named in a message.",
    ),
    Field(
        key="attachments.maxMessageMb", kind="whole", default=200, low=1, high=4_000,
        group="conversation", unit="MB", label="Attachments of one message",
        help="How large all files of a message may be together.",
    ),
    Field(
        key="attachments.textTokens", kind="whole", default=12_000, low=0, high=1_000_000,
        group="conversation", unit="tokens", label="Text of attachments",
        help="How much of the text of a message's files the model is given with it. The rest it "
        "can read by their paths. 0: only the paths.",
    ),
    Field(
        key=f"{_DREAM}.enabled", kind="switch", default=True, group="memory",
        label="Update memory by itself",
        help="Off: memory is updated only when you ask for it.",
    ),
    Field(
        key=f"{_DREAM}.intervalH", kind="whole", default=2, low=1, high=8_760,
        group="memory", unit="hours", label="How often, every",
        help="An update that was missed while Jenny was down is made up for once.",
    ),
    Field(
        key=f"{_DREAM}.cron", kind="cron", default="", group="memory", nullable=True,
        label="Exact times (cron)",
        help="Exact times instead of an interval, in the workspace's time zone. "
        "Empty: the interval counts.",
    ),
    Field(
        key=f"{_DREAM}.modelOverride", kind="preset", default="", group="memory", nullable=True,
        high=64, label="Which model updates memory",
        help="A smaller, cheaper one may do. Empty: the model that answers chats.",
    ),
    Field(
        key=f"{_DREAM}.memoryBudgetChars", kind="whole", default=3_000, low=0, high=1_000_000,
        group="memory", unit="characters", label="Room in MEMORY.md",
        help="A memory update may fill memory/MEMORY.md up to this, and not beyond. It does not "
        "bound what you or a chat write. 0: no limit.",
    ),
    Field(
        key=f"{_DREAM}.userBudgetChars", kind="whole", default=3_000, low=0, high=1_000_000,
        group="memory", unit="characters", label="Room in USER.md",
        help="The same for USER.md.",
    ),
    Field(
        key=f"{_DREAM}.soulBudgetChars", kind="whole", default=0, low=0, high=1_000_000,
        group="memory", unit="characters", label="Room in SOUL.md",
        help="The same for SOUL.md, where a size says little about what is worth keeping.",
    ),
    Field(
        key=f"{_DREAM}.reviewEveryRuns", kind="whole", default=12, low=1, high=10_000,
        group="memory", unit="runs", confirm_below=12, label="Tidy up every",
        help="After this many updates one looks through the files and makes them smaller. "
        "Below 12 it would take out too much, so it asks you to confirm.",
    ),
    Field(
        key=f"{_DREAM}.approve", kind="choice", default="off", group="memory",
        label="Ask me first",
        choices=(
            ("off", "No"),
            ("removals", "Before something is removed"),
            ("all", "Before every change"),
        ),
        help="Changes then wait under Memory → To review until you accept them, one by one. Chats "
        "are shown them meanwhile, marked.",
    ),
    Field(
        key=f"{_DREAM}.maxTokensPerRun", kind="whole", default=1_000_000, low=0,
        high=1_000_000_000, group="memory", unit="tokens", label="Tokens an update",
        help="An update that needs more is ended and says so. 0: no limit.",
    ),
    Field(
        key=f"{_DREAM}.maxTokensPerDay", kind="whole", default=5_000_000, low=0,
        high=1_000_000_000, group="memory", unit="tokens", label="Tokens a day",
        help="When the updates of a day have used this many, the next waits until tomorrow. "
        "0: no limit.",
    ),
    Field(
        key=f"{_DREAM}.maxSecondsPerRun", kind="whole", default=1_200, low=10, high=86_400,
        group="memory", unit="seconds", label="Seconds an update",
        help="An update that takes longer is ended and says so.",
    ),
    Field(
        key=f"{_DREAM}.maxStepsPerRun", kind="whole", default=80, low=1, high=10_000,
        group="memory", unit="steps", label="Steps an update",
        help="The most requests to the model in one update.",
    ),
    Field(
        key=f"{_D}.gardener.enabled", kind="switch", default=False, group="projects",
        label="Tidy projects by themselves",
        help="Whether Jenny turns a project's log into pages by herself.",
    ),
    Field(
        key=f"{_D}.gardener.intervalMinutes", kind="whole", default=30, low=1, high=10_080,
        group="projects", unit="minutes", label="Look for work every",
        help="How often Jenny looks for a project that has been quiet and has a log.",
    ),
    Field(
        key=f"{_PRESET}.model", kind="text", default="", group="models", high=200,
        label="Model",
        help="The model's own name at its address, such as claude-sonnet-5-5 or qwen3:8b.",
    ),
    Field(
        key=f"{_PRESET}.baseUrl", kind="address", default="", group="models", high=500,
        nullable=True, label="Address",
        help="The server's address, such as http://localhost:11434 for Ollama. Empty: the "
        "environment's, or Anthropic's.",
    ),
    Field(
        key=f"{_PRESET}.maxTokens", kind="whole", default=None, low=1, high=1_000_000,
        nullable=True, group="models", unit="tokens", label="Longest reply",
        help="Empty: as for all models.",
    ),
    Field(
        key=f"{_PRESET}.temperature", kind="number", default=None, low=0, high=2, nullable=True,
        group="models", label="Temperature",
        help="Empty: as for all models.",
    ),
    Field(
        key=f"{_PRESET}.thinking", kind="choice", default="", group="models", nullable=True,
        label="Thinking",
        choices=(
            ("", "The model's own"),
            ("off", "Off"),
            ("low", "Low"),
            ("medium", "Medium"),
            ("high", "High"),
        ),
        help="How long the model may think before it answers, where it can.",
    ),
    Field(
        key=f"{_PRESET}.pictures", kind="choice", default="", group="models", nullable=True,
        label="Pictures",
        choices=(("", "Send them"), ("off", "Send only their paths")),
        help="Whether the model is shown the pictures of a message. One that refuses them is asked "
        "again without, and a note in the thread says so.",
    ),
    *(
        Field(
            key=f"{_PRESET}.{name}", kind="number", default=None, low=0, high=100_000,
            nullable=True, group="models", unit=_PRICE_UNIT, label=label,
            help="For the costs shown beside turns and runs. Empty: not known.",
        )
        for name, label in (
            ("inputPrice", "Price of input"),
            ("outputPrice", "Price of output"),
            ("cacheReadPrice", "Price of a cache read"),
            ("cacheWritePrice", "Price of a cache write"),
        )
    ),
    Field(
        key="snapshots.keepFor", kind="choice", default="forever", group="snapshots",
        label="Keep snapshots for",
        choices=(
            ("week", "One week"),
            ("month", "One month"),
            ("year", "One year"),
            ("forever", "For ever"),
        ),
        help="Snapshots older than this are deleted. "
        f"The newest {retention.NEWEST_SNAPSHOTS} always stay.",
    ),
    Field(
        key="privacy.pauseModelCalls", kind="switch", default=False, group="privacy",
        label="Pause all model calls",
        help="Nothing is sent to any model: no answers, titles, summaries or runs of Dream. "
        "What waits is kept and goes on when it is switched off.",
    ),
)  # fmt: skip

PRESET_FIELDS = {field.name: field for field in FIELDS if field.key.startswith(f"{_PRESET}.")}
BY_KEY = {field.key: field for field in FIELDS if "*" not in field.key}
# Key and former value of every default that was changed, the newest last. A file's defaultsVersion
# is the number of rows that it is past.
CHANGED_DEFAULTS: Sequence[tuple[str, Value]] = ()
