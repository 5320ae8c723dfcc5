"""Builds the replies of slash commands, as Markdown: one function for each command.

``/dream`` is answered at once, and again when the run's outcome is known. The row of the run names
the conversation in *asker*. The outcome's key makes it one message, however often it is reported.
"""

import contextlib
from collections.abc import Sequence
from datetime import tzinfo
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Sum
from django.urls import reverse

from jenny.accounts.services.usage import why_calls_wait
from jenny.agent.clock import zone_of
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.services import consolidation, send_message
from jenny.chat.services.context_window import meter_of
from jenny.chat.services.model_menu import presets_of
from jenny.chat.services.publish import Publisher
from jenny.chat.services.search import passage_url, search_for
from jenny.text_normalisation import fold
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor
from memory import archive, dream_guide, notes, recall, skills, suppression, versions
from memory.dream import report
from memory.errors import NotForgotten
from memory.models import DreamRun
from memory.notes import About
from memory.recall import escape_text
from memory.services import dream_runs, dream_scheduler
from wikis import names, wikis_block
from wikis.wikis_block import NO_SCOPE

# /history: number of messages by default and at most, and characters of each.
SHOWN, MOST_SHOWN, EXCERPT = 10, 50, 200
# Lines quoted in a reply to /forget, and archived texts shown without a query.
_QUOTED, _NEWEST = 12, 10
_TEMPORARY = (
    "This is a temporary chat, which leaves no memory: nothing was changed. Keep the chat with the "
    "button beside the field, or say it in another conversation."
)


def stop_answer(chat: Conversation, _argument: str) -> str:
    return (
        "Stopped. What was written is kept."
        if send_message.stop_turn(chat)
        else "Nothing runs here."
    )


def show_status(chat: Conversation, _argument: str) -> str:
    config = workspace_config.load_config(chat.workspace.root)
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
            f"${sums['cost']:.4f}"
            if sums["cost"] is not None
            else "not known: this model has no prices",
        ),
        ("Context", f"{meter.message} ({meter.percent} %)"),
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


def choose_model(chat: Conversation, argument: str) -> str:
    choices = presets_of(chat.workspace, chat)
    if not choices:
        return "No models are set. Add one in [Settings → Models](/settings/models/)."
    by_name = {fold(choice.name): choice for choice in choices}
    if argument:
        choice = by_name.get(fold(argument))
        if choice is None:
            names = ", ".join(f"`{choice.name}`" for choice in choices)
            return f"There is no model `{argument}`; nothing was changed. The models are {names}."
        chat.preset = choice.name
        chat.save(update_fields=["preset"])
        return f"From the next message on, `{choice.label}` answers in this conversation."
    lines = [f"- `{c.name}`: {c.label}{' **(in use)**' if c.current else ''}" for c in choices]
    return "\n".join([*lines, "", "`/model name` chooses one for this conversation."])


def show_history(chat: Conversation, argument: str) -> str:
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


def list_skills(chat: Conversation, _argument: str) -> str:
    found = skills.listing(chat.workspace.root)
    if not found:
        return "This workspace has no skills yet."
    waiting = {skill.name for skill in skills.waiting(chat.workspace.root)}
    rows = []
    for skill in found:
        row = f"- **{_plain(skill.name)}**: {_plain(skill.description)}"
        if skill.name in waiting:
            row += " (it is to be read in every chat: [allow that first](/settings/skills/))"
        if skill.suspect:
            row += f" (look at it: {_plain(skill.suspect)})"
        rows.append(row)
    return "\n".join(rows)


def show_dream_log(chat: Conversation, argument: str) -> str:
    return versions.log_text(chat.workspace.root, argument, _zone(chat))


def restore_dream_version(chat: Conversation, argument: str) -> str:
    return versions.restore_text(
        chat.workspace.root,
        argument,
        _zone(chat),
        account=chat.workspace.owner_id,
        back=lambda ids: reverse("chat:back", args=[chat.pk, ",".join(ids)]),
    )


def show_dream_prompt(chat: Conversation, argument: str) -> str:
    root, owner = chat.workspace.root, chat.workspace.owner_id
    if not argument:
        return dream_guide.guide_status(root)
    if argument.lower() != "init":
        return "It is `/dream-prompt` to see what guides Dream, or `/dream-prompt init`."
    return dream_guide.create_guide(root, Actor("command", account=owner))


def _zone(chat: Conversation) -> tzinfo:
    """Return the zone for times: the workspace's, or the person's."""
    own = workspace_config.load_config(chat.workspace.root).agents.defaults.timezone
    return zone_of(own or chat.workspace.owner.time_zone)


def _plain(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|~$!" else char for char in text)


def list_projects(chat: Conversation, argument: str) -> str:
    wikis = wikis_block.listing(chat.workspace.root)
    if not wikis:
        return "There is no project yet. [Make one](/settings/projects/), and talk in it."
    if not argument:
        rows = [
            f"- [{escape_text(row.name)}]({_in_project(row.name)}): "
            f"{escape_text(row.scope or NO_SCOPE)}"
            f"{' **(here)**' if row.name == chat.project else ''}"
            for row in wikis
        ]
        return "\n".join([*rows, "", "Each opens a new conversation inside that project."])
    twin = names.clash(argument, [row.name for row in wikis])
    if not twin:
        return (
            f"There is no project {escape_text(argument[:80])}. `/project` lists them; a new one "
            "is made in [Settings → Projects](/settings/projects/)."
        )
    newest = Conversation.objects.filter(workspace=chat.workspace, project=twin)
    found = newest.exclude(pk=chat.pk).order_by("-active_at").first()
    rows = [f"[Begin a conversation in {escape_text(twin)}]({_in_project(twin)})."]
    if found is not None:
        url = reverse("chat:conversation", args=[found.pk])
        rows.append(f"The last one there: [{escape_text(str(found))}]({url}).")
    return " ".join(rows)


def export(chat: Conversation, _argument: str) -> str:
    names = {"md": "Markdown", "html": "HTML", "json": "JSON"}
    links = [
        f"[{name}]({reverse('chat:export', args=[chat.pk, ending])})"
        for ending, name in names.items()
    ]
    every = reverse("chat:all")
    return (
        f"Save this conversation as {links[0]}, {links[1]} or {links[2]}. "
        f"[All conversations]({every}) are saved on their page."
    )


def _in_project(name: str) -> str:
    return f"{reverse('chat:start')}?{urlencode({'project': name})}"


def remember(chat: Conversation, argument: str) -> str:
    if not chat.feeds_history:
        return _TEMPORARY
    if not argument:
        return "Say what is to be remembered, as in `/remember I am allergic to nuts`."
    owner = chat.workspace.owner
    try:
        about = About(str(chat.pk))
        done = notes.remember(
            chat.workspace.root, argument, about, zone=owner.time_zone, by_person=True
        )
    except WorkspaceError as error:
        return escape_text(error.message)
    page = reverse("chat:entry", args=[done.entry.cursor])
    secrets = ", ".join(hit.kind for hit in done.secrets)
    left_out = f" A secret was left out of it: {escape_text(secrets)}." if secrets else ""
    note = notes.quote_note(escape_text(notes.note_text(done.entry)))
    return f"Remembered: {note} All chats know it now ([details]({page})).{left_out}"


def forget(chat: Conversation, argument: str) -> str:
    """Suppress the text in the memory and return a reply with a link to undo it."""
    if not chat.feeds_history:
        return _TEMPORARY
    if not argument:
        return "Say what is to be forgotten, as in `/forget I live in Bern`."
    actor = Actor("command", account=chat.workspace.owner_id, reason="forgotten")
    try:
        done = suppression.forget(chat.workspace.root, argument, actor)
    except NotForgotten as error:
        if not error.lines:
            return escape_text(error.message)
        return _which_lines(error.lines, suppression.choice_page(argument, f"chat {chat.pk}"))
    except WorkspaceError as error:
        return escape_text(error.message)
    lines = [
        f"- {escape_text(row.path)}: {escape_text(suppression.describe(row))}" for row in done.lines
    ]
    more = [f"- and {len(lines) - _QUOTED} more"] if len(lines) > _QUOTED else []
    reply_lines = [escape_text(done.message), "", *lines[:_QUOTED], *more]
    if done.undo:
        undo = reverse("chat:back", args=[chat.pk, ",".join(done.undo[:_QUOTED])])
        reply_lines += ["", f"[Undo]({undo})"]
    return "\n".join(reply_lines)


def _which_lines(lines: Sequence[suppression.ForgettableLine], page: str) -> str:
    """Name the lines that may be meant, with the page on which they are ticked."""
    named = [
        f"- {escape_text(row.path)}: {escape_text(suppression.describe(row))}" for row in lines
    ]
    more = [f"- and {len(named) - _QUOTED} more"] if len(named) > _QUOTED else []
    said = (
        "Nothing was forgotten yet: this line says more than that."
        if len(lines) == 1
        else f"Nothing was forgotten yet: this stands in {len(lines)} lines."
    )
    choose = f"[Choose what to forget…]({page})"
    return "\n".join([said, "", *named[:_QUOTED], *more, "", choose])


def recall_facts(chat: Conversation, argument: str) -> str:
    """Find what was said or written before, each passage with a link to its place."""
    root = chat.workspace.root
    try:
        if argument:
            found = recall.recall(root, argument, search_for(chat))
        else:
            rows = archive.removed(root)
            kept = [row for row in rows if suppression.match(root, row.as_fact) is None][:_NEWEST]
            shown = tuple(map(recall.found_in_archive, kept))
            found = recall.Recalled(shown, standing=archive.standing(root, kept))
            if not kept:
                return (
                    "Nothing has left the memory files yet. `/recall words` looks through what "
                    "was said, too."
                )
    except WorkspaceError as error:
        return escape_text(error.message)
    return recall.format_markdown(found, lambda row: _recall_link(chat, row))


def _recall_link(chat: Conversation, row: recall.FoundPassage) -> str:
    """Return where a passage can be read; for an archived fact, where it can be brought back."""
    if row.fact is not None:
        return reverse("chat:back", args=[chat.pk, row.fact.id])
    return passage_url(row)


# Marks a run that a conversation asked for: ``chat:<conversation>:<message of the reply>``.
_ASKER_PREFIX = "chat"
_DREAM = "/dream"


def run_dream(
    chat: Conversation, argument: str, client_key: str = "", /, *, in_process: bool = False
) -> str:
    """Answer ``/dream``, and enqueue the run or execute it *in_process*, after a summary of what
    was just said.

    Returns the last sentence that is known by then. The same *client_key* twice is one command.
    """
    run, message = _begin_dream_run(chat, argument, client_key)
    if run is None:
        return message
    if not in_process:
        consolidation.enqueue_update(run.pk)
        return report.BEGUN
    consolidation.summarise_open_conversations(run)
    dream_runs.execute_run(run.pk)
    return dream_runs.outcome_of(run).full_message


def post_outcome(asker: str, message: str, **_: object) -> None:
    """Post the outcome of a run in the conversation that asked for it, if one did."""
    if asker.partition(":")[0] != _ASKER_PREFIX:
        return
    _kind, conversation, reply = asker.split(":")
    for chat in Conversation.objects.select_related("workspace").filter(pk=conversation):
        _post_reply(chat, message, f"dream:{reply}")


def announce(workspace: str, key: str, message: str, **_: object) -> None:
    """Post a notice in the conversation that was active last."""
    rows = Conversation.objects.filter(workspace=UUID(workspace), kind=Conversation.Kind.PERSONAL)
    newest = rows.select_related("workspace").order_by("-active_at").first()
    if newest is not None:
        _post_reply(newest, message, key)


def _begin_dream_run(
    chat: Conversation, argument: str, client_key: str
) -> tuple[DreamRun | None, str]:
    """Return the started run, or the sentence that says why there is none."""
    if argument:
        typed = f"{_DREAM} {argument}"
        send_message.accept_command(chat, typed, report.NO_ARGUMENT, client_key)
        return None, report.NO_ARGUMENT
    if reason := report.waits(why_calls_wait(chat.workspace)):
        send_message.accept_command(chat, _DREAM, reason, client_key)
        return None, reason
    run = None
    try:
        # One transaction, so that "Dreaming…" never appears without a run that reports its outcome.
        with transaction.atomic():
            command = send_message.add_message(chat, Message.Kind.COMMAND, _DREAM, client_key)
            reply = send_message.add_message(chat, Message.Kind.REPLY, report.BEGUN)
            asker = f"{_ASKER_PREFIX}:{chat.pk}:{reply.pk}"
            run = DreamRun.begin(chat.workspace, "manual", asker)
    except IntegrityError:
        return None, report.IS_RUNNING  # a repeated form, answered the first time
    publisher = Publisher(chat)
    publisher.message(command)
    publisher.message(reply)
    if run is not None:
        return run, ""
    asked = dream_scheduler.start_run(chat.workspace, "manual", asker)
    if asked.run is None:
        _post_reply(chat, asked.message, f"dream:{reply.pk}")
    return asked.run, asked.message


def _post_reply(chat: Conversation, sentence: str, key: str) -> None:
    with contextlib.suppress(IntegrityError):
        message = send_message.add_message(chat, Message.Kind.REPLY, sentence, key[:64])
        Publisher(chat).message(message)
