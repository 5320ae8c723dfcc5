"""The kinds of run: the prompt blocks, the tools, the label and the privacy text of each.

No other module decides this. A block that a kind does not name is not read from disk for it; a tool
that it does not name cannot be called by it.
"""

from dataclasses import dataclass

# The blocks in the order of the prompt: what changes seldom comes first, so that a provider's cache
# holds for as much of the prompt as possible. It holds up to the end of each group.
BLOCK_GROUPS = (
    (
        *("identity", "title", "gardener", "rules", "tools_off", "garden", "project"),
        *("project_agents", "soul", "agents", "always_skills", "skills"),
    ),
    ("user", "memory", "wikis", "archive"),
    ("coming_up", "pending", "stored"),
)
BLOCKS = tuple(name for group in BLOCK_GROUPS for name in group)

# Dream's prompt is built from these in ``memory.dream.prompt``.
DREAM_BLOCKS = (
    "dream_rules",
    "dream_guide",
    "dream_files",
    "dream_pins",
    "dream_skills",
    "dream_archive",
    "dream_snapshot",
)

FILE_TOOLS = (
    "read_file",
    "list_dir",
    "find_files",
    "grep",
    "write_file",
    "edit_file",
    "apply_patch",
)


# Only runs in a project have these.
_OF_PROJECTS = frozenset({"project", "project_agents"})
_EVERYWHERE = frozenset(BLOCKS) - _OF_PROJECTS - {"title", "gardener", "garden"}


@dataclass(frozen=True, slots=True)
class RunKind:
    """One kind of run.

    *feeds_history*: its messages may reach the memory; *rests*: it is summarised after an idle
    time; *actor*: its tools write as this actor.

    Usage is stored under *usage*, by default the kind's name. *label* names that usage on the
    pages, and *privacy* says what the model is sent. Kinds with the same usage have one label and
    one text, in the first of their rows.
    """

    name: str
    label: str = ""
    privacy: str = ""
    usage: str = ""
    blocks: frozenset[str] = frozenset()
    tools: tuple[str, ...] = ()
    feeds_history: bool = False
    rests: bool = False
    actor: str = "chat"

    @property
    def usage_name(self) -> str:
        return self.usage or self.name


def _table(*kinds: RunKind) -> dict[str, RunKind]:
    for kind in kinds:
        if unknown := kind.blocks - {*BLOCKS, *DREAM_BLOCKS}:
            message = f"Run kind {kind.name} names unknown blocks: {sorted(unknown)}."
            raise ValueError(message)
    return {kind.name: kind for kind in kinds}


_DREAM_TOOLS = ("read_file", "edit_file", "apply_patch", "write_file", "move_entry", "finish")

RUN_KINDS = _table(
    # The three kinds of conversation; their turns are counted as "chat".
    RunKind(
        "personal",
        usage="chat",
        label="Chat",
        privacy="Your message with its files (pictures scaled and without the place they were "
        "taken at, of texts what fits) and the conversation it stands in, SOUL.md, USER.md, "
        "AGENTS.md and "
        "memory/MEMORY.md whole, what the history holds that Dream has not read, the skills, and "
        "whatever Jenny's tools read on the way: files of this workspace, passages of earlier "
        "conversations that fit, results of Python. In a "
        "project, its pages in place of your memory.",
        blocks=_EVERYWHERE,
        tools=(*FILE_TOOLS, "recall", "search_chats", "remember", "forget", "plot", "python_exec"),
        feeds_history=True,
        rests=True,
    ),
    # Leaves no memory unless the user keeps it; its prompt is that of every chat.
    RunKind(
        "temporary",
        usage="chat",
        blocks=_EVERYWHERE,
        tools=(*FILE_TOOLS, "recall", "plot", "python_exec"),
        actor="temporary",
    ),
    # A conversation inside one wiki: it reads the memory, and nothing of it leaves the folder.
    RunKind(
        "project",
        usage="chat",
        blocks=_OF_PROJECTS
        | {"identity", "soul", "user", "rules", "memory", "always_skills", "skills"}
        | {"coming_up", "pending", "stored", "tools_off"},
        tools=(*FILE_TOOLS, "list_pages", "add_page", "note", "read_skill", "plot", "python_exec"),
        rests=True,
        actor="project",
    ),
    RunKind(
        "title",
        label="Titles",
        privacy="The first message of a conversation and its answer, 2,000 characters of each.",
        blocks=frozenset({"title"}),
    ),
    # Its prompt is built in ``memory.history.consolidator``; it has no tools.
    RunKind(
        "summary",
        label="Summaries",
        privacy="What was said and is not summarised yet, secrets taken out, and what is recorded "
        "already, so that it is not recorded twice.",
    ),
    RunKind(
        "dream",
        label="Dream",
        privacy="Summaries that it has not read yet, the three memory files, the list of skills, "
        "and the archived lines that it looks up.",
        blocks=frozenset(DREAM_BLOCKS),
        tools=_DREAM_TOOLS,
        actor="dream",
    ),
    # A pass inside a Dream run, without its batch: it sees no history.
    RunKind(
        "review",
        label="Clean-up of memory files",
        privacy="What Dream is sent, without the summaries.",
        blocks=frozenset(DREAM_BLOCKS),
        tools=_DREAM_TOOLS,
        actor="review",
    ),
    RunKind(
        "rehearsal",
        label="Previews of an update",
        privacy="The same as Dream.",
        blocks=frozenset(DREAM_BLOCKS),
        tools=_DREAM_TOOLS,
        actor="dream",
    ),
    # Makes pages of a project's log; it knows neither the person nor the memory.
    RunKind(
        "gardener",
        label="Tidying of projects",
        privacy="The new lines of a project's log, and the pages of that project that it reads.",
        blocks=frozenset({"gardener", "garden", "project_agents"}),
        tools=(
            *("read_file", "grep", "list_pages", "edit_file", "apply_patch"),
            *("add_page", "add_open", "finish_tidying"),
        ),
        actor="gardener",
    ),
    RunKind(
        "test",
        label="Tests of a connection",
        privacy="One fixed sentence, “Answer with the one word: hello.”, and a white picture.",
    ),
)

# The rows with a label and a privacy text by the name of their usage, in the order of the pages.
USAGE_KINDS = {kind.usage_name: kind for kind in RUN_KINDS.values() if kind.label}


def usage_label(name: str) -> str:
    """Return the label of a kind in stored usage; a newer version may have stored other kinds."""
    known = USAGE_KINDS.get(name)
    return known.label if known else name.replace("_", " ").capitalize()
