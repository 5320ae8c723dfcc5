"""The kinds of run: which blocks each one's prompt has, and which tools.

The one place where this is decided. A block that a kind does not name is not read from disk for
it; a tool that it does not name cannot be called by it.
"""

from dataclasses import dataclass

# The blocks in the order of the prompt.
BLOCKS = (
    "identity",
    "title",
    "gardener",
    "garden",
    "project",
    "project_agents",
    "agents",
    "soul",
    "user",
    "rules",
    "memory",
    "wikis",
    "archive",
    "always_skills",
    "skills",
    "pending",
    "stored",
    "tools",
)

# Dream's prompt is put together by itself (``memory.dream.prompting.prompt``), of these.
DREAM_BLOCKS = (
    "dream_rules",
    "dream_guide",
    "dream_files",
    "dream_pins",
    "dream_skills",
    "dream_forgotten",
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


# What only runs in a project have.
_OF_PROJECTS = frozenset({"project", "project_agents"})
_EVERYWHERE = frozenset(BLOCKS) - _OF_PROJECTS - {"title", "gardener", "garden"}


@dataclass(frozen=True, slots=True)
class RunKind:
    """One kind of run. *feeds_history*: whether what is said in it may reach the memory;
    *rests*: whether it is summarised for having been idle; *actor*: as whom its tools write."""

    name: str
    blocks: frozenset[str] = frozenset()
    tools: tuple[str, ...] = ()
    feeds_history: bool = False
    rests: bool = False
    actor: str = "chat"


def _table(*kinds: RunKind) -> dict[str, RunKind]:
    for kind in kinds:
        if unknown := kind.blocks - {*BLOCKS, *DREAM_BLOCKS}:
            message = f"Run kind {kind.name} names unknown blocks: {sorted(unknown)}."
            raise ValueError(message)
    return {kind.name: kind for kind in kinds}


RUN_KINDS = _table(
    RunKind(
        "personal",
        blocks=_EVERYWHERE,
        tools=(*FILE_TOOLS, "recall", "remember", "forget", "python_exec"),
        feeds_history=True,
        rests=True,
    ),
    # Leaves no memory, until it is kept; it reads as every chat does.
    RunKind(
        "temporary",
        blocks=_EVERYWHERE,
        tools=(*FILE_TOOLS, "recall", "python_exec"),
        actor="temporary",
    ),
    # A conversation inside one wiki: the memory goes in, and nothing comes out of the folder.
    RunKind(
        "project",
        blocks=_OF_PROJECTS
        | {"identity", "soul", "user", "rules", "memory", "always_skills", "skills"}
        | {"pending", "stored", "tools"},
        tools=(*FILE_TOOLS, "list_pages", "add_page", "note", "read_skill", "python_exec"),
        rests=True,
        actor="project",
    ),
    # Makes pages of a project's log; it knows neither the person nor the memory.
    RunKind(
        "gardener",
        blocks=frozenset({"gardener", "garden", "project_agents"}),
        tools=(
            *("read_file", "grep", "list_pages", "edit_file", "apply_patch"),
            *("add_page", "add_open", "finish_tidying"),
        ),
        actor="gardener",
    ),
    RunKind("title", blocks=frozenset({"title"})),
    RunKind(
        "dream",
        blocks=frozenset(DREAM_BLOCKS),
        tools=("read_file", "edit_file", "apply_patch", "write_file", "move_entry", "finish"),
        actor="dream",
    ),
    # Part of a run of Dream, without its batch: it sees no history.
    RunKind(
        "review",
        blocks=frozenset(DREAM_BLOCKS),
        tools=("read_file", "edit_file", "apply_patch", "write_file", "move_entry", "finish"),
        actor="review",
    ),
)
