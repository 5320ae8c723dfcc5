"""``approvals``: lists Dream's pending changes and decides on them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.models import Workspace
from jenny.accounts.services.json_command import (
    JSONCommand,
    before_and_after_the_verb,
    workspace_called,
)
from jenny.workspace.errors import WorkspaceError
from memory.approvals.values import DecisionOutcome, Hunk, LargePruneNotice
from memory.services import approvals
from memory.skills import Skill

type Answer = dict[str, Any]

_KIND = "command"
_SHOWN = 20


class Command(JSONCommand):
    help = (
        "Changes of Dream's that wait for you (Settings → Memory updates → Ask me first): list "
        "them, accept or reject them by their numbers. Also skills that ask to be read in every "
        "conversation, and runs that took much out of a file."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        both = before_and_after_the_verb(parser)
        verbs = parser.add_subparsers(dest="verb", required=True)

        verb = verbs.add_parser("list", parents=[both], help="list what waits")
        verb.add_argument("--run", type=int, metavar="N", help="only what this run proposed")
        verb.add_argument("--decided", action="store_true", help="what was decided instead")

        verb = verbs.add_parser("accept", parents=[both], help="write changes to their files")
        _which(verb)
        verb.add_argument("--text", "--edit", metavar="TEXT", help="write these words instead")
        verb.add_argument(
            "--over",
            action="store_true",
            help="of a change whose place has changed: put it in the place of what stands there",
        )
        verb.add_argument(
            "--after-all",
            action="store_true",
            help="also what was forgotten since: Jenny may know it again",
        )

        verb = verbs.add_parser("reject", parents=[both], help="leave changes unwritten")
        _which(verb)
        verb.add_argument(
            "--never", action="store_true", help="never store this: it is noted as forgotten"
        )

        verb = verbs.add_parser("skills", parents=[both], help="skills that ask for your yes")
        verb.add_argument("--agree", metavar="NAME", help="let this one be read always, as it is")
        verb.add_argument("--withdraw", metavar="NAME", help="take the yes back")

        verb = verbs.add_parser("prunes", parents=[both], help="runs that took much out of a file")
        verb.add_argument("--bring-back", type=int, metavar="RUN", help="bring all of it back")
        verb.add_argument("--dismiss", type=int, metavar="RUN", help="leave it out")

    def answer(self, **options: Any) -> Answer:
        """Run the subcommand.

        Raises:
        CommandError: something was not done."""
        workspace = workspace_called(options["workspace"])
        try:
            return VERBS[options["verb"]](workspace, options)
        except WorkspaceError as error:
            raise CommandError(error.message) from error


def _which(verb: CommandParser) -> None:
    verb.add_argument("number", nargs="*", type=int, help="the change's number, from list")
    verb.add_argument("--all", action="store_true", help="all that wait")
    verb.add_argument("--run", type=int, metavar="N", help="all that this run proposed")


def _list(workspace: Workspace, options: Answer) -> Answer:
    look = approvals.decided if options["decided"] else approvals.waiting
    rows = look(workspace, run_id=options["run"])
    sentence = "\n\n".join(map(_told, rows)) or "Nothing waits for approval."
    if options["decided"] and not rows:
        sentence = "Nothing was decided."
    return {"message": sentence, "hunks": [_facts(row) for row in rows]}


def _accept(workspace: Workspace, options: Answer) -> Answer:
    text, owner = options["text"], workspace.owner
    numbers = _numbers(workspace, options)
    if text is not None and len(options["number"]) != 1:
        message = "Words of your own (--text) are for one change: name its number."
        raise CommandError(message)

    if options["after_all"]:
        return _each(
            numbers,
            lambda number: approvals.remember_after_all(
                workspace, number, account=owner, kind=_KIND
            ),
        )
    if not options["number"] and not options["over"]:
        made = approvals.accept_all(workspace, account=owner, run_id=options["run"], kind=_KIND)
        return _told_of(
            list(zip([row.hunk.id if row.hunk else 0 for row in made], made, strict=True))
        )

    def accept(number: int) -> DecisionOutcome:
        hunk = approvals.find(workspace, number)
        seen = hunk.now if hunk is not None and options["over"] else None
        return approvals.accept_hunk(
            workspace, number, account=owner, text=text, seen=seen, kind=_KIND
        )

    return _each(numbers, accept)


def _reject(workspace: Workspace, options: Answer) -> Answer:
    decide = approvals.suppress if options["never"] else approvals.reject_hunk
    owner = workspace.owner
    return _each(
        _numbers(workspace, options),
        lambda number: decide(workspace, number, account=owner, kind=_KIND),
    )


def _numbers(workspace: Workspace, options: Answer) -> list[int]:
    """Return the numbers of the changes that are meant; those that make room come first."""
    given, run = list(dict.fromkeys(options["number"])), options["run"]
    if bool(given) + bool(options["all"]) + (run is not None) != 1:
        message = "Say which changes: their numbers, --all, or --run N. Nothing was done."
        raise CommandError(message)
    if given:
        return given
    rows = approvals.waiting(workspace, run_id=run)
    return [row.id for row in sorted(rows, key=lambda row: len(row.after) - len(row.before))]


def _each(numbers: Sequence[int], decide: Callable[[int], DecisionOutcome]) -> Answer:
    return _told_of([(number, decide(number)) for number in numbers])


def _told_of(outcomes: Sequence[tuple[int, DecisionOutcome]]) -> Answer:
    """Describe the decisions.

    Raises:
        CommandError: one of them could not be applied.
    """
    lines = [f"{number}: {made.message}" for number, made in outcomes]
    sentence = "\n".join(lines) or "Nothing waits for approval."
    if not all(made.ok for _, made in outcomes):
        raise CommandError(sentence)
    return {
        "message": sentence,
        "outcomes": [
            {"number": number, "message": made.message, "offered": list(made.offered)}
            for number, made in outcomes
        ],
    }


def _skills(workspace: Workspace, options: Answer) -> Answer:
    owner = workspace.owner
    rows = approvals.skills_waiting(workspace)
    if name := options["withdraw"]:
        path = f"skills/{name}/SKILL.md"
        return _one(approvals.withdraw_skill(workspace, path, account=owner, kind=_KIND))
    if name := options["agree"]:
        found = next((row for row in rows if row.name == name), None)
        if found is None:
            message = f"No skill called {name} waits to be allowed. Nothing was done."
            raise CommandError(message)
        return _one(
            approvals.approve_skill(workspace, found.path, found.version, account=owner, kind=_KIND)
        )
    sentence = "\n".join(f"{row.name}: {row.description} — {row.path}" for row in rows)
    return {
        "message": sentence or "No skill waits to be allowed.",
        "skills": [_skill_facts(row) for row in rows],
    }


def _prunes(workspace: Workspace, options: Answer) -> Answer:
    owner = workspace.owner
    if (run := options["bring_back"]) is not None:
        return _one(approvals.bring_all_back(workspace, run, account=owner, kind=_KIND))
    if (run := options["dismiss"]) is not None:
        return _one(approvals.dismiss(workspace, run, account=owner, kind=_KIND))
    rows = approvals.large_prunes(workspace)
    sentence = "\n\n".join(map(_prune_told, rows)) or "No run took much out of a file."
    return {"message": sentence, "prunes": [asdict(row) for row in rows]}


def _one(made: DecisionOutcome) -> Answer:
    if not made.ok:
        raise CommandError(made.message)
    return {"message": made.message}


def _told(hunk: Hunk) -> str:
    """Describe a change in a few lines."""
    run = f", run {hunk.run_id}" if hunk.run_id else ""
    rests = f", entries {', '.join(map(str, hunk.sources))}" if hunk.sources else ""
    lines = [f"{hunk.id}  {hunk.path}  {hunk.state}{run}{rests}"]
    if hunk.why:
        lines.append(f"  {hunk.why}")
    lines += [f"  - {line}" for line in hunk.before.splitlines()[:_SHOWN]]
    lines += [f"  + {line}" for line in hunk.after.splitlines()[:_SHOWN]]
    lines += [f"  = {line}" for line in hunk.now.splitlines()[:_SHOWN]]
    return "\n".join(lines)


def _facts(hunk: Hunk) -> Answer:
    stamps = {"staged_at": hunk.staged_at, "decided_at": hunk.decided_at}
    return asdict(hunk) | {key: at.isoformat() if at else None for key, at in stamps.items()}


def _skill_facts(row: Skill) -> Answer:
    names = ("name", "description", "path", "version", "text")
    return {name: getattr(row, name) for name in names}


def _prune_told(row: LargePruneNotice) -> str:
    lines = [
        f"  {line.archive_id or '-'}  {' '.join(line.text.split())[:160]}" for line in row.lines
    ]
    back = f"manage.py approvals prunes --bring-back {row.run_id}"
    return "\n".join([row.message, *lines, f"  All of it comes back with: {back}"])


VERBS: dict[str, Callable[[Workspace, Answer], Answer]] = {
    "list": _list,
    "accept": _accept,
    "reject": _reject,
    "skills": _skills,
    "prunes": _prunes,
}
