"""A command that answers in words or, with ``--json``, as one JSON object.

Its exit code is 0 only when it did what it was asked (``07-contract``: commands).
"""

import argparse
import getpass
import json
import sys
from typing import Any

from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from jenny.accounts.errors import AccountError
from jenny.accounts.models import Account, Workspace


class AnsweringCommand(BaseCommand):
    """Subclasses implement ``answer``: it returns what ``--json`` prints, with a ``sentence``."""

    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Every such command has ``--json``."""
        parser.add_argument(
            "--json",
            action="store_true",
            dest="as_json",
            help="answer as one JSON object",
        )

    def answer(self, **options: Any) -> dict[str, Any]:
        """Do it. :raises AccountError, CommandError: it was not done, and why."""
        raise NotImplementedError

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run ``answer`` and print what it says."""
        try:
            _check_database()
            told = self.answer(**options)
        except (AccountError, CommandError) as error:
            if not options["as_json"]:
                raise CommandError(str(error)) from error
            self.stdout.write(json.dumps({"ok": False, "error": str(error)}))
            sys.exit(1)
        said = json.dumps({"ok": True, **told}) if options["as_json"] else told["sentence"]
        self.stdout.write(said)


def before_and_after_the_verb(parser: CommandParser) -> CommandParser:
    """Give a command that has verbs ``--workspace``, and return the parent of its verbs, with
    which that and ``--json`` may stand behind the verb, too."""
    parser.add_argument("--workspace", default="", metavar="SLUG", help="which workspace")
    both = CommandParser(add_help=False)
    # Left out behind the verb, they leave what stood before it as it is.
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


def _check_database() -> None:
    try:
        executor = MigrationExecutor(connection)
        if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return
    except DatabaseError as error:
        message = f"The database cannot be used: {error}"
        raise CommandError(message) from error
    message = "The database is not set up for this version yet. Run: python manage.py migrate"
    raise CommandError(message)


def username_of(given: str) -> str:
    """A name that an account may have, as it will be stored.

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
    """The account of that name. :raises CommandError: there is none."""
    try:
        return Account.objects.get_by_natural_key(name.strip())
    except Account.DoesNotExist as error:
        message = f"There is no account called {name}."
        raise CommandError(message) from error


def workspace_called(slug: str) -> Workspace:
    """The workspace of that slug; without one the only workspace there is.

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


def read_password(account: Account, given: str = "") -> str:
    """A good password for *account*: the one given, or typed twice, or one line of the
    standard input where nobody can type. :raises CommandError: none, or a weak one."""
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
