"""A command that answers in words or, with ``--json``, as one JSON object.

Its exit code is 0 only when it did what it was asked.
"""

import argparse
import getpass
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from jenny.accounts.errors import AccountError, UnknownZone
from jenny.accounts.models import Account, Workspace
from jenny.accounts.services import first_run
from jenny.agent import clock
from jenny.workspace.errors import WorkspaceError, reason_of


class JSONCommand(BaseCommand):
    """Subclasses implement ``answer``: it returns what ``--json`` prints, with a ``message``."""

    requires_migrations_checks = False
    # False: the command creates and migrates no database before it knows that it needs one.
    needs_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--json",
            action="store_true",
            dest="as_json",
            help="answer as one JSON object",
        )

    def answer(self, **options: Any) -> dict[str, Any]:
        """Run the command. :raises AccountError, CommandError: it was not done, and why."""
        raise NotImplementedError

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            if self.needs_database:
                prepare_database(self.stderr.write)
            result = self.answer(**options)
            said = json.dumps({"ok": True, **result}) if options["as_json"] else result["message"]
            self.stdout.write(said)
            self.stdout.flush()
        except BrokenPipeError:
            # The reader has closed the pipe; without this Python would complain again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except _REFUSALS as error:
            message = refusal_sentence(error)
            if not options["as_json"]:
                raise CommandError(message) from error
            self.stdout.write(json.dumps({"ok": False, "error": message}))
            sys.exit(1)


_REFUSALS = (AccountError, CommandError, WorkspaceError, DatabaseError, OSError)


def refusal_sentence(error: Exception) -> str:
    """Return why a command failed: the product's sentence, or the disk's or database's error."""
    if isinstance(error, WorkspaceError):
        return error.message
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return (
            f"The command was not carried out: {reason_of(error)}{where}. What it had begun is "
            "taken back or settled by whatever runs next. See to that, then run it again."
        )
    if isinstance(error, DatabaseError):
        return (
            f"The command was not carried out, since the database cannot be used: {error}. "
            "See to that, then run it again."
        )
    return str(error)


def before_and_after_the_verb(parser: CommandParser) -> CommandParser:
    """Add ``--workspace`` to a command with verbs; return the parent parser of its verbs.

    It allows ``--workspace`` and ``--json`` after the verb, too.
    """
    parser.add_argument("--workspace", default="", metavar="SLUG", help="which workspace")
    both = CommandParser(add_help=False)
    # When missing after the verb, they keep the value from before it.
    both.add_argument(
        "--json",
        action="store_true",
        dest="as_json",
        default=argparse.SUPPRESS,
        help="answer as one JSON object",
    )
    both.add_argument(
        "--workspace", default=argparse.SUPPRESS, metavar="SLUG", help="which workspace"
    )
    return both


type Say = Callable[[str], None]


class Preparation:
    """Brings the database to this version's tables; ``jenny.apps`` sets the function."""

    prepare: Callable[[Say], None]


def prepare_database(say: Say) -> None:
    """Create or migrate the database when needed, as ``up`` does."""
    try:
        executor = MigrationExecutor(connection)
        if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return
    except DatabaseError as error:
        message = f"The database cannot be used: {error}"
        raise CommandError(message) from error
    Preparation.prepare(say)


def zone_name_of(given: str) -> str:
    """Return the name of the zone: as *given*, the operator's, or UTC.

    :raises UnknownZone: no zone has that name.
    """
    name = given or settings.JENNY_TIME_ZONE or "UTC"
    if name not in clock.zone_names():
        raise UnknownZone(name)
    return name


def username_of(given: str) -> str:
    """Return a valid account name as it will be stored.

    :raises CommandError: no account may be called that.
    """
    name = Account.normalize_username(given.strip())
    try:
        Account(username=name).clean_fields(exclude=["password", "current_workspace"])
    except ValidationError as error:
        message = f"{given!r} cannot be a user name. {' '.join(error.messages)}"
        raise CommandError(message) from error
    return name


def account_called(name: str) -> Account:
    """Return the account of that name. :raises CommandError: there is none."""
    try:
        return Account.objects.get_by_natural_key(name.strip())
    except Account.DoesNotExist as error:
        message = f"There is no account called {name}."
        raise CommandError(message) from error


def workspace_called(slug: str) -> Workspace:
    """Return the workspace of that slug; without a slug the only workspace.

    :raises CommandError: there is none, or there are several to choose from.
    """
    found = list(Workspace.objects.filter(slug=slug) if slug else Workspace.objects.all()[:20])
    if len(found) == 1:
        return found[0]
    if slug:
        message = f"There is no workspace called {slug!r}."
    elif not found:
        message = "There is no workspace yet. Run: python manage.py create_owner --username NAME"
    else:
        names = ", ".join(row.slug for row in found)
        message = f"There are several workspaces; choose one with --workspace: {names}."
    raise CommandError(message)


def add_folder_arguments(parser: CommandParser) -> None:
    """Add ``--attach`` and ``--new-folder`` to a command that creates a workspace."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--attach",
        action="store_true",
        help="use the folder of that name that no workspace has; its files stay",
    )
    group.add_argument(
        "--new-folder",
        action="store_true",
        help="leave such a folder alone, and begin in a new one beside it",
    )


def wants_attached(name: str, *, attach: bool, new_folder: bool) -> bool:
    """True when a found folder of that name becomes the workspace.

    :raises CommandError: there is none to attach, or the options do not say what is wanted.
    """
    folder = first_run.find_folder(name)
    if folder is None:
        if attach:
            others = ", ".join(first_run.list_folders()) or "none"
            message = (
                f"There is no folder without a workspace for the name {name!r}. Folders of no "
                f"workspace: {others}. Nothing was made."
            )
            raise CommandError(message)
        return False
    if attach or new_folder:
        return attach
    found = first_run.describe_folder(folder)
    if sys.stdin.isatty():
        answer = input(f"{found}\nUse its files as they are? [y/n] ").strip().lower()
        if answer in {"y", "yes", "n", "no"}:
            return answer.startswith("y")
    message = (
        f"{found} Nothing was made, and nothing in it was changed. Run this again with --attach to "
        "use its files, or with --new-folder to begin in a new folder beside it."
    )
    raise CommandError(message)


def read_password(account: Account, given: str = "") -> str:
    """Return a strong enough password for *account*: *given*, typed twice, or a line of stdin.

    :raises CommandError: there is none, or it is weak.
    """
    password = given or (_typed() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n"))
    if not password:
        message = "No password was given. Type it when asked, or send it on standard input."
        raise CommandError(message)
    try:
        password_validation.validate_password(password, account)
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from error
    return password


def _typed() -> str:
    try:
        password = getpass.getpass("Password: ")
        again = getpass.getpass("Password again: ")
    except (KeyboardInterrupt, EOFError) as error:
        message = "Nothing was changed."
        raise CommandError(message) from error
    if password != again:
        message = "The two passwords differ. Nothing was changed."
        raise CommandError(message)
    return password
