"""``eval_memory``: how well the memory works with a model."""

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from jenny.accounts.endpoints import demo_url
from jenny.accounts.services.json_command import JSONCommand, prepare_database
from jenny.chat.services.memory_eval.judge import judge_story, play_story
from jenny.chat.services.memory_eval.stories import (
    StoryInvalid,
    included,
    load_story,
    measure,
    read_benchmark,
)
from jenny.runtime import valkey

# What names a model in the environment; without it the demo model answers.
_MODEL = ("ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY_FILE", "ANTHROPIC_BASE_URL", "JENNY_MODEL")
# A story has a database and a queue of its own.
_NOT_INHERITED = ("DATABASE_URL", "DATABASE_URL_FILE", "REDIS_URL", "REDIS_URL_FILE")


class Command(JSONCommand):
    help = (
        "Play stories through chats, summaries and Dream, and print what the memory kept, lost and "
        f"got wrong. Included are {', '.join(included())}; another story is named by its path. The "
        "model is that of the environment (ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, JENNY_MODEL), "
        "else the demo model. Each story has a temporary data folder; yours is not touched."
    )

    # Only the process that plays a story has one.
    needs_database = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("stories", nargs="*", metavar="STORY", help="the stories (all)")
        parser.add_argument("--demo", action="store_true", help="ask the demo model")
        parser.add_argument(
            "--keep", default="", metavar="FOLDER", help="keep the stories' data folders in FOLDER"
        )
        parser.add_argument(
            "--benchmark",
            default="",
            metavar="FILE",
            help="instead of stories, search a file of LoCoMo or LongMemEval for its questions",
        )
        parser.add_argument("--played-here", action="store_true", help=argparse.SUPPRESS)

    def answer(self, **options: Any) -> dict[str, Any]:
        try:
            if options["benchmark"]:
                path = Path(options["benchmark"])
                found = measure(read_benchmark(path))
                return {"message": f"{path.name}\n{found.text}", "benchmark": found.as_json}
            stories = {name: load_story(name) for name in options["stories"] or included()}
        except StoryInvalid as error:
            raise CommandError(error.message) from error
        if options["played_here"]:
            return self._play(next(iter(stories)))
        kept = Path(options["keep"]).absolute() if options["keep"] else None
        marks = [self._play_apart(name, kept, is_demo=options["demo"]) for name in stories]
        return {
            "message": "\n\n".join(row.pop("message") for row in marks),
            "stories": marks,
        }

    def _play(self, name: str) -> dict[str, Any]:
        """Play one story in this process, whose data folder is the story's."""
        story = load_story(name)
        prepare_database(self.stderr.write)
        logging.disable(logging.INFO)
        # Nobody reads along.
        demo_url(pace=0)
        model = settings.JENNY_MODEL if settings.JENNY_API_KEY else ""
        try:
            with valkey.for_command(settings.JENNY_DATA):
                played = play_story(story, self.stderr.write)
        except valkey.ValkeyProblem as problem:
            raise CommandError(problem.message) from problem
        marks = judge_story(story, played, model or "demo model")
        return {"message": marks.text, **marks.as_json}

    def _play_apart(self, name: str, kept: Path | None, *, is_demo: bool) -> dict[str, Any]:
        """Play one story in a process of its own, with a data folder and a clock of its own."""
        left_out = {*_NOT_INHERITED, *(_MODEL if is_demo else ())}
        environment = {key: value for key, value in os.environ.items() if key not in left_out}
        words = ["eval_memory", name, "--json", "--played-here"]
        with tempfile.TemporaryDirectory(prefix="jenny-") as folder:
            data = kept / Path(name).stem if kept else Path(folder)
            if kept and data.exists():
                message = f"{data} is there already. Nothing was played; name another folder."
                raise CommandError(message)
            done = subprocess.run(  # noqa: S603 - this program, with the words of this command
                [sys.executable, str(settings.BASE_DIR / "manage.py"), *words],
                env=environment | {"JENNY_DATA_DIR": str(data)},
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )
        last = done.stdout.strip().rpartition("\n")[2]
        found: dict[str, Any] = json.loads(last) if last.startswith("{") else {}
        if not found.pop("ok", False):
            message = found.get("error") or "The story could not be played."
            raise CommandError(message)
        return found
