"""What the commands answer, as Markdown."""

from collections.abc import Callable
from datetime import tzinfo
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import Sum
from django.urls import reverse

from jenny.accounts.zones import zone
from jenny.chat import commands
from jenny.chat.meter import meter_of
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.tasks import accept
from jenny.chat.views import memory_replies
from jenny.chat.views.models_menu import presets_of
from jenny.workspace import config as workspace_config
from jenny.workspace.files import Actor
from memory import skills, versions
from memory.dream.prompting import guide
from memory.recalling import literal
from wikis import listing, names
from wikis.listing import NO_SCOPE

# /history: how many messages by default and at most, and characters of each.
SHOWN, MOST_SHOWN, EXCERPT = 10, 50, 200


def reply_to(chat: Conversation, call: commands.Call) -> str:
    """Carry out a command and say what came of it."""
    return _REPLIES[call.command.name](chat, call.argument)


def _help(_chat: Conversation, _argument: str) -> str:
    return commands.help_text()


def _stop(chat: Conversation, _argument: str) -> str:
    return "Stopped. What was written is kept." if accept.stop(chat) else "Nothing runs here."


def _compact(_chat: Conversation, _argument: str) -> str:
    return "Summarising what was said here…"


def _status(chat: Conversation, _argument: str) -> str:
    config = workspace_config.load(chat.workspace.root)
    sums = chat.turns.aggregate(
        plain=Sum("input_tokens"),
        read=Sum("cache_read_tokens"),
        written=Sum("cache_write_tokens"),
        out=Sum("output_tokens"),
        cost=Sum("cost"),
    )
    read = sums["read"] or 0
    tokens_in = (sums["plain"] or 0) + read + (sums["written"] or 0)
    cached = f" ({100 * read // tokens_in} % from the cache)" if read and tokens_in else ""
    meter = meter_of(chat, config)
    newest = chat.turns.exclude(model="").order_by("-pk").first()
    live = chat.turns.filter(state__in=Turn.LIVE).first()
    rows = [
        ("Version", settings.JENNY_VERSION),
        (
            "Model",
            f"{newest.model}{' (demo)' if newest.is_demo else ''}" if newest else "not used yet",
        ),
        ("Tokens", f"{tokens_in:,} in{cached}, {sums['out'] or 0:,} out"),
        (
            "Cost",
            f"${sums['cost']:.4f}" if sums["cost"] is not None else "the preset has no prices",
        ),
        ("Context", f"{meter.sentence} ({meter.percent} %)"),
        ("Messages", str(chat.messages.filter(kind__in=("user", "answer")).count())),
        (
            "Running",
            {"queued": "waits for a worker", "running": "an answer is being written"}.get(
                live.state, "nothing"
            )
            if live
            else "nothing",
        ),
    ]
    lines = [f"| {name} | {value} |" for name, value in rows]
    return "\n".join(["| What | Now |", "| --- | --- |", *lines])


def _model(chat: Conversation, argument: str) -> str:
    choices = presets_of(chat.workspace, chat)
    if not choices:
        return "No model presets are set. Add one in [Settings → Models](/settings/models/)."
    by_name = {choice.name.casefold(): choice for choice in choices}
    if argument:
        choice = by_name.get(argument.casefold())
        if choice is None:
            names = ", ".join(f"`{choice.name}`" for choice in choices)
            return f"There is no preset `{argument}`; nothing was changed. The presets are {names}."
        chat.preset = choice.name
        chat.save(update_fields=["preset"])
        return f"From the next message on, `{choice.label}` answers in this conversation."
    lines = [f"- `{c.name}`: {c.label}{' **(in use)**' if c.current else ''}" for c in choices]
    return "\n".join([*lines, "", "`/model name` chooses one for this conversation."])


def _history(chat: Conversation, argument: str) -> str:
    if argument and not (argument.isascii() and argument.isdecimal()):
        return f"`/history` takes a number from 1 to {MOST_SHOWN}, as in `/history 20`."
    count = max(1, min(int(argument or SHOWN), MOST_SHOWN))
    rows = chat.messages.filter(kind__in=(Message.Kind.USER, Message.Kind.ANSWER), is_current=True)
    newest = list(rows.prefetch_related("blocks").order_by("-pk")[:count])[::-1]
    if not newest:
        return "Nothing has been said here yet."
    lines = [f"The last {len(newest)} of {rows.count()} messages:", ""]
    for row in newest:
        said = row.text or " ".join(b.text for b in row.blocks.all() if b.kind == "text")
        said = " ".join(said.split())
        who = "You" if row.kind == Message.Kind.USER else "Jenny"
        excerpt = said[:EXCERPT] + ("…" if len(said) > EXCERPT else "")
        lines.append(f"- **{who}:** {_plain(excerpt) or '(no text)'}")
    return "\n".join(lines)


def _skill(chat: Conversation, _argument: str) -> str:
    found = skills.listing(chat.workspace.root)
    if not found:
        return "This workspace has no skills yet."
    waiting = {skill.name for skill in skills.waiting(chat.workspace.root)}
    rows = []
    for skill in found:
        row = f"- **{_plain(skill.name)}**: {_plain(skill.description)}"
        if skill.name in waiting:
            row += " (Dream wrote it to be read in every conversation; that waits for your yes)"
        if skill.suspect:
            row += f" (look at it: {_plain(skill.suspect)})"
        rows.append(row)
    return "\n".join(rows)


def _dream_log(chat: Conversation, argument: str) -> str:
    return versions.log_text(chat.workspace.root, argument, _zone(chat))


def _dream_restore(chat: Conversation, argument: str) -> str:
    return versions.restore_text(
        chat.workspace.root,
        argument,
        _zone(chat),
        account=chat.workspace.owner_id,
        back=lambda ids: reverse("chat:back", args=[chat.pk, ",".join(ids)]),
    )


def _dream_prompt(chat: Conversation, argument: str) -> str:
    root, owner = chat.workspace.root, chat.workspace.owner_id
    if not argument:
        return guide.told(root)
    if argument.lower() != "init":
        return "It is `/dream-prompt` to see what guides Dream, or `/dream-prompt init`."
    return guide.init(root, Actor("command", account=owner))


def _zone(chat: Conversation) -> tzinfo:
    """What times are shown in: the workspace's zone, or the person's."""
    own = workspace_config.load(chat.workspace.root).get("agents.defaults.timezone")
    return zone(own or chat.workspace.owner.time_zone)


def _plain(text: str) -> str:
    """*text* with what Markdown would read as its own made literal."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|~$!" else char for char in text)


def _project(chat: Conversation, argument: str) -> str:
    wikis = listing.listing(chat.workspace.root)
    if not wikis:
        return "There is no project yet. [Make one](/settings/projects/), and talk in it."
    if not argument:
        rows = [
            f"- [{literal(row.name)}]({_in_project(row.name)}): {literal(row.scope or NO_SCOPE)}"
            f"{' **(here)**' if row.name == chat.project else ''}"
            for row in wikis
        ]
        return "\n".join([*rows, "", "Each opens a new conversation inside that project."])
    twin = names.clash(argument, [row.name for row in wikis])
    if not twin:
        return (
            f"There is no project {literal(argument[:80])}. `/project` lists them; a new one is "
            "made in [Settings → Projects](/settings/projects/)."
        )
    newest = Conversation.objects.filter(workspace=chat.workspace, project=twin)
    found = newest.exclude(pk=chat.pk).order_by("-active_at").first()
    rows = [f"[Begin a conversation in {literal(twin)}]({_in_project(twin)})."]
    if found is not None:
        url = reverse("chat:conversation", args=[found.pk])
        rows.append(f"The last one there: [{literal(str(found))}]({url}).")
    return " ".join(rows)


def _in_project(name: str) -> str:
    return f"{reverse('chat:start')}?{urlencode({'project': name})}"


_REPLIES: dict[str, Callable[[Conversation, str], str]] = {
    "/help": _help,
    "/stop": _stop,
    "/compact": _compact,
    "/status": _status,
    "/model": _model,
    "/history": _history,
    "/remember": memory_replies.remember,
    "/forget": memory_replies.forget,
    "/recall": memory_replies.look_up,
    "/dream-log": _dream_log,
    "/dream-restore": _dream_restore,
    "/dream-prompt": _dream_prompt,
    "/skill": _skill,
    "/project": _project,
}
