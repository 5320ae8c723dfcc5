"""``manage.py up``: run everything in one terminal, or one service in a container."""

import contextlib
import gc
import http.client
import ipaddress
import json
from typing import Any

import redis
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from jenny import env
from jenny.accounts.services import first_run
from jenny.accounts.services.json_command import refusal_sentence
from jenny.broker import redis_client
from jenny.runtime import parts, valkey
from jenny.runtime.parts import sync_schedule
from jenny.runtime.supervisor import (
    CannotStart,
    Part,
    Supervisor,
    allow_open_files,
    listen,
    only_one,
)
from jenny.runtime.upgrade import let_go, migrate_database, migrate_settings, wait_until_migrated

SERVICES = ("web", "worker", "beat")


class Command(BaseCommand):
    help = "Start everything in one terminal (Ctrl-C ends it), or one service with --only."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--only",
            choices=SERVICES,
            help="one service, as the containers run it (needs REDIS_URL)",
        )
        parser.add_argument(
            "--json", action="store_true", help="print each sentence as a JSON object on a line"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Start the parts, and return when all of them have ended."""
        self.is_json = options["json"]
        only: str | None = options["only"]
        try:
            self._run(only)
        except (CannotStart, valkey.ValkeyProblem) as problem:
            raise CommandError(problem.message) from problem
        except (DatabaseError, OSError) as error:
            raise CommandError(refusal_sentence(error)) from error

    def _run(self, only: str | None) -> None:
        if only and not env.secret("REDIS_URL"):
            message = f"--only {only} needs REDIS_URL: the services share one Redis."
            raise CannotStart(message)
        if not (settings.STATIC_ROOT / "staticfiles.json").exists():
            message = "The pages' static files were not collected. Run: make setup"
            raise CannotStart(message)
        allow_open_files()
        self._warn_of_open_files()
        with contextlib.ExitStack() as stack:
            lock = stack.enter_context(
                only_one(settings.JENNY_DATA.running_lock, shared=bool(only))
            )
            has_web = only in {None, "web"}
            listener = listen(settings.JENNY_HOST, settings.JENNY_PORT) if has_web else None
            if listener:
                stack.enter_context(listener)
                if not only:
                    # In a container the published port decides about access.
                    self._warn_of_open_door()
                migrate_database(self.say)
                migrate_settings(self.say)
            else:
                wait_until_migrated(self.say)
            if only in {None, "beat"}:
                # Before the scheduler starts: it would miss rows that are made meanwhile.
                sync_schedule()
            wanted: list[Part] = []
            if env.secret("REDIS_URL"):
                self._warn_of_silent_redis()
            else:
                # A server may be left from a killed start.
                valkey.end(settings.JENNY_DATA)
                wanted.append(parts.valkey_part(lock))
            if listener:
                wanted.append(parts.web_part(listener))
            if only in {None, "worker"}:
                wanted.extend(parts.worker_parts())
            if only in {None, "beat"}:
                wanted.append(parts.beat_part())
            supervisor = Supervisor(
                wanted,
                say=self.say,
                check=_answers if has_web else lambda: True,
                when_ready=lambda: self._announce(only),
                owned=[(listener, frozenset({"web"}))] if listener else [],
                ready_file=parts.ready_file(only) if only else None,
            )
            parts.preload()
            # These objects are never garbage: keep the collector from writing to shared pages.
            gc.collect()
            gc.freeze()
            supervisor.run()
        self.say("Stopped.")

    def say(self, message: str, **fields: str) -> None:
        text = json.dumps({"message": message, **fields}) if self.is_json else message
        # The reader of the output may have closed it, which is no reason to end.
        with contextlib.suppress(OSError):
            self.stdout.write(text)
            self.stdout.flush()

    def _warn_of_silent_redis(self) -> None:
        """Warn when Redis does not answer; every part waits for it and connects later."""
        try:
            # Closed at once, since the parts are forked from this process.
            with redis_client() as server:
                server.ping()
        except redis.RedisError as error:
            self.say(
                f"Redis does not answer at the address in REDIS_URL ({type(error).__name__}). "
                "Jenny waits for it."
            )

    def _warn_of_open_files(self) -> None:
        for path in env.open_paths(settings.JENNY_DATA):
            self.say(f"Warning: {env.warning(path)}")

    def _warn_of_open_door(self) -> None:
        host = settings.JENNY_HOST
        try:
            is_loopback = ipaddress.ip_address(host).is_loopback
        except ValueError:
            is_loopback = host == "localhost"
        if not is_loopback:
            self.say(
                f"Warning: JENNY_HOST is {host}, so others on the network can reach the login "
                "page. Put a server that speaks TLS in front (docs/deploy.md)."
            )

    def _announce(self, only: str | None) -> None:
        if only in {"worker", "beat"}:
            self.say(f"The {only} service is ready.")
            return
        address = f"http://{_shown_host()}:{settings.JENNY_PORT}"
        has_owner = get_user_model().objects.exists()
        let_go()
        if has_owner:
            self.say(f"Jenny is ready: {address}/", url=f"{address}/")
            return
        link = first_run.setup_link(address, first_run.current_token(settings.JENNY_DATA))
        self.say(f"Jenny is ready. Make your account here: {link}", url=link)


def _shown_host() -> str:
    """Return the host for an address that a browser on this machine can open."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.JENNY_HOST, settings.JENNY_HOST)  # noqa: S104 -- told apart, not bound
    return f"[{host}]" if ":" in host else host


def _answers() -> bool:
    """Ask the web server whether a chat would work now."""
    client = http.client.HTTPConnection(_shown_host().strip("[]"), settings.JENNY_PORT, timeout=2)
    try:
        client.request("GET", "/health/ready", headers={"Host": "127.0.0.1"})
        return client.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        client.close()
