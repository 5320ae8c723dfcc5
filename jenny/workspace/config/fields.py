"""Every setting of ``config.json``, in the order of the pages. Settings and docs are made of this.

Raising a default here does not reach a file that says something else; that takes a migration
(``document.MIGRATIONS``).
"""

from jenny.workspace.config.kinds import Field

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
        help="The preset, or the model's own name, that new conversations use. "
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
        group="conversation", unit="minutes", label="Summarise when idle",
        help="After this long without activity a conversation is summarised into history, "
        "which is what Dream reads. 0 turns it off.",
    ),
    Field(
        key=f"{_D}.maxMessages", kind="whole", default=120, low=2, high=10_000,
        group="conversation", unit="messages", label="Messages in context",
        help="The most messages the model is shown; older ones are summarised first.",
    ),
    Field(
        key=f"{_D}.consolidationRatio", kind="number", default=0.5, low=0.1, high=0.95,
        group="conversation", label="Size after summarising",
        help="What part of the room for a conversation is left filled when it had to be "
        "summarised. Lower: more is summarised at once, and less often.",
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
        key=f"{_DREAM}.enabled", kind="switch", default=True, group="memory",
        label="Periodic consolidation",
        help="Whether Dream runs by itself. It can always be started by hand.",
    ),
    Field(
        key=f"{_DREAM}.intervalH", kind="whole", default=2, low=1, high=8_760,
        group="memory", unit="hours", label="Hours between runs",
        help="How often Dream runs. A run missed while the app was down is made up for once.",
    ),
    Field(
        key=f"{_DREAM}.cron", kind="cron", default="", group="memory", nullable=True,
        label="Schedule (cron)",
        help="Exact times instead of an interval, in the workspace's time zone. "
        "Empty: the interval counts.",
    ),
    Field(
        key=f"{_DREAM}.modelOverride", kind="preset", default="", group="memory", nullable=True,
        high=64, label="Model for Dream",
        help="A model preset that Dream uses instead of the main model. Empty: the main model.",
    ),
    Field(
        key=f"{_DREAM}.memoryBudgetChars", kind="whole", default=3_000, low=0, high=1_000_000,
        group="memory", unit="characters", label="Budget of MEMORY.md",
        help="Dream's writes that push memory/MEMORY.md further over this are refused. "
        "It bounds what Dream writes, not what a turn reads. 0: measured, never refused.",
    ),
    Field(
        key=f"{_DREAM}.userBudgetChars", kind="whole", default=3_000, low=0, high=1_000_000,
        group="memory", unit="characters", label="Budget of USER.md",
        help="The same for USER.md.",
    ),
    Field(
        key=f"{_DREAM}.soulBudgetChars", kind="whole", default=0, low=0, high=1_000_000,
        group="memory", unit="characters", label="Budget of SOUL.md",
        help="The same for SOUL.md; 0 on purpose, since a size cannot tell identity from clutter.",
    ),
    Field(
        key=f"{_DREAM}.reviewEveryRuns", kind="whole", default=12, low=1, high=10_000,
        group="memory", unit="runs", confirm_below=12, label="Review every",
        help="Every how many runs a review pass makes the files smaller. "
        "Below 12 the passes start meeting each other, so it asks you to confirm.",
    ),
    Field(
        key=f"{_DREAM}.approve", kind="choice", default="off", group="memory",
        label="Approval",
        choices=(
            ("off", "Dream writes by itself"),
            ("removals", "Removals wait for you"),
            ("all", "Everything waits for you"),
        ),
        help="What Dream writes waits until you accept it, change by change, under Memory → "
        "Approvals. Chats are shown it meanwhile, marked.",
    ),
    Field(
        key=f"{_DREAM}.maxTokensPerRun", kind="whole", default=1_000_000, low=0,
        high=1_000_000_000, group="memory", unit="tokens", label="Tokens a run",
        help="A run that needs more is ended and says so. 0: no limit.",
    ),
    Field(
        key=f"{_DREAM}.maxTokensPerDay", kind="whole", default=5_000_000, low=0,
        high=1_000_000_000, group="memory", unit="tokens", label="Tokens a day",
        help="When all runs of a day have used this many, the next waits until tomorrow. "
        "0: no limit.",
    ),
    Field(
        key=f"{_DREAM}.maxSecondsPerRun", kind="whole", default=1_200, low=10, high=86_400,
        group="memory", unit="seconds", label="Seconds a run",
        help="A run that takes longer is ended and says so.",
    ),
    Field(
        key=f"{_DREAM}.maxStepsPerRun", kind="whole", default=80, low=1, high=10_000,
        group="memory", unit="steps", label="Steps a run",
        help="The most requests to the model in one run.",
    ),
    Field(
        key=f"{_D}.gardener.enabled", kind="switch", default=False, group="projects",
        label="Tidy projects by themselves",
        help="Whether the gardener turns a project's log into pages by itself.",
    ),
    Field(
        key=f"{_D}.gardener.intervalMinutes", kind="whole", default=30, low=1, high=10_080,
        group="projects", unit="minutes", label="Look for work every",
        help="How often the gardener looks for a project that has been quiet and has a log.",
    ),
    Field(
        key=f"{_PRESET}.model", kind="text", default="", group="models", high=200,
        label="Model",
        help="The model's own name at its address, such as claude-sonnet-5-5 or qwen3:8b.",
    ),
    Field(
        key=f"{_PRESET}.baseUrl", kind="address", default="", group="models", high=500,
        nullable=True, label="Address",
        help="A server that speaks the Messages API. Empty: the environment's, or Anthropic's.",
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
        help="Snapshots older than this are deleted. The newest 20 always stay.",
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
